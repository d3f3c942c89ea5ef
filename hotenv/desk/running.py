"""A command that the desk runs, and what the command inside says meanwhile."""

from __future__ import annotations

import signal

import trio

from hotenv.desk import frames
from hotenv.desk.attended import Attended
from hotenv.errors import HotenvError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from hotenv.desk.connection import Connection

_MANY = 1_000_000  # frames of input: the window is the limit
_MOST_ROWS = 10_000
_PASSED_ON = {
    *(signal.SIGHUP, signal.SIGINT, signal.SIGQUIT, signal.SIGTERM, signal.SIGCONT),
    *(signal.SIGTSTP, signal.SIGUSR1, signal.SIGUSR2, signal.SIGKILL),
}


class Running:
    """What one command inside says while its command runs."""

    def __init__(self) -> None:
        self._attended: Attended | None = None
        self._said: list[tuple[bytes, bytes]] = []
        self._input, self._to_write = trio.open_memory_channel[bytes | None](_MANY)

    async def listen(self, connection: Connection, scope: trio.CancelScope) -> None:
        """Do what it says; cancel ``scope`` when it is gone."""
        try:
            async for kind, payload in connection.frames():
                if kind == frames.INPUT:
                    self._input.send_nowait(payload)
                elif kind == frames.END_OF_INPUT:
                    self._input.send_nowait(None)
                elif self._attended is None:
                    self._said.append((kind, payload))
                else:
                    await self._do(self._attended, kind, payload)
        except (HotenvError, trio.WouldBlock):
            pass  # it does not keep to the rules
        scope.cancel()

    async def follow(self, attended: Attended, connection: Connection) -> int:
        """Let it do so with ``attended``, and pass on what that writes. Its wait status."""
        for kind, payload in self._said:
            await self._do(attended, kind, payload)
        self._attended = attended

        async def stopped(status: int) -> None:
            await connection.send(frames.encode_number(frames.STOPPED, status))

        async with trio.open_nursery() as nursery:
            nursery.start_soon(self._write, attended, connection)
            async with trio.open_nursery() as outputs:
                for stream, kind in ((1, frames.STDOUT), (2, frames.STDERR)):
                    outputs.start_soon(_carry, attended, stream, kind, connection)
                status = await attended.ended(stopped)
            nursery.cancel_scope.cancel()
        return status

    async def _write(self, attended: Attended, connection: Connection) -> None:
        async for data in self._to_write:
            if data is None:
                await attended.end(0)
            else:
                await attended.write(data)
                await connection.send(frames.encode_number(frames.TAKEN, len(data)))

    async def _do(self, attended: Attended, kind: bytes, payload: bytes) -> None:
        if kind == frames.RESIZED and len(payload) == 8:
            rows, columns = frames.number(payload[:4]), frames.number(payload[4:])
            if 0 <= rows <= _MOST_ROWS and 0 <= columns <= _MOST_ROWS:
                attended.resize(rows, columns)
        elif kind == frames.SIGNAL:
            signum = frames.number(payload)
            if signum in _PASSED_ON:
                await attended.send_signal(signum)
        elif kind == frames.LOST:
            await attended.end(frames.number(payload))


async def _carry(attended: Attended, stream: int, kind: bytes, connection: Connection) -> None:
    async def deliver(data: bytes) -> None:
        await connection.send(frames.encode(kind, data))

    await attended.follow(stream, deliver)
