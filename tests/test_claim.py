"""What a session owns on disk: claimed whole or not at all, released in order."""

from __future__ import annotations

import errno
import fcntl
import itertools
import os
import secrets
import socket
import stat
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from fakes import claim
from hotenv.errors import HotenvError, SessionExistsError, SystemFailureError
from hotenv.session import folderlock, marker
from hotenv.session.marker import refuse_existing
from processes import LIMIT, is_clean


def mode(path: str | Path) -> int:
    """The permission bits of ``path`` itself."""
    return stat.S_IMODE(os.lstat(path).st_mode)


@pytest.fixture(params=[0o000, 0o022, 0o777], ids=oct)
def any_umask(request: pytest.FixtureRequest) -> Iterator[None]:
    """Each umask in turn."""
    before = os.umask(request.param)
    yield
    os.umask(before)


@pytest.mark.usefixtures("any_umask")
def test_files_and_modes(folder: Path, runtime: Path) -> None:
    """Base 0700, socket and marker 0600 whatever the umask; the marker names the socket."""
    with claim(str(folder)) as claimed:
        path = Path(claimed.socket_path)
        assert path.parent == runtime / "hotenv"
        assert len(path.name) == 8 + len(".sock")
        int(path.stem, 16)
        assert mode(path.parent) == 0o700
        assert mode(path) == 0o600
        assert mode(claimed.marker_path) == 0o600
        assert (folder / ".hotenv").read_text() == f"socket={path}\n"
        assert [p.name for p in folder.iterdir()] == [".hotenv"]
    assert is_clean(folder, runtime)


def test_connect_works_as_soon_as_the_marker_is_there(folder: Path) -> None:
    """It listens, with room for many, although nobody accepts."""
    with claim(str(folder)) as claimed:
        clients = [socket.socket(socket.AF_UNIX) for _ in range(100)]
        for client in clients:
            client.connect(claimed.socket_path)
            client.close()


def test_existing_marker_is_refused(folder: Path, runtime: Path) -> None:
    """Early and at creation alike; the marker stays as it is, nothing else is left."""
    (folder / ".hotenv").write_text("somebody's")
    with pytest.raises(SessionExistsError, match="--force"):
        refuse_existing(str(folder))
    with pytest.raises(SessionExistsError, match="--force"), claim(str(folder)):
        pytest.fail("claimed")
    assert (folder / ".hotenv").read_text() == "somebody's"
    assert list((runtime / "hotenv").iterdir()) == []
    assert len(list(folder.iterdir())) == 1


@pytest.mark.parametrize("kind", ["dangling", "folder", "fifo"])
def test_existing_marker_of_any_kind_is_refused(folder: Path, kind: str) -> None:
    """Whatever has the name is in the way."""
    path = folder / ".hotenv"
    if kind == "dangling":
        path.symlink_to("/nonexistent/x")
    elif kind == "folder":
        path.mkdir()
    else:
        os.mkfifo(path)
    with pytest.raises(SessionExistsError):
        refuse_existing(str(folder))
    with pytest.raises(SessionExistsError), claim(str(folder)):
        pytest.fail("claimed")
    with pytest.raises(SessionExistsError):  # and again: it was not touched
        refuse_existing(str(folder))


def test_force_replaces_and_removes_the_old_socket(folder: Path, runtime: Path) -> None:
    """--force takes the marker over; the old session's end leaves the new one alone."""
    with claim(str(folder)) as old:
        with claim(str(folder), force=True) as new:
            assert not Path(old.socket_path).exists()
            text = (folder / ".hotenv").read_text()
            assert text == f"socket={new.socket_path}\n"
        assert not (folder / ".hotenv").exists()
    assert is_clean(folder, runtime)


@pytest.mark.parametrize("replaced", [True, False])
def test_killed_while_the_marker_was_put_in_place(
    folder: Path, runtime: Path, replaced: bool
) -> None:
    """The marker has its name and its draft is still there: it goes when the marker goes."""
    with claim(str(folder)) as old:
        draft = folder / f".hotenv.{Path(old.socket_path).stem}"
        os.link(folder / ".hotenv", draft)
        if replaced:
            with claim(str(folder), force=True):
                assert not draft.exists()
    assert is_clean(folder, runtime)


