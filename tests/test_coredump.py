"""coredump: no core of a client while it holds values, and the command's limits as they were."""

from __future__ import annotations

import os
import resource
import shlex
import signal
import socket
import subprocess
import sys
import termios
from collections.abc import Iterator
from contextlib import contextmanager
from fcntl import ioctl
from pathlib import Path

import pytest

import seccomp
from hotenv import coredump
from hotenv.session.marker import format_marker
from processes import HOTENV, LIMIT, hotenv, serving, wait_until

CANARY = b"c4n4ry" + b"0123456789abcdef" * 4

INFINITE = resource.RLIM_INFINITY


class FakeLimits:
    """The core limit of a process that is only in the mind; ``refused`` is how it is kept."""

    def __init__(self, soft: int, hard: int) -> None:
        self.limits = (soft, hard)
        self.refused: Exception | None = None

    def getrlimit(self, kind: int) -> tuple[int, int]:
        assert kind == resource.RLIMIT_CORE
        return self.limits

    def setrlimit(self, kind: int, limits: tuple[int, int]) -> None:
        assert kind == resource.RLIMIT_CORE
        if self.refused is not None:
            raise self.refused
        self.limits = limits


@pytest.fixture
def limits(monkeypatch: pytest.MonkeyPatch) -> FakeLimits:
    """Unlimited core dumps, until a test says something else."""
    fake = FakeLimits(INFINITE, INFINITE)
    monkeypatch.setattr(resource, "getrlimit", fake.getrlimit)
    monkeypatch.setattr(resource, "setrlimit", fake.setrlimit)
    monkeypatch.setattr(coredump, "_before", [])
    return fake


@pytest.mark.parametrize(
    ("soft", "hard", "lowered"),
    [
        (INFINITE, INFINITE, 1),
        (4096, INFINITE, 1),
        (4096, 8192, 1),
        (2, 2, 1),
        (1, 1, 1),
        (0, INFINITE, 0),
        (0, 0, 0),
    ],
)
def test_lowered_and_put_back(limits: FakeLimits, soft: int, hard: int, lowered: int) -> None:
    """The soft limit is 1 byte at most, and in the end what it was; the hard one stays."""
    limits.limits = (soft, hard)
    coredump.forbid_core_dumps()
    assert limits.limits == (lowered, hard)
    coredump.forbid_core_dumps()  # of no consequence
    assert limits.limits == (lowered, hard)
    coredump.restore_core_dumps()
    assert limits.limits == (soft, hard)


def test_nothing_to_put_back(limits: FakeLimits) -> None:
    """What was not lowered is not raised."""
    coredump.restore_core_dumps()
    assert limits.limits == (INFINITE, INFINITE)


@pytest.mark.parametrize("error", [PermissionError(), ValueError("not allowed")], ids=repr)
def test_a_limit_that_cannot_be_set(limits: FakeLimits, error: Exception) -> None:
    """It stays, and the command is run all the same."""
    limits.refused = error
    coredump.forbid_core_dumps()
    limits.refused = None
    coredump.restore_core_dumps()
    assert limits.limits == (INFINITE, INFINITE)


# As processes

linux = pytest.mark.skipif(sys.platform != "linux", reason="how Linux dumps core")


def with_core_limit(soft: int, hard: int) -> list[str]:
    """The words that set the core limit of the command behind them. Skips where it is too high."""
    own = resource.getrlimit(resource.RLIMIT_CORE)[1]
    if own != INFINITE and (hard == INFINITE or hard > own):
        pytest.skip("the hard limit of core dumps is lower here")
    script = (
        "import os, resource, sys; "
        f"resource.setrlimit(resource.RLIMIT_CORE, ({soft}, {hard})); "
        "os.execvp(sys.argv[1], sys.argv[1:])"
    )
    return [sys.executable, "-c", script]


UNLIMITED = ["sh", "-c", 'ulimit -c unlimited && exec "$@"', "sh"]
"""The same for no limit at all."""


def cores(directory: Path) -> list[Path]:
    """The core files in ``directory``."""
    return [path for path in directory.iterdir() if path.name.startswith("core")]


@pytest.fixture
def cores_are_here(tmp_path_factory: pytest.TempPathFactory) -> None:
    """Skips a test where a process that aborts leaves no core in its directory."""
    directory = tmp_path_factory.mktemp("control")
    abort = ["sh", "-c", "kill -ABRT $$"]
    subprocess.run([*UNLIMITED, *abort], cwd=directory, capture_output=True, timeout=LIMIT)
    if not cores(directory):
        pytest.skip("core dumps are not written to the current directory here")


