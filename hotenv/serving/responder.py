"""Answers the connections of a session: each with its response, or why there is none.

Everything here belongs to one client and disturbs no other.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import suppress

import trio

from hotenv.errors import ArtifactError
from hotenv.exchange import protocol
from hotenv.exchange.connections import Connections
from hotenv.exchange.peer import identify
from hotenv.serving.confinement import refusal_message, why_refused
from hotenv.serving.events import Event, Outcome
from hotenv.serving.watchdog import Watchdog
from hotenv.session.clock import boot_time

_CHUNK = 64 * 1024
_RECEIVE = 64 * 1024

Listener = trio.abc.Listener[trio.abc.Stream]
OnEvent = Callable[[Event], None]


class Responder:
    """Answers every request with ``response``, if ``watchdog`` has not expired, and touches that.

    ``on_event`` is told of each. ``allow_confined``: clients that are confined or cannot be seen
    are answered too, see :mod:`hotenv.serving.confinement`.
    """

    def __init__(
        self,
        response: bytes | memoryview,
        watchdog: Watchdog,
        on_event: OnEvent | None,
        connections: Connections,
        *,
        allow_confined: bool,
    ) -> None:
        self._response = memoryview(response)
        self._watchdog = watchdog
        self._on_event = on_event
        self._connections = connections
        self._allow_confined = allow_confined

    async def listen(self, listener: Listener, requests: trio.Nursery) -> None:
        """Accept connections for good; each is answered by a task of ``requests``."""
        async with listener:
            while True:
                stream, scope = await self._connections.accept(listener)
                requests.start_soon(self._handle, stream, scope, boot_time())

    async def _handle(
        self, stream: trio.abc.Stream, scope: trio.CancelScope, accepted: float
    ) -> None:
        try:
            # Broken: the client went away. That is its own affair.
            with scope, suppress(trio.BrokenResourceError):
                async with stream:
                    await self._exchange(stream, scope, accepted)
        finally:
            self._connections.release(scope)

    async def _exchange(
        self, stream: trio.abc.Stream, scope: trio.CancelScope, accepted: float
    ) -> None:
        try:
            request = await _receive_request(stream)
        except ArtifactError as error:
            self._report(Outcome.REJECTED, None, stream)
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
        if (refused_to := await self._refused_to(stream, accepted)) is not None:
            self._report(Outcome.REFUSED, request, stream, refused_to)
            await stream.send_all(protocol.encode_refusal(refusal_message(refused_to)))
            return
        outcome = Outcome.ABANDONED
        try:
            if await self._send_response(stream):
                outcome = Outcome.ANSWERED
                self._watchdog.touch()
        finally:
            self._report(outcome, request, stream)

    async def _refused_to(self, stream: trio.abc.Stream, accepted: float) -> str | None:
        """What kind of a process the client is, if it must not be answered.

        A connection of another kind than ours is the affair of whoever made its listener.
        """
        if self._allow_confined or not isinstance(stream, trio.SocketStream):
            return None
        if stream.socket.family != trio.socket.AF_UNIX:
            return None
        while True:
            with suppress(OSError):  # no descriptors left
                return why_refused(stream.socket, accepted)
            await self._connections.make_room()

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

    def _report(
        self,
        outcome: Outcome,
        request: protocol.Request | None,
        stream: trio.abc.Stream,
        refused_to: str | None = None,
    ) -> None:
        if self._on_event is None:
            return
        peer = None
        if isinstance(stream, trio.SocketStream):
            with suppress(OSError):
                peer = identify(stream.socket)
        pid, uid = peer or (None, None)
        self._on_event(Event(outcome, request, time.time(), pid, uid, refused_to))


async def _receive_request(stream: trio.abc.Stream) -> protocol.Request:
    reader = protocol.LineReader(protocol.REQUEST_LIMIT)
    while not reader.complete:
        data = await stream.receive_some(_RECEIVE)
        if not data:
            raise ArtifactError("request is incomplete: no newline at its end")
        reader.feed(data)
    return protocol.decode_request(reader.line())
