"""A dead man's switch: the kernel ends a server that was stopped or hangs past its deadline.

A process that is stopped (SIGSTOP, a debugger, a frozen cgroup) cannot watch a clock, and would
hold its secrets for ever. Two timers of the kernel move with the deadline. One, on the clock that
counts sleep, lets a stopped server go on at its deadline, so that it ends in order. The other kills
one that has not ended some seconds later; its clock stands still while the machine sleeps, or every
server would be killed at the end of a suspend, before its orderly end.

For a process that is nothing but a server, and created in it after the last fork: timers are not
inherited. Where there are none (macOS), a stopped server keeps its secrets until it goes on.
"""

from __future__ import annotations

import math
import signal
import time
from contextlib import suppress

from hotenv.libc import Timer

KILL_AFTER = 5.0
"""Seconds past its deadline after which a server is killed."""

_LONGEST = 10.0 * 365 * 24 * 3600  # seconds; a timer that is further away is not needed


class DeadManSwitch:
    """The two timers, if the system has them."""

    def __init__(self) -> None:
        self._continue: Timer | None = None
        self._kill: Timer | None = None
        with suppress(OSError, AttributeError):
            self._continue = Timer(getattr(time, "CLOCK_BOOTTIME"), signal.SIGCONT)  # noqa: B009 - Linux has it
            self._kill = Timer(time.CLOCK_MONOTONIC, signal.SIGKILL)

    def set(self, remaining: float) -> None:
        """The deadline is in ``remaining`` seconds."""
        if self._continue is None or self._kill is None or math.isinf(remaining):
            return
        remaining = min(max(remaining, 0.0), _LONGEST)
        self._continue.set(remaining)
        self._kill.set(remaining + KILL_AFTER)
