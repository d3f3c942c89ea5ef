"""Execute the command in this process, with a different environment.

The command gets everything else that hotenv was started with: file descriptors, working directory,
terminal, process ID, signal mask and dispositions. Python changes the dispositions of SIGPIPE and
SIGXFSZ without keeping the old ones, so both are reset to the default.
"""

from __future__ import annotations

import errno
import os

from hotenv.coredump import forbid_core_dumps, restore_core_dumps
from hotenv.errors import SystemFailureError, because
from hotenv.handover.childenv import parse_environ_block
from hotenv.lightweight import signal

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from typing import NoReturn

_DEFAULT_PATH = b"/bin:/usr/bin"  # execvp(3) without PATH
_NOT_HERE = {errno.ENOENT, errno.ENOTDIR, errno.ENODEV, errno.ESTALE, errno.ETIMEDOUT}
_SHELL = b"/bin/sh"

LONGEST_STRING = 32 * 4096
"""Bytes in one argument or ``NAME=value`` with its NUL: MAX_ARG_STRLEN of Linux, execve(2)."""

_LONGEST_FIRST_LINE = 256
"""Bytes of a script in which Linux looks for its interpreter: BINPRM_BUF_SIZE."""


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


class Launch:
    """A command to execute.

    ``argv``: the command and its arguments. ``env``: all of its environment. ``files``: the content
    of in-memory files, by the variable that names each. ``env_file``: the content of the one whose
    path takes the place of the ``{}`` in ``argv``, if any.
    """

    __slots__ = ("argv", "env", "env_file", "files")

    def __init__(
        self,
        argv: Sequence[str],
        env: Mapping[bytes, bytes],
        *,
        files: Mapping[bytes, bytes] | None = None,
        env_file: bytes | None = None,
    ) -> None:
        self.argv: Sequence[str] = argv
        self.env: Mapping[bytes, bytes] = env
        self.files: Mapping[bytes, bytes] = files or {}
        self.env_file: bytes | None = env_file

    def execute(self) -> NoReturn:
        """Become the command: the same process. It is found as execvp(3) does with the new PATH.

        Error handling: returns only by raising SystemFailureError, if it cannot be executed.
        """
        argv, environment = list(self.argv), dict(self.env)
        if self.files or self.env_file is not None:
            from hotenv.handover.files import fill_placeholder, memory_file

            for name, content in self.files.items():
                environment[name] = memory_file(content).encode()
            if self.env_file is not None:
                argv = fill_placeholder(argv, memory_file(self.env_file))
        for signum in (signal.SIGPIPE, signal.SIGXFSZ):
            signal.signal(signum, signal.SIG_DFL)
        _become([os.fsencode(word) for word in argv], environment)


def _become(argv: list[bytes], environment: Mapping[bytes, bytes]) -> NoReturn:
    failure = OSError(errno.ENOENT, os.strerror(errno.ENOENT))
    without_interpreter = None
    for path in candidates(argv[0], environment):
        try:
            _execute(path, argv, environment)
        except OSError as error:
            # A command that is there and may not be executed is what to tell, if none may be.
            if error.errno == errno.EACCES:
                failure = error
            elif error.errno not in _NOT_HERE:
                failure = error
                break
            elif without_interpreter is None and os.path.exists(path):
                without_interpreter = path
        except ValueError:
            raise SystemFailureError(
                "cannot run the command: an argument contains a NUL character"
            ) from None
    if without_interpreter is not None and failure.errno == errno.ENOENT:
        raise _bad_interpreter(argv[0], without_interpreter) from failure
    raise SystemFailureError(_explain(failure, argv, environment)) from failure


def candidates(name: bytes, environment: Mapping[bytes, bytes]) -> Iterator[bytes]:
    """The paths where execvp(3) looks for the program ``name``."""
    if b"/" in name:
        yield name
    elif name:
        for directory in environment.get(b"PATH", _DEFAULT_PATH).split(b":"):
            yield os.path.join(directory, name)


def _execute(path: bytes, argv: list[bytes], environment: Mapping[bytes, bytes]) -> None:
    restore_core_dumps()  # as late as possible: until then this process holds values
    try:
        os.execve(path, argv, environment)  # noqa: S606 - it is what hotenv is for
    except OSError as error:
        if error.errno == errno.ENOEXEC:  # a script without "#!"
            os.execve(_SHELL, [_SHELL, path, *argv[1:]], environment)  # noqa: S606 - as above
        raise
    finally:
        forbid_core_dumps()


def _bad_interpreter(name: bytes, path: bytes) -> SystemFailureError:
    """The error for a program that is there, while the one that should run it is not."""
    interpreter = b""
    try:
        with open(path, "rb") as script:
            first_line = script.read(_LONGEST_FIRST_LINE).partition(b"\n")[0]
        if first_line.startswith(b"#!"):
            interpreter = first_line[2:].strip(b" \t").partition(b" ")[0].partition(b"\t")[0]
    except OSError:
        pass
    shown = f" '{os.fsdecode(interpreter)}'" if interpreter else ""
    return SystemFailureError(
        f"cannot run '{os.fsdecode(name)}': its interpreter{shown} was not found"
    )


def _explain(error: OSError, argv: list[bytes], environment: Mapping[bytes, bytes]) -> str:
    """Why ``error`` came, without any value."""
    name = os.fsdecode(argv[0])
    if error.errno != errno.E2BIG:
        reason = "command not found" if error.errno == errno.ENOENT else because(error)
        return f"cannot run '{name}': {reason}"
    too_long = sorted(
        os.fsdecode(variable)
        for variable, value in environment.items()
        if len(variable) + len(value) + 2 > LONGEST_STRING
    )
    if too_long:
        return (
            f"cannot run '{name}': variable too long: {', '.join(too_long)} (limit "
            f"{LONGEST_STRING - 1} bytes, including name and '='): pass it with --as-file"
        )
    if any(len(word) + 1 > LONGEST_STRING for word in argv):
        return f"cannot run '{name}': argument too long (limit {LONGEST_STRING - 1} bytes)"
    size = sum(map(len, argv)) + sum(len(n) + len(v) + 2 for n, v in environment.items())
    return (
        f"cannot run '{name}': arguments and environment too large ({size} bytes in total, more "
        "than the system allows)"
    )
