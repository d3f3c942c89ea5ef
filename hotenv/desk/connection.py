"""A command inside, as the desk sees it: one connection, with frames in both directions."""

from __future__ import annotations

from contextlib import suppress

import trio

from hotenv.desk import frames
from hotenv.desk.request import Request, decode
from hotenv.errors import ArtifactError
from hotenv.exchange.peer import receive_from

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Callable


class Connection:
    """``stream``: to a command that wants to be run.

    ``pid``: of the process that has sent the request; 0 if it is not known.
    """

    def __init__(self, stream: trio.SocketStream) -> None:
        self.pid: int = 0
        self._stream = stream
        self._sending = trio.Lock()
        self._reader = frames.FrameReader()
        self._pending: list[tuple[bytes, bytes]] = []

    async def request(self, enlarge: Callable[[], None]) -> Request | bytes | None:
        """What it asks for: a command, or what it wants to know; None if nothing.

        ``enlarge``: called if it is longer than a piece; may raise a HotenvError.

        Error handling: raises ArtifactError if it is malformed.
        """
        size = 0
        while not self._pending and (data := await self._receive()):
            if size < frames.PIECE <= size + len(data):
                enlarge()
            size += len(data)
        if not self._pending:
            return None
        kind, payload = self._pending.pop(0)
        if kind == frames.QUERY:
            return payload
        if kind != frames.REQUEST:
            raise ArtifactError("the first frame is not a request")
        return decode(payload)

    async def _receive(self) -> bytes:
        """A piece, of which the frames are pending then. Those after the first are small."""
        try:
            data, self.pid = await receive_from(self._stream.socket, frames.PIECE)
        except OSError:  # it has ended
            return b""
        for frame in self._reader.feed(data):
            self._pending.append(frame)
            self._reader.longest = frames.PIECE
        return data

    async def frames(self) -> AsyncGenerator[tuple[bytes, bytes], None]:
        """What it sends after that, until it ends.

        Error handling: raises ArtifactError if that is malformed.
        """
        for frame in self._pending:
            yield frame
        try:
            while data := await self._stream.receive_some(frames.PIECE):
                for frame in self._reader.feed(data):
                    yield frame
        except trio.BrokenResourceError:
            pass

    async def send(self, frame: bytes) -> None:
        """Send it ``frame``. That it has ended is noticed where its frames are read."""
        async with self._sending:
            with suppress(trio.BrokenResourceError):
                await self._stream.send_all(frame)
