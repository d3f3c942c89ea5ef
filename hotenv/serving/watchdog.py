"""The idle watchdog: a deadline that moves, and a scope that ends when it is reached.

Trio rule: moving the deadline of a scope that has already fired does nothing, and a move in the
very tick of the expiry would be lost. So the deadline is kept here, the scope only sleeps until
it, and whoever wakes up looks at the clock again.
"""

from __future__ import annotations

import math

import trio


class Watchdog:
    """Expires ``timeout`` seconds after it was made or last :meth:`touch`-ed (specification, 10).

    And ``max_age`` seconds after it was made at the latest. Once it has expired it stays so.
    """

    def __init__(self, timeout: float, max_age: float = math.inf) -> None:
        self.timeout = timeout
        self._end = trio.current_time() + max_age
        self._deadline = math.inf
        self._scope = trio.CancelScope()
        self._expired = False
        self.touch()

    def touch(self) -> None:
        """Start the time anew, unless it is over."""
        if not self.expired:
            self._deadline = min(trio.current_time() + self.timeout, self._end)
            self._scope.deadline = self._deadline

    @property
    def expired(self) -> bool:
        """Whether the time is over, by the clock and not by what the scheduler got to yet."""
        self._expired = self._expired or trio.current_time() >= self._deadline
        return self._expired

    @property
    def left(self) -> float:
        """Seconds until it expires, if it is not touched."""
        return self._deadline - trio.current_time()

    @property
    def age_left(self) -> float:
        """Seconds until it expires however often it is touched; infinite without ``max_age``."""
        return self._end - trio.current_time()

    async def wait_expired(self) -> None:
        """Return when the time is over. For one task."""
        while not self.expired:
            self._scope = trio.CancelScope(deadline=self._deadline)
            with self._scope:
                await trio.sleep_forever()
