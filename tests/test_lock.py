"""The locks of a marker: who excludes whom, how long that is waited for, and who sees it."""

from __future__ import annotations

import errno
import fcntl
import os
import signal
import struct
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

import pytest

from hotenv.errors import SystemFailureError
from hotenv.session import lock
from hotenv.session.lock import BusyError, guarded, hold_life, is_held, locked
from processes import LIMIT

ofd = pytest.mark.skipif(not lock._HAS_RANGES, reason="there are no open file description locks")


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """A file to lock."""
    path = tmp_path / "marker"
    path.write_text("socket=/a\n")
    return path


@contextmanager
def opened(path: Path, flags: int = os.O_RDWR) -> Iterator[int]:
    """An open file of its own, as another process would have."""
    descriptor = os.open(path, flags)
    try:
        yield descriptor
    finally:
        os.close(descriptor)


def never(_seconds: float) -> None:
    """For a wait that must not happen."""
    pytest.fail("it waited")


def is_free(path: Path) -> bool:
    """Whether another process could have the guard."""
    with opened(path) as descriptor:
        try:
            with guarded(descriptor, "m", lambda _: None, 0.0):
                return True
        except BusyError:
            return False


def lock_as_reader(descriptor: int) -> None:
    """Lock all of a file that is open for reading, as every user can who may read it."""
    everything = lock._FLOCK.pack(fcntl.F_RDLCK, os.SEEK_SET, 0, 0, 0)
    fcntl.fcntl(descriptor, fcntl.F_OFD_SETLK, everything)


