"""The session of a directory: what a marker may name, and for which directory it counts."""

from __future__ import annotations

import errno
import os
import re
import shutil
import socket
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest

from fakes import claim
from hotenv.errors import (
    ArtifactError,
    ExpiredError,
    NoSessionError,
    SystemFailureError,
    UnreachableError,
)
from hotenv.exchange.client import fetch_sync
from hotenv.session.find import find_marker, find_session, live_session_above
from hotenv.session.marker import read_marker
from hotenv.session.note import Notes
from hotenv.session.status import read_status, status_path
from processes import ALONE, HOTENV, hotenv, needs, said, serving, socket_path

needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="needs root")
not_as_root = pytest.mark.skipif(os.geteuid() == 0, reason="permissions do not bind root")
SOCKET = "/tmp/hotenv-1000/a3f19c2d.sock"
NOT_OURS = (
    r"^invalid marker .*/\.hotenv: socket= must be a socket of hotenv in a private directory$"
)


def plant(directory: Path, socket_path: Path | str) -> None:
    """Make a marker that names ``socket_path``."""
    (directory / ".hotenv").write_text(f"socket={socket_path}\n")
    (directory / ".hotenv").chmod(0o600)


@contextmanager
def listening(path: Path) -> Iterator[socket.socket]:
    """Another program's socket, to which no one may connect; it notices if one has."""
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(path))
        listener.listen()
        listener.setblocking(False)
        yield listener
        with pytest.raises(BlockingIOError):
            listener.accept()


# Where it is looked for