@contextmanager
def half_an_answer(directory: Path, runtime: Path) -> Iterator[socket.socket]:
    """A session whose server is to send half of its answer; the listener."""
    path = runtime / "0123abcd.sock"
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(path))
        listener.listen()
        listener.settimeout(LIMIT)
        (directory / ".hotenv").write_bytes(format_marker(str(path)))
        (directory / ".hotenv").chmod(0o600)
        yield listener


def unread(connection: socket.socket) -> int:
    """How many bytes the peer has not received."""
    return int.from_bytes(ioctl(connection, termios.TIOCOUTQ, bytes(4)), sys.byteorder)


COMMANDS = [
    *("dump", "dump --format json --only A", "run -- true", "run --isolated -- true"),
    *("run --explain true", "run --as-file A true", "run --wait 50 true"),
]


@linux
@pytest.mark.parametrize("words", COMMANDS)
def test_no_core_of_a_client(
    directory: Path, runtime: Path, words: str, cores_are_here: None
) -> None:
    """One that is aborted while it holds a value leaves none, whatever the limit was."""
    with half_an_answer(directory, runtime) as listener:
        client = subprocess.Popen(
            [*UNLIMITED, *HOTENV, *words.split()],
            cwd=directory,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
        connection, _ = listener.accept()
        with connection:
            connection.sendall(b'{"env":{"A":"' + CANARY)
            wait_until(lambda: not unread(connection), "the client to receive it")
            client.send_signal(signal.SIGABRT)
            assert client.wait(LIMIT) == -signal.SIGABRT
            client.communicate()
    assert cores(directory) == []


@linux
def test_no_core_of_a_dump_that_is_read_slowly(directory: Path, cores_are_here: None) -> None:
    """Nor while it waits for a reader, which can take any time."""
    with serving(directory, b"A=" + CANARY + b"x" * 1_000_000 + b"\n", "-q"):
        client = subprocess.Popen(
            [*UNLIMITED, *HOTENV, "dump"], cwd=directory, stdout=subprocess.PIPE
        )
        with client:
            assert client.stdout is not None
            assert client.stdout.read(100)  # now it has the values
            client.send_signal(signal.SIGQUIT)
        assert client.returncode == -signal.SIGQUIT
    assert cores(directory) == []


_SHOW_LIMITS = "import resource; print(*resource.getrlimit(resource.RLIMIT_CORE))"


@linux
@pytest.mark.parametrize("options", ["", "--isolated", "--as-file A"])
@pytest.mark.parametrize(
    ("soft", "hard"), [(0, 0), (0, 4096), (1, 1), (4096, 8192), (8192, 8192), (-1, -1), (0, -1)]
)
def test_the_command_has_its_limits(directory: Path, soft: int, hard: int, options: str) -> None:
    """Soft and hard, they are those that hotenv was started with."""
    with serving(directory, b"A=1\n", "-q"):
        command = [*with_core_limit(soft, hard), *HOTENV]
        words = ["run", *options.split(), "--", sys.executable, "-c", _SHOW_LIMITS]
        result = hotenv(*words, cwd=directory, command=command)
    assert result.stderr == b""
    assert result.stdout.split() == [b"%d" % soft, b"%d" % hard]


@linux
@pytest.mark.parametrize("words", COMMANDS[:-1])
def test_a_system_that_lets_no_limit_be_set(directory: Path, words: str) -> None:
    """Where the system call is refused, commands work as ever."""
    if not seccomp.is_possible():
        pytest.skip("there are no filters for system calls here")
    command = [*seccomp.refusing("prlimit64"), *HOTENV]
    with serving(directory, b"A=1\n", "-q", "--allow-confined"):
        result = hotenv(*words.split(), cwd=directory, command=command)
    assert (result.returncode, result.stderr) == (0, b"")


@linux
def test_a_command_can_dump_core(directory: Path, cores_are_here: None) -> None:
    """It is the caller's command again, and its core dumps are the caller's affair."""
    script = f"ulimit -c unlimited; exec {shlex.join(HOTENV)} run -- sh -c 'kill -ABRT $$'"
    with serving(directory, b"A=1\n", "-q"):
        done = subprocess.run(
            ["sh", "-c", script],
            cwd=directory,
            capture_output=True,
            timeout=LIMIT,
        )
    assert done.returncode == -signal.SIGABRT
    assert cores(directory)
    for path in cores(directory):
        os.unlink(path)
