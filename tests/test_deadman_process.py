"""A server that was stopped or hangs past its deadline: the kernel ends it."""

from __future__ import annotations

import math
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
import trio
from trio.testing import MockClock

from fakes import awake
from hotenv import Snapshot, serve
from hotenv.serving import deadman
from hotenv.serving.deadman import KILL_AFTER, DeadManSwitch
from hotenv.serving.watchdog import Watchdog
from processes import HOTENV, LIMIT, finish, freeze, hanging, is_clean, let_it_hang, serving

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="needs timers of Linux")


@pytest.mark.parametrize(
    "options", [("-t", "0.4"), ("-t", "1h", "--max-age", "0.4")], ids=["idle", "age"]
)
def test_stopped_server(directory: Path, runtime: Path, options: tuple[str, ...]) -> None:
    """At its deadline it goes on, and ends in order: no more than a note is left."""
    with serving(directory, b"A=1\n", *options) as server:
        freeze(server)
        code, words = finish(server)
    assert code == 0
    assert words.splitlines()[1:] == ["hotenv: session expired"]
    assert is_clean(directory, runtime, expired=True)


@pytest.mark.parametrize(
    "options", [("-t", "0.4"), ("-t", "1h", "--max-age", "1")], ids=["idle", "age"]
)
def test_hanging_server(directory: Path, options: tuple[str, ...]) -> None:
    """One that is at a loss in the middle of a request is killed soon after its deadline."""
    command = hanging({"hotenv.serving.deadman.KILL_AFTER": 0.2})
    with serving(directory, b"A=1\n", *options, command=command) as server:
        let_it_hang(directory)
        assert server.wait(timeout=LIMIT) == -signal.SIGKILL


def test_server_that_is_stopped_again_and_again(directory: Path) -> None:
    """As by a debugger: it is killed while it is stopped."""
    command = ["sh", "-c", 'exec "$@"', "sh", *hanging({"hotenv.serving.deadman.KILL_AFTER": 0.3})]
    with serving(directory, b"A=1\n", "-t", "0.3", command=command) as server:
        while server.poll() is None:
            server.send_signal(signal.SIGSTOP)
        assert server.returncode == -signal.SIGKILL


def test_seconds() -> None:
    """It is not killed while it may be ending in order, as long as any part of that may take."""
    assert KILL_AFTER == 5


class Clocks:
    """Timers that only note for how long they were set."""

    def __init__(self) -> None:
        self.made: list[tuple[int, int]] = []
        self.seconds: dict[int, list[float]] = {signal.SIGCONT: [], signal.SIGKILL: []}

    def timer(self, clock: int, signum: int) -> Clocks:
        self.made.append((clock, signum))
        self._signum = signum
        made = Clocks()
        made.seconds = self.seconds
        made._signum = signum
        return made

    def set(self, seconds: float) -> None:
        self.seconds[self._signum].append(seconds)


@pytest.fixture
def clocks(monkeypatch: pytest.MonkeyPatch) -> Clocks:
    """What the switch is made of."""
    clocks = Clocks()
    monkeypatch.setattr(deadman, "Timer", clocks.timer)
    return clocks


async def test_it_moves_with_the_deadline(  # noqa: ASYNC124 - Trio's clock is only in Trio
    clocks: Clocks, mock_clock: MockClock
) -> None:
    """With each request, and never past the end."""
    switch = DeadManSwitch()
    watchdog = Watchdog(10, 15, asleep=awake, on_move=switch.set)
    mock_clock.jump(4)
    watchdog.touch()
    mock_clock.jump(4)
    watchdog.touch()
    assert clocks.made == [
        (time.CLOCK_BOOTTIME, signal.SIGCONT),
        (time.CLOCK_MONOTONIC, signal.SIGKILL),
    ]
    assert clocks.seconds[signal.SIGCONT] == pytest.approx([10, 10, 7])
    assert clocks.seconds[signal.SIGKILL] == pytest.approx([15, 15, 12])
    mock_clock.jump(7)
    watchdog.touch()  # it has expired: nothing can move any more
    assert len(clocks.seconds[signal.SIGKILL]) == 3


@pytest.mark.parametrize(("remaining", "seconds"), [(-3.0, 0.0), (1e300, 10.0 * 365 * 24 * 3600)])
def test_odd_deadlines(clocks: Clocks, remaining: float, seconds: float) -> None:
    """What is over is over now; ages are cut, for the kernel has no number for them."""
    DeadManSwitch().set(remaining)
    assert clocks.seconds[signal.SIGCONT] == [seconds]
    assert clocks.seconds[signal.SIGKILL] == [seconds + KILL_AFTER]


def test_no_deadline(clocks: Clocks) -> None:
    """A session without one has no timer that runs."""
    DeadManSwitch().set(math.inf)
    assert clocks.seconds == {signal.SIGCONT: [], signal.SIGKILL: []}


@pytest.mark.parametrize("refused", [1, 2])
def test_system_without_timers(monkeypatch: pytest.MonkeyPatch, refused: int) -> None:
    """There is no switch, and no error; neither if only one of the two can be had."""
    clocks = Clocks()

    def timer(clock: int, signum: int) -> Clocks:
        if len(clocks.made) + 1 >= refused:
            raise OSError
        return clocks.timer(clock, signum)

    monkeypatch.setattr(deadman, "Timer", timer)
    DeadManSwitch().set(1)
    assert clocks.seconds == {signal.SIGCONT: [], signal.SIGKILL: []}


async def test_not_in_a_program_of_others(clocks: Clocks, directory: Path) -> None:
    """The Python API never sets a timer that kills its caller."""
    async with trio.open_nursery() as nursery:
        await nursery.start(serve, Snapshot({"A": "1"}), directory)
        result = await trio.run_process([*HOTENV, "dump"], cwd=directory, capture_stdout=True)
        assert result.stdout == b"A=1\n"
        nursery.cancel_scope.cancel()
    assert clocks.made == []


_INHERITS = """
import os, signal, sys, time
from hotenv.libc import Timer
timer = Timer(time.CLOCK_MONOTONIC, signal.SIGKILL)
timer.set(0.2)
reader, writer = os.pipe()
if os.fork():
    os.close(reader)
    time.sleep(60)
os.close(writer)
os.read(reader, 1)  # until the parent is gone
print("alive", flush=True)
"""


def test_not_inherited() -> None:
    """The timer ends the process that has made it, and none that this has started."""
    result = subprocess.run(
        [sys.executable, "-P", "-c", _INHERITS], capture_output=True, timeout=LIMIT
    )
    assert (result.returncode, result.stdout, result.stderr) == (-signal.SIGKILL, b"alive\n", b"")


_SENDS = """
import signal, sys, time
from hotenv.libc import Timer
signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGUSR1])
timer = Timer(time.CLOCK_MONOTONIC, signal.SIGUSR1)
timer.set(3600)
timer.set(float(sys.argv[1]))
signal.sigwait([signal.SIGUSR1])
"""


@pytest.mark.parametrize("seconds", ["0", "1e-12", "0.01"])
def test_time_that_is_over(seconds: str) -> None:
    """A deadline that is over, or nearly, still sends the signal: 0 would be never."""
    command = [sys.executable, "-P", "-c", _SENDS, seconds]
    result = subprocess.run(command, capture_output=True, timeout=LIMIT)
    assert (result.returncode, result.stderr) == (0, b"")
