"""Dead is only what cannot be alive, here or elsewhere."""

from __future__ import annotations

import errno
import itertools
import os
import socket
import subprocess
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace

import pytest

from fakes import claim
from hotenv.session import liveness as states
from hotenv.session import lock
from hotenv.session.liveness import ALIVE, DEAD, ELSEWHERE, is_listening, liveness, liveness_of
from processes import ALONE, HOTENV, LIMIT, freeze, hotenv, is_clean, said, serving, socket_path

needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="needs root")
not_as_root = pytest.mark.skipif(os.geteuid() == 0, reason="permissions do not bind root")
ofd = pytest.mark.skipif(not lock._HAS_RANGES, reason="the life of a marker is not known here")

TABLE = {
    # listening, held, booted since
    (True, True, True): ALIVE,
    (True, True, False): ALIVE,
    (True, False, True): ALIVE,
    (True, False, False): ALIVE,
    (False, True, True): ELSEWHERE,
    (False, True, False): ELSEWHERE,
    (False, False, True): DEAD,
    (False, False, False): DEAD,
    (None, True, True): ELSEWHERE,
    (None, True, False): ELSEWHERE,
    (None, False, True): DEAD,
    (None, False, False): ELSEWHERE,
}


@pytest.mark.parametrize(("facts", "state"), TABLE.items(), ids=str)
def test_table(
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    facts: tuple[bool | None, bool, bool],
    state: str,
) -> None:
    """What is known of the socket, the lock and the age of a marker makes its liveness."""
    assert set(TABLE) == set(itertools.product((True, False, None), (True, False), (True, False)))
    listening, held, booted = facts
    monkeypatch.setattr(states, "is_listening", lambda _path: listening)
    monkeypatch.setattr(lock, "is_held", lambda _descriptor: held)
    path = tmp_path / "marker"
    path.touch()
    if booted:
        os.utime(path, (0, 0))
    assert liveness(str(path), "/s") == state


@pytest.mark.parametrize(("held", "state"), [(True, ELSEWHERE), (False, DEAD)])
def test_marker_that_names_no_socket(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, held: bool, state: str
) -> None:
    """Its server can be alive only if it holds it."""
    monkeypatch.setattr(states, "is_listening", lambda _path: pytest.fail("what socket?"))
    monkeypatch.setattr(lock, "is_held", lambda _descriptor: held)
    with (tmp_path / "marker").open("w") as file:
        assert liveness_of(file.fileno(), None) == state


@pytest.mark.parametrize(
    ("age", "booted"), [(0, False), (1000, False), (1100, False), (1121, True), (10**6, True)]
)
def test_boot(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, age: int, booted: bool) -> None:
    """A marker of before the machine was started; the time of day may have been put right since."""
    monkeypatch.setattr(states, "boot_time", lambda: 1000.0)
    monkeypatch.setattr(states, "is_listening", lambda _path: None)
    path = tmp_path / "marker"
    path.touch()
    modified = time.time() - age
    os.utime(path, (modified, modified))
    assert liveness(str(path), "/s") == (DEAD if booted else ELSEWHERE)


def test_marker_that_cannot_be_opened(tmp_path: Path) -> None:
    """Nothing is known then: it is missing, a link, or a FIFO, which is not waited for."""
    assert liveness(str(tmp_path / "missing"), "/s") == ELSEWHERE
    (tmp_path / "target").touch()
    os.utime(tmp_path / "target", (0, 0))
    (tmp_path / "link").symlink_to("target")
    assert liveness(str(tmp_path / "link"), "/nowhere/s") == ELSEWHERE
    os.mkfifo(tmp_path / "FIFO")
    assert liveness(str(tmp_path / "FIFO"), "/nowhere/s") == ELSEWHERE


def test_marker_in_an_open_directory(tmp_path: Path) -> None:
    """A name is looked up there, and nothing stays open."""
    (tmp_path / "marker").touch()
    os.utime(tmp_path / "marker", (0, 0))
    dir_fd = os.open(tmp_path, os.O_RDONLY)
    before = os.listdir("/dev/fd")
    assert liveness("marker", "/nowhere/s", dir_fd=dir_fd) == DEAD
    assert os.listdir("/dev/fd") == before
    os.close(dir_fd)


# The socket


@pytest.fixture
def listener(runtime: Path) -> Iterator[socket.socket]:
    """A bound socket."""
    with socket.socket(socket.AF_UNIX) as sock:
        sock.bind(str(runtime / "s"))
        yield sock


def test_listening(listener: socket.socket, runtime: Path) -> None:
    """As soon as a process listens, and no longer; also while it accepts no more."""
    path = str(runtime / "s")
    assert is_listening(path) is False
    listener.listen(0)
    assert is_listening(path) is True
    crowd = []
    try:
        while True:
            client = socket.socket(socket.AF_UNIX)
            crowd.append(client)
            client.setblocking(False)
            client.connect(path)
    except BlockingIOError:
        pass
    assert is_listening(path) is True
    for client in crowd:
        client.close()
    listener.close()
    assert is_listening(path) is False


@pytest.mark.parametrize(
    ("path", "known"),
    [
        ("missing.sock", True),
        ("file", True),
        (".", True),
        ("nowhere/missing.sock", False),
        ("file/missing.sock", False),
        ("loop/missing.sock", False),
        ("x" * 200, False),
    ],
)
def test_not_listening(runtime: Path, path: str, known: bool) -> None:
    """It is known that none does where the socket would be, and not where that cannot be seen."""
    (runtime / "file").touch()
    (runtime / "loop").symlink_to("loop")
    assert is_listening(str(runtime / path)) is (False if known else None)


