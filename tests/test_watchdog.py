"""The movable deadline, in simulated time, while the machine is awake and while it sleeps."""

from __future__ import annotations

import itertools
import math
import time

import pytest
import trio
from trio.testing import MockClock, wait_all_tasks_blocked

from fakes import awake
from hotenv.serving.watchdog import LOOK_EVERY, Watchdog
from hotenv.session import clock


async def test_expires_at_the_exact_time(autojump_clock: MockClock) -> None:
    """Untouched, it lasts its timeout."""
    start = trio.current_time()
    await Watchdog(300, asleep=awake).wait_expired()
    assert trio.current_time() - start == 300


async def test_touch_moves_the_deadline(autojump_clock: MockClock) -> None:
    """Each touch starts the time anew, also while somebody waits."""
    start = trio.current_time()
    watchdog = Watchdog(600, asleep=awake)
    async with trio.open_nursery() as nursery:
        nursery.start_soon(watchdog.wait_expired)
        for _ in range(3):
            await trio.sleep(599)
            watchdog.touch()
    assert trio.current_time() - start == 3 * 599 + 600


async def test_touch_in_the_tick_of_the_expiry_is_too_late(mock_clock: MockClock) -> None:
    """The clock decides: once the time is over it is over, whoever runs first."""
    watchdog = Watchdog(10, asleep=awake)
    async with trio.open_nursery() as nursery:
        nursery.start_soon(watchdog.wait_expired)
        await wait_all_tasks_blocked()
        mock_clock.jump(10)
        watchdog.touch()
        assert watchdog.expired
        with trio.fail_after(1):
            await wait_all_tasks_blocked()
    assert watchdog.expired


async def test_touch_just_before_the_expiry_is_not_lost(mock_clock: MockClock) -> None:
    """A touch that was in time counts, although the task that waits has not seen it yet."""
    for _ in range(50):
        watchdog = Watchdog(10, asleep=awake)
        ended = trio.Event()

        async def wait(watchdog: Watchdog = watchdog, ended: trio.Event = ended) -> None:
            await watchdog.wait_expired()
            ended.set()

        async with trio.open_nursery() as nursery:
            nursery.start_soon(wait)
            await wait_all_tasks_blocked()
            mock_clock.jump(9.5)
            watchdog.touch()
            mock_clock.jump(9.5)
            await wait_all_tasks_blocked()
            assert not ended.is_set()
            mock_clock.jump(0.5)
            await wait_all_tasks_blocked()
            assert ended.is_set()


async def test_touch_after_the_expiry_does_nothing(mock_clock: MockClock) -> None:
    """An expired session stays expired."""
    watchdog = Watchdog(5, asleep=awake)
    mock_clock.jump(6)
    watchdog.touch()
    assert watchdog.expired
    await watchdog.wait_expired()


async def test_max_age_is_not_extended(autojump_clock: MockClock) -> None:
    """However often it is touched, it ends at its greatest age."""
    start = trio.current_time()
    watchdog = Watchdog(10, max_age=25, asleep=awake)
    async with trio.open_nursery() as nursery:
        nursery.start_soon(watchdog.wait_expired)
        for _ in range(4):
            await trio.sleep(6)
            watchdog.touch()
    assert trio.current_time() - start == 25


async def test_max_age_before_idle(mock_clock: MockClock) -> None:  # noqa: ASYNC124 - Trio's clock is only in Trio
    """A session that is never used does not outlast its greatest age either."""
    watchdog = Watchdog(25, max_age=10, asleep=awake)
    assert watchdog.remaining == 10
    mock_clock.jump(10)
    assert watchdog.expired


async def test_idle_before_max_age(autojump_clock: MockClock) -> None:
    """A greater age does not lengthen the idle time."""
    start = trio.current_time()
    await Watchdog(10, max_age=25, asleep=awake).wait_expired()
    assert trio.current_time() - start == 10


async def test_touched(mock_clock: MockClock) -> None:
    """Each wait ends with a touch after the last one, and not with one that came too late."""
    watchdog = Watchdog(10, asleep=awake)
    watchdog.touch()
    watchdog.touch()
    await watchdog.wait_touched()
    async with trio.open_nursery() as nursery:
        nursery.start_soon(watchdog.wait_touched)
        await wait_all_tasks_blocked()
        assert nursery.child_tasks
        watchdog.touch()
    mock_clock.jump(10)
    watchdog.touch()
    assert not watchdog.touched.is_set()


async def test_remaining(mock_clock: MockClock) -> None:  # noqa: ASYNC124 - Trio's clock is only in Trio
    """The idle time starts anew with a touch; the age does not, and ends both."""
    watchdog = Watchdog(10, max_age=25, asleep=awake)
    assert (watchdog.remaining, watchdog.age_remaining) == (10, 25)
    mock_clock.jump(8)
    assert (watchdog.remaining, watchdog.age_remaining) == (2, 17)
    watchdog.touch()
    assert (watchdog.remaining, watchdog.age_remaining) == (10, 17)
    mock_clock.jump(9)
    watchdog.touch()
    assert (watchdog.remaining, watchdog.age_remaining) == (8, 8)
    assert Watchdog(10, asleep=awake).age_remaining == math.inf


