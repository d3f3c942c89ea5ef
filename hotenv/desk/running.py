"""A command that the desk runs, and what the command inside says meanwhile."""

from __future__ import annotations

import signal
from contextlib import aclosing

import trio

from hotenv.desk import frames
from hotenv.desk.attended import Attended
from hotenv.desk.request import LARGEST
from hotenv.errors import ArtifactError, HotenvError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from hotenv.desk.connection import Connection

_MANY = 10_000  # frames that wait
_SAID = (frames.RESIZED, frames.SIGNAL, frames.LOST)
_LONGEST = 8  # bytes of what is said
_PASSED_ON = {
    *(signal.SIGHUP, signal.SIGINT, signal.SIGQUIT, signal.SIGTERM, signal.SIGCONT),
    *(signal.SIGTSTP, signal.SIGUSR1, signal.SIGUSR2, signal.SIGKILL),
}


class Running:
    """What one command inside says while its command runs.

    One that does not keep to the rules is taken for gone.
    """

    def __init__(self) -> None:
        self._attended: Attended | None = None
        self._said: list[tuple[bytes, bytes]] = []
        self._waiting = 0  # bytes of input
        self._input = bytearray()
        self._has_ended = False
        self._more = trio.Event()

    async def listen(self, connection: Connection, scope: trio.CancelScope) -> None:
        """Do what it says; cancel ``scope`` when it is gone."""
        try:
            async with aclosing(connection.frames()) as said:
                async for kind, payload in said:
                    if kind in (frames.INPUT, frames.END_OF_INPUT):
                        self._take_input(payload)
                    elif kind not in _SAID or len(payload) > _LONGEST:
                        raise ArtifactError("a frame that is not known")
                    elif self._attended is not None:
                        await self._do(self._attended, kind, payload)
                    elif len(self._said) < _MANY:
                        self._said.append((kind, payload))
        except HotenvError:
            pass
        scope.cancel()

    def _take_input(self, payload: bytes) -> None:
        self._waiting += len(payload)
        if self._waiting > frames.INPUT_WINDOW:
            raise ArtifactError("more input than is allowed")
        self._input += payload
        self._has_ended = self._has_ended or not payload
        self._more.set()

    async def follow(self, attended: Attended, connection: Connection) -> int:
        """Let it do so with ``attended``, and pass on what that writes. Its wait status.

        Error handling: raises the HotenvError because of which it was not executed.
        """
        for kind, payload in self._said:
            await self._do(attended, kind, payload)
        self._attended = attended
        await connection.send(frames.encode(frames.STARTED))
        outcome: int | HotenvError = 0
        async with trio.open_nursery() as nursery:
            nursery.start_soon(self._write, attended, connection)
            async with trio.open_nursery() as outputs:
                for stream, kind in ((1, frames.STDOUT), (2, frames.STDERR)):
                    outputs.start_soon(_carry, attended, stream, kind, connection)
                outcome = await _ended(attended, connection)
            nursery.cancel_scope.cancel()
        if isinstance(outcome, HotenvError):
            raise outcome
        return outcome

    async def _write(self, attended: Attended, connection: Connection) -> None:
        while not self._has_ended or self._input:
            await self._more.wait()
            self._more = trio.Event()
            while data := bytes(self._input[: frames.PIECE]):
                del self._input[: len(data)]
                await attended.write(data)
                self._waiting -= len(data)
                await connection.send(frames.encode_number(frames.TAKEN, len(data)))
        await attended.end(0)

    async def _do(self, attended: Attended, kind: bytes, payload: bytes) -> None:
        if kind == frames.RESIZED and len(payload) == 8:
            rows, columns = frames.number(payload[:4]), frames.number(payload[4:])
            if 0 <= rows <= LARGEST and 0 <= columns <= LARGEST:
                attended.resize(rows, columns)
        elif kind == frames.SIGNAL:
            signum = frames.number(payload)
            if signum in _PASSED_ON:
                await attended.send_signal(signum)
        elif kind == frames.LOST:
            await attended.end(frames.number(payload))


async def _ended(attended: Attended, connection: Connection) -> int | HotenvError:
    """The wait status, or why there is none: a nursery would put it into a group."""

    async def stopped(status: int) -> None:
        await connection.send(frames.encode_number(frames.STOPPED, status))

    try:
        return await attended.ended(stopped)
    except HotenvError as error:
        return error


async def _carry(attended: Attended, stream: int, kind: bytes, connection: Connection) -> None:
    async def deliver(data: bytes) -> None:
        await connection.send(frames.encode(kind, data))

    await attended.follow(stream, deliver)
