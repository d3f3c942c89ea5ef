"""What a session owns on disk: claimed whole or not at all, released in order."""

from __future__ import annotations

import errno
import fcntl
import functools
import itertools
import json
import os
import secrets
import socket
import stat
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

from fakes import claim, describe
from hotenv.errors import FieldError, HotenvError, SessionExistsError, SystemFailureError
from hotenv.session import claim as claims
from hotenv.session import lock, marker, markerfile
from hotenv.session.find import find_session
from hotenv.session.liveness import DEAD, ELSEWHERE, liveness
from hotenv.session.marker import parse_marker, refuse_existing
from hotenv.session.note import Notes
from hotenv.session.status import StatusFile, read_status, status_path
from processes import LIMIT, is_clean


def mode(path: str | Path) -> int:
    """The permission bits of ``path`` itself."""
    return stat.S_IMODE(os.lstat(path).st_mode)


DEAD_MARKER = "socket=/nowhere/0123abcd.sock\n"


def write(path: Path, content: str) -> None:
    """Make a private file."""
    path.write_text(content)
    path.chmod(0o600)


@pytest.fixture(params=[0o000, 0o022, 0o777], ids=oct)
def any_umask(request: pytest.FixtureRequest) -> Iterator[None]:
    """Each umask in turn."""
    before = os.umask(request.param)
    yield
    os.umask(before)


@pytest.mark.usefixtures("any_umask")
def test_files_and_modes(directory: Path, runtime: Path) -> None:
    """Base 0700, socket and marker 0600 whatever the umask; the marker names the socket."""
    with claim(str(directory)) as claimed:
        path = Path(claimed.socket_path)
        assert path.parent == runtime / "hotenv"
        assert len(path.name) == 8 + len(".sock")
        int(path.stem, 16)
        assert mode(path.parent) == 0o700
        assert mode(path) == 0o600
        assert mode(claimed.marker_path) == 0o600
        assert (directory / ".hotenv").read_text() == f"socket={path}\n"
        assert [p.name for p in directory.iterdir()] == [".hotenv"]
    assert is_clean(directory, runtime)


def test_connect_works_as_soon_as_the_marker_is_there(directory: Path) -> None:
    """It listens, with room for many, although nobody accepts."""
    with claim(str(directory)) as claimed:
        clients = [socket.socket(socket.AF_UNIX) for _ in range(100)]
        for client in clients:
            client.connect(claimed.socket_path)
            client.close()


def refuse(directory: Path, *, force: bool = False) -> None:
    """The check before anything is created."""
    refuse_existing(str(directory / ".hotenv"), "/x/.hotenv", force=force)


MARKERS = {
    "marker": "socket=/a.sock\n",
    "socket of another form": "socket=relative\n",
    "socket that is none": "socket=/etc/passwd\n",
    "path too long": f"socket=/{'x' * 200}\n",
    "later version": "later=1\nsocket=/a\n",
}


@pytest.mark.parametrize("content", MARKERS.values(), ids=MARKERS)
def test_existing_marker(directory: Path, runtime: Path, content: str) -> None:
    """It is refused early and at creation alike, unless it is to be replaced."""
    path = directory / ".hotenv"
    path.write_text(content)
    with pytest.raises(SessionExistsError, match=r": its session is dead: use --force to replace"):
        refuse(directory)
    with pytest.raises(SessionExistsError, match="--force"), claim(str(directory)):
        pytest.fail("claimed")
    assert path.read_text() == content
    assert list((runtime / "hotenv").iterdir()) == []
    assert len(list(directory.iterdir())) == 1
    refuse(directory, force=True)
    with claim(str(directory), force=True) as claimed:
        assert path.read_text() == f"socket={claimed.socket_path}\n"
    assert is_clean(directory, runtime)
    assert Path("/etc/passwd").exists()


@pytest.mark.parametrize("target", ["/nonexistent/x", "note", "."])
def test_existing_link(directory: Path, runtime: Path, target: str) -> None:
    """A link is refused too; --force replaces the link itself, and not what it leads to."""
    path, note = directory / ".hotenv", directory / "note"
    note.write_text("socket=/a\n")
    path.symlink_to(target)
    with pytest.raises(SessionExistsError, match=r"is a link: use --force to replace the link"):
        refuse(directory)
    with pytest.raises(SessionExistsError, match="link"), claim(str(directory)):
        pytest.fail("claimed")
    assert os.readlink(path) == target
    refuse(directory, force=True)
    with claim(str(directory), force=True) as claimed:
        assert not path.is_symlink()
        assert path.read_text() == f"socket={claimed.socket_path}\n"
    assert note.read_text() == "socket=/a\n"
    assert sorted(os.listdir(directory)) == ["note"]


