"""The process of a desk: a nursery with its two listeners, and what ends it.

It ends with the agent that it was started for: its standard input is at its end then. Cancelling
the nursery ends every command, and then the directory of the sockets is removed.
"""

from __future__ import annotations

import math
import os
import signal
import sys
from functools import partial
from typing import cast

import trio

from hotenv.audit.writer import check
from hotenv.coredump import forbid_core_dumps
from hotenv.desk.answering import serve_human
from hotenv.desk.desk import Desk
from hotenv.desk.place import Place
from hotenv.desk.settings import Settings, decode
from hotenv.errors import HotenvError, SystemFailureError
from hotenv.exchange.connections import Connections, available_capacity
from hotenv.handover.standin import encode_error

TYPE_CHECKING = False
if TYPE_CHECKING:
    import socket
    from collections.abc import Awaitable, Callable

    _Handle = Callable[[trio.SocketStream, Callable[[], None]], Awaitable[object]]
    """Serves one connection. Calls what it gets with that when it knows what that is for."""

READY = b"ready\n"
SIZE = 4
"""Bytes of the size of the settings, which come first."""

_PATIENCE = 10.0  # seconds until it is known what a connection is for
_HUMANS = 16
"""Connections of humans at once. Those of commands take no descriptor of theirs."""


async def serve(settings: Settings) -> None:
    """Serve until the agent has ended, or SIGTERM comes.

    Error handling: raises UsageError for what the project's file cannot say, SystemFailureError if
    the log cannot be written or there can be no sockets.
    """
    check(settings.audit)
    place = Place(settings.place)
    desk = Desk(settings)
    with trio.open_signal_receiver(signal.SIGTERM, signal.SIGHUP) as signals:
        requests, answers = place.listen()
        place.tell(settings.directory, os.getppid())
        try:
            async with trio.open_nursery() as nursery:
                nursery.start_soon(_accept, requests, desk.serve, available_capacity() // 4)
                nursery.start_soon(_accept, answers, partial(serve_human, desk), _HUMANS)
                nursery.start_soon(_cancel_at_end, nursery.cancel_scope)
                os.write(1, READY)
                async for _ in signals:
                    nursery.cancel_scope.cancel()
        finally:
            place.remove()


async def _accept(listener: socket.socket, handle: _Handle, capacity: int) -> None:
    """Have ``handle`` serve each connection, of which there are at most ``capacity`` at once."""
    source = trio.SocketListener(trio.socket.from_stdlib_socket(listener))
    connections = Connections(capacity, _PATIENCE)
    async with trio.open_nursery() as nursery:
        while True:
            stream, scope = await connections.accept(source)
            one = cast("trio.SocketStream", stream)
            nursery.start_soon(_serve_one, one, handle, connections, scope)


async def _serve_one(
    stream: trio.SocketStream, handle: _Handle, connections: Connections, scope: trio.CancelScope
) -> None:
    def settle() -> None:
        connections.settle(scope)
        scope.deadline = math.inf

    try:
        with scope:
            async with stream:
                await handle(stream, settle)
    except* Exception:  # noqa: S110 - it has ended, or something is wrong with it: others go on
        pass
    finally:
        connections.release(scope)


async def _cancel_at_end(scope: trio.CancelScope) -> None:
    """Cancel ``scope`` when standard input is at its end."""
    stream = trio.lowlevel.FdStream(os.dup(0))
    async with stream:
        while await stream.receive_some(1):
            pass
    scope.cancel()


def main() -> None:
    """Serve as standard input says. What goes wrong before READY is told on standard output."""
    forbid_core_dumps()
    try:
        settings = decode(_read(int.from_bytes(_read(SIZE), sys.byteorder)))
        trio.run(serve, settings)
    except* HotenvError as group:
        error = group.exceptions[0]
        os.write(1, encode_error(error))


def _read(size: int) -> bytes:
    data = b""
    while len(data) < size:
        if not (piece := os.read(0, size - len(data))):
            raise SystemFailureError("the desk got no settings")
        data += piece
    return data


if __name__ == "__main__":
    main()
