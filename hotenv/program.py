"""Running as a program: the only place where errors become exit codes."""

from __future__ import annotations

import errno
import os
import sys

from hotenv.errors import HotenvError, SystemFailureError, because, internal_error
from hotenv.lightweight import signal
from hotenv.stdio import say

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from sys import UnraisableHookArgs

_REMEDIES = {
    errno.EMFILE: "raise the limit (see 'ulimit -n')",
    errno.ENFILE: "close other programs, or raise the limit (fs.file-max)",
    errno.ENOMEM: "raise the limit (see 'ulimit -v')",
    errno.EAGAIN: "raise the limit (see 'ulimit -u')",
    errno.ENOSPC: "make room on the disk",
}

INTERRUPTED = 130  # as shells report SIGINT
_HELD = "sigint"  # the option of Python, -X, that scripts/launcher.c gives it too
_BROKEN_PIPE = 141  # as shells report SIGPIPE
_failure_status: int | None = None


def catch_interrupts() -> None:
    """Let Ctrl-C raise KeyboardInterrupt from here on, if it ends the process so far.

    It does while a command is loaded (see scripts/hotenv-main). Ignored it stays ignored. One that
    was held for this process (see :func:`own_command`) comes now.
    """
    if signal.getsignal(signal.SIGINT) is signal.SIG_DFL:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    if sys.unraisablehook is sys.__unraisablehook__:  # else another program's, which called this
        sys.unraisablehook = _lose_no_interrupt
    if _HELD in sys._xoptions:
        signal.pthread_sigmask(signal.SIG_UNBLOCK, [signal.SIGINT])


def _lose_no_interrupt(lost: UnraisableHookArgs) -> None:
    """End the process where Python would show a KeyboardInterrupt, ignore it, and go on.

    As it does in the callbacks of forks, and of weak references, of which each import has one.
    """
    if lost.exc_type is KeyboardInterrupt:
        signal.signal(signal.SIGINT, signal.SIG_DFL)
        os.kill(os.getpid(), signal.SIGINT)
    else:
        sys.__unraisablehook__(lost)


def exit_code_of(action: Callable[[], None]) -> int:
    """Run ``action``, report its failure, and return the exit code (specification, section 12).

    That of a failure is the one that the action has set, if it has: see :func:`set_failure_status`.
    A SystemExit of the action is raised.
    """
    global _failure_status
    _failure_status = None
    try:
        action()
    except HotenvError as error:
        say(str(error))
        return failure_status(error.exit_code)
    except BrokenPipeError:
        return _BROKEN_PIPE
    except Exception as error:
        if isinstance(error.__cause__, KeyboardInterrupt):  # in a class body, up to 3.11
            return INTERRUPTED
        say(describe(error))
        return failure_status(SystemFailureError.exit_code)
    except (KeyboardInterrupt, BaseExceptionGroup):  # in a group if it came while Trio started
        return INTERRUPTED
    return 0


def set_failure_status(status: int) -> None:
    """Let every failure from here on have the exit code ``status``, but for Ctrl-C.

    For ``run``, whose caller may take any other code for that of the command.
    """
    global _failure_status
    _failure_status = status


def failure_status(code: int) -> int:
    """The exit code of a failure that would have ``code``: see :func:`set_failure_status`."""
    return _failure_status or code


def own_command(words: Sequence[str], *, held: bool = False) -> list[str]:
    """The words that start hotenv anew as it was started, up to its arguments, which are ``words``.

    As a function of another program it is started as a module, and not from the current directory.
    ``held``: the caller has blocked SIGINT, which would be a traceback of Python's start, and it is
    to come when it can end hotenv without one.
    """
    python = [sys.executable, *([f"-X{_HELD}"] if held else [])]
    if words and sys.orig_argv[-len(words) :] == list(words):
        return [*python, *sys.orig_argv[1 : -len(words)]]
    return [*python, "-P", "-m", "hotenv"]


def describe(error: BaseException) -> str:
    """What the system refused, and which limit that may be; or that it is a bug."""
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    no_room = isinstance(error, ImportError) and "failed to map" in str(error)  # for a library
    if isinstance(error, MemoryError) or no_room:
        return "out of memory: raise the limit (see 'ulimit -v')"
    if isinstance(error, OSError) and error.errno is not None:
        remedy = _REMEDIES.get(
            error.errno, "check the limits and filters of this system or container"
        )
        return f"a system call failed: {because(error)}: {remedy}"
    if isinstance(error, RuntimeError) and "start new thread" in str(error):
        return "cannot start a thread: raise the limit (see 'ulimit -u' and 'ulimit -v')"
    return internal_error(error)