def test_end_of_the_old_leaves_the_new_alone(folder: Path, runtime: Path) -> None:
    """The order of the ends turned round."""
    old = claim(str(folder))
    old.__enter__()
    with claim(str(folder), force=True) as new:
        old.__exit__(None, None, None)
        assert Path(new.marker_path).read_text() == f"socket={new.socket_path}\n"
        assert Path(new.socket_path).exists()
    assert is_clean(folder, runtime)


@pytest.mark.parametrize("content", ["", "junk", "socket=relative\n", "socket=/etc/passwd\n"])
def test_force_over_anything(folder: Path, content: str) -> None:
    """--force also replaces what is no marker; what such a file names stays untouched."""
    (folder / ".hotenv").write_text(content)
    with claim(str(folder), force=True) as claimed:
        assert (folder / ".hotenv").read_text() == f"socket={claimed.socket_path}\n"
    assert Path("/etc/passwd").exists()


def test_force_removes_only_sockets_in_the_base(folder: Path, runtime: Path) -> None:
    """A marker that names a file, or a socket elsewhere, is no order to remove it."""
    elsewhere = runtime / "x.sock"
    with socket.socket(socket.AF_UNIX) as sock:
        sock.bind(str(elsewhere))
    (runtime / "hotenv").mkdir(mode=0o700)
    regular = runtime / "hotenv" / "note"
    regular.write_text("keep")
    for target in (elsewhere, regular, runtime / "hotenv" / ".." / "x.sock"):
        (folder / ".hotenv").write_text(f"socket={target}\n")
        with claim(str(folder), force=True):
            pass
        assert elsewhere.exists()
        assert regular.exists()


def test_force_over_a_folder(folder: Path, runtime: Path) -> None:
    """A folder with the name cannot be replaced: an error, and nothing is left."""
    (folder / ".hotenv").mkdir()
    with pytest.raises(SystemFailureError, match="cannot write"), claim(str(folder), force=True):
        pytest.fail("claimed")
    assert (folder / ".hotenv").is_dir()
    assert list((runtime / "hotenv").iterdir()) == []
    assert len(list(folder.iterdir())) == 1


def test_marker_that_says_something_else_by_the_end(folder: Path) -> None:
    """Released is only what still names this socket."""
    with claim(str(folder)):
        (folder / ".hotenv").write_text("socket=/somebody/elses\n")
    assert (folder / ".hotenv").read_text() == "socket=/somebody/elses\n"


def test_gone_by_the_end(folder: Path, runtime: Path) -> None:
    """Marker and socket were removed by somebody: the release has nothing to say."""
    with claim(str(folder)) as claimed:
        os.unlink(claimed.socket_path)
        os.unlink(claimed.marker_path)
    assert is_clean(folder, runtime)


def test_socket_path_taken_over(folder: Path) -> None:
    """A file that is not our socket any more is not removed."""
    with claim(str(folder)) as claimed:
        os.unlink(claimed.socket_path)
        Path(claimed.socket_path).write_text("new")
    assert Path(claimed.socket_path).read_text() == "new"


def test_renamed_folder(tmp_path: Path, runtime: Path) -> None:
    """The marker is found again when the folder has another name by the end."""
    (tmp_path / "a").mkdir()
    with claim(str(tmp_path / "a")):
        (tmp_path / "a").rename(tmp_path / "b")
    assert is_clean(tmp_path / "b", runtime)


