"""A clock for Trio that goes on while the machine sleeps.

Trio's own stands still then, and so would the time that is left for the secrets. The timeout of
epoll stands still too: a sleeper has to look at the clock now and then.
"""

from __future__ import annotations

import math

import trio

from hotenv.session.boottime import boot_time

LONGEST_SLEEP = 15.0
"""Seconds until it looks again: at most so long after waking up does a deadline go unnoticed."""


class BootClock(trio.abc.Clock):
    """Seconds since the machine was started, asleep or awake."""

    def start_clock(self) -> None:
        """Nothing to start."""

    def current_time(self) -> float:
        """Now, in seconds."""
        return boot_time()

    def deadline_to_sleep_time(self, deadline: float) -> float:
        """Seconds to sleep on the way to ``deadline``, LONGEST_SLEEP at most."""
        if deadline == math.inf:
            return math.inf
        return min(deadline - self.current_time(), LONGEST_SLEEP)
