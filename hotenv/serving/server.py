"""The server: a nursery with a listener, an idle watchdog and a receiver of signals.

Whatever ends it goes the same way: the nursery is cancelled, no more connections are accepted,
requests in flight get a moment (none after an expiry: the secrets' time is over), and then the
session is released in its order, the socket before the marker.
"""

from __future__ import annotations

import enum
import math
import os
import time
from collections.abc import AsyncIterator, Callable
from contextlib import suppress
from functools import partial

import trio

from hotenv.durations import DEFAULT_TIMEOUT
from hotenv.errors import ArtifactError, UsageError
from hotenv.exchange import protocol
from hotenv.serving.connections import Connections, places_available
from hotenv.serving.watchdog import Watchdog
from hotenv.session.boottime import boot_time
from hotenv.session.claim import Session, claim
from hotenv.session.statusrecord import StatusRecord
from hotenv.snapshot import Snapshot

EXCHANGE_LIMIT = 5.0
"""Seconds that one connection may take from accept to the last byte of its response."""

GRACE = 2.0
"""Seconds that requests in flight get after a signal."""

LOOK_EVERY = 4.0
"""Seconds between looks whether clients can still find the session."""

_CHUNK = 64 * 1024
_RECEIVE = 64 * 1024

Listener = trio.abc.Listener[trio.abc.Stream]
OnRequest = Callable[[protocol.Request], None]


class Ending(enum.Enum):
    """Why a server ended: its time was over, a signal came, or nobody could find it any more."""

    EXPIRED = "expired"
    SIGNAL = "signal"
    LOST = "lost"


async def serve(
    snapshot: Snapshot,
    folder: str | os.PathLike[str] | None = None,
    *,
    listener: Listener | None = None,
    timeout: float = DEFAULT_TIMEOUT,  # noqa: ASYNC109 - of the session, not of the call
    max_age: float = math.inf,
    force: bool = False,
    task_status: trio.TaskStatus[Session | None] = trio.TASK_STATUS_IGNORED,
) -> Ending:
    """Serve ``snapshot`` until nobody has asked for ``timeout`` seconds, or until cancelled.

    It also ends ``max_age`` seconds after its start, asked or not, and when its marker or socket
    is removed or replaced by somebody.

    Give it a ``folder``, in which a marker is made so that :func:`hotenv.fetch` and the commands
    find it (``force`` replaces one that is there), or a ``listener`` that you made. To be started
    with ``await nursery.start(...)``, which returns the session (its ``marker_path`` and
    ``socket_path``; None with a listener) once a client can connect. It takes no signals.

    Resource handling: the listener is closed; the socket and the marker are removed.

    Error handling: raises UsageError for arguments that do not fit, SessionExistsError if the
    folder has a marker, SystemFailureError if the session cannot be made or removed or the
    snapshot is too large to be sent.
    """
    if not (0 < timeout < math.inf and max_age > 0):
        raise UsageError("timeout and max_age are numbers of seconds, more than zero")
    response = protocol.encode_response(snapshot)
    watchdog = Watchdog(timeout, max_age)
    if folder is not None and listener is None:
        description = partial(describe, watchdog=watchdog, variables=len(snapshot))
        with claim(os.fspath(folder), describe=description, force=force) as session:
            task_status.started(session)
            return await hold(
                listen_on(session),
                response,
                watchdog,
                can_be_found=session.can_be_found,
                on_request=lambda _request: session.postpone(boot_time() + watchdog.left),
            )
    if folder is None and listener is not None:
        task_status.started(None)
        return await hold(listener, response, watchdog)
    raise UsageError("serve needs a folder or a listener, and not both")


def describe(
    marker_path: str,
    *,
    watchdog: Watchdog,
    variables: int,
    log: str | None = None,
    standalone: bool = False,
) -> StatusRecord:
    """What is published about a session that begins now. See StatusRecord for the arguments."""
    now = boot_time()
    return StatusRecord(
        marker=marker_path,
        started=time.time(),
        timeout=float(watchdog.timeout),
        deadline=now + watchdog.left,
        end=None if watchdog.age_left == math.inf else now + watchdog.age_left,
        variables=variables,
        log=log,
        standalone=standalone,
    )


def listen_on(session: Session) -> Listener:
    """The listener of a claimed session."""
    return trio.SocketListener(trio.socket.from_stdlib_socket(session.listener))