@pytest.mark.parametrize("number", [errno.EACCES, errno.EPERM, errno.ENETDOWN, errno.EMFILE])
def test_connection_that_is_not_allowed(
    monkeypatch: pytest.MonkeyPatch, listener: socket.socket, runtime: Path, number: int
) -> None:
    """That says nothing about the server."""

    class Refusing(socket.socket):
        def connect(self, _address: object) -> None:
            raise OSError(number, os.strerror(number))

    fake = SimpleNamespace(AF_UNIX=socket.AF_UNIX, SOCK_STREAM=socket.SOCK_STREAM, socket=Refusing)
    monkeypatch.setattr(states, "socket", fake)
    assert is_listening(str(runtime / "s")) is None


@not_as_root
def test_socket_in_a_closed_directory(listener: socket.socket, runtime: Path) -> None:
    """Nor does a directory that is closed to us."""
    runtime.chmod(0)
    try:
        assert is_listening(str(runtime / "s")) is None
    finally:
        runtime.chmod(0o700)


# A session


def test_session(directory: Path) -> None:
    """It is alive from its claim to its release."""
    with claim(str(directory)) as session:
        assert liveness(session.marker_path, session.socket_path) == ALIVE
    (directory / ".hotenv").write_text("x")
    assert liveness(session.marker_path, session.socket_path) == DEAD


@ofd
def test_session_out_of_reach(directory: Path) -> None:
    """Its server holds its marker: that is enough, whatever became of its socket."""
    with claim(str(directory)) as session:
        os.unlink(session.socket_path)
        assert liveness(session.marker_path, session.socket_path) == ELSEWHERE
        assert liveness(session.marker_path, "/nowhere/0123abcd.sock") == ELSEWHERE
        os.utime(session.marker_path, (0, 0))
        assert liveness(session.marker_path, "/nowhere/0123abcd.sock") == ELSEWHERE


@ofd
def test_stopped_and_killed(directory: Path) -> None:
    """A stopped server lives, and a killed one is dead at once."""
    with serving(directory) as server:
        marker, path = str(directory / ".hotenv"), str(socket_path(directory))
        freeze(server)
        assert liveness(marker, path) == ALIVE
        assert liveness(marker, "/nowhere/0123abcd.sock") == ELSEWHERE
        server.kill()
        server.wait(LIMIT)
        assert liveness(marker, path) == DEAD


# Namespaces


@contextmanager
def elsewhere(runtime: Path, *flags: str) -> Iterator[Sequence[str]]:
    """A command line's start: it is run where the runtime directory is another, empty one."""
    mount = f'mount -t tmpfs none "{runtime}" && exec "$@"'
    command = ["unshare", "-m", *flags, "sh", "-c", mount, "sh"]
    try:
        allowed = subprocess.run([*command, "true"], capture_output=True, timeout=LIMIT)
    except FileNotFoundError:
        pytest.skip("unshare is not installed")
    if allowed.returncode:
        pytest.skip("mounts are not allowed here")
    yield command


NAMESPACES = {
    "mount": (),
    "mount and PID": ("-p", "-f", "--mount-proc"),
    "mount and user": ("-U", "-r"),
}


@ofd
@needs_root
@pytest.mark.parametrize("flags", NAMESPACES.values(), ids=NAMESPACES)
def test_session_in_another_namespace(
    directory: Path, runtime: Path, flags: tuple[str, ...]
) -> None:
    """It is said that it may live there, and no command but serve --force touches it."""
    with serving(directory), elsewhere(runtime, *flags) as there:
        for args, code in (
            (("run", "--", "true"), 4),
            (("dump",), 4),
            (("status",), 4),
            (("stop",), 4),
            (("serve", "--if-needed"), 4),
            (("serve",), 10),
        ):
            result = hotenv(*args, cwd=directory, command=[*there, *HOTENV])
            words = said(result)
            assert result.returncode == code, (args, words)
            assert "may be alive" in words
            assert "container, namespace" in words
            assert "prune" not in words
        result = hotenv("prune", cwd=directory, command=[*there, *ALONE])
        assert (result.returncode, said(result)) == (0, "hotenv: nothing to remove")
        assert hotenv("dump", cwd=directory).stdout == b"A=1\n"
        forced = ("serve", "--force", "-q", "-t", "0.1")
        result = hotenv(*forced, cwd=directory, stdin=b"A=2\n", command=[*there, *HOTENV])
        assert (result.returncode, result.stderr) == (0, b"")
        assert not (directory / ".hotenv").exists()


@ofd
@needs_root
def test_dead_session_in_another_namespace(directory: Path, runtime: Path) -> None:
    """Its server is gone, and its directory is not there to see: that stays unclear."""
    with serving(directory) as server:
        server.kill()
        server.wait(LIMIT)
        with elsewhere(runtime) as there:
            result = hotenv("prune", cwd=directory, command=[*there, *ALONE])
            assert (result.returncode, said(result)) == (0, "hotenv: nothing to remove")
        assert hotenv("prune", cwd=directory, command=ALONE).returncode == 0
        assert is_clean(directory, runtime)