def _text(path: Path) -> None:
    path.write_text("A=1\n")


def _empty(path: Path) -> None:
    path.touch()


def _too_large(path: Path) -> None:
    path.write_text("socket=/a\n")
    os.truncate(path, marker.SIZE_LIMIT + 1)


@pytest.mark.parametrize("force", [False, True], ids=["plain", "force"])
@pytest.mark.parametrize(
    "make", [_text, _empty, _too_large, Path.mkdir, os.mkfifo], ids=lambda make: make.__name__
)
def test_existing_file_of_another_kind(
    directory: Path, runtime: Path, make: Callable[[Path], None], force: bool
) -> None:
    """What is no marker is never replaced."""
    path = directory / ".hotenv"
    make(path)
    before = os.lstat(path)
    with pytest.raises(
        SessionExistsError, match=r"^/x/\.hotenv already exists and is not a marker: move it"
    ):
        refuse(directory, force=force)
    with (
        pytest.raises(SessionExistsError, match=f"^{path} already exists and is not a marker"),
        claim(str(directory), force=force),
    ):
        pytest.fail("claimed")
    after = os.lstat(path)
    assert (after[:7], after.st_mtime_ns) == (before[:7], before.st_mtime_ns)
    assert list((runtime / "hotenv").iterdir()) == []
    assert len(list(directory.iterdir())) == 1


@pytest.mark.parametrize("force", [False, True], ids=["plain", "force"])
def test_existing_file_that_cannot_be_read(
    directory: Path, monkeypatch: pytest.MonkeyPatch, force: bool
) -> None:
    """It could be anything: it stays."""
    path = directory / ".hotenv"
    path.write_text("socket=/a\n")
    real_open = os.open

    def deny(name: str, flags: int, mode: int = 0o777, *, dir_fd: int | None = None) -> int:
        if os.path.basename(name) == ".hotenv":
            raise PermissionError(errno.EACCES, "Permission denied")
        return real_open(name, flags, mode, dir_fd=dir_fd)

    monkeypatch.setattr(os, "open", deny)
    with pytest.raises(SessionExistsError, match="not a marker"):
        refuse(directory, force=force)
    with (
        pytest.raises(SessionExistsError, match="not a marker"),
        claim(str(directory), force=force),
    ):
        pytest.fail("claimed")
    monkeypatch.undo()
    assert path.read_text() == "socket=/a\n"


def test_nothing_to_refuse(directory: Path) -> None:
    """Where there is no marker there may be one; where it cannot be seen, that is an error."""
    refuse(directory)
    (directory / "file").touch()
    with pytest.raises(NotADirectoryError):
        refuse(directory / "file")


def test_force_replaces_and_removes_the_old_socket(directory: Path, runtime: Path) -> None:
    """--force takes the marker over; the old session's end leaves the new one alone."""
    with claim(str(directory)) as old:
        with claim(str(directory), force=True) as new:
            assert not Path(old.socket_path).exists()
            assert not Path(status_path(old.socket_path)).exists()
            text = (directory / ".hotenv").read_text()
            assert text == f"socket={new.socket_path}\n"
        assert not (directory / ".hotenv").exists()
    assert is_clean(directory, runtime)


@pytest.mark.parametrize("replaced", [True, False])
def test_killed_while_the_marker_was_put_in_place(
    directory: Path, runtime: Path, replaced: bool
) -> None:
    """The marker has its name and its draft is still there: it goes when the marker goes."""
    with claim(str(directory)) as old:
        draft = directory / f".hotenv.{Path(old.socket_path).stem}"
        os.link(directory / ".hotenv", draft)
        if replaced:
            with claim(str(directory), force=True):
                assert not draft.exists()
    assert is_clean(directory, runtime)


def test_end_of_the_old_leaves_the_new_alone(directory: Path, runtime: Path) -> None:
    """The order of the ends turned round."""
    old = claim(str(directory))
    old.__enter__()
    with claim(str(directory), force=True) as new:
        old.__exit__(None, None, None)
        assert Path(new.marker_path).read_text() == f"socket={new.socket_path}\n"
        assert Path(new.socket_path).exists()
    assert is_clean(directory, runtime)


def test_force_removes_only_sockets_in_the_base(directory: Path, runtime: Path) -> None:
    """A marker that names a file, or a socket elsewhere, is no order to remove it."""
    elsewhere = runtime / "x.sock"
    with socket.socket(socket.AF_UNIX) as sock:
        sock.bind(str(elsewhere))
    (runtime / "hotenv").mkdir(mode=0o700)
    regular = runtime / "hotenv" / "note"
    regular.write_text("keep")
    for target in (elsewhere, regular, runtime / "hotenv" / ".." / "x.sock"):
        (directory / ".hotenv").write_text(f"socket={target}\n")
        with claim(str(directory), force=True):
            pass
        assert elsewhere.exists()
        assert regular.exists()


