"""The clock of a session: seconds since the machine was started, asleep or awake."""

from __future__ import annotations

import time

_CLOCK = getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC)  # macOS: the latter counts sleep


def boot_time() -> float:
    """Now, in seconds; the same for all processes of the machine."""
    return time.clock_gettime(_CLOCK)


def time_asleep() -> float:
    """Seconds that the machine has slept: what Trio's clock, which stands still then, has missed.

    It has an unknown offset; only differences mean something.
    """
    awake = time.monotonic()  # first: a process that is stopped in between must not gain time
    return boot_time() - awake
