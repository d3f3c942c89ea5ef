"""The clock of a session: seconds since the machine was started, asleep or awake."""

from __future__ import annotations

import time

_CLOCK = getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC)  # macOS: the latter counts sleep


def boot_time() -> float:
    """Now, in seconds; the same for all processes of the machine."""
    return time.clock_gettime(_CLOCK)
