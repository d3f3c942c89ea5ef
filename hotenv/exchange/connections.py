"""The connections of a server, and room for the next one.

A client that opens connections and sends nothing must not keep others out. The capacity is below
the limit of descriptors; when it is used up, the connection that has gone longest without a
complete request is dropped. Trio's own ``serve_listeners`` would wait for a descriptor instead, and
log a traceback each time.
"""

from __future__ import annotations

import errno
import resource

import trio

_SPARE_DESCRIPTORS = 24
_MIN_CAPACITY = 2  # for a client that is silent and for one that is not
_MAX_CAPACITY = 1000
_EXHAUSTED = {errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM}
_TURNS = 3  # of the scheduler, until a request that has arrived is read and answered
_RETRY = 0.05  # seconds until it is tried again although no connection was released


def available_capacity() -> int:
    """How many connections the process may hold at once under its limit of descriptors."""
    try:
        limit, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    except OSError:  # refused by a filter
        return _MIN_CAPACITY
    if limit == resource.RLIM_INFINITY:
        return _MAX_CAPACITY
    return max(_MIN_CAPACITY, min(_MAX_CAPACITY, limit - _SPARE_DESCRIPTORS))


class Connections:
    """The connections of one server: at most ``capacity`` between accept and release.

    Each comes with a scope for its handler to run in, which is cancelled ``timeout`` seconds after
    accept, or when there is no room for another while its request is not complete.
    """

    def __init__(self, capacity: int, timeout: float) -> None:
        self._capacity = capacity
        self._timeout = timeout
        self._open = 0
        self._waiting: dict[trio.CancelScope, None] = {}  # without a complete request; oldest first
        self._released = trio.lowlevel.ParkingLot()

    async def accept(
        self, listener: trio.abc.Listener[trio.abc.Stream]
    ) -> tuple[trio.abc.Stream, trio.CancelScope]:
        """The next connection, which counts until its handler releases it.

        Error handling: waits and tries again when the process or the system has no descriptor
        left; any other OSError of the listener is raised.
        """
        while True:
            try:
                if self._open < self._capacity:
                    stream = await listener.accept()
                    scope = trio.CancelScope(deadline=trio.current_time() + self._timeout)
                    self._open += 1
                    self._waiting[scope] = None
                    return stream, scope
            except OSError as error:
                if error.errno not in _EXHAUSTED:
                    raise
            await self.make_room()

    def settle(self, scope: trio.CancelScope) -> None:
        """The request of this connection is complete: it is not dropped for another."""
        self._waiting.pop(scope, None)

    def release(self, scope: trio.CancelScope) -> None:
        """This connection does not count any more."""
        self.settle(scope)
        self._open -= 1
        self._released.unpark()

    async def make_room(self) -> None:
        """Return when a connection was released, or when it is time to try again.

        For a descriptor that is needed: connections without a complete request are dropped.
        """
        before = self._open
        for _ in range(_TURNS):
            await trio.lowlevel.checkpoint()
        if self._open < before:
            return
        if len(self._waiting) > 1:  # the newest stays: its client may be about to send
            self._drop_oldest()
        with trio.move_on_after(_RETRY) as patience:
            await self._released.park()
        if patience.cancelled_caught and self._waiting:
            self._drop_oldest()

    def _drop_oldest(self) -> None:
        oldest = next(iter(self._waiting))
        self.settle(oldest)
        oldest.cancel()
