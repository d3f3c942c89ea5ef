"""The idle watchdog: a deadline that moves, and a scope that ends when it is reached.

Trio rule: moving the deadline of a scope that has already fired does nothing, and a move in the
very tick of the expiry would be lost. So the deadline is kept here, the scope only sleeps until
it, and what wakes up looks at the clock again.

Trio's clock stands still while the machine sleeps, and so would the time that is left for the
secrets; the timeout of epoll stands still too. So the time asleep is added to that clock, and the
scope ends now and then to look at it.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import trio

from hotenv.session.clock import time_asleep

LOOK_EVERY = 15.0
"""Seconds between looks at the clock: after a sleep, a deadline may go unnoticed this long."""


class Watchdog:
    """Expires ``timeout`` seconds after it was made or last :meth:`touch`-ed (specification, 10).

    And ``max_age`` seconds after it was made at the latest. Once it has expired it stays so.
    """

    def __init__(
        self,
        timeout: float,
        max_age: float = math.inf,
        asleep: Callable[[], float] = time_asleep,
        on_move: Callable[[float], None] | None = None,
    ) -> None:
        """``asleep``: see :func:`hotenv.session.clock.time_asleep`.

        ``on_move`` is told the seconds that remain each time the deadline moves.
        """
        self.timeout = timeout
        self.touched: trio.Event = trio.Event()
        self._asleep = asleep
        self._asleep_before = asleep()
        self._end = self._now() + max_age
        self._deadline = min(self._now() + timeout, self._end)
        self._scope = trio.CancelScope()
        self._expired = False
        self._on_move = on_move
        if on_move is not None:
            on_move(self.remaining)

    def touch(self) -> None:
        """Restart the timeout, unless it has expired; tells :meth:`wait_touched`."""
        if not self.expired:
            self._deadline = min(self._now() + self.timeout, self._end)
            self._scope.deadline = self._next_look()
            self.touched.set()
            if self._on_move is not None:
                self._on_move(self.remaining)

    async def wait_touched(self) -> None:
        """Return when it has been touched since it was made or since the last call."""
        await self.touched.wait()
        self.touched = trio.Event()

    @property
    def expired(self) -> bool:
        """Whether the time is over, by the clock and not by what the scheduler got to yet."""
        self._expired = self._expired or self._now() >= self._deadline
        return self._expired

    @property
    def remaining(self) -> float:
        """Seconds until it expires, if it is not touched."""
        return self._deadline - self._now()

    @property
    def age_remaining(self) -> float:
        """Seconds until it expires even if it is touched; infinite without ``max_age``."""
        return self._end - self._now()

    async def wait_expired(self) -> None:
        """Return when the time is over. For one task."""
        while not self.expired:
            self._scope = trio.CancelScope(deadline=self._next_look())
            with self._scope:
                await trio.sleep_forever()

    def _next_look(self) -> float:
        return trio.current_time() + min(self.remaining, LOOK_EVERY)

    def _now(self) -> float:
        return trio.current_time() + self._asleep() - self._asleep_before
