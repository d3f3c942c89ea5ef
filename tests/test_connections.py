"""The capacity for connections, and what happens when it is used up."""

from __future__ import annotations

import errno
import resource

import pytest
import trio
from trio.testing import MockClock, wait_all_tasks_blocked

from fakes import MemoryListener
from hotenv.exchange.connections import Connections, available_capacity


async def test_the_oldest_silent_one_gives_up_its_place() -> None:
    """With all places taken, a newcomer is let in for the one that has been silent longest."""
    connections = Connections(capacity=2, timeout=5)
    listener = MemoryListener()
    scopes = []
    for _ in range(2):
        listener.connect()
        scopes.append((await connections.accept(listener))[1])
    listener.connect()
    async with trio.open_nursery() as nursery:
        nursery.start_soon(connections.accept, listener)
        await wait_all_tasks_blocked()
        assert [scope.cancel_called for scope in scopes] == [True, False]
        connections.release(scopes[0])
        await wait_all_tasks_blocked()
        assert not nursery.child_tasks


async def test_one_that_has_ended_is_not_dropped_for_another() -> None:
    """It is the oldest that is still there that gives up its place."""
    connections = Connections(capacity=3, timeout=5)
    listener = MemoryListener()
    scopes = []
    for _ in range(3):
        listener.connect()
        scopes.append((await connections.accept(listener))[1])
    connections.release(scopes[0])
    async with trio.open_nursery() as nursery:
        for _ in range(2):
            listener.connect()
            nursery.start_soon(connections.accept, listener)
            await wait_all_tasks_blocked()
        assert [scope.cancel_called for scope in scopes] == [False, True, False]
        connections.release(scopes[1])


async def test_a_complete_request_keeps_its_place() -> None:
    """Whoever is being answered is not dropped; the newcomer waits for a place."""
    connections = Connections(capacity=1, timeout=5)
    listener = MemoryListener()
    listener.connect()
    _, scope = await connections.accept(listener)
    connections.settle(scope)
    listener.connect()
    async with trio.open_nursery() as nursery:
        nursery.start_soon(connections.accept, listener)
        await wait_all_tasks_blocked()
        assert not scope.cancel_called
        assert len(nursery.child_tasks) == 1
        connections.release(scope)


async def test_the_time_of_a_connection(mock_clock: MockClock) -> None:
    """It runs from accept, whenever the handler comes to run."""
    listener = MemoryListener()
    listener.connect()
    _, scope = await Connections(capacity=1, timeout=5).accept(listener)
    assert scope.deadline == trio.current_time() + 5


@pytest.mark.parametrize("number", [errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM])
async def test_waits_when_descriptors_run_out(number: int, autojump_clock: MockClock) -> None:
    """accept fails for want of descriptors: drop a silent one, wait, try again; no log."""
    failures: list[OSError] = []

    def fail() -> None:
        if failures:
            raise failures.pop()

    listener = MemoryListener(fail)
    for _ in range(3):
        listener.connect()
    connections = Connections(capacity=10, timeout=5)
    scopes = [(await connections.accept(listener))[1] for _ in range(2)]
    failures.extend([OSError(number, "none left")] * 3)
    start = trio.current_time()
    await connections.accept(listener)
    assert failures == []
    assert [scope.cancel_called for scope in scopes] == [True, True]
    assert 0 < trio.current_time() - start < 1


async def test_what_was_dropped_is_used_at_once(autojump_clock: MockClock) -> None:
    """Without descriptors: the one that is dropped frees one, and nobody waits longer."""
    free = 3

    def fail() -> None:
        if not free:
            raise OSError(errno.EMFILE, "none left")

    async def handle(scope: trio.CancelScope) -> None:
        nonlocal free
        with scope:
            await trio.sleep_forever()
        free += 1
        connections.release(scope)

    listener = MemoryListener(fail)
    connections = Connections(capacity=10, timeout=5)
    start = trio.current_time()
    async with trio.open_nursery() as nursery:
        for _ in range(20):
            listener.connect()
            _, scope = await connections.accept(listener)
            free -= 1
            nursery.start_soon(handle, scope)
        assert trio.current_time() == start
        nursery.cancel_scope.cancel()


async def test_a_request_that_has_come_is_read_first(autojump_clock: MockClock) -> None:
    """With all places taken: only who has sent nothing is dropped for somebody else."""
    listener = MemoryListener()
    connections = Connections(capacity=3, timeout=5)

    async def handle(stream: trio.abc.Stream, scope: trio.CancelScope) -> None:
        with scope:
            await stream.receive_some()
            connections.settle(scope)
            await trio.sleep(1)
        assert not scope.cancelled_caught
        connections.release(scope)

    async with trio.open_nursery() as nursery:
        for _ in range(12):
            await listener.connect().send_all(b"x")
            stream, scope = await connections.accept(listener)
            nursery.start_soon(handle, stream, scope)


async def test_a_request_that_is_read_late_is_read_first(autojump_clock: MockClock) -> None:
    """A handler that has three steps to go is not dropped for a newcomer, and makes room itself."""
    listener = MemoryListener()
    connections = Connections(capacity=2, timeout=5)
    start = trio.current_time()

    async def handle(scope: trio.CancelScope) -> None:
        with scope:
            for _ in range(2):
                await trio.lowlevel.checkpoint()
        assert not scope.cancelled_caught
        connections.release(scope)

    async with trio.open_nursery() as nursery:
        for _ in range(6):
            listener.connect()
            _, scope = await connections.accept(listener)
            nursery.start_soon(handle, scope)
    assert trio.current_time() == start


async def test_the_newest_stays_for_a_while(autojump_clock: MockClock) -> None:
    """The only one without a request may be about to send it: it gets a moment, but no more."""
    listener = MemoryListener()
    connections = Connections(capacity=1, timeout=5)
    listener.connect()
    _, scope = await connections.accept(listener)
    listener.connect()
    start = trio.current_time()
    async with trio.open_nursery() as nursery:
        nursery.start_soon(connections.accept, listener)
        dropped = []
        for pause in (0.04, 0.02):
            await trio.sleep(pause)
            dropped.append(scope.cancel_called)
        assert dropped == [False, True]
        assert trio.current_time() - start < 0.1
        connections.release(scope)


async def test_other_errors_of_the_listener_are_raised() -> None:
    """What is no shortage is not hidden."""

    def fail() -> None:
        raise OSError(errno.EBADF, "closed")

    with pytest.raises(OSError, match="closed"):
        await Connections(capacity=1, timeout=5).accept(MemoryListener(fail))


def test_capacity_stays_below_the_limit_of_descriptors() -> None:
    """There are always descriptors left for other things, and at least two places."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    try:
        for limit, places in ((64, 40), (30, 6), (20, 2)):
            resource.setrlimit(resource.RLIMIT_NOFILE, (limit, hard))
            assert available_capacity() == places
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    assert 1 <= available_capacity() <= 1000
