"""The standard streams: data goes to standard output, words to standard error, a line each."""

from __future__ import annotations

import os
import select
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress

from hotenv.errors import SystemFailureError, attempt, because
from hotenv.printable import printable

_PIECE = 64 * 1024


def reserve_standard_streams() -> None:
    """Make sure that no file of ours gets the number of a standard stream that is closed.

    Else what is meant for standard error could be written into a connection. The reserved ones are
    not inherited: a command finds closed what hotenv found closed.
    """
    while (descriptor := os.open(os.devnull, os.O_RDWR)) <= 2:
        pass
    os.close(descriptor)


def say(words: str) -> None:
    """Write ``hotenv: words`` to standard error, safe to show on a terminal, if it is open."""
    if sys.stderr is not None:
        with suppress(OSError):
            print(f"hotenv: {printable(words)}", file=sys.stderr, flush=True)


def read_input(limit: int) -> bytes:
    """All of standard input. Raises SystemFailureError if that fails or is over ``limit`` bytes."""
    if sys.stdin is None:
        raise SystemFailureError("standard input is closed: pipe dotenv text into 'hotenv serve'")
    descriptor = sys.stdin.fileno()
    data = bytearray()
    with attempt("read standard input"), _signals_wake() as woken:
        while len(data) <= limit:
            select.select([descriptor, woken], [], [])
            try:
                piece = os.read(descriptor, _PIECE)
            except BlockingIOError:  # a signal woke us, or somebody else took what was there
                continue
            if not piece:
                return bytes(data)
            data += piece
    raise SystemFailureError(f"standard input is over {limit} bytes")


@contextmanager
def _signals_wake() -> Iterator[int]:
    """A descriptor that becomes readable when a signal comes.

    A signal between Python's last look for one and the system call would not end a plain read:
    Ctrl-C would have to be pressed twice.
    """
    reader, writer = os.pipe()
    os.set_blocking(writer, False)
    before = signal.set_wakeup_fd(writer)
    try:
        yield reader
    finally:
        signal.set_wakeup_fd(before)
        os.close(reader)
        os.close(writer)


def write_output(data: bytes) -> None:
    """Write ``data`` to standard output, past Python's buffer: what fails, fails here.

    Error handling: raises BrokenPipeError if the reader went away, SystemFailureError otherwise.
    """
    if sys.stdout is None:
        raise SystemFailureError("standard output is closed")
    rest = memoryview(data)
    try:
        sys.stdout.flush()
        while rest:
            rest = rest[os.write(sys.stdout.fileno(), rest) :]
    except BrokenPipeError:
        raise
    except OSError as error:
        raise SystemFailureError(f"cannot write to standard output: {because(error)}") from error
