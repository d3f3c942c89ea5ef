"""The client: finds a session's marker, asks its server, and checks the answer.

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

from hotenv.errors import ArtifactError, FieldError, UsageError
from hotenv.exchange import protocol
from hotenv.exchange.answer import ANSWER_TIMEOUT, cannot_connect, conclude, malformed
from hotenv.exchange.peer import check_peer
from hotenv.session.find import find_session
from hotenv.session.marker import Marker
from hotenv.snapshot import Snapshot

_RETRY = 0.02  # seconds between tries while the server's backlog is full


async def fetch(
    argv: Sequence[str] = (),
    *,
    directory: str | os.PathLike[str] | None = None,
    above: bool = False,
) -> Snapshot:
    """The variables of the session in ``directory`` (by default the current one), or above it.

    ``argv`` is the command that they are for: it appears in the server's log. Without it the
    request is a dump. Gives up after ANSWER_TIMEOUT seconds. ``above`` takes a session above even
    where a nearer one has expired.

    Error handling: raises NoSessionError if there is no marker, or the nearest session has expired;
    UnreachableError if no trusted server answers in time; ArtifactError if the marker or the answer
    is malformed; SystemFailureError if the marker is not the caller's alone or the server failed;
    UsageError for invalid arguments.
    """
    if isinstance(argv, str):
        raise FieldError("argv", "must be a list of strings, not a string")
    request = protocol.Request("run" if argv else "dump", argv)
    place = None if directory is None else os.fspath(directory)
    find = partial(find_session, place, above=above, option="above=True")
    # In a thread: a network file system may hang. Reading can be abandoned.
    marker = await trio.to_thread.run_sync(find, abandon_on_cancel=True)
    return Snapshot(await exchange(marker, request))


def fetch_sync(
    argv: Sequence[str] = (),
    *,
    directory: str | os.PathLike[str] | None = None,
    above: bool = False,
) -> Snapshot:
    """The same as :func:`fetch` for code without Trio: runs it with ``trio.run``."""
    if trio.lowlevel.in_trio_run():
        raise UsageError("fetch_sync cannot be called within Trio: use 'await hotenv.fetch()'")
    return trio.run(partial(fetch, argv, directory=directory, above=above))


def exchange_sync(
    marker: Marker, request: protocol.Request, timeout: float = ANSWER_TIMEOUT
) -> dict[str, str]:
    """The same as :func:`exchange` for the commands, which have found the marker already."""
    return trio.run(exchange, marker, request, timeout)


async def exchange(
    marker: Marker,
    request: protocol.Request,
    timeout: float = ANSWER_TIMEOUT,  # noqa: ASYNC109 - a message names it
) -> dict[str, str]:
    """Send ``request`` to the session of ``marker``; return the variables of its answer."""
    line = protocol.encode_request(request)
    reader = protocol.LineReader(protocol.RESPONSE_LIMIT)
    timed_out: float | None = timeout
    with trio.move_on_after(timeout):
        async with await _connect(marker) as stream:
            check_peer(stream.socket, marker)
            # Broken: it may have rejected it before it had read everything, and then says so.
            with suppress(trio.BrokenResourceError):
                await stream.send_all(line)
            await _receive(marker, stream, reader)
            timed_out = None
    return conclude(marker, reader, timed_out)


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
                raise cannot_connect(marker, error) from error
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
