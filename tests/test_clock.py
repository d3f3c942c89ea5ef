"""The clock that counts sleep."""

from __future__ import annotations

import math
import time

import pytest
import trio

from hotenv.serving.clock import LONGEST_SLEEP, BootClock
from hotenv.serving.watchdog import Watchdog


class SleepingMachine(BootClock):
    """Suspended for eight hours each time somebody goes to sleep on it."""

    def __init__(self) -> None:
        self.suspended = 0.0

    def current_time(self) -> float:
        return super().current_time() + self.suspended

    def deadline_to_sleep_time(self, deadline: float) -> float:
        if deadline == math.inf:
            return math.inf
        self.suspended += 8 * 3600
        return 0


def test_a_session_is_over_when_the_machine_wakes() -> None:
    """An idle limit of seven hours does not outlast a night."""

    async def main() -> None:
        watchdog = Watchdog(7 * 3600)
        await watchdog.wait_expired()
        assert watchdog.expired

    trio.run(main, clock=SleepingMachine())


def test_sleep_is_capped() -> None:
    """epoll's own timeout stands still in sleep: nobody may rely on it for long."""
    clock = BootClock()
    now = clock.current_time()
    assert clock.deadline_to_sleep_time(now + 8 * 3600) == LONGEST_SLEEP
    assert clock.deadline_to_sleep_time(now + 1) <= 1
    assert clock.deadline_to_sleep_time(now - 1) < 0
    assert clock.deadline_to_sleep_time(math.inf) == math.inf


@pytest.mark.skipif(not hasattr(time, "CLOCK_BOOTTIME"), reason="this system has no boot clock")
def test_it_is_the_boot_clock() -> None:
    """The one that counts suspension."""
    before = time.clock_gettime(time.CLOCK_BOOTTIME)
    assert before <= BootClock().current_time() <= time.clock_gettime(time.CLOCK_BOOTTIME)


def test_trio_runs_on_it() -> None:
    """Deadlines fire."""

    async def main() -> bool:
        with trio.move_on_after(0.01) as scope:
            await trio.sleep_forever()
        return scope.cancelled_caught

    assert trio.run(main, clock=BootClock())
