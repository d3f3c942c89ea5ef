"""The server: a nursery with a listener, an idle watchdog and a receiver of signals.

Whatever ends it goes the same way: the nursery is cancelled, no more connections are accepted,
requests in flight get a moment (none after an expiry: the secrets' time is over), and then the
session is released in its order, the socket before the marker. An expiry leaves a note.

Nothing here waits for a file system or a lock on the event loop, which is the caller's.
"""

from __future__ import annotations

import enum
import math
import os
import threading
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Mapping
from contextlib import asynccontextmanager
from functools import partial

import trio

from hotenv.durations import DEFAULT_TIMEOUT
from hotenv.errors import UsageError, attempt
from hotenv.exchange import protocol
from hotenv.exchange.connections import Connections, available_capacity
from hotenv.serving.confinement import can_refuse
from hotenv.serving.responder import Listener, OnEvent, Responder
from hotenv.serving.watchdog import Watchdog
from hotenv.session.claim import Session, claim
from hotenv.session.clock import boot_time
from hotenv.session.markerfile import MayReplace, always
from hotenv.session.status import Status
from hotenv.snapshot import Snapshot

EXCHANGE_TIMEOUT = 5.0
"""Seconds that one connection may take from accept to the last byte of its response."""

GRACE_PERIOD = 2.0
"""Seconds that requests in flight get after a signal."""

PUBLISH_EVERY = 0.2
"""Seconds at least between two publications of the deadline."""


class Ending(enum.Enum):
    """Why a server ended: the session expired, a signal came, or its marker or socket was gone."""

    EXPIRED = "expired"
    SIGNAL = "signal"
    LOST = "lost"


async def serve(
    snapshot: Snapshot,
    directory: str | os.PathLike[str] | None = None,
    *,
    listener: Listener | None = None,
    timeout: float = DEFAULT_TIMEOUT,  # noqa: ASYNC109 - of the session, not of the call
    max_age: float = math.inf,
    force: bool = False,
    allow_confined: bool = False,
    task_status: trio.TaskStatus[Session | None] = trio.TASK_STATUS_IGNORED,
) -> Ending:
    """Serve ``snapshot`` until the session is idle for ``timeout`` seconds, or until cancelled.

    It also ends ``max_age`` seconds after its start, even if in use, and when its marker or socket
    is removed or replaced. Time that the machine sleeps counts.

    Pass either a ``directory``, where a marker is created for :func:`hotenv.fetch` and the commands
    to find (``force`` replaces an existing one), or a ``listener`` of your own. To be started with
    ``await nursery.start(...)``, which returns the session (its ``marker_path`` and
    ``socket_path``; None with a listener) once a client can connect. It takes no signals.

    On Linux, clients that have NoNewPrivs (as in a sandbox), or that this process cannot see (as in
    another container), are refused, unless ``allow_confined``, or this process has NoNewPrivs too.

    Resource handling: the listener is closed; the socket and the marker are removed. If it expired,
    a note stays in the runtime directory, and no session above takes its place (see
    :func:`hotenv.fetch`).

    Error handling: raises UsageError for invalid arguments; SessionExistsError if the directory has
    a marker; SystemFailureError if the session cannot be created or removed, the snapshot is too
    large to be sent, or the listener fails. None of them is in a group.
    """
    if not (0 < timeout < math.inf and max_age > 0):
        raise UsageError(
            "timeout and max_age must be greater than zero, and timeout must be finite"
        )
    if (directory is None) == (listener is None):
        raise UsageError("serve requires either directory or listener, not both")
    response = protocol.encode_response(dict(snapshot))
    watchdog = Watchdog(timeout, max_age)
    if listener is not None:
        task_status.started(None)
        return await hold(listener, response, watchdog, allow_confined=allow_confined)
    assert directory is not None  # noqa: S101 - for type checkers
    async with open_session(
        os.fspath(directory),
        watchdog,
        variables=len(snapshot),
        may_replace=always if force else None,
    ) as session:
        task_status.started(session)
        return await hold_session(session, response, watchdog, allow_confined=allow_confined)


@asynccontextmanager
async def open_session(
    directory: str,
    watchdog: Watchdog,
    *,
    variables: int,
    may_replace: MayReplace | None = None,
    log: str | None = None,
    standalone: bool = False,
    composition: dict[str, object] | None = None,
) -> AsyncIterator[Session]:
    """Claim a session in ``directory`` for the length of the block. See Status for the arguments.

    Cancelling the claim leaves nothing behind. Errors are those of
    :func:`hotenv.session.claim.claim`.
    """
    now, age = boot_time(), watchdog.age_remaining
    describe = partial(
        Status,
        started=time.time(),
        timeout=float(watchdog.timeout),
        deadline=now + watchdog.remaining,
        end=None if age == math.inf else now + age,
        variables=variables,
        log=log,
        standalone=standalone,
        composition=composition,
    )

    def pause(seconds: float) -> None:
        # While another process holds a lock, the thread waits in Trio: it can be cancelled there.
        trio.from_thread.run(trio.sleep, seconds)

    claimed = claim(directory, describe=describe, may_replace=may_replace, pause=pause)
    session = await trio.to_thread.run_sync(claimed.__enter__)
    try:
        yield session
    finally:
        with trio.CancelScope(shield=True):
            await trio.to_thread.run_sync(claimed.__exit__, None, None, None)


