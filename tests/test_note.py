"""note: what an expired session leaves, for which directory it counts, and how long."""

from __future__ import annotations

import os
import stat
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace

import pytest

from hotenv import libc
from hotenv.errors import ArtifactError, SystemFailureError
from hotenv.session import note
from hotenv.session import runtime as bases
from hotenv.session.note import Notes, leave_note, notes_in

needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="needs root")


@pytest.fixture
def base(runtime: Path, alone: None) -> Path:
    """The one runtime base."""
    base = runtime / "hotenv"
    base.mkdir(mode=0o700)
    return base


def leave(base: Path, directory: Path, session: str = "01234567") -> Path:
    """The note of a session of ``directory`` that has just expired."""
    dir_fd = os.open(directory, os.O_RDONLY)
    try:
        leave_note(f"{base}/{session}.sock", dir_fd, str(directory))
    finally:
        os.close(dir_fd)
    return base / f"{session}.expired"


@contextmanager
def births(birth: Callable[[str | int], int]) -> Iterator[None]:
    """A file system on which directories have these births."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(libc, "birth", birth)
        yield


def unknown(_directory: str | int) -> int:
    """A file system that does not keep them."""
    raise OSError


def known(_directory: str | int) -> int:
    """One that does, and has nothing but twins."""
    return 1


@pytest.fixture(params=[known, unknown])
def any_file_system(request: pytest.FixtureRequest) -> Iterator[None]:
    """One that keeps the births of directories, and one that does not."""
    with births(request.param):
        yield


@pytest.mark.usefixtures("any_file_system")
def test_it_is_found_where_it_was_left(base: Path, directory: Path) -> None:
    """By any path to the directory, and not for another one, or none, or for a file."""
    before = time.time()
    leave(base, directory)
    (directory / "below").mkdir()
    (directory / "link").symlink_to(directory)
    for path in (".", str(directory), str(directory / "link")):
        assert before <= (Notes().expiry(path) or 0) <= time.time()
    for path in ("below", str(directory.parent), "gone", str(base / "01234567.expired" / "x")):
        assert Notes().expiry(path) is None


def test_what_it_says(base: Path, directory: Path, umask: None) -> None:
    """Its name is that of the session; it is private, and says when and where."""
    os.umask(0o777)
    with births(known):
        path = leave(base, directory)
    status = directory.stat()
    assert list(base.iterdir()) == [path]
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    expired, identity, origin = path.read_text().splitlines()
    assert float(expired.removeprefix("expired=")) == Notes().expiry(".")
    assert identity == f"identity={status.st_dev}-{status.st_ino}-1"
    assert origin == f"path={directory}"


def test_it_is_complete_when_it_is_seen(
    base: Path, directory: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Every search reads it, from whichever directory."""
    fchmod = os.fchmod

    def look_first(descriptor: int, mode: int) -> None:
        assert Notes().expiry(".") is None
        looked.append(descriptor)
        fchmod(descriptor, mode)

    looked: list[int] = []
    monkeypatch.setattr(os, "fchmod", look_first)
    leave(base, directory)
    assert len(looked) == 1
    assert Notes().expiry(".") is not None


def test_one_that_comes_during_a_search(base: Path, directory: Path) -> None:
    """A marker may have been seen to be gone after the search began."""
    notes = Notes()
    assert notes.expiry(".") is None
    leave(base, directory)
    assert notes.expiry(".") is not None


