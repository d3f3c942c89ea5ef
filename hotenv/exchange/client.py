"""The client: finds a session's marker, asks its server, and checks what comes back.

There is one client, and it is async; the synchronous functions run it with ``trio.run``. It has no
nursery, so that a KeyboardInterrupt leaves it bare and not in a group.
"""

from __future__ import annotations

import errno
import os
from collections.abc import Sequence
from contextlib import suppress
from functools import partial

import trio

from hotenv.errors import ArtifactError, UsageError, because
from hotenv.exchange import protocol
from hotenv.exchange.answer import GONE, PATIENCE, TOO_SLOW, conclude, malformed, unreachable
from hotenv.exchange.peer import check_peer
from hotenv.session.marker import Marker, find_marker, read_marker
from hotenv.snapshot import Snapshot

_RETRY = 0.02  # seconds between tries while the server's backlog is full


async def fetch(
    args: Sequence[str] = (), *, folder: str | os.PathLike[str] | None = None
) -> Snapshot:
    """The environment of the session in ``folder`` (by default the current one), or above it.

    ``args`` are the words of the command that it is for: they appear in the server's log. Without
    them it is a dump. Gives up after PATIENCE seconds.

    Error handling: raises NoSessionError if there is no marker; UnreachableError if nobody
    trustworthy answers in time; ArtifactError if the marker or the answer is malformed;
    SystemFailureError if the marker is not the caller's alone or the server failed.
    """
    if isinstance(args, str):
        raise UsageError("the words of a command are a list of strings, not one string")
    request = protocol.Request("run" if args else "dump", args)
    marker = read_marker(find_marker(None if folder is None else os.fspath(folder)))
    return Snapshot(await exchange(marker, request))


def fetch_sync(
    args: Sequence[str] = (), *, folder: str | os.PathLike[str] | None = None
) -> Snapshot:
    """The same as :func:`fetch` for code without Trio: runs it with ``trio.run``."""
    return trio.run(partial(fetch, args, folder=folder))


def exchange_sync(marker: Marker, request: protocol.Request) -> dict[str, str]:
    """The same as :func:`exchange` for the commands, which have found the marker already."""
    return trio.run(exchange, marker, request)


async def exchange(marker: Marker, request: protocol.Request) -> dict[str, str]:
    """Send ``request`` to the session of ``marker``; return the variables of its answer."""
    line = protocol.encode_request(request)
    reader = protocol.LineReader(protocol.RESPONSE_LIMIT)
    reason = TOO_SLOW
    with trio.move_on_after(PATIENCE):
        async with await _connect(marker) as stream:
            check_peer(stream.socket, marker)
            # Broken: it may have refused before it had read everything, and then says so.
            with suppress(trio.BrokenResourceError):
                await stream.send_all(line)
            await _receive(marker, stream, reader)
            reason = GONE
    return conclude(marker, reader, reason)


async def _connect(marker: Marker) -> trio.SocketStream:
    """A connection to the session of ``marker``. Waits as long as it may if the backlog is full."""
    while True:
        connection = trio.socket.socket(trio.socket.AF_UNIX, trio.socket.SOCK_STREAM)
        try:
            await connection.connect(marker.socket)
            # A full backlog is EAGAIN, which Trio takes for a connection in the making.
            connection.getpeername()
        except OSError as error:
            connection.close()
            if error.errno not in (errno.ENOTCONN, errno.EAGAIN):
                reason = f"{marker.socket}: {because(error)}"
                raise unreachable(marker, reason) from error
            await trio.sleep(_RETRY)
        except BaseException:
            connection.close()
            raise
        else:
            return trio.SocketStream(connection)


async def _receive(marker: Marker, stream: trio.SocketStream, reader: protocol.LineReader) -> None:
    """Read until the server closes the connection, as it does after its one line."""
    try:
        while data := await stream.receive_some():
            reader.feed(data)
    except trio.BrokenResourceError:
        pass  # the same as an end: what has come decides
    except ArtifactError as error:
        raise malformed(marker, error) from None
