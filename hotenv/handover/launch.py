"""Become the command: the same process, with another environment.

What the command gets is what hotenv was started with: descriptors, working folder, terminal,
process id, signal mask and dispositions. Python itself changes two of the latter, SIGPIPE and
SIGXFSZ, without a trace of what they were; they go back to their default.
"""

from __future__ import annotations

import errno
import os
import signal

from hotenv.errors import SystemFailureError, because
from hotenv.handover.childenv import parse_environ_block

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from typing import NoReturn

_DEFAULT_PATH = b"/bin:/usr/bin"  # execvp(3) without PATH
_NOT_HERE = {errno.ENOENT, errno.ENOTDIR, errno.ENODEV, errno.ESTALE, errno.ETIMEDOUT}
_SHELL = b"/bin/sh"

_LONGEST_STRING = 32 * 4096
"""Bytes in one argument or ``NAME=value`` with its NUL: MAX_ARG_STRLEN of Linux, execve(2)."""


def inherited_environment() -> dict[bytes, bytes]:
    """The environment that this process was started with, byte for byte.

    From /proc, because Python may have added LC_CTYPE to its own; where there is no /proc, Python's
    has to do.
    """
    try:
        with open("/proc/self/environ", "rb") as file:
            return parse_environ_block(file.read())
    except OSError:
        return dict(os.environb)


def become(args: Sequence[str], environment: Mapping[bytes, bytes]) -> NoReturn:
    """Execute ``args`` in place of this process, found as execvp(3) does with the new PATH.

    Error handling: returns only by raising SystemFailureError, if the command cannot be executed.
    """
    words = [os.fsencode(arg) for arg in args]
    for signum in (signal.SIGPIPE, signal.SIGXFSZ):
        signal.signal(signum, signal.SIG_DFL)
    failure = OSError(errno.ENOENT, os.strerror(errno.ENOENT))
    for path in _candidates(words[0], environment):
        try:
            _execute(path, words, environment)
        except OSError as error:
            # A command that is there and may not be executed is what to tell, if none may be.
            if error.errno == errno.EACCES:
                failure = error
            elif error.errno not in _NOT_HERE:
                failure = error
                break
        except ValueError:
            raise SystemFailureError("an argument contains a NUL character") from None
    raise SystemFailureError(_explain(failure, words, environment)) from failure


def _candidates(name: bytes, environment: Mapping[bytes, bytes]) -> Iterator[bytes]:
    if b"/" in name:
        yield name
    elif name:
        for folder in environment.get(b"PATH", _DEFAULT_PATH).split(b":"):
            yield os.path.join(folder, name)


def _execute(path: bytes, words: list[bytes], environment: Mapping[bytes, bytes]) -> None:
    try:
        os.execve(path, words, environment)  # noqa: S606 - it is what hotenv is for
    except OSError as error:
        if error.errno != errno.ENOEXEC:
            raise
    # A script without "#!".
    os.execve(_SHELL, [_SHELL, path, *words[1:]], environment)  # noqa: S606 - as above


def _explain(error: OSError, words: list[bytes], environment: Mapping[bytes, bytes]) -> str:
    """Why ``error`` came, without any value."""
    name = os.fsdecode(words[0])
    if error.errno != errno.E2BIG:
        reason = "command not found" if error.errno == errno.ENOENT else because(error)
        return f"cannot run '{name}': {reason}"
    too_long = sorted(
        os.fsdecode(variable)
        for variable, value in environment.items()
        if len(variable) + len(value) + 2 > _LONGEST_STRING
    )
    if too_long:
        return (
            f"cannot run '{name}': too long for an environment: {', '.join(too_long)} "
            f"(the system's limit is {_LONGEST_STRING - 1} bytes with name and '=')"
        )
    if any(len(word) + 1 > _LONGEST_STRING for word in words):
        return f"cannot run '{name}': an argument is over {_LONGEST_STRING - 1} bytes"
    size = sum(map(len, words)) + sum(len(n) + len(v) + 2 for n, v in environment.items())
    return (
        f"cannot run '{name}': its arguments and environment have {size} bytes together, "
        "more than the system takes"
    )