class Machine:
    """A machine that a test puts to sleep. How long it has slept before does not matter."""

    def __init__(self) -> None:
        self.slept = 12345.0

    def asleep(self) -> float:
        return self.slept


async def test_a_session_is_over_when_the_machine_wakes(mock_clock: MockClock) -> None:
    """An idle limit of seven hours does not outlast a night, asked or noticed by itself."""
    machine = Machine()
    watchdog = Watchdog(7 * 3600, asleep=machine.asleep)
    async with trio.open_nursery() as nursery:
        nursery.start_soon(watchdog.wait_expired)
        await wait_all_tasks_blocked()
        assert watchdog.remaining == 7 * 3600
        machine.slept += 8 * 3600
        assert watchdog.expired
        assert watchdog.remaining == -3600
        mock_clock.jump(LOOK_EVERY)


async def test_expired_for_good(mock_clock: MockClock) -> None:  # noqa: ASYNC124 - Trio's clock is only in Trio
    """What has expired once stays so, whatever the clocks say later."""
    machine = Machine()
    watchdog = Watchdog(60, asleep=machine.asleep)
    machine.slept += 60
    seen = [watchdog.expired]
    machine.slept -= 60
    seen.append(watchdog.expired)
    assert seen == [True, True]


async def test_max_age_counts_sleep(mock_clock: MockClock) -> None:  # noqa: ASYNC124 - Trio's clock is only in Trio
    """The greatest age too, and a touch after the sleep counts from there."""
    machine = Machine()
    watchdog = Watchdog(3600, max_age=7200, asleep=machine.asleep)
    machine.slept += 3000
    watchdog.touch()
    assert (watchdog.remaining, watchdog.age_remaining) == (3600, 4200)
    machine.slept += 3000
    watchdog.touch()
    assert watchdog.remaining == 1200
    mock_clock.jump(1200)
    assert watchdog.expired


async def test_sleep_that_is_short_enough(autojump_clock: MockClock) -> None:
    """A session that outlasts the sleep has what is left of its time, to the second."""
    machine = Machine()
    watchdog = Watchdog(100, asleep=machine.asleep)
    start = trio.current_time()
    machine.slept += 60
    await watchdog.wait_expired()
    assert trio.current_time() - start == pytest.approx(40)


async def test_it_looks_now_and_then(autojump_clock: MockClock) -> None:
    """The timeout of the kernel stands still in sleep: nobody may rely on it for long."""
    machine = Machine()
    looks: list[float] = []

    def asleep() -> float:
        looks.append(trio.current_time())
        return machine.slept

    await Watchdog(8 * 3600, asleep=asleep).wait_expired()
    assert max(after - before for before, after in itertools.pairwise(looks)) <= 15
    assert len(looks) < 8 * 3600 / LOOK_EVERY * 10


async def test_touch_looks_no_later(autojump_clock: MockClock) -> None:
    """A touch does not put off the look that notices sleep."""
    machine = Machine()
    watchdog = Watchdog(3600, asleep=machine.asleep)
    start = trio.current_time()
    async with trio.open_nursery() as nursery:
        nursery.start_soon(watchdog.wait_expired)
        await trio.sleep(1)
        watchdog.touch()
        machine.slept += 3600
    assert trio.current_time() - start <= 1 + LOOK_EVERY


@pytest.mark.skipif(not hasattr(time, "CLOCK_BOOTTIME"), reason="this system has no boot clock")
def test_boot_time() -> None:
    """It is the clock that counts suspension."""
    before = time.clock_gettime(time.CLOCK_BOOTTIME)
    assert before <= clock.boot_time() <= time.clock_gettime(time.CLOCK_BOOTTIME)


def test_time_asleep(monkeypatch: pytest.MonkeyPatch) -> None:
    """It grows by what the boot clock gains on the other one."""
    monkeypatch.setattr(clock, "boot_time", lambda: time.monotonic() + 100)
    before = clock.time_asleep()
    monkeypatch.setattr(clock, "boot_time", lambda: time.monotonic() + 8 * 3600 + 100)
    assert clock.time_asleep() - before == pytest.approx(8 * 3600, abs=60)


def test_stopped_between_the_clocks(monkeypatch: pytest.MonkeyPatch) -> None:
    """A process that is stopped after it has read one of the clocks gains no time by it."""
    now = 1000.0

    def read() -> float:
        nonlocal now
        now += 10
        return now

    monkeypatch.setattr(clock, "boot_time", read)
    monkeypatch.setattr(time, "monotonic", read)
    assert clock.time_asleep() >= 0


async def test_counts_sleep_unless_told_otherwise(  # noqa: ASYNC124 - Trio's clock is only in Trio
    monkeypatch: pytest.MonkeyPatch, mock_clock: MockClock
) -> None:
    """Nobody has to ask for it."""
    slept = 0.0
    monkeypatch.setattr(clock, "boot_time", lambda: time.monotonic() + slept)
    watchdog = Watchdog(60)
    assert not watchdog.expired
    slept = 61.0
    assert watchdog.expired
