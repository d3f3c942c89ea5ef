"""A command whose output is read as it comes."""

from __future__ import annotations

from functools import partial

import trio
from attrs import field, frozen

from hotenv.shell.outputs import STREAMS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Sequence
    from typing import Self

    from hotenv.shell.passage import Deliver
    from hotenv.shell.result import Result


@frozen
class Chunk:
    """A piece of output. ``stream``: ``stdout`` or ``stderr``. ``data``: not shown by ``repr``."""

    stream: str
    data: bytes = field(repr=False)


class Running:
    """A command that is running: iterate over it for its output, as a :class:`Chunk` each."""

    def __init__(self) -> None:
        self._sender, self._chunks = trio.open_memory_channel[Chunk](0)
        self._result: Result | None = None
        self._error: Exception | None = None

    @property
    def result(self) -> Result:
        """What has come of the command. Raises RuntimeError before all output has been read."""
        if self._result is None:
            raise RuntimeError("the command has not ended: read its output first")
        return self._result

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> Chunk:
        async for chunk in self._chunks:
            return chunk
        if self._error is not None:
            raise self._error
        raise StopAsyncIteration

    async def follow(self, run: Callable[[Sequence[Deliver]], Awaitable[Result]]) -> None:
        """Let ``run`` run the command and deliver its output."""
        async with self._sender:
            try:
                self._result = await run([partial(self._send, each) for each in STREAMS])
            except Exception as error:
                self._error = error

    async def _send(self, stream: str, piece: bytes) -> None:
        await self._sender.send(Chunk(stream, piece))