def test_one_that_goes_during_a_search(
    base: Path, directory: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its next session has taken it."""
    path = leave(base, directory)
    monkeypatch.setattr(note, "notes_in", lambda _: [str(path)])
    path.unlink()
    assert Notes().expiry(".") is None


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"expired=x\nidentity=1\npath=/a\n",
        b"expired=nan\nidentity=1\npath=/a\n",
        b"expired=1\nidentity=1\n",
        b"identity=1\nexpired=1\npath=/a\n",
        b"expired\nidentity\npath\n",
        bytes(70_000),
    ],
)
def test_a_damaged_one_is_an_error(base: Path, directory: Path, content: bytes) -> None:
    """To ignore it could select another session, in whichever directory."""
    (directory / "other").mkdir()
    leave(base, directory).write_bytes(content)
    for path in (".", "other"):
        with pytest.raises(ArtifactError):
            Notes().expiry(path)


def test_path_with_a_newline(base: Path, directory: Path) -> None:
    """It is the last one, and to the end."""
    strange = directory / "a\nidentity=2\n"
    strange.mkdir()
    with births(unknown):
        leave(base, strange)
        assert Notes().expiry(str(strange)) is not None


# Which directory it is


def test_renamed_directory(base: Path, directory: Path) -> None:
    """It is the same one, where the file system keeps its birth."""
    old, new = directory / "old", directory / "new"
    old.mkdir()
    with births(known):
        leave(base, old)
        old.rename(new)
        assert Notes().expiry(str(new)) is not None


def test_inode_that_is_used_again(base: Path, directory: Path) -> None:
    """The next directory that gets it has another birth, or it is not known whether it has."""
    old, new = directory / "old", directory / "new"
    old.mkdir()
    with births(known):
        leave(base, old)
    old.rename(new)
    for others in (lambda _: 2, unknown):
        with births(others):
            assert Notes().expiry(str(new)) is None


def test_directory_that_is_made_again(base: Path, directory: Path) -> None:
    """Its path counts too, also while nothing is there, and by a link to a directory above."""
    place = directory / "place"
    place.mkdir()
    (directory / "link").symlink_to(directory)
    leave(base, place)
    place.rmdir()
    assert Notes().expiry(str(place)) is not None
    (directory / "other").mkdir()  # it may get the inode
    place.mkdir()
    for path in ("place", "place/../place", "link/place", str(place)):
        assert Notes().expiry(path) is not None
    assert Notes().expiry("other") is None


def test_nothing_identifies_where_births_are_unknown(base: Path, directory: Path) -> None:
    """That two of them are is nothing that they share."""
    (directory / "other").mkdir()
    with births(unknown):
        leave(base, directory)
        assert Notes().expiry("other") is None


def test_births_of_this_file_system(directory: Path) -> None:
    """A directory has the same one by its path and as a descriptor."""
    try:
        born = libc.birth(str(directory))
    except OSError:
        pytest.skip("this file system does not keep births")
    descriptor = os.open(directory, os.O_RDONLY)
    assert libc.birth(descriptor) == born
    os.close(descriptor)
    (directory / "below").mkdir()
    assert born <= libc.birth("below") <= time.time_ns()


def test_births_that_python_knows(monkeypatch: pytest.MonkeyPatch) -> None:
    """As on macOS, whose C library has no statx."""
    status = SimpleNamespace(st_birthtime=1.5, st_dev=1, st_ino=2)
    monkeypatch.setattr(os, "stat", lambda _: status)
    with births(unknown):
        assert note._identity(".") == b"1-2-1.5"


def test_directory_that_cannot_be_looked_at(
    base: Path, directory: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Then it is not known whether there is a note."""
    (directory / "loop").symlink_to("loop")
    leave(base, directory)
    with pytest.raises(OSError, match="Too many levels"):
        Notes().expiry("loop")


# How long


def test_a_boot_ends_it(base: Path, directory: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A base in /tmp may outlive that."""
    leave(base, directory)
    monkeypatch.setattr("hotenv.session.liveness.boot_time", lambda: 3600.0)
    assert Notes().expiry(".") is not None
    monkeypatch.setattr("hotenv.session.liveness.boot_time", lambda: -3600.0)  # in an hour
    assert Notes().expiry(".") is None


def test_forget(base: Path, directory: Path) -> None:
    """Those of one directory go, all of them, and none is no error."""
    (directory / "other").mkdir()
    kept = leave(base, directory / "other", "00000000")
    for session in ("11111111", "22222222"):
        leave(base, directory, session)
    for _ in range(2):
        Notes().forget(".")
        assert notes_in(str(base)) == [str(kept)]


def test_one_that_cannot_be_removed(base: Path, directory: Path) -> None:
    """A directory in its place stays."""
    path = leave(base, directory)
    path.unlink()
    path.mkdir()
    with pytest.raises(ArtifactError, match=r"^invalid note .*: run 'hotenv prune' to remove it$"):
        Notes().forget(".")
    with pytest.raises(SystemFailureError, match=r"^cannot write .*\.expired: "):
        leave(base, directory)
    assert list(base.iterdir()) == [path]
    with pytest.raises(ArtifactError):
        Notes().expiry(".")


def test_one_that_cannot_be_written(
    base: Path, directory: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nothing of it is left, and it is an error."""

    def full(*_args: object) -> int:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fchmod", full)
    with pytest.raises(SystemFailureError, match=r"^cannot write .*: no space left on device$"):
        leave(base, directory)
    assert list(base.iterdir()) == []


def test_notes_in(base: Path) -> None:
    """Other files are none."""
    for name in ("0123abcd.expired", "0123abcg.expired", "0123abcd.sock", "0123abcd", ".expired"):
        (base / name).touch()
    assert notes_in(str(base)) == [str(base / "0123abcd.expired")]


# Where they are looked for


def test_every_base_that_can_be_ours(
    base: Path, directory: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A session may have been started with another environment."""
    monkeypatch.setattr(bases, "LOGINS", str(tmp_path))
    login = tmp_path / str(os.geteuid()) / "hotenv"
    login.mkdir(parents=True, mode=0o700)
    leave(login, directory)
    assert Notes().expiry(".") is not None
    Notes().forget(".")
    assert notes_in(str(login)) == []


@pytest.mark.parametrize("kind", ["writable by others", "link", "file"])
def test_base_that_others_can_write_to(base: Path, directory: Path, kind: str) -> None:
    """What is in it could be anybody's."""
    leave(base, directory)
    if kind == "writable by others":
        base.chmod(0o777)
    elif kind == "link":
        base.rename(base.parent / "elsewhere")
        base.symlink_to("elsewhere")
    else:
        base.rename(base.parent / "elsewhere")
        base.touch(mode=0o600)
    assert Notes().expiry(".") is None


@needs_root
def test_base_of_another_user(base: Path, directory: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is not believed, unless that is the one who called sudo, whose sessions root uses."""
    monkeypatch.setattr(bases, "LOGINS", str(directory))
    theirs = directory / "12345" / "hotenv"
    theirs.mkdir(parents=True, mode=0o700)
    leave(theirs, directory)
    os.chown(theirs, 12345, 12345)
    monkeypatch.setattr(note, "runtime_bases", lambda: [str(theirs)])
    assert Notes().expiry(".") is None
    monkeypatch.setattr(note, "runtime_bases", list)
    assert Notes().expiry(".") is None
    monkeypatch.setenv("SUDO_UID", "12345")
    assert Notes().expiry(".") is not None
