"""A connection to another machine, and sessions over it."""

from __future__ import annotations

import secrets
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from subprocess import PIPE
from typing import cast

import trio
from trio.lowlevel import FdStream

from hotenv.remote.destination import (
    BASH,
    COOKIE,
    GREETING_TIMEOUT,
    PATIENCE,
    master_words,
    session_words,
)
from hotenv.remote.here import cannot_run_ssh, control_socket, has_terminal
from hotenv.remote.records import Greeting

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

GONE = (trio.BrokenResourceError, trio.ClosedResourceError)
"""What reading and writing raise once a stream is closed, here or there."""

_PIECE = 64 * 1024
_NONCE = 8  # bytes


class Connection:
    """A connection to ``host``, whose sessions find each other by the socket ``control``.

    ``cookie``: what all processes there have in their environment, but for those of the first
    session.
    """

    def __init__(self, host: str, control: str) -> None:
        self.host = host
        self.cookie: str = f"{COOKIE}={secrets.token_hex(_NONCE)}"
        self._control = control
        self._channels: set[Channel] = set()

    async def open_first(self) -> Channel:
        """Make the connection; its first session. ssh asks on this process's terminal if need be.

        Without a terminal it asks nothing.
        """
        alone = not has_terminal()
        words = master_words(self.host, self._control, batch=alone)
        return await self._start([*words, f"exec {BASH}"], alone=alone)

    async def open(self, command: str = BASH) -> Channel:
        """One more session, which runs ``command``."""
        words = session_words(self.host, self._control)
        return await self._start([*words, f"exec env {self.cookie} {command}"], alone=True)

    async def _start(self, words: Sequence[str], *, alone: bool) -> Channel:
        """Start ssh. ``alone``: without a terminal, whose keys are for others."""
        try:
            process = await trio.lowlevel.open_process(
                words, stdin=PIPE, stdout=PIPE, stderr=PIPE, start_new_session=alone
            )
        except OSError as error:
            raise cannot_run_ssh(error) from error
        channel = Channel(process, self._channels.discard)
        self._channels.add(channel)
        return channel

    async def aclose(self) -> None:
        """Kill the processes of ssh that are left."""
        with trio.CancelScope(shield=True):
            for channel in list(self._channels):
                await channel.aclose(patience=0)


@asynccontextmanager
async def new_connection(host: str) -> AsyncIterator[Connection]:
    """A connection that will be made by its first session. Its socket is gone after the block."""
    with control_socket() as control:
        connection = Connection(host, control)
        try:
            yield connection
        finally:
            await connection.aclose()  # noqa: ASYNC102 - it is shielded, and bounded


class Channel:
    """A program on the other machine, and the process of ssh here that has its streams.

    ``on_close``: told when it is closed.
    """

    def __init__(self, process: trio.Process, on_close: Callable[[Channel], None]) -> None:
        self.stdin: FdStream = cast("FdStream", process.stdin)
        self.stdout: FdStream = cast("FdStream", process.stdout)
        self.stderr: FdStream = cast("FdStream", process.stderr)
        self._process = process
        self._on_close = on_close

    async def begin(self, script: bytes) -> bytes:
        """Have ``script`` run; the nonce that begins its first record, which it has as $nonce."""
        nonce = secrets.token_hex(_NONCE).encode()
        await self.send(b"nonce=%b\n%b" % (nonce, script))
        return nonce

    async def send(self, data: bytes) -> None:
        """Send ``data``. An end on the other side is not noticed here, but by reading."""
        with suppress(*GONE):
            await self.stdin.send_all(data)

    async def aclose(self, patience: float) -> None:
        """Close it. Waits ``patience`` seconds at most until ssh has ended, and kills it then."""
        with trio.CancelScope(shield=True):
            await self.stdin.aclose()
            with trio.move_on_after(patience):
                await self._process.wait()
            if self._process.returncode is None:
                self._process.kill()
                await self._process.wait()
            await self.stdout.aclose()
            await self.stderr.aclose()
        self._on_close(self)

    async def drain(self) -> int:
        """Wait until it has ended, whatever it prints; the exit code of ssh."""
        async with trio.open_nursery() as nursery:
            for stream in (self.stdout, self.stderr):
                nursery.start_soon(_drain, stream)
        return await self._process.wait()

    async def end(self) -> int:
        """End it, if it has not ended by itself; the exit code of ssh."""
        with trio.move_on_after(PATIENCE):
            return await self._process.wait()
        self._process.kill()
        return await self._process.wait()


async def greet(
    stream: trio.abc.ReceiveStream, nonce: bytes, patience: float = GREETING_TIMEOUT
) -> Greeting | None:
    """What comes through ``stream`` with the first record; None if it does not come.

    ``patience``: seconds to wait for it.
    """
    greeting = Greeting(nonce)
    with suppress(ValueError, trio.BrokenResourceError), trio.move_on_after(patience):
        while greeting.record is None and (data := await stream.receive_some(_PIECE)):
            greeting.feed(bytes(data))
    return None if greeting.record is None else greeting


async def _drain(stream: trio.abc.ReceiveStream) -> None:
    with suppress(*GONE):
        while await stream.receive_some(_PIECE):
            pass