async def hold(
    listener: Listener,
    response: bytes | memoryview,
    watchdog: Watchdog,
    *,
    signals: AsyncIterator[int] | None = None,
    can_be_found: Callable[[], bool] | None = None,
    on_request: OnRequest | None = None,
    places: int | None = None,
) -> Ending:
    """Answer every request with ``response`` until ``watchdog`` expires or a signal comes.

    Ends too when ``can_be_found``, asked every LOOK_EVERY seconds, is false. ``on_request`` is told
    of each request whose response was sent. ``places`` is how many connections there are at most
    at once, by default what the limit of descriptors allows.
    """
    connections = Connections(places or places_available(), EXCHANGE_LIMIT)
    server = _Server(response, watchdog, on_request, connections)
    endings: list[Ending] = []

    def end(why: Ending) -> None:
        endings.append(why)
        service.cancel_scope.cancel()

    async def end_when_expired() -> None:
        await watchdog.wait_expired()
        end(Ending.EXPIRED)

    async def end_at_signal(signals: AsyncIterator[int]) -> None:
        async for _ in signals:
            end(Ending.SIGNAL)

    async def end_when_lost(can_be_found: Callable[[], bool]) -> None:
        while can_be_found():  # noqa: ASYNC110 - nobody could set an Event for a file that is gone
            await trio.sleep(LOOK_EVERY)
        end(Ending.LOST)

    async with trio.open_nursery() as requests:  # outlives the service by GRACE
        async with trio.open_nursery() as service:
            service.start_soon(server.listen, listener, requests)
            service.start_soon(end_when_expired)
            if signals is not None:
                service.start_soon(end_at_signal, signals)
            if can_be_found is not None:
                service.start_soon(end_when_lost, can_be_found)
        if Ending.EXPIRED in endings:
            requests.cancel_scope.cancel()
        requests.cancel_scope.deadline = trio.current_time() + GRACE
    return endings[0]


class _Server:
    """One listener's connections. Everything here belongs to one client and disturbs no other."""

    def __init__(
        self,
        response: bytes | memoryview,
        watchdog: Watchdog,
        on_request: OnRequest | None,
        connections: Connections,
    ) -> None:
        self._response = memoryview(response)
        self._watchdog = watchdog
        self._on_request = on_request
        self._connections = connections

    async def listen(self, listener: Listener, requests: trio.Nursery) -> None:
        async with listener:
            while True:
                stream, scope = await self._connections.accept(listener)
                requests.start_soon(self._handle, stream, scope)

    async def _handle(self, stream: trio.abc.Stream, scope: trio.CancelScope) -> None:
        try:
            # Broken: the client went away. That is its own affair.
            with scope, suppress(trio.BrokenResourceError):
                async with stream:
                    await self._exchange(stream, scope)
        finally:
            self._connections.release(scope)

    async def _exchange(self, stream: trio.abc.Stream, scope: trio.CancelScope) -> None:
        try:
            request = await _receive_request(stream)
        except ArtifactError as error:
            await stream.send_all(protocol.encode_error(protocol.BAD_REQUEST, str(error)))
            return
        except trio.BrokenResourceError:
            raise
        except Exception as error:
            # A mistake of ours: it must not end everybody's session, nor look like a client's.
            message = f"unexpected {type(error).__name__}"
            await stream.send_all(protocol.encode_error(protocol.INTERNAL, message))
            return
        self._connections.settle(scope)
        if await self._send_response(stream):
            self._watchdog.touch()
            if self._on_request is not None:
                self._on_request(request)

    async def _send_response(self, stream: trio.abc.Stream) -> bool:
        """Send it and return True; or return False as soon as the session has expired.

        The clock decides and not the scheduler: a process that was stopped, or a machine that
        slept, comes back here before the watchdog has run.
        """
        for start in range(0, len(self._response), _CHUNK):
            if self._watchdog.expired:
                return False
            await stream.send_all(self._response[start : start + _CHUNK])
        return True


async def _receive_request(stream: trio.abc.Stream) -> protocol.Request:
    reader = protocol.LineReader(protocol.REQUEST_LIMIT)
    while not reader.complete:
        data = await stream.receive_some(_RECEIVE)
        if not data:
            raise ArtifactError("the request has no end")
        reader.feed(data)
    return protocol.decode_request(reader.line())