async def hold_session(
    session: Session,
    response: bytes | memoryview,
    watchdog: Watchdog,
    *,
    wait_for_signal: Callable[[], Awaitable[None]] | None = None,
    on_event: OnEvent | None = None,
    allow_confined: bool = False,
) -> Ending:
    """:func:`hold` for a claimed session: publishes its deadline, and ends when it is lost.

    If it expired, its release will leave a note.
    """
    ending = await hold(
        trio.SocketListener(trio.socket.from_stdlib_socket(session.listener)),
        response,
        watchdog,
        session=session,
        wait_for_signal=wait_for_signal,
        on_event=on_event,
        allow_confined=allow_confined,
    )
    if ending is Ending.EXPIRED:
        session.expire()
    return ending


async def hold(
    listener: Listener,
    response: bytes | memoryview,
    watchdog: Watchdog,
    *,
    session: Session | None = None,
    wait_for_signal: Callable[[], Awaitable[None]] | None = None,
    on_event: OnEvent | None = None,
    capacity: int | None = None,
    allow_confined: bool = False,
) -> Ending:
    """Answer every request with ``response`` until ``watchdog`` expires or a signal comes.

    Ends too when ``session`` is lost. ``on_event`` is told of each request. ``capacity`` limits the
    number of connections at once, by default to what the limit of descriptors allows.
    ``allow_confined``: see :func:`serve`.

    Error handling: raises SystemFailureError if the listener fails.
    """
    connections = Connections(capacity or available_capacity(), EXCHANGE_TIMEOUT)
    responder = Responder(
        response,
        watchdog,
        on_event,
        connections,
        allow_confined=allow_confined or not can_refuse(),
    )
    triggers: dict[Ending, Callable[[], Awaitable[object]]] = {
        Ending.EXPIRED: watchdog.wait_expired
    }
    if wait_for_signal is not None:
        triggers[Ending.SIGNAL] = wait_for_signal
    if session is not None:
        triggers[Ending.LOST] = partial(_wait_until_lost, session)
    failure: BaseException
    try:
        async with trio.open_nursery() as requests:  # outlives the service
            services: list[Callable[[], Awaitable[object]]] = [
                partial(responder.listen, listener, requests)
            ]
            if session is not None:
                services.append(partial(_publish_deadlines, session, watchdog))
            ending = await _run_services(services, triggers)
            if ending is Ending.EXPIRED:
                requests.cancel_scope.cancel()
            requests.cancel_scope.deadline = trio.current_time() + GRACE_PERIOD
        return ending
    except* OSError as group:  # of the listener; in the groups of both nurseries
        failure = group
    with attempt("accept connections"):
        while isinstance(failure, BaseExceptionGroup):
            failure = failure.exceptions[0]
        raise failure


async def _run_services(
    services: Iterable[Callable[[], Awaitable[object]]],
    triggers: Mapping[Ending, Callable[[], Awaitable[object]]],
) -> Ending:
    """Run ``services`` until the first of ``triggers`` returns; which one that was."""
    endings: list[Ending] = []

    async def end_after(ending: Ending) -> None:
        await triggers[ending]()
        endings.append(ending)
        nursery.cancel_scope.cancel()

    async with trio.open_nursery() as nursery:
        for service in services:
            nursery.start_soon(service)
        for ending in triggers:
            nursery.start_soon(end_after, ending)
    # Whatever came meanwhile: after an expiry nothing more is sent.
    return Ending.EXPIRED if Ending.EXPIRED in endings else endings[0]


async def _wait_until_lost(session: Session) -> None:
    """Return when clients cannot find ``session`` any more.

    In a thread of its own, and not in one of the caller's limited number: it lasts as long as the
    session, and does not keep that waiting at its end, wherever it hangs.
    """
    stop = threading.Event()
    try:
        await trio.to_thread.run_sync(
            session.wait_until_lost, stop, abandon_on_cancel=True, limiter=trio.CapacityLimiter(1)
        )
    finally:
        stop.set()


async def _publish_deadlines(session: Session, watchdog: Watchdog) -> None:
    """Publish the deadline of ``session`` soon after each request that moved it."""
    while True:
        await watchdog.wait_touched()
        deadline = boot_time() + watchdog.remaining
        await trio.to_thread.run_sync(session.publish_deadline, deadline, abandon_on_cancel=True)
        await trio.sleep(PUBLISH_EVERY)
