"""Where a text comes from: standard input or a file. Others are in ``command``, ``environment``."""

from __future__ import annotations

import os
import select
import sys
import termios

from hotenv.errors import InputError, SystemFailureError, attempt
from hotenv.exchange.protocol import RESPONSE_LIMIT
from hotenv.stdio import say

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

_PIECE = 64 * 1024

_LONGEST = 4095 if sys.platform == "linux" else 1023
"""Bytes of a line on a terminal, without its end: the kernel drops the rest (termios(3))."""


class Source:
    """A text in the format ``form``. ``title``: what messages call it."""

    def __init__(self, title: str, form: str) -> None:
        self.title: str = title
        self.form: str = form

    def prepare(self) -> None:
        """Do what comes first, in the process that starts the one that reads.

        Error handling: raises SystemFailureError if it is clear by now that reading will fail.
        """

    def read(self) -> bytes:
        """The whole text, for the process that reads.

        Error handling: raises SystemFailureError if that fails or it is too large, InputError if
        there is not enough memory for it.
        """
        raise NotImplementedError

    def taken(self) -> Mapping[str, str]:
        """What has been taken out of the environment, where references still look for it."""
        return {}

    def let_go(self) -> None:
        """Close what only the process that reads needs, in the one that has started it."""


class StandardInput(Source):
    """What is piped into hotenv, or typed."""

    def __init__(self, form: str) -> None:
        super().__init__("standard input", form)

    def prepare(self) -> None:
        """Tell a person at a terminal what to do."""
        if sys.stdin is None:
            raise SystemFailureError(
                "standard input is closed: pipe dotenv text into 'hotenv serve'"
            )
        if sys.stdin.isatty():
            say("enter NAME=value lines, then press Ctrl-D on an empty line")

    def read(self) -> bytes:
        """All of it."""
        return read_all(sys.stdin.fileno(), self.title)


class File(Source):
    """A file, which may be a named pipe. ``title``: its path."""

    def read(self) -> bytes:
        """All of it."""
        with attempt(f"open {self.title}"):
            descriptor = os.open(self.title, os.O_RDONLY | os.O_CLOEXEC | os.O_NOCTTY)
        try:
            return read_all(descriptor, self.title)
        finally:
            os.close(descriptor)


def read_all(
    descriptor: int, title: str, await_input: Callable[[int], None] = lambda _: None
) -> bytes:
    """All that comes from ``descriptor``, until its end.

    ``await_input``: called before each read, which would else be the only wait.

    Error handling: raises SystemFailureError if reading fails or it is too large, InputError if
    there is not enough memory for it, or the kernel may have cut a line that was typed.
    """
    try:
        return _read(descriptor, title, await_input)
    except MemoryError:
        raise InputError(f"{title}: needs too much memory") from None


def _read(descriptor: int, title: str, await_input: Callable[[int], None]) -> bytes:
    data = bytearray()
    by_line = _is_read_by_line(descriptor)
    cut = 0  # the number of the first line that may be
    with attempt(f"read {title}"):
        while len(data) <= RESPONSE_LIMIT:
            await_input(descriptor)
            try:
                piece = os.read(descriptor, _PIECE)
            except BlockingIOError:  # another process that shares it made it so
                select.select([descriptor], [], [])
                continue
            if not piece:
                _refuse_cut(title, cut)
                return bytes(data)
            if by_line and not cut and len(piece.removesuffix(b"\n")) >= _LONGEST:
                cut = data.count(b"\n") + 1
            data += piece
    raise SystemFailureError(f"{title} too large (limit {RESPONSE_LIMIT} bytes)")


def _is_read_by_line(descriptor: int) -> bool:
    """Whether it is a terminal of which a read gets one line, or what Ctrl-D ends, at most."""
    try:
        return bool(termios.tcgetattr(descriptor)[3] & termios.ICANON)
    except termios.error:
        return False


def _refuse_cut(title: str, line: int) -> None:
    """At the end only: the rest of a paste is not meant for the shell."""
    if line:
        raise InputError(
            f"{title}: line {line}: too long for a terminal (limit {_LONGEST - 1} bytes): "
            "pipe it in, or write NAME=? and paste the value with --prompt"
        )
