"""The movable deadline, in simulated time."""

from __future__ import annotations

import trio
from trio.testing import MockClock, wait_all_tasks_blocked

from hotenv.serving.watchdog import Watchdog


async def test_expires_at_the_exact_time(autojump_clock: MockClock) -> None:
    """Untouched, it lasts its timeout."""
    start = trio.current_time()
    await Watchdog(300).wait_expired()
    assert trio.current_time() - start == 300


async def test_touch_moves_the_deadline(autojump_clock: MockClock) -> None:
    """Each touch starts the time anew, also while somebody waits."""
    start = trio.current_time()
    watchdog = Watchdog(600)
    async with trio.open_nursery() as nursery:
        nursery.start_soon(watchdog.wait_expired)
        for _ in range(3):
            await trio.sleep(599)
            watchdog.touch()
    assert trio.current_time() - start == 3 * 599 + 600


async def test_touch_in_the_tick_of_the_expiry_is_too_late(mock_clock: MockClock) -> None:
    """The clock decides: once the time is over it is over, whoever runs first."""
    watchdog = Watchdog(10)
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
        watchdog = Watchdog(10)
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
    watchdog = Watchdog(5)
    mock_clock.jump(6)
    watchdog.touch()
    assert watchdog.expired
    await watchdog.wait_expired()


async def test_max_age_is_not_extended(autojump_clock: MockClock) -> None:
    """However often it is touched, it ends at its greatest age."""
    start = trio.current_time()
    watchdog = Watchdog(10, max_age=25)
    async with trio.open_nursery() as nursery:
        nursery.start_soon(watchdog.wait_expired)
        for _ in range(4):
            await trio.sleep(6)
            watchdog.touch()
    assert trio.current_time() - start == 25


async def test_idle_before_max_age(autojump_clock: MockClock) -> None:
    """A greater age does not lengthen the idle time."""
    start = trio.current_time()
    await Watchdog(10, max_age=25).wait_expired()
    assert trio.current_time() - start == 10
