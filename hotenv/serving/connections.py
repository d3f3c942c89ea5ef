"""Which connections a server has, and room for the next one.

Somebody who opens connections and says nothing must not keep others out. There are fewer places
than descriptors; when all are taken, the connection that has gone longest without a complete
request gives up its place. Trio's own ``serve_listeners`` would wait for a descriptor instead, and
log a traceback each time.
"""

from __future__ import annotations

import errno
import resource

import trio

_SPARE_DESCRIPTORS = 24
_FEWEST_PLACES = 2  # for somebody who is silent and for somebody who is not
_MOST_PLACES = 1000
_EXHAUSTED = {errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM}
_TURNS = 3  # of the scheduler, until a request that has come already is read
_RETRY = 0.05  # seconds until it is tried again although no place became free


def places_available() -> int:
    """How many connections the process may hold at once under its limit of descriptors."""
    limit, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    if limit == resource.RLIM_INFINITY:
        return _MOST_PLACES
    return max(_FEWEST_PLACES, min(_MOST_PLACES, limit - _SPARE_DESCRIPTORS))


class Connections:
    """The connections of one server: at most ``places`` between accept and release.

    Each comes with a scope for its handler to run in, which is cancelled ``limit`` seconds after
    accept, or when its place is needed while its request is not complete.
    """

    def __init__(self, places: int, limit: float) -> None:
        self._places = places
        self._limit = limit
        self._taken = 0
        self._waiting: dict[trio.CancelScope, None] = {}  # without a complete request; oldest first
        self._released = trio.lowlevel.ParkingLot()

    async def accept(
        self, listener: trio.abc.Listener[trio.abc.Stream]
    ) -> tuple[trio.abc.Stream, trio.CancelScope]:
        """The next connection, which takes a place. The handler gives it back (release).

        Error handling: waits and tries again when the process or the system has no descriptor
        left; any other OSError of the listener is raised.
        """
        while True:
            try:
                if self._taken < self._places:
                    stream = await listener.accept()
                    scope = trio.CancelScope(deadline=trio.current_time() + self._limit)
                    self._taken += 1
                    self._waiting[scope] = None
                    return stream, scope
            except OSError as error:
                if error.errno not in _EXHAUSTED:
                    raise
            await self._make_room()

    def settle(self, scope: trio.CancelScope) -> None:
        """The request of this connection is complete: it is not dropped for another."""
        self._waiting.pop(scope, None)

    def release(self, scope: trio.CancelScope) -> None:
        """Give the place of this connection back."""
        self.settle(scope)
        self._taken -= 1
        self._released.unpark()

    async def _make_room(self) -> None:
        """Return when a place became free, or when it is time to try again."""
        taken = self._taken
        for _ in range(_TURNS):
            await trio.lowlevel.checkpoint()
        if self._taken < taken:
            return
        self._drop_oldest(keep=1)  # the newest stays: its client may be about to speak
        with trio.move_on_after(_RETRY):
            await self._released.park()
            return
        self._drop_oldest()

    def _drop_oldest(self, keep: int = 0) -> None:
        if len(self._waiting) > keep:
            oldest = next(iter(self._waiting))
            self.settle(oldest)
            oldest.cancel()