def test_find_here_and_above(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The marker in the directory is found, or else the nearest one above it."""
    deep = tmp_path / "a" / "b" / "c"
    deep.mkdir(parents=True)
    plant(tmp_path, SOCKET)
    assert find_marker(str(deep)) == str(tmp_path / ".hotenv")
    plant(tmp_path / "a", SOCKET)
    assert find_marker(str(deep)) == str(tmp_path / "a" / ".hotenv")
    assert find_marker(str(tmp_path)) == str(tmp_path / ".hotenv")
    monkeypatch.chdir(deep)
    assert find_marker() == "../../.hotenv"
    assert read_marker(find_marker()).path == str(tmp_path / "a" / ".hotenv")
    plant(deep, SOCKET)
    assert find_marker() == ".hotenv"
    assert read_marker(find_marker()).path == str(deep / ".hotenv")
    assert find_marker("..") == str(tmp_path / "a" / ".hotenv")


@pytest.mark.parametrize("start", ["file", "file/x", "gone", "gone/x"])
def test_find_from_no_directory(start: str, tmp_path: Path) -> None:
    """Where there is no directory there is no marker, and the search goes on above."""
    (tmp_path / "file").touch()
    plant(tmp_path, SOCKET)
    assert find_marker(str(tmp_path / start)) == str(tmp_path / ".hotenv")


@pytest.mark.parametrize("kind", ["directory", "broken link", "not ours to read"])
def test_find_the_nearest_of_any_kind(kind: str, tmp_path: Path) -> None:
    """A marker that cannot be used is not passed by for one further up."""
    plant(tmp_path, SOCKET)
    near = tmp_path / "a" / ".hotenv"
    near.parent.mkdir()
    if kind == "directory":
        near.mkdir()
    elif kind == "broken link":
        near.symlink_to("nowhere")
    else:
        plant(near.parent, SOCKET)
        near.chmod(0)
    assert find_marker(str(near.parent)) == str(near)


def test_find_nothing(tmp_path: Path) -> None:
    """Up to the root there is none: the error says where it looked and what to do."""
    with pytest.raises(
        NoSessionError, match=r"no \.hotenv in .* or any parent directory: .*hotenv serve"
    ) as caught:
        find_marker(str(tmp_path))
    assert str(tmp_path) in str(caught.value)
    with pytest.raises(NoSessionError):
        find_marker("/")


@pytest.mark.parametrize("directory", ["loop", "x" * 300], ids=["loop of links", "name too long"])
def test_find_where_nobody_can_look(directory: str, tmp_path: Path) -> None:
    """Passing by could mean to use another session than the nearest."""
    plant(tmp_path, SOCKET)
    (tmp_path / "loop").symlink_to("loop")
    with pytest.raises(SystemFailureError, match="cannot look for"):
        find_marker(str(tmp_path / directory))


@not_as_root
def test_find_where_we_may_not_look(tmp_path: Path) -> None:
    """The same for a directory that is closed to us."""
    plant(tmp_path, SOCKET)
    (tmp_path / "closed").mkdir(mode=0)
    with pytest.raises(SystemFailureError, match="permission denied"):
        find_marker(str(tmp_path / "closed"))


def test_find_in_a_directory_that_is_gone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A current directory that was removed is an error of the system."""
    gone = tmp_path / "gone"
    gone.mkdir()
    monkeypatch.chdir(gone)
    gone.rmdir()
    with pytest.raises(SystemFailureError, match="cannot determine the current directory"):
        find_marker()


# Where one has expired


def expire(directory: Path) -> None:
    """Let a session of ``directory`` have expired."""
    with claim(str(directory)) as session:
        session.expire()


@pytest.fixture
def dev(directory: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A directory two levels down, the current one, between which one session lives and ends."""
    dev = directory / "dev"
    (dev / "below").mkdir(parents=True)
    monkeypatch.chdir(dev / "below")
    return dev


def test_no_session_takes_the_place_of_one_that_expired(directory: Path, dev: Path) -> None:
    """The search ends where it was, from there and from below, and says what to do."""
    with claim(str(directory)) as session:
        expire(dev)
        for place in (None, ".", str(dev), str(dev / "below")):
            with pytest.raises(ExpiredError) as caught:
                find_session(place)
            assert re.fullmatch(
                rf"the session of {dev} expired at \d\d:\d\d; that of {directory} is not used "
                rf"instead: run 'hotenv serve' in {dev} to start it anew, or use --above",
                str(caught.value),
            )
            assert caught.value.directory == str(dev)
            assert find_session(place, above=True).socket == session.socket_path
        assert find_session(str(directory)).socket == session.socket_path


@pytest.mark.parametrize("kind", ["none", "dead", "not ours"])
def test_nothing_that_could_take_its_place(directory: Path, dev: Path, kind: str) -> None:
    """Then nothing is offered that would not work."""
    if kind != "none":
        plant(directory, "/nowhere/0123abcd.sock")
    if kind == "not ours":
        (directory / ".hotenv").chmod(0o666)
    expire(dev)
    with pytest.raises(ExpiredError) as caught:
        find_session()
    remedy = f"run 'hotenv serve' in {dev} to start it anew"
    words = rf"the session of {dev} expired at \d\d:\d\d: {remedy}"
    assert re.fullmatch(words, str(caught.value))


def test_expired_on_another_day(dev: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The time alone would be misread."""
    long_ago = time.mktime((2026, 2, 14, 14, 2, 0, 0, 0, -1))
    monkeypatch.setattr("hotenv.session.note.booted_since", lambda _: False)
    monkeypatch.setattr("hotenv.session.note.time.time", lambda: long_ago)
    expire(dev)
    with pytest.raises(ExpiredError, match=" expired at 14:02 on 2026-02-14: "):
        find_session()


def test_a_marker_is_nearer_than_a_note(dev: Path) -> None:
    """As of a session that came later."""
    expire(dev)
    plant(dev, SOCKET)
    assert find_marker() == "../.hotenv"


def test_a_session_that_comes_meanwhile(dev: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It takes the note: who has seen no marker before that, and no note after it, looks again."""
    expiry = Notes.expiry

    def claim_first(notes: Notes, directory: str) -> float | None:
        if directory == "..":
            stack.enter_context(claim(str(dev)))
        return expiry(notes, directory)

    expire(dev)
    monkeypatch.setattr(Notes, "expiry", claim_first)
    with ExitStack() as stack:
        assert find_marker() == "../.hotenv"


def test_notes_that_cannot_be_read(dev: Path, runtime: Path) -> None:
    """To go on could select another session."""
    expire(dev)
    (note,) = (runtime / "hotenv").glob("*.expired")
    note.write_bytes(b"")
    with pytest.raises(ArtifactError, match="invalid note"):
        find_session()


def test_live_session_above(directory: Path, dev: Path) -> None:
    """Neither the directory's own, nor one that is dead."""
    with claim(str(dev)):
        assert live_session_above(str(dev)) is None
        with claim(str(directory)):
            assert live_session_above(str(dev)) == str(directory)
            assert live_session_above(str(dev / "below")) == str(dev)
    plant(directory, "/nowhere/0123abcd.sock")
    assert live_session_above(str(dev)) is None
    assert live_session_above("/") is None


def test_live_session_above_one_that_expired(directory: Path, dev: Path) -> None:
    """It counts for nobody but who says so, and the error names it."""
    expire(dev)
    expire(dev / "below")
    with claim(str(directory)):
        assert live_session_above(str(dev / "below")) is None
        assert live_session_above(str(dev / "below"), above=True) == str(directory)
        with pytest.raises(ExpiredError, match=f"; that of {directory} is not used instead: "):
            find_session()


# Where it was started for


def test_here_and_below(directory: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The session is found from its directory and from below, by a path and by none."""
    below = directory / "a" / "b"
    below.mkdir(parents=True)
    with claim(str(directory)) as session:
        for place in (directory, below):
            monkeypatch.chdir(place)
            for found in (find_session(), find_session(str(place))):
                assert (found.path, found.socket) == (session.marker_path, session.socket_path)
    with pytest.raises(NoSessionError):
        find_session()


def test_copied_marker(directory: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """In another directory it is refused with where it comes from, and from below too."""
    original, copy = directory / "original", directory / "copy"
    (original / "below").mkdir(parents=True)
    with claim(str(original)):
        shutil.copytree(original, copy)
        monkeypatch.chdir(copy / "below")
        for place in (None, str(copy / "below")):
            with pytest.raises(ArtifactError) as caught:
                find_session(place)
            assert str(caught.value) == (
                f"invalid marker {copy}/.hotenv: copied from {original}/.hotenv: remove it, or "
                "replace it with 'hotenv serve --force'"
            )
        assert find_session(str(original)).path == f"{original}/.hotenv"


def test_swapped_markers(directory: Path) -> None:
    """Neither of two directories gets the other one's session."""
    one, two = directory / "one", directory / "two"
    one.mkdir()
    two.mkdir()
    with claim(str(one)), claim(str(two)):
        (one / ".hotenv").rename(directory / "aside")
        (two / ".hotenv").rename(one / ".hotenv")
        (directory / "aside").rename(two / ".hotenv")
        for here, origin in ((one, two), (two, one)):
            with pytest.raises(ArtifactError, match=f"{here}/.hotenv: copied from {origin}/.hote"):
                find_session(str(here))


def test_renamed_directory(directory: Path) -> None:
    """It is the same directory, whatever its name, and through links to it."""
    (directory / "a").mkdir()
    (directory / "link").symlink_to("b")
    with claim(str(directory / "a")):
        (directory / "a").rename(directory / "b")
        for name in ("b", "link"):
            assert find_session(str(directory / name)).path == f"{directory}/{name}/.hotenv"


@pytest.mark.parametrize("content", [None, b"", b"{}\n"], ids=["none", "empty", "invalid"])
def test_nothing_published(directory: Path, content: bytes | None) -> None:
    """The marker counts then, also if it is a copy."""
    (directory / "copy").mkdir()
    with claim(str(directory)) as session:
        path = Path(status_path(session.socket_path))
        path.unlink()
        if content is not None:
            path.write_bytes(content)
        shutil.copy(session.marker_path, directory / "copy")
        for place in (directory, directory / "copy"):
            assert find_session(str(place)).socket == session.socket_path


COMMANDS = {
    "run": ("run", "--", "true"),
    "run with options": ("run", "--only", "A", "--", "true"),
    "dump": ("dump",),
    "status": ("status",),
    "status --short": ("status", "--short"),
    "stop": ("stop",),
}
commands = pytest.mark.parametrize("args", COMMANDS.values(), ids=COMMANDS)


@commands
def test_no_command_uses_a_copy(directory: Path, args: tuple[str, ...]) -> None:
    """Exit code 9; and the session of the original goes on."""
    original, copy = directory / "original", directory / "copy"
    original.mkdir()
    with serving(original):
        shutil.copytree(original, copy)
        result = hotenv(*args, cwd=copy)
        assert result.returncode == 9
        assert f"copied from {original}/.hotenv" in said(result)
        assert hotenv("dump", cwd=original).stdout == b"A=1\n"


def test_serve_in_a_copy(directory: Path) -> None:
    """The copy is in the way, and can be replaced; the original's marker stays what it was."""
    original, copy = directory / "original", directory / "copy"
    original.mkdir()
    with serving(original):
        shutil.copytree(original, copy)
        assert hotenv("serve", "--if-needed", cwd=copy).returncode == 9
        assert hotenv("serve", cwd=copy).returncode == 10
        assert hotenv("prune", cwd=copy, command=ALONE).returncode == 0
        assert (copy / ".hotenv").exists()
        before = (original / ".hotenv").read_bytes()
        with serving(copy, b"A=2\n", "--force"):
            pass
        assert (original / ".hotenv").read_bytes() == before


@needs_root
@needs("unshare")
def test_bind_mount(directory: Path) -> None:
    """The directory is the same at another place; a copy of it is not."""
    here, there = directory / "here", directory / "there"
    here.mkdir()
    there.mkdir()
    script = 'mount --bind here there && cd there && exec "$@"'
    with serving(here):
        result = subprocess.run(
            ["unshare", "-m", "sh", "-c", script, "sh", *HOTENV, "dump"], capture_output=True
        )
    if b"mount" in result.stderr or b"unshare" in result.stderr:
        pytest.skip("mounts are not allowed here")
    assert (result.returncode, result.stdout) == (0, b"A=1\n")


# What it names


@pytest.fixture
def base(runtime: Path) -> Path:
    """A private directory."""
    base = runtime / "hotenv"
    base.mkdir(mode=0o700)
    return base


NAMES = [
    "s",
    "agent.sock",
    "0123abc.sock",
    "0123abcde.sock",
    "0123ABCD.sock",
    "0123abcg.sock",
    "0123abcd",
    "0123abcd.socket",
    "0123abcd.sock.sock",
    "0123abcd.json",
    ".sock",
    "0123abcd .sock",
]


@pytest.mark.parametrize("name", NAMES)
def test_other_names(directory: Path, base: Path, name: str) -> None:
    """A socket that has not the name of hotenv's is another program's, and left alone."""
    with listening(base / name):
        plant(directory, base / name)
        with pytest.raises(ArtifactError, match=NOT_OURS):
            fetch_sync(["secret", "words"])


@pytest.mark.parametrize("target", ["../agent", "/proc/self/cwd/agent", "nowhere"])
def test_link_to_a_socket(directory: Path, runtime: Path, base: Path, target: str) -> None:
    """What has the right name may lead elsewhere."""
    with listening(runtime / "agent"):
        (base / "0123abcd.sock").symlink_to(target)
        plant(directory, base / "0123abcd.sock")
        with pytest.raises(ArtifactError, match=NOT_OURS):
            fetch_sync(["secret", "words"])


def test_link_to_a_directory(directory: Path, runtime: Path, base: Path) -> None:
    """Not even to a private one: a cloned repository can have such a link."""
    with listening(base / "0123abcd.sock"):
        (runtime / "link").symlink_to(base)
        for parent in (runtime / "link", directory / "link"):
            if parent.parent == directory:
                parent.symlink_to(base)
            plant(directory, parent / "0123abcd.sock")
            with pytest.raises(ArtifactError, match=NOT_OURS):
                fetch_sync(["secret", "words"])


def test_private_file(directory: Path, runtime: Path) -> None:
    """A file has no sockets in it."""
    (runtime / "file").touch(mode=0o600)
    (runtime / "file").chmod(0o600)
    plant(directory, runtime / "file" / "0123abcd.sock")
    with pytest.raises(ArtifactError, match=NOT_OURS):
        find_session()


def test_links_further_up(directory: Path, runtime: Path) -> None:
    """They are no matter, as where /tmp or a home directory is one."""
    with claim(str(directory)) as session:
        link = directory / "run"
        link.symlink_to(runtime)
        path = f"{link}/hotenv/{Path(session.socket_path).name}"
        plant(directory, path)
        assert find_session().socket == path


@pytest.mark.parametrize("mode", [0o750, 0o705, 0o710, 0o701, 0o720, 0o777, 0o1777], ids=oct)
def test_directory_that_is_not_private(directory: Path, base: Path, mode: int) -> None:
    """Others could have put the socket there."""
    with listening(base / "0123abcd.sock"):
        plant(directory, base / "0123abcd.sock")
        base.chmod(mode)
        with pytest.raises(ArtifactError, match=NOT_OURS):
            fetch_sync(["secret", "words"])


@needs_root
def test_directory_of_another_user(directory: Path, base: Path) -> None:
    """The same where another user owns it."""
    with listening(base / "0123abcd.sock"):
        plant(directory, base / "0123abcd.sock")
        os.chown(base, 12345, 12345)
        with pytest.raises(ArtifactError, match=NOT_OURS):
            fetch_sync(["secret", "words"])


@needs_root
def test_session_of_the_user_who_called_sudo(
    directory: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Root finds it, in the directory of that user; and not in one of its own."""
    with claim(str(directory)) as session:
        base = os.path.dirname(session.socket_path)
        for path in (session.marker_path, base):
            os.chown(path, 12345, 12345)
        monkeypatch.setenv("SUDO_UID", "12345")
        assert find_session().owner == 12345
        os.chown(base, 0, 0)
        with pytest.raises(ArtifactError, match=NOT_OURS):
            find_session()


@commands
@pytest.mark.parametrize("kind", ["name", "link"])
def test_no_command_asks_another_program(
    directory: Path, runtime: Path, base: Path, args: tuple[str, ...], kind: str
) -> None:
    """Exit code 9, and no connection."""
    with listening(runtime / "agent"):
        if kind == "link":
            (base / "0123abcd.sock").symlink_to("../agent")
        plant(directory, runtime / "agent" if kind == "name" else base / "0123abcd.sock")
        result = hotenv(*args, cwd=directory)
        assert result.returncode == 9
        assert "must be a socket of hotenv" in said(result)


@pytest.mark.parametrize("place", ["missing", "missing/too", "file"])
def test_directory_that_is_not_here(directory: Path, runtime: Path, place: str) -> None:
    """It may be in another namespace: the marker may be right, and the server is out of reach."""
    (runtime / "file").touch()
    plant(directory, runtime / place / "hotenv" / "0123abcd.sock")
    find_session()
    with pytest.raises(UnreachableError, match="may be alive in another container"):
        fetch_sync()


@pytest.mark.parametrize(
    ("number", "reached"), [(errno.EACCES, True), (errno.EIO, False), (errno.ELOOP, False)]
)
def test_directory_that_cannot_be_looked_at(
    directory: Path, base: Path, monkeypatch: pytest.MonkeyPatch, number: int, reached: bool
) -> None:
    """One that is closed to us cannot be reached either; anything else is an error."""
    plant(directory, base / "0123abcd.sock")
    lstat = os.lstat

    def fail(path: str, **options: int) -> os.stat_result:
        if path == str(base):
            raise OSError(number, os.strerror(number))
        return lstat(path, **options)

    monkeypatch.setattr(os, "lstat", fail)
    with ExitStack() as stack:
        if not reached:
            stack.enter_context(pytest.raises(SystemFailureError, match=r"^cannot check .*/\.hot"))
        find_session()


def test_directory_that_goes_away(directory: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is an error of the system."""
    with claim(str(directory)) as session:
        stat: Callable[..., os.stat_result] = os.stat

        def fail(path: str, **options: int) -> os.stat_result:
            if path == str(directory):
                raise OSError(errno.ESTALE, os.strerror(errno.ESTALE))
            return stat(path, **options)

        assert read_status(session.socket_path) is not None
        monkeypatch.setattr(os, "stat", fail)
        with pytest.raises(SystemFailureError, match=r"^cannot check .*: stale file handle$"):
            find_session(str(directory))


def test_socket_of_a_session_has_the_form(directory: Path) -> None:
    """What a server makes is what a client takes."""
    with serving(directory):
        assert find_session().socket == str(socket_path(directory))