@pytest.fixture(params=["ranges", "flock"])
def kind(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """The locks of Linux, and those of systems that have no others."""
    if request.param == "flock":
        monkeypatch.setattr(lock, "_HAS_RANGES", False)
    elif not lock._HAS_RANGES:
        pytest.skip("there are no open file description locks")


@pytest.mark.usefixtures("kind")
def test_guard_is_exclusive(path: Path) -> None:
    """One open file has it at a time, until the end of the block, however that ends."""
    with opened(path) as descriptor:
        with suppress(ZeroDivisionError), guarded(descriptor, "m", never):
            assert not is_free(path)
            raise ZeroDivisionError
        assert is_free(path)
        with guarded(descriptor, "m", never):
            assert not is_free(path)
        assert is_free(path)


@pytest.mark.usefixtures("kind")
def test_guard_is_waited_for(path: Path) -> None:
    """Until it is free, and the caller does the waiting."""
    waits: list[float] = []
    with ExitStack() as stack, opened(path) as mine, opened(path) as other:
        stack.enter_context(guarded(other, "m", never))

        def pause(seconds: float) -> None:
            waits.append(seconds)
            if len(waits) == 3:
                stack.close()

        with guarded(mine, "m", pause, LIMIT):
            assert len(waits) == 3
    assert 0 < max(waits) <= 0.05


@pytest.mark.usefixtures("kind")
def test_guard_is_not_waited_for_too_long(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The error names the file, and what to do; the time is counted, not the tries."""
    now = 100.0

    def pause(seconds: float) -> None:
        nonlocal now
        now += seconds

    monkeypatch.setattr(time, "monotonic", lambda: now)
    with opened(path) as mine, opened(path) as other, guarded(other, "m", never):
        for timeout, limit in ((None, lock.LOCK_TIMEOUT), (0.5, 0.5)):
            began = now
            with (
                pytest.raises(BusyError, match=r"^/x is locked by another process of yours: try"),
                guarded(mine, "/x", pause, timeout),
            ):
                pytest.fail("it has it")
            assert limit < now - began < limit + 0.1


@pytest.mark.usefixtures("kind")
def test_what_the_pause_raises_ends_the_wait(path: Path) -> None:
    """As when the task that waits is cancelled."""

    def pause(_seconds: float) -> None:
        raise ZeroDivisionError

    with (
        opened(path) as mine,
        opened(path) as other,
        guarded(other, "m", never),
        pytest.raises(ZeroDivisionError),
        guarded(mine, "m", pause),
    ):
        pytest.fail("it has it")


@ofd
def test_guard_and_life_are_apart(path: Path) -> None:
    """A server that lives keeps no one from its marker; the guard is no sign of life."""
    with opened(path) as server, opened(path) as other:
        hold_life(server)
        with guarded(other, "m", never):
            assert is_held(other)
        assert not is_held(server)  # it is no other process than itself
        with guarded(server, "m", never):
            pass
        assert is_held(other)
    with opened(path) as mine, opened(path) as other, guarded(other, "m", never):
        assert not is_held(mine)


@ofd
def test_life_ends_with_the_last_descriptor(path: Path) -> None:
    """And not with another one of the same file, as POSIX's other locks do."""
    with opened(path) as other:
        with opened(path) as server:
            hold_life(server)
            with opened(path):
                pass
            assert is_held(other)
            copy = os.dup(server)
        assert is_held(other)
        os.close(copy)
        assert not is_held(other)


@ofd
def test_life_is_seen_by_those_who_may_only_read(path: Path) -> None:
    """It is asked for by a client, which has no business with writing."""
    with opened(path) as server, opened(path, os.O_RDONLY) as client:
        assert not is_held(client)
        hold_life(server)
        assert is_held(client)


@ofd
def test_locks_of_a_reader(path: Path) -> None:
    """All who may read a file can lock it so: that is neither a server's life nor in the way."""
    with opened(path, os.O_RDONLY) as stranger, opened(path) as mine:
        lock_as_reader(stranger)
        assert not is_held(mine)
        with guarded(mine, "m", never):
            pass
        hold_life(mine)


@ofd
def test_guard_that_is_released_meanwhile(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its holder lets go between the refusal and the question who has it: it is tried again."""
    real = fcntl.fcntl
    waits: list[float] = []
    with opened(path) as mine, opened(path) as other, ExitStack() as held:
        held.enter_context(guarded(other, "m", never))

        def releasing(descriptor: int, command: int, argument: bytes) -> bytes | int:
            if command == fcntl.F_OFD_GETLK:
                held.close()
            return real(descriptor, command, argument)

        monkeypatch.setattr(fcntl, "fcntl", releasing)
        with guarded(mine, "m", waits.append):
            monkeypatch.undo()
            assert len(waits) == 1
            assert not is_free(path)


@ofd
def test_locks_of_the_whole_file(path: Path) -> None:
    """It has the layout of the system's own structure: the lock of a byte is no more than that."""
    assert lock._FLOCK.size == struct.calcsize("@hhqqi0q")
    with opened(path) as server, opened(path) as other:
        hold_life(server)
        for start, kind in ((0, fcntl.F_UNLCK), (1, fcntl.F_WRLCK), (2, fcntl.F_UNLCK)):
            question = lock._FLOCK.pack(fcntl.F_WRLCK, os.SEEK_SET, start, 1, 0)
            answer = lock._FLOCK.unpack(fcntl.fcntl(other, fcntl.F_OFD_GETLK, question))
            assert answer[0] == kind


@ofd
def test_life_ends_when_the_process_is_killed(path: Path) -> None:
    """At once, and however it ends."""
    script = (
        "import os, sys, time; from hotenv.session.lock import hold_life; "
        "hold_life(os.open(sys.argv[1], os.O_RDWR)); print(flush=True); time.sleep(600)"
    )
    command = [sys.executable, "-c", script, str(path)]
    with (
        opened(path) as descriptor,
        subprocess.Popen(command, stdout=subprocess.PIPE) as process,
    ):
        assert process.stdout is not None
        process.stdout.readline()
        assert is_held(descriptor)
        process.send_signal(signal.SIGSTOP)
        assert is_held(descriptor)
        process.kill()
        process.wait(LIMIT)
        assert not is_held(descriptor)


def test_without_ranges_no_life_is_known(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where only whole files are locked, that is left to the guard."""
    monkeypatch.setattr(lock, "_HAS_RANGES", False)
    with opened(path) as server, opened(path) as other:
        hold_life(server)
        assert not is_held(other)
        assert is_free(path)


@pytest.mark.usefixtures("kind")
@pytest.mark.parametrize("number", [errno.EBADF, errno.ENOLCK, errno.EOPNOTSUPP, errno.EINVAL])
def test_file_system_without_locks(
    path: Path, monkeypatch: pytest.MonkeyPatch, number: int
) -> None:
    """It goes without, and nothing is known to live."""

    def refuse(*_args: object) -> None:
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr(fcntl, "fcntl", refuse)
    monkeypatch.setattr(fcntl, "flock", refuse)
    with opened(path) as mine, opened(path) as other:
        hold_life(other)
        assert not is_held(mine)
        with guarded(mine, "m", never), guarded(other, "m", never):
            pass


def test_lock_of_a_directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is exclusive too, and not waited for for ever."""
    monkeypatch.setattr(lock, "LOCK_TIMEOUT", 0.02)
    with opened(tmp_path, os.O_RDONLY) as mine, opened(tmp_path, os.O_RDONLY) as other:
        with (
            locked(mine, "/x", never),
            pytest.raises(SystemFailureError, match=r"^/x is locked by another process"),
            locked(other, "/x"),
        ):
            pytest.fail("it has it")
        with locked(other, "/x", never):
            pass
