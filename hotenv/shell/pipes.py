"""Pipes and FIFOs, without waiting for the other end."""

from __future__ import annotations

import fcntl
import os
import select
import sys
import termios
from contextlib import suppress

SIZE = 64 * 1024
"""Bytes that a pipe holds."""

WIDE = 256 * 1024
"""Bytes that a widened pipe holds: fewer turns for much output."""

_SIZE_OF_INT = 4


def open_fifo(path: str, mode: int) -> int:
    """A descriptor of the FIFO, for reading or for writing. Raises OSError without a reader."""
    return os.open(path, mode | os.O_NONBLOCK)


def widen(descriptor: int) -> None:
    """Let the pipe hold WIDE bytes, if the system lets this user have so many."""
    with suppress(OSError, AttributeError):  # there is no such thing on macOS
        fcntl.fcntl(descriptor, fcntl.F_SETPIPE_SZ, WIDE)  # type: ignore[attr-defined,unused-ignore]


def unread(descriptor: int) -> int:
    """How many bytes are in the pipe."""
    answer = fcntl.ioctl(descriptor, termios.FIONREAD, bytes(_SIZE_OF_INT))
    return int.from_bytes(answer, sys.byteorder)


def was_closed(descriptor: int) -> bool:
    """Whether somebody has had the FIFO open for writing, and nobody has it any more."""
    poll = select.poll()
    poll.register(descriptor, 0)
    return any(events & select.POLLHUP for _, events in poll.poll(0))
