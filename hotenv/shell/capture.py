"""The output of a command, on its way from a FIFO."""

from __future__ import annotations

import os
from contextlib import suppress

import trio

from hotenv.redaction.redactor import PATIENCE
from hotenv.shell.pipes import SIZE, WIDE, unread, was_closed, widen

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from hotenv.shell.passage import Passage


class Capture:
    """Passes what comes through the FIFO behind ``descriptor`` on to ``passage``."""

    def __init__(self, descriptor: int, passage: Passage) -> None:
        self._descriptor = descriptor
        self._passage = passage
        self._closed = False
        self.has_ended: bool = False
        """Whether nobody had the FIFO open any more when all was taken."""

    async def follow(self) -> None:
        """Pass on what comes, until nobody has the FIFO open any more, or it is closed here."""
        with suppress(trio.ClosedResourceError):
            await trio.lowlevel.wait_readable(self._descriptor)
            while not self._closed:  # by then its number may be another file's
                try:
                    piece = os.read(self._descriptor, WIDE)
                except BlockingIOError:
                    await self._wait()
                    continue
                if not piece:
                    self._passage.end()
                    await self._passage.deliver()
                    return
                if len(piece) == SIZE:
                    widen(self._descriptor)
                self._passage.take(piece)
                await self._passage.deliver()
                await trio.lowlevel.checkpoint()  # others have their turn, too

    async def _wait(self) -> None:
        """Wait until there is more to read. Who gets each piece gets a prompt meanwhile."""
        if self._passage.is_waiting:
            with trio.move_on_after(PATIENCE):
                await trio.lowlevel.wait_readable(self._descriptor)
                return
            self._passage.release()
            await self._passage.deliver()
        await trio.lowlevel.wait_readable(self._descriptor)

    def take(self) -> None:
        """Pass on what is there now, and no more."""
        left = unread(self._descriptor)
        while left > 0 and (piece := os.read(self._descriptor, min(left, WIDE))):
            self._passage.take(piece)
            left -= len(piece)

    async def finish(self) -> None:
        """Pass on what is there now, also to who reads it as it comes.

        What may be the beginning of a value is kept for :meth:`duplicate`, if more may come.
        """
        self.has_ended = was_closed(self._descriptor)
        self.take()
        if self.has_ended:
            self._passage.end()
        else:
            self._passage.release()
        await self._passage.deliver()

    def was_opened(self) -> bool:
        """Whether anybody has ever had the FIFO open for writing."""
        if was_closed(self._descriptor):
            return True
        try:
            piece = os.read(self._descriptor, WIDE)
        except BlockingIOError:
            return True
        self._passage.take(piece)
        return bool(piece)

    def duplicate(self, feed: Callable[[bytes], None]) -> Capture:
        """A capture of what comes from now on, for ``feed``. The caller closes it."""
        return Capture(os.dup(self._descriptor), self._passage.another(feed))

    def close(self) -> None:
        """Let go of the FIFO."""
        self._closed = True
        trio.lowlevel.notify_closing(self._descriptor)
        os.close(self._descriptor)