def test_marker_that_says_something_else_by_the_end(directory: Path) -> None:
    """Released is only what still names this socket."""
    with claim(str(directory)):
        (directory / ".hotenv").write_text("socket=/somebody/elses\n")
    assert (directory / ".hotenv").read_text() == "socket=/somebody/elses\n"


def test_gone_by_the_end(directory: Path, runtime: Path) -> None:
    """Marker and socket were removed by somebody: the release has nothing to say."""
    with claim(str(directory)) as claimed:
        os.unlink(claimed.socket_path)
        os.unlink(claimed.marker_path)
    assert is_clean(directory, runtime)


def test_socket_path_taken_over(directory: Path) -> None:
    """A file that is not our socket any more is not removed."""
    with claim(str(directory)) as claimed:
        os.unlink(claimed.socket_path)
        Path(claimed.socket_path).write_text("new")
    assert Path(claimed.socket_path).read_text() == "new"


@pytest.fixture
def steps(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The names of the files that are removed, in order, and the end of listening."""
    order: list[str] = []
    unlink, close = os.unlink, socket.socket.close

    def unlink_and_note(path: str, *, dir_fd: int | None = None) -> None:
        unlink(path, dir_fd=dir_fd)
        order.append(os.path.splitext(os.path.basename(path))[1] or os.path.basename(path))

    def close_and_note(sock: socket.socket) -> None:
        if sock.fileno() != -1:
            order.append("listener")
        close(sock)

    monkeypatch.setattr(os, "unlink", unlink_and_note)
    monkeypatch.setattr(socket.socket, "close", close_and_note)
    return order


def test_order_of_the_release(directory: Path, runtime: Path, steps: list[str]) -> None:
    """Nobody is let in any more, then the socket, then the marker, then the status."""
    with claim(str(directory)):
        steps.clear()
    assert steps == ["listener", ".sock", ".hotenv", ".json"]
    assert is_clean(directory, runtime)


def test_order_of_the_claim(
    directory: Path, runtime: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The marker comes last: what it names listens, and its status is there, before it is."""
    link = os.link
    seen: list[list[str]] = []

    def look_and_link(*args: str, **options: int) -> None:
        base = runtime / "hotenv"
        seen.append(sorted(path.suffix for path in base.iterdir()))
        with socket.socket(socket.AF_UNIX) as client:
            client.connect(str(next(base.glob("*.sock"))))
        assert not (directory / ".hotenv").exists()
        link(*args, **options)  # type: ignore[arg-type]

    monkeypatch.setattr(os, "link", look_and_link)
    with claim(str(directory)):
        pass
    assert seen == [[".json", ".sock"]]


@pytest.mark.parametrize("step", ["status", "marker"])
def test_failed_claim(
    directory: Path, runtime: Path, monkeypatch: pytest.MonkeyPatch, step: str
) -> None:
    """Whatever fails, what was created so far is removed, and no descriptor stays open."""

    def fail(*_args: object, **_options: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    free = os.dup(0)
    os.close(free)
    monkeypatch.setattr(*((claims, "StatusFile") if step == "status" else (os, "link")), fail)
    words = "write the status file of" if step == "status" else f"write {directory}/.hotenv"
    says = f"^cannot {words}.*no space left"
    with pytest.raises(SystemFailureError, match=says), claim(str(directory)):
        pytest.fail("claimed")
    assert is_clean(directory, runtime)
    still_free = os.dup(0)
    os.close(still_free)
    assert still_free == free


@pytest.mark.parametrize("path", ["a\0b", "\ud800"], ids=["NUL", "lone surrogate"])
def test_directory_that_is_no_path(directory: Path, runtime: Path, path: str) -> None:
    """An error of usage that names the argument."""
    with pytest.raises(FieldError, match=r"^directory: ") as caught, claim(path):
        pytest.fail("claimed")
    assert caught.value.field == "directory"
    assert is_clean(directory, runtime)


def test_wait_until_lost(directory: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It looks again and again, until it is told to stop or the session is gone."""
    monkeypatch.setattr(claims, "LOOK_EVERY", 0.001)
    with claim(str(directory)) as session:
        stop = threading.Event()
        stop.set()
        assert session.wait_until_lost(stop) is False
        stop.clear()
        lost: list[bool] = []
        thread = threading.Thread(target=lambda: lost.append(session.wait_until_lost(stop)))
        thread.start()
        assert not lost
        os.unlink(session.marker_path)
        thread.join(LIMIT)
        assert lost == [True]


@pytest.mark.parametrize(
    ("change", "found"),
    [
        (lambda session: None, True),
        (lambda session: os.unlink(session.marker_path), False),
        (lambda session: os.unlink(session.socket_path), False),
        (lambda session: Path(session.marker_path).write_text("socket=/other\n"), False),
        (lambda session: Path(session.marker_path).write_text("no marker"), False),
        (lambda session: Path(session.marker_path).chmod(0o644), True),
    ],
    ids=["as it was", "no marker", "no socket", "another session", "no marker any more", "mode"],
)
def test_can_be_found(
    directory: Path, change: Callable[[claims.Session], object], found: bool
) -> None:
    """By its marker and its socket, whatever else has changed."""
    with claim(str(directory)) as session:
        change(session)
        assert session.can_be_found() is found


def test_can_be_found_with_another_socket_in_place(directory: Path) -> None:
    """A socket that only has the name is not the session's."""
    with claim(str(directory)) as session, socket.socket(socket.AF_UNIX) as other:
        os.rename(session.socket_path, f"{session.socket_path}.old")
        other.bind(session.socket_path)
        assert not session.can_be_found()
        os.unlink(f"{session.socket_path}.old")


@pytest.mark.parametrize(
    ("number", "found"), [(errno.EMFILE, True), (errno.EIO, True), (errno.EACCES, False)]
)
def test_can_be_found_when_the_system_cannot_tell(
    directory: Path, monkeypatch: pytest.MonkeyPatch, number: int, found: bool
) -> None:
    """It counts as there, except where the file has become another user's."""
    with claim(str(directory)) as session:
        with monkeypatch.context() as patch:

            def fail(*_args: object, **_options: object) -> None:
                raise OSError(number, os.strerror(number))

            patch.setattr(os, "open", fail)
            assert session.can_be_found() is found
        assert session.can_be_found()


def test_publish_deadline(directory: Path) -> None:
    """The status says what was published last, until it is withdrawn."""
    with claim(str(directory)) as session:
        session.publish_deadline(1234.5)
        status = read_status(session.socket_path)
        assert status is not None
        assert (status.deadline, status.marker) == (1234.5, session.marker_path)
    assert read_status(session.socket_path) is None


def test_status_is_published_or_withdrawn(directory: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Never both at once: a thread that was abandoned may still be publishing."""
    with claim(str(directory)) as session:
        for name in ("publish_deadline", "remove"):
            real = getattr(StatusFile, name)

            def alone(*args: object, real: Callable[..., None] = real) -> None:
                assert session._publishing.locked()
                real(*args)

            monkeypatch.setattr(StatusFile, name, alone)
        session.publish_deadline(1.0)
    assert not Path(status_path(session.socket_path)).exists()


def test_renamed_directory(tmp_path: Path, runtime: Path) -> None:
    """The marker is found again when the directory has another name by the end."""
    (tmp_path / "a").mkdir()
    with claim(str(tmp_path / "a")):
        (tmp_path / "a").rename(tmp_path / "b")
    assert is_clean(tmp_path / "b", runtime)


def test_id_collision_is_tried_again(
    directory: Path, runtime: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A session id that is taken is not an error."""
    ids = iter(["00000001", "00000001", "00000002"])
    monkeypatch.setattr(secrets, "token_hex", lambda _n: next(ids))
    (directory / "other").mkdir()
    with claim(str(directory)) as one, claim(str(directory / "other")) as two:
        assert Path(one.socket_path).name == "00000001.sock"
        assert Path(two.socket_path).name == "00000002.sock"


def test_file_system_without_links(directory: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where links are not possible the marker is created in place, still exclusively."""

    def refuse(*_args: object, **_options: object) -> None:
        raise PermissionError(1, "Operation not permitted")

    monkeypatch.setattr(os, "link", refuse)
    with claim(str(directory)) as claimed:
        assert mode(claimed.marker_path) == 0o600
        os.utime(claimed.marker_path, (0, 0))
        assert liveness(claimed.marker_path, "/nowhere/0123abcd.sock") == (
            ELSEWHERE if lock._HAS_RANGES else DEAD
        )
        with pytest.raises(SessionExistsError), claim(str(directory)):
            pytest.fail("claimed")
        assert [p.name for p in directory.iterdir()] == [".hotenv"]
    assert list(directory.iterdir()) == []


@pytest.mark.parametrize("links", [True, False])
def test_file_system_that_keeps_no_modes(
    directory: Path, runtime: Path, monkeypatch: pytest.MonkeyPatch, links: bool
) -> None:
    """A marker that clients would not trust is an error at once, and is removed."""
    fchmod = os.fchmod
    monkeypatch.setattr(os, "fchmod", lambda fd, _mode: fchmod(fd, 0o666))
    if not links:
        monkeypatch.setattr(os, "link", lambda *_a, **_k: (_ for _ in ()).throw(OSError(95, "no")))
    with pytest.raises(SystemFailureError, match="writable by others"), claim(str(directory)):
        pytest.fail("claimed")
    assert is_clean(directory, runtime)


@pytest.mark.parametrize("which", [1, 2], ids=["draft", "in place"])
def test_full_disk(
    directory: Path, runtime: Path, monkeypatch: pytest.MonkeyPatch, which: int
) -> None:
    """A marker that could not be written whole is removed, also where links are not possible."""
    write = marker.format_marker
    calls = itertools.count(1)

    def format_marker(path: str) -> bytes:
        if next(calls) == which:
            raise OSError(errno.ENOSPC, "No space left on device")
        return write(path)

    def refuse(*_args: object, **_options: object) -> None:
        raise OSError(errno.EOPNOTSUPP, "Operation not supported")

    monkeypatch.setattr(marker, "format_marker", format_marker)
    monkeypatch.setattr(os, "link", refuse)
    with pytest.raises(SystemFailureError, match="no space left"), claim(str(directory)):
        pytest.fail("claimed")
    assert is_clean(directory, runtime)


def test_path_over_the_limit(
    directory: Path, runtime: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A runtime directory whose sockets the kernel could not take is a clear error."""
    long = runtime / ("x" * 90)
    long.mkdir()
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(long))
    with pytest.raises(SystemFailureError, match="107"), claim(str(directory)):
        pytest.fail("claimed")
    assert list(directory.iterdir()) == []


def test_directory_that_is_not_there(tmp_path: Path) -> None:
    """The error names the directory."""
    with pytest.raises(SystemFailureError, match="nowhere"), claim(str(tmp_path / "nowhere")):
        pytest.fail("claimed")


@contextmanager
def guard_held(path: Path) -> Iterator[None]:
    """Another open file holds the guard of the marker at ``path``."""
    descriptor = os.open(path, os.O_RDWR)
    try:
        with lock.guarded(descriptor, str(path)):
            yield
    finally:
        os.close(descriptor)


def test_locked_directory(directory: Path, runtime: Path) -> None:
    """Every user who can read a directory can lock it: that is no matter to a session in it."""
    descriptor = os.open(directory, os.O_RDONLY)
    fcntl.flock(descriptor, fcntl.LOCK_EX)
    with claim(str(directory)), claim(str(directory), force=True):
        pass
    os.close(descriptor)
    assert is_clean(directory, runtime)


def test_guard_held_at_the_start(
    directory: Path, runtime: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A stopped hotenv may hold it: it is waited for, but not for ever."""
    monkeypatch.setattr(lock, "LOCK_TIMEOUT", 0.05)
    path = directory / ".hotenv"
    write(path, DEAD_MARKER)
    says = f"^{path} is locked by another process of yours: try again$"
    with (
        guard_held(path),
        pytest.raises(SystemFailureError, match=says),
        claim(str(directory), force=True),
    ):
        pytest.fail("claimed")
    assert path.read_text() == DEAD_MARKER
    assert os.listdir(directory) == [".hotenv"]
    assert os.listdir(runtime / "hotenv") == []
    with claim(str(directory), force=True):
        pass
    assert is_clean(directory, runtime)


def test_guard_held_at_the_end(
    directory: Path, runtime: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The end is no failure, and does not wait as long as a claim does: only the marker stays."""
    monkeypatch.setattr(lock, "LOCK_TIMEOUT", LIMIT)
    monkeypatch.setattr(markerfile, "RELEASE_TIMEOUT", 0.05)
    before = os.listdir("/dev/fd")
    session = claim(str(directory))
    path = Path(session.__enter__().marker_path)
    with guard_held(path):
        began = time.monotonic()
        session.__exit__(None, None, None)
        assert time.monotonic() - began < LIMIT / 2
    assert os.listdir("/dev/fd") == before
    assert os.listdir(runtime / "hotenv") == []
    assert os.listdir(directory) == [".hotenv"]
    assert liveness(str(path), parse_marker(path.read_bytes(), "")) == DEAD
    with claims.claim(str(directory), describe=describe, may_replace=markerfile.if_dead):
        pass
    assert is_clean(directory, runtime)


def test_release_timeout_is_short() -> None:
    """Nobody notices that the end of a session waits."""
    assert markerfile.RELEASE_TIMEOUT <= 0.2
    assert markerfile.RELEASE_TIMEOUT < lock.LOCK_TIMEOUT <= 2


@pytest.mark.parametrize("function", ["fcntl", "flock"])
@pytest.mark.parametrize("number", [errno.EBADF, errno.ENOLCK, errno.EOPNOTSUPP, errno.EINVAL])
def test_file_system_without_locks(
    directory: Path, runtime: Path, monkeypatch: pytest.MonkeyPatch, function: str, number: int
) -> None:
    """It goes without them there, as on some network file systems."""

    def refuse(*_args: object) -> None:
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr(fcntl, function, refuse)
    with claim(str(directory)) as old, claim(str(directory), force=True) as new:
        assert not Path(old.socket_path).exists()
        assert Path(new.marker_path).read_text() == f"socket={new.socket_path}\n"
        with pytest.raises(SessionExistsError), claim(str(directory)):
            pytest.fail("claimed")
    assert is_clean(directory, runtime)


def test_directory_stays_open(directory: Path) -> None:
    """On overlayfs it could have another inode number as soon as no process holds it."""

    def held() -> int:
        own = os.stat(directory)
        count = 0
        for name in os.listdir("/dev/fd"):
            with suppress(OSError):  # that of the list itself
                count += os.path.samestat(os.fstat(int(name)), own)
        return count

    before = held()
    with claim(str(directory)):
        assert held() == before + 1
    assert held() == before


def test_origin_is_published(directory: Path) -> None:
    """The status says for which directory the session was started."""
    with claim(str(directory)) as session:
        status = read_status(session.socket_path)
        assert status is not None
        own = directory.stat()
        assert (status.device, status.inode) == (own.st_dev, own.st_ino)


# The note of a session that expired


def notes(runtime: Path) -> list[Path]:
    """What is there."""
    return list((runtime / "hotenv").glob("*.expired"))


def test_only_one_that_expired_leaves_a_note(directory: Path, runtime: Path) -> None:
    """Any other end leaves nothing; and the next session there takes the note."""
    for expired in (False, True, False):
        with claim(str(directory)) as session:
            assert notes(runtime) == []
            if expired:
                session.expire()
        assert is_clean(directory, runtime, expired=expired)


def test_the_note_is_there_before_the_marker_is_gone(
    directory: Path, runtime: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A client finds one of them at every moment."""
    unlink = os.unlink

    def look_first(path: str, *, dir_fd: int | None = None) -> None:
        if path == ".hotenv":
            seen.extend(notes(runtime))
        unlink(path, dir_fd=dir_fd)

    seen: list[Path] = []
    with claim(str(directory)) as session:
        session.expire()
        monkeypatch.setattr(os, "unlink", look_first)
    assert seen == notes(runtime) != []


def test_the_note_is_taken_after_the_marker_is_there(
    directory: Path, runtime: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The same at the start of the next one."""
    forget = Notes.forget

    def look_first(self: Notes, path: str) -> None:
        assert (directory / ".hotenv").exists()
        assert len(notes(runtime)) == 1
        forget(self, path)

    with claim(str(directory)) as session:
        session.expire()
    monkeypatch.setattr(Notes, "forget", look_first)
    with claim(str(directory)):
        assert notes(runtime) == []


@pytest.mark.parametrize("how", ["replaced", "gone", "says something else"])
def test_no_note_for_a_session_that_is_not_there_any_more(
    directory: Path, runtime: Path, how: str
) -> None:
    """Whatever stands in its place is what counts."""
    with claim(str(directory)) as old:
        if how == "replaced":
            with claim(str(directory), force=True):
                old.expire()
        elif how == "gone":
            os.unlink(old.marker_path)
        else:
            (directory / ".hotenv").write_text("socket=/somebody/elses\n")
        old.expire()
    assert notes(runtime) == []


def test_without_a_note_the_marker_stays(
    directory: Path, runtime: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nobody passes it by then: it is that of a dead session."""

    def fail(*_args: object) -> None:
        raise SystemFailureError("cannot write")

    monkeypatch.setattr(claims, "leave_note", fail)
    with pytest.raises(SystemFailureError, match="cannot write"), claim(str(directory)) as session:
        session.expire()
    assert os.listdir(runtime / "hotenv") == []
    assert liveness(str(directory / ".hotenv"), session.socket_path) == DEAD


def test_a_note_that_cannot_be_taken(directory: Path, runtime: Path) -> None:
    """It is in nobody's way: a marker is nearer."""
    (runtime / "hotenv").mkdir(mode=0o700)
    (runtime / "hotenv" / "01234567.expired").touch()
    with claim(str(directory)) as session:
        assert find_session().socket == session.socket_path


# Who may replace a marker


def test_if_dead_replaces_only_a_dead_session(directory: Path, runtime: Path) -> None:
    """One that is alive, or may be alive elsewhere, stays, and the error says what it is."""
    path = directory / ".hotenv"
    needed = functools.partial(
        claims.claim, str(directory), describe=describe, may_replace=markerfile.if_dead
    )
    with needed(), pytest.raises(SessionExistsError, match="run 'hotenv stop' first"), needed():
        pytest.fail("claimed")
    write(path, DEAD_MARKER)
    with pytest.raises(SessionExistsError, match="may be alive elsewhere"), needed():
        pytest.fail("claimed")
    (runtime / "hotenv" / "0123abcd.json").touch()
    write(path, f"socket={runtime}/hotenv/0123abcd.sock\n")
    with needed() as session:
        assert path.read_text() == f"socket={session.socket_path}\n"


def test_marker_that_goes_while_it_may_not_be_replaced(directory: Path) -> None:
    """There is nothing to refuse any more: the session is created."""

    def gone(_descriptor: int, _socket_path: str | None) -> bool:
        (directory / ".hotenv").unlink()
        return False

    write(directory / ".hotenv", DEAD_MARKER)
    with claims.claim(str(directory), describe=describe, may_replace=gone) as session:
        assert session.can_be_found()


def test_marker_that_comes_while_another_one_goes(
    directory: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It was not asked about yet, and stays."""
    path, lstat = directory / ".hotenv", os.lstat

    def late(name: str, **options: int) -> os.stat_result:
        monkeypatch.setattr(os, "lstat", lstat)
        try:
            return lstat(name, **options)
        finally:
            write(path, DEAD_MARKER)

    def gone(_descriptor: int, socket_path: str | None) -> bool:
        if socket_path == "/nowhere/old.sock":
            path.unlink()
            monkeypatch.setattr(os, "lstat", late)
        return False

    write(path, "socket=/nowhere/old.sock\n")
    session = claims.claim(str(directory), describe=describe, may_replace=gone)
    with pytest.raises(SessionExistsError), session:
        pytest.fail("claimed")
    assert path.read_text() == DEAD_MARKER


def test_marker_replaced_while_its_guard_is_waited_for(
    directory: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What is guarded then is no marker any more: the new one is looked at."""
    seen: list[str | None] = []

    def ask(descriptor: int, socket_path: str | None) -> bool:
        assert os.path.samestat(os.fstat(descriptor), path.stat())
        seen.append(socket_path)
        return True

    path = directory / ".hotenv"
    write(path, DEAD_MARKER)

    @contextmanager
    def slow(descriptor: int, name: str, pause: lock.Pause) -> Iterator[None]:
        patch.undo()
        write(directory / "new", DEAD_MARKER.replace("0123abcd", "00000001"))
        (directory / "new").replace(path)
        with lock.guarded(descriptor, name, pause):
            yield

    with monkeypatch.context() as patch:
        patch.setattr(markerfile, "guarded", slow)
        with claims.claim(str(directory), describe=describe, may_replace=ask):
            pass
    assert seen == ["/nowhere/00000001.sock"]


def test_created_while_it_was_to_be_replaced(
    directory: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Another one was faster where there was no marker: that is replaced as any other."""
    path, link = directory / ".hotenv", os.link

    def late(*args: str, **options: int) -> None:
        monkeypatch.setattr(os, "link", link)
        write(path, DEAD_MARKER)
        link(*args, **options)  # type: ignore[arg-type]

    monkeypatch.setattr(os, "link", late)
    with claim(str(directory), force=True) as session:
        assert session.can_be_found()


@pytest.mark.parametrize("may_remove", [True, False])
@pytest.mark.parametrize("socket_path", ["/nowhere/0123abcd.sock", "/nowhere/other.sock"])
def test_withdraw(directory: Path, may_remove: bool, socket_path: str) -> None:
    """A marker is removed if it still names the socket, and if that is allowed."""
    path = directory / ".hotenv"
    dir_fd = os.open(directory, os.O_RDONLY)
    before = os.listdir("/dev/fd")

    def remove() -> bool:
        return markerfile.withdraw(dir_fd, str(path), socket_path, lambda *_: may_remove)

    try:
        assert remove() is False  # there is none
        write(path, DEAD_MARKER)
        removed = may_remove and socket_path in DEAD_MARKER
        assert remove() is removed
        assert path.exists() is not removed
        assert os.listdir("/dev/fd") == before
    finally:
        os.close(dir_fd)


@pytest.mark.parametrize("look", [1, 2])
def test_marker_that_goes_while_it_is_in_the_way(
    directory: Path, monkeypatch: pytest.MonkeyPatch, look: int
) -> None:
    """Another session ends while a new one finds its marker: the new one is created."""
    path, lstat, looks = directory / ".hotenv", os.lstat, itertools.count(1)

    def ending(name: str, **options: int) -> os.stat_result:
        if name == ".hotenv" and next(looks) == look:
            path.unlink()
        return lstat(name, **options)

    write(path, DEAD_MARKER)
    monkeypatch.setattr(os, "lstat", ending)
    with claim(str(directory)) as session:
        assert next(looks) > look
        assert session.can_be_found()
    write(path, DEAD_MARKER)
    looks = itertools.count(1)
    with claim(str(directory), force=True) as session:
        assert next(looks) > look
        assert session.can_be_found()


def test_marker_removed_while_it_is_released(
    directory: Path, runtime: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The user was faster: the end is no failure."""
    unlink = os.unlink

    def late(path: str, *, dir_fd: int | None = None) -> None:
        if path == ".hotenv":
            unlink(path, dir_fd=dir_fd)
        unlink(path, dir_fd=dir_fd)

    with claim(str(directory)):
        monkeypatch.setattr(os, "unlink", late)
    assert is_clean(directory, runtime)


# Several processes at once

_WORKER = """
import contextlib, json, os, sys, time
sys.path.insert(0, sys.argv[1])
from fakes import describe
from hotenv.errors import HotenvError, SessionExistsError
from hotenv.session import claim, lock, markerfile, marker
kind, directory, rounds, seconds = sys.argv[2], sys.argv[3], int(sys.argv[4]), float(sys.argv[5])
# Whatever the load of the machine: a wait that is given up leaves a marker, rightly.
lock.LOCK_TIMEOUT = markerfile.RELEASE_TIMEOUT = 60.0
may_replace = {"create": None, "force": markerfile.always, "if-needed": markerfile.if_dead}
lost, replaced, claimed, begun, end = [], [], 0, 0, time.monotonic() + seconds
dir_fd = os.open(directory, os.O_RDONLY)
while begun < rounds or time.monotonic() < end:
    begun += 1
    if kind == "prune":
        with contextlib.suppress(HotenvError):
            path = marker.parse_marker(marker.load(".hotenv", dir_fd=dir_fd)[1], "")
            if markerfile.withdraw(dir_fd, ".hotenv", path, markerfile.if_dead):
                claimed += 1
        continue
    with (
        contextlib.suppress(SessionExistsError),
        claim.claim(directory, describe=describe, may_replace=may_replace[kind]) as session,
    ):
        claimed += 1
        if session._marker_file.replaced:
            replaced.append(session._marker_file.replaced)
        for _ in range(begun % 3):
            time.sleep(0.0002)
        try:
            there = session._marker_file.is_in_place()
        except HotenvError:
            there = False
        if not there:
            lost.append(session.socket_path)
print(json.dumps([lost, replaced, claimed]))
"""


def work(directory: Path, *kinds: str, rounds: int = 0, seconds: float = 0) -> tuple[int, int]:
    """How many sessions lost their marker to nothing that replaced it; and how many there were.

    ``kinds``: what each of the processes does, so many times and so long.
    """
    here = str(Path(__file__).parent)
    processes = [
        subprocess.Popen(
            [sys.executable, "-c", _WORKER, here, kind, directory, str(rounds), str(seconds)],
            stdout=subprocess.PIPE,
        )
        for kind in kinds
    ]
    lost, replaced, total = set(), set(), 0
    for process, kind in zip(processes, kinds, strict=True):
        output = process.communicate(timeout=LIMIT)[0]
        assert process.returncode == 0
        one, other, claimed = json.loads(output)
        lost.update(one)
        replaced.update(other)
        total += claimed
        assert not (other and kind == "if-needed"), "a living session was replaced"
        assert not (claimed and kind == "prune"), "the marker of a living session was removed"
    return len(lost - replaced), total


def test_old_end_never_removes_a_newer_marker(directory: Path, runtime: Path) -> None:
    """1,000 sessions replace each other while others end: a marker just made is never removed."""
    assert work(directory, "force", "force", rounds=500) == (0, 1000)
    assert is_clean(directory, runtime)


def test_all_kinds_at_once(directory: Path, runtime: Path) -> None:
    """Whatever creates, replaces, releases and prunes: only what was replaced is lost."""
    kinds = ("create", "create", "force", "force", "if-needed", "prune")
    wrong, total = work(directory, *kinds, seconds=3)
    assert wrong == 0
    assert total > 100
    assert is_clean(directory, runtime)


def test_error_of_the_block_comes_through(directory: Path, runtime: Path) -> None:
    """What fails inside is what is raised, after the release."""
    with pytest.raises(ZeroDivisionError), claim(str(directory)):
        raise ZeroDivisionError
    assert is_clean(directory, runtime)
    with pytest.raises(HotenvError), claim(str(directory)):
        raise SystemFailureError("x")