def test_id_collision_is_tried_again(
    folder: Path, runtime: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A session id that is taken is not an error."""
    ids = iter(["00000001", "00000001", "00000002"])
    monkeypatch.setattr(secrets, "token_hex", lambda _n: next(ids))
    (folder / "other").mkdir()
    with claim(str(folder)) as one, claim(str(folder / "other")) as two:
        assert Path(one.socket_path).name == "00000001.sock"
        assert Path(two.socket_path).name == "00000002.sock"


def test_file_system_without_links(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where links are not possible the marker is created in place, still exclusively."""

    def refuse(*_args: object, **_options: object) -> None:
        raise PermissionError(1, "Operation not permitted")

    monkeypatch.setattr(os, "link", refuse)
    with claim(str(folder)) as claimed:
        assert mode(claimed.marker_path) == 0o600
        with pytest.raises(SessionExistsError), claim(str(folder)):
            pytest.fail("claimed")
        assert [p.name for p in folder.iterdir()] == [".hotenv"]
    assert list(folder.iterdir()) == []


@pytest.mark.parametrize("links", [True, False])
def test_file_system_that_keeps_no_modes(
    folder: Path, runtime: Path, monkeypatch: pytest.MonkeyPatch, links: bool
) -> None:
    """A marker that clients would not trust is an error at once, and is removed."""
    fchmod = os.fchmod
    monkeypatch.setattr(os, "fchmod", lambda fd, _mode: fchmod(fd, 0o666))
    if not links:
        monkeypatch.setattr(os, "link", lambda *_a, **_k: (_ for _ in ()).throw(OSError(95, "no")))
    with pytest.raises(SystemFailureError, match="writable by others"), claim(str(folder)):
        pytest.fail("claimed")
    assert is_clean(folder, runtime)


@pytest.mark.parametrize("which", [1, 2], ids=["draft", "in place"])
def test_full_disk(
    folder: Path, runtime: Path, monkeypatch: pytest.MonkeyPatch, which: int
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
    with pytest.raises(SystemFailureError, match="no space left"), claim(str(folder)):
        pytest.fail("claimed")
    assert is_clean(folder, runtime)


def test_path_over_the_limit(folder: Path, runtime: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A runtime folder whose sockets the kernel could not take is a clear error."""
    long = runtime / ("x" * 90)
    long.mkdir()
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(long))
    with pytest.raises(SystemFailureError, match="107"), claim(str(folder)):
        pytest.fail("claimed")
    assert list(folder.iterdir()) == []


def test_folder_that_is_not_there(tmp_path: Path) -> None:
    """The error names the folder."""
    with pytest.raises(SystemFailureError, match="nowhere"), claim(str(tmp_path / "nowhere")):
        pytest.fail("claimed")


def test_somebody_holds_the_lock(
    folder: Path, runtime: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whoever can read the folder could lock it for ever: it is waited for, but not for ever."""
    monkeypatch.setattr(folderlock, "PATIENCE", 0.05)
    descriptor = os.open(folder, os.O_RDONLY)
    fcntl.flock(descriptor, fcntl.LOCK_EX)
    with pytest.raises(SystemFailureError, match="locked"), claim(str(folder)):
        pytest.fail("claimed")
    assert is_clean(folder, runtime)
    fcntl.flock(descriptor, fcntl.LOCK_UN)
    with pytest.raises(SystemFailureError, match="locked"), claim(str(folder)) as claimed:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
    os.close(descriptor)
    assert not Path(claimed.socket_path).exists()  # the secrets cannot be had any more


def test_folder_that_cannot_be_locked(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without locks, as on NFS, it goes without."""

    def refuse(*_args: object) -> None:
        raise OSError(9, "Bad file descriptor")

    monkeypatch.setattr(fcntl, "flock", refuse)
    with claim(str(folder)) as claimed:
        assert Path(claimed.marker_path).exists()
    assert not Path(claimed.marker_path).exists()


_OLD_ENDS = """
import sys
sys.path.insert(0, sys.argv[3])
from fakes import claim
for _ in range(int(sys.argv[2])):
    with claim(sys.argv[1], force=True):
        pass
"""


def test_old_end_never_removes_a_newer_marker(folder: Path, runtime: Path) -> None:
    """1,000 sessions replace each other while others end: a marker just made is never removed.

    Only --force of the others may replace it, and that leaves a marker, for a moment at least.
    """
    process = subprocess.Popen(
        [sys.executable, "-c", _OLD_ENDS, str(folder), "1000", str(Path(__file__).parent)]
    )
    path = folder / ".hotenv"
    wrong = 0
    rounds = 0
    while process.poll() is None or rounds < 1000:
        rounds += 1
        with claim(str(folder), force=True) as mine:
            descriptor = os.open(folder, os.O_RDONLY)
            with folderlock.locked_folder(descriptor, str(path)):
                # Whoever replaces a marker removes the socket that it named; an end does not.
                wrong += not path.exists() and os.path.exists(mine.socket_path)
            os.close(descriptor)
    assert process.wait(LIMIT) == 0
    assert wrong == 0
    assert is_clean(folder, runtime)


def test_error_of_the_block_comes_through(folder: Path, runtime: Path) -> None:
    """What fails inside is what is raised, after the release."""
    with pytest.raises(ZeroDivisionError), claim(str(folder)):
        raise ZeroDivisionError
    assert is_clean(folder, runtime)
    with pytest.raises(HotenvError), claim(str(folder)):
        raise SystemFailureError("x")
