"""A server is stopped at every single point where it waits, while it does all that it can do."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path

import pytest
import trio
from trio.testing import MockClock

import hotenv
from fakes import MemoryListener, awake
from hotenv.exchange import protocol
from hotenv.intake.lockedmemory import LockedMemory
from hotenv.intake.reader import Intake
from hotenv.serving.events import Event, Outcome
from hotenv.serving.log import Log
from hotenv.serving.process import ServerProcess
from hotenv.serving.server import GRACE_PERIOD, Ending, hold
from hotenv.serving.watchdog import Watchdog
from processes import LIMIT, is_clean

SMALL = protocol.encode_response({"A": "1"})
LARGE = protocol.encode_response({"A": "x" * 200_000})
DUMP = b'{"command":"dump"}\n'
CLIENTS = [(DUMP,), (DUMP,), (DUMP[:5], DUMP[5:]), (b"junk\n",), (DUMP + DUMP,), ()]
"""What each of the clients sends, in pieces. Some are no request, or none yet."""

IDLE = 300
"""Seconds until the server ends by itself."""

MOST = 2000
"""More steps than any run here has."""


ENDINGS = {
    "signal": {Ending.SIGNAL},
    "cancel": {Ending.SIGNAL},
    "expiry": {Ending.SIGNAL, Ending.EXPIRED},
}
"""How the server can say that it ended: when all is done a signal comes in any case."""


class AtStep(trio.abc.Instrument):
    """Calls ``act`` just before the step number ``step`` (from 0) of all that tasks take."""

    def __init__(self, step: int, act: Callable[[], object]) -> None:
        self._left = step
        self._act = act
        self.hit = False

    def before_task_step(self, task: trio.lowlevel.Task) -> None:
        if not self._left:
            self._act()
            self.hit = True
        self._left -= 1


def at_every_step(run: Callable[[int], bool], *, least: int) -> None:
    """Call ``run`` with 0, 1, 2, ... until it is false: it was over before that step."""
    steps = next(step for step in range(MOST) if not run(step))
    assert steps >= least


class Scene:
    """A server with clients of every kind, all in memory, which is stopped at one step."""

    def __init__(self, response: bytes) -> None:
        self.listener = MemoryListener()
        self.response = response
        self.answers: list[bytearray] = []
        self.events: list[Event] = []
        self.endings: list[Ending] = []
        self.acted = self.ended = 0.0
        self.stop, self._signals = trio.open_memory_channel[int](10)

    async def _wait_for_signal(self) -> None:
        await self._signals.receive()

    async def client(self, *pieces: bytes) -> None:
        """Sends the pieces with a pause between them, and takes what comes."""
        stream = self.listener.connect()
        answer = bytearray()
        if b"".join(pieces) == DUMP:
            self.answers.append(answer)
        with trio.move_on_after(2 * IDLE), suppress(trio.BrokenResourceError):
            for piece in pieces:
                await stream.send_all(piece)
                await trio.sleep(GRACE_PERIOD / 4)
            while data := await stream.receive_some(65536):
                answer += data

    async def serve(self, scope: trio.CancelScope) -> None:
        """The server, until ``scope`` is cancelled or something else ends it."""
        with scope:
            ending = await hold(
                self.listener,
                self.response,
                Watchdog(IDLE, asleep=awake),
                wait_for_signal=self._wait_for_signal,
                on_event=self.events.append,
            )
            self.endings.append(ending)
            self.ended = trio.current_time()

    async def play(self, how: str, step: int) -> bool:
        """All of it; whether it was stopped before it was over."""
        clock = trio.lowlevel.current_clock()
        assert isinstance(clock, MockClock)
        server = trio.CancelScope()
        ends: dict[str, Callable[[], object]] = {
            "signal": partial(self.stop.send_nowait, signal.SIGTERM),
            "cancel": server.cancel,
            "expiry": partial(clock.jump, IDLE),
        }

        def end() -> None:
            ends[how]()
            self.acted = trio.current_time()

        act = AtStep(step, end)
        trio.lowlevel.add_instrument(act)
        async with trio.open_nursery() as nursery:
            nursery.start_soon(self.serve, server)
            async with trio.open_nursery() as clients:
                for pieces in CLIENTS:
                    clients.start_soon(self.client, *pieces)
            self.stop.send_nowait(signal.SIGTERM)
        return act.hit


@pytest.mark.parametrize("response", [SMALL, LARGE], ids=["small", "large"])
@pytest.mark.parametrize("how", ENDINGS)
def test_with_requests_in_flight(how: str, response: bytes) -> None:
    """The listener is closed; who was let in before a signal is answered, else whole or not."""

    def run(step: int) -> bool:
        scene = Scene(response)
        hit = trio.run(scene.play, how, step, clock=MockClock(autojump_threshold=0))
        assert scene.listener.closed
        whole = scene.answers.count(bytearray(response))
        outcomes = [event.outcome for event in scene.events]
        assert outcomes.count(Outcome.ANSWERED) == whole
        assert outcomes.count(Outcome.ABANDONED) <= len(scene.answers) - whole
        if how == "signal" or response is SMALL:
            assert whole + scene.answers.count(bytearray()) == len(scene.answers)
        assert all(response.startswith(answer) for answer in scene.answers)
        if how == "signal":
            assert whole >= len(scene.answers) - scene.listener.waiting
        assert set(scene.endings) <= ENDINGS[how]
        assert Ending.EXPIRED not in scene.endings or scene.ended == scene.acted
        return hit

    at_every_step(run, least=100)


def test_function_in_a_nursery(directory: Path, runtime: Path) -> None:
    """Cancelled at every step from its start: nothing is left, and a client gets all or nothing."""
    snapshot = hotenv.Snapshot({"A": "1"})

    async def main(step: int) -> bool:
        got: list[hotenv.Snapshot] = []
        done = trio.Event()

        async def client() -> None:
            with suppress(hotenv.UnreachableError, hotenv.NoSessionError):
                got.append(await hotenv.fetch())
            done.set()

        async with trio.open_nursery() as clients:
            with trio.CancelScope() as scope:
                act = AtStep(step, scope.cancel)
                trio.lowlevel.add_instrument(act)
                async with trio.open_nursery() as nursery:
                    await nursery.start(hotenv.serve, snapshot, directory)
                    clients.start_soon(client)
                    await done.wait()
                    nursery.cancel_scope.cancel()
            assert is_clean(directory, runtime)
        assert act.hit or got == [snapshot]
        assert got in ([], [snapshot])
        return act.hit

    at_every_step(lambda step: trio.run(main, step), least=15)


def _terminate() -> None:
    """Send SIGTERM to the process, whichever of its threads waits for it."""
    os.kill(os.getpid(), signal.SIGTERM)


class Terminating(AtStep):
    """A client of the session in ``directory``, and SIGTERM at a step and when it was answered.

    Steps count from where SIGTERM is taken: before that it simply ends the process.
    """

    def __init__(self, step: int, directory: Path) -> None:
        super().__init__(step, _terminate)
        self._marker = directory / ".hotenv"
        self._client = socket.socket(socket.AF_UNIX)
        self.answer: bytes | None = None

    def before_task_step(self, task: trio.lowlevel.Task) -> None:
        blocked = signal.SIGTERM in signal.pthread_sigmask(signal.SIG_BLOCK, [])
        if blocked or signal.getsignal(signal.SIGTERM) is not signal.SIG_DFL:
            super().before_task_step(task)

    def before_io_wait(self, timeout: float) -> None:
        """Trio is about to wait, for no task has anything to do at once."""
        if not self._marker.exists():
            return
        if self.answer is None:
            path = self._marker.read_text().strip().removeprefix("socket=")
            self._client.setblocking(False)
            self._client.connect(path)
            self._client.sendall(DUMP)
            self.answer = b""
        elif self._read():
            _terminate()

    def _read(self) -> bool:
        """Take what has come; whether it is the end."""
        with suppress(BlockingIOError):
            with suppress(ConnectionResetError):
                while data := self._client.recv(65536):
                    self.answer = (self.answer or b"") + data
            return True
        return False

    def close(self) -> bytes:
        """The answer that has come."""
        if self.answer is not None:
            self._read()
        self._client.close()
        return self.answer or b""


@contextmanager
def restored_mask() -> Iterator[None]:
    """Takes the signals that are still to come, and lets new ones through as before."""
    before = signal.pthread_sigmask(signal.SIG_BLOCK, [])
    try:
        yield
    finally:
        while signal.sigtimedwait(signal.sigpending(), 0):
            pass
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def terminate_at_every_step(directory: Path, runtime: Path) -> None:
    """The whole server, real signals. For a process without other threads: they would get them."""
    trio_run = trio.run

    def run(step: int) -> bool:
        intake = Intake(LockedMemory(len(SMALL)), 1)
        intake.response.view[:] = SMALL
        instrument = Terminating(step, directory)
        with restored_mask(), pytest.MonkeyPatch.context() as patch:
            patch.setattr(trio, "run", partial(trio_run, instruments=[instrument]))
            server = ServerProcess(
                directory=str(directory),
                timeout=60,
                max_age=60,
                may_replace=None,
                log=Log(None, None),
            )
            server.serve(intake)
        answer = instrument.close()
        assert answer == SMALL or (answer == b"" and instrument.hit)
        assert is_clean(directory, runtime)
        assert not any(intake.response.view)
        return instrument.hit

    at_every_step(run, least=15)


_TERMINATE = """
import sys
from pathlib import Path
sys.path.insert(0, sys.argv[1])
import pytest
pytest.register_assert_rewrite("test_cancellation")
from test_cancellation import terminate_at_every_step
terminate_at_every_step(*map(Path, sys.argv[2:]))
"""


def test_sigterm(directory: Path, runtime: Path) -> None:
    """At every step: nothing is left on disk nor in memory, and no exception."""
    paths = map(str, (Path(__file__).parent, directory, runtime))
    done = subprocess.run(
        [sys.executable, "-c", _TERMINATE, *paths],
        cwd=directory,
        capture_output=True,
        text=True,
        timeout=LIMIT,
    )
    assert (done.returncode, done.stderr) == (0, "")
