"""The standard streams as lines of text, under Trio and without threads.

A thread that waits for standard input cannot be cancelled. The streams stay as they are: who has
the other end, or shares them, would not expect that they never block.
"""

from __future__ import annotations

import os
import select

import trio

from hotenv.errors import UsageError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable
    from typing import Self

LONGEST = 32 * 1024 * 1024
"""Bytes of a line: a request holds all that a command is given."""

_PIECE = 64 * 1024


class Lines:
    """Those that come from ``descriptor``, until its end; the last one may lack a newline.

    Error handling: raises UsageError for a line that is too long.
    """

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor
        self._data = bytearray()
        self._searched = 0
        self._at_end = False

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> str:
        while (end := self._data.find(b"\n", self._searched)) < 0 and not self._at_end:
            self._searched = len(self._data)
            if self._searched > LONGEST:
                raise UsageError(f"a line of standard input is too long (limit {LONGEST} bytes)")
            await self._read()
        if not self._data:
            raise StopAsyncIteration
        end = end + 1 or len(self._data)
        line = bytes(self._data[:end])
        del self._data[:end]
        self._searched = 0
        return line.decode(errors="replace")

    async def _read(self) -> None:
        await _wait(trio.lowlevel.wait_readable, self._descriptor)
        try:
            piece = os.read(self._descriptor, _PIECE)
        except BlockingIOError:
            return
        except ConnectionResetError:  # a socket whose other end is gone
            piece = b""
        self._data += piece
        self._at_end = not piece


class Written:
    """Text for ``descriptor``. Raises BrokenPipeError if nobody reads it any more."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor
        self._turn = trio.Lock()

    async def write(self, text: str) -> None:
        """Write all of ``text``, and nothing of another one in between."""
        rest = memoryview(text.encode("utf-8", "replace"))
        async with self._turn:
            while rest:
                await _wait(trio.lowlevel.wait_writable, self._descriptor)
                try:
                    # So much there is room for, and no more is certain.
                    rest = rest[os.write(self._descriptor, rest[: select.PIPE_BUF]) :]
                except BlockingIOError:
                    continue

    async def flush(self) -> None:
        """Nothing is kept."""
        await trio.lowlevel.checkpoint()


async def _wait(ready: Callable[[int], Awaitable[None]], descriptor: int) -> None:
    try:
        await ready(descriptor)
    except PermissionError:  # a file, or the null device: always ready
        await trio.lowlevel.checkpoint()
