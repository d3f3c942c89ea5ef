"""The standard streams: data goes to standard output, messages to standard error, a line each."""

from __future__ import annotations

import errno
import os
import sys

from hotenv.errors import SystemFailureError, because
from hotenv.printable import printable

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

_STDOUT, _STDERR = 1, 2
_NAMES = {_STDOUT: "standard output", _STDERR: "standard error"}
_GONE = {errno.EPIPE, errno.ECONNRESET, errno.EIO}  # the last one is a terminal's


def reserve_standard_streams() -> None:
    """Make sure that no file of ours gets the number of a standard stream that is closed.

    Otherwise a message for standard error could be written to a connection. The reserved
    descriptors are not inherited: streams that were closed for hotenv are closed for the command.
    """
    while (descriptor := os.open(os.devnull, os.O_RDWR)) <= _STDERR:
        pass
    os.close(descriptor)


def say(message: str) -> None:
    """Write ``hotenv: message`` to standard error, safe to show on a terminal, if it is open."""
    line = f"hotenv: {printable(message)}\n".encode("utf-8", "backslashreplace")
    if sys.stderr is not None:
        # Past Python's buffer: what it could not write now it would try again at the end, and
        # change the exit code.
        try:
            os.write(_STDERR, line)
        except OSError:
            pass


def write_table(rows: Sequence[Sequence[str]], header: Sequence[str] = ()) -> None:
    """Write ``rows`` to standard output: below a header and in columns on a terminal, else as tabs.

    There is colour unless NO_COLOR is set or the terminal is a dumb one. Errors: see write_output.
    """
    from hotenv.table import aligned, tabbed

    if sys.stdout is not None and sys.stdout.isatty():
        plain = os.environ.get("NO_COLOR") or os.environ.get("TERM") == "dumb"
        text = aligned(rows, header, colour=not plain)
    else:
        text = tabbed(rows)
    write_output(text.encode("utf-8", "backslashreplace"))


def write_output(data: bytes) -> None:
    """Write all of ``data`` to standard output, past Python's buffer: what fails, fails here.

    Waits for a slow reader also where another process made the stream non-blocking.

    Error handling: raises BrokenPipeError if the reader went away, SystemFailureError otherwise.
    """
    if sys.stdout is None:
        raise SystemFailureError("standard output is closed")
    rest = memoryview(data)
    try:
        sys.stdout.flush()
        descriptor = sys.stdout.fileno()
        while rest:
            try:
                rest = rest[os.write(descriptor, rest) :]
            except BlockingIOError:
                _wait_writable(descriptor)
    except BrokenPipeError:
        raise
    except OSError as error:
        raise unwritable(error, _STDOUT) from error


def is_gone(error: OSError) -> bool:
    """Whether ``error``, of a write, says that the reader has gone, and nothing worse."""
    return error.errno in _GONE


def unwritable(error: OSError, stream: int) -> SystemFailureError:
    """The error for ``stream``, standard output or standard error, that takes no more."""
    return SystemFailureError(f"cannot write to {_NAMES[stream]}: {because(error)}")


def _wait_writable(descriptor: int) -> None:
    import select

    poll = select.poll()
    poll.register(descriptor, select.POLLOUT)
    poll.poll()
