"""A second user of the same machine: what he plants is refused, what is ours he cannot get.

Decisions 13 to 17 with real users, so that it is the kernel who says who is who.
"""

from __future__ import annotations

import os
import secrets
import shutil
import signal
import socket
import stat
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from fakes import claim
from hotenv.errors import SystemFailureError
from hotenv.session.marker import find_marker, read_marker
from processes import finish, serving, wait_until
from users import (
    PRIVATE,
    STRANGER,
    VICTIM,
    acting_as,
    as_user,
    ask,
    listening,
    locked,
    make_folder,
    plant,
    reading,
    refusal,
    session_socket,
    unreadable,
)

pytestmark = pytest.mark.skipif(
    os.geteuid() != 0, reason="needs root to start processes as a second user"
)

BASE = Path(f"/tmp/hotenv-{VICTIM}")
RUN = ("run", "--", "echo", "ran")
BOUND = 10.0
"""Seconds that a stranger can make anybody wait, at the very most."""


@pytest.fixture
def place(monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A folder with a home and a runtime folder for each user, and one that is shared by all."""
    for name in [name for name in os.environ if name.startswith("COVERAGE_")]:
        monkeypatch.delenv(name)  # other users may not write where the measurements go
    folder = Path(tempfile.mkdtemp(prefix="hn", dir="/tmp"))
    folder.chmod(0o755)
    for name, owner in (("victim", VICTIM), ("stranger", STRANGER)):
        make_folder(folder / name, owner, 0o755)
        make_folder(folder / f"run-{name}", owner, 0o700)
    make_folder(folder / "shared", 0, 0o1777)
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(folder / "run-victim"))
    yield folder
    shutil.rmtree(folder)


@pytest.fixture
def home(place: Path) -> Path:
    """A folder of the victim's."""
    return place / "victim"


# Markers


@pytest.mark.parametrize(
    ("owner", "mode", "caller", "says"),
    [
        (STRANGER, 0o600, VICTIM, "start one in a folder of yours"),
        (STRANGER, 0o644, VICTIM, "start one in a folder of yours"),
        (STRANGER, 0o666, 0, "start one in a folder of yours"),
        (0, 0o644, VICTIM, "start one in a folder of yours"),
        (VICTIM, 0o620, VICTIM, "chmod 600"),
        (VICTIM, 0o602, VICTIM, "chmod 600"),
    ],
)
def test_planted_marker(place: Path, owner: int, mode: int, caller: int, says: str) -> None:
    """In a parent folder too: nobody connects to what it names, and nothing is executed."""
    below = make_folder(place / "shared" / "below", VICTIM, 0o755)
    marker = plant(place / "shared", place / "s", owner, mode)
    with listening(place / "s", owner) as received:
        words = refusal(ask(caller, *RUN, cwd=below), 8, owner)
        assert received() == []
    assert str(marker) in words
    assert says in words
    assert owner == caller or f"uid {caller}" in words


def test_only_its_user_and_roots_sudo_get_a_session(home: Path) -> None:
    """Root with SUDO_UID of the marker's owner; SUDO_UID gives nothing to anybody else."""
    with serving(home, command=as_user(VICTIM)):
        for caller, sudo in ((VICTIM, ""), (VICTIM, STRANGER), (0, VICTIM)):
            script = ("sh", "-c", "echo $A $(id -u)")
            result = ask(caller, "run", "--", *script, cwd=home, SUDO_UID=sudo)
            assert (result.stdout, result.stderr) == (f"1 {caller}\n".encode(), b"")
        for caller, sudo in ((0, ""), (0, STRANGER), (STRANGER, ""), (STRANGER, VICTIM)):
            for args in (RUN, ("dump",)):
                refusal(ask(caller, *args, cwd=home, SUDO_UID=sudo), 8, VICTIM, caller)


@pytest.mark.parametrize(
    ("caller", "sudo", "server", "args"),
    [
        (VICTIM, "", STRANGER, RUN),
        (VICTIM, "", STRANGER, ("dump",)),
        (VICTIM, "", 0, RUN),
        (0, VICTIM, STRANGER, RUN),
        (0, VICTIM, 0, RUN),
    ],
)
def test_server_of_another_user(
    home: Path, caller: int, sudo: object, server: int, args: tuple[str, ...]
) -> None:
    """Behind a marker that is trusted: it is not sent a byte."""
    plant(home, home / "s", VICTIM, 0o600)
    with listening(home / "s", server) as received:
        words = refusal(ask(caller, *args, cwd=home, SUDO_UID=sudo), 4, VICTIM, server)
        assert set(received()) == {b""}
    assert "hotenv serve --force" in words


@pytest.mark.parametrize("force", [False, True], ids=["plain", "force"])
@pytest.mark.parametrize("kind", ["link", "broken link", "FIFO", "folder", "marker"])
def test_planted_where_all_may_write(place: Path, home: Path, kind: str, force: bool) -> None:
    """As in /tmp: what a stranger put in the marker's place is neither followed nor replaced."""
    path, mine = place / "shared" / ".hotenv", home / "mine"
    mine.write_text("keep")
    make: dict[str, Callable[[], object]] = {
        "link": lambda: path.symlink_to(mine),
        "broken link": lambda: path.symlink_to(home / "new"),
        "FIFO": lambda: os.mkfifo(path),
        "folder": path.mkdir,
        "marker": lambda: path.write_text(f"socket={mine}\n"),
    }
    with acting_as(STRANGER):
        make[kind]()
    result = ask(VICTIM, "serve", "--force" if force else "-q", cwd=path.parent)
    words = refusal(result, 8, VICTIM, STRANGER) if force else refusal(result, 10)
    assert str(path) in words
    assert os.lstat(path).st_uid == STRANGER
    assert os.listdir(path.parent) == [".hotenv"]
    assert os.listdir(home) == ["mine"]
    assert mine.read_text() == "keep"
    assert [p for p in (place / "run-victim").rglob("*") if p.name != "hotenv"] == []


def test_planted_draft(place: Path, home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nobody can guess the draft's name. What has it all the same is left alone."""
    monkeypatch.setattr(secrets, "token_hex", lambda _n: "00000001")
    draft, mine = place / "shared" / ".hotenv.00000001", home / "mine"
    mine.write_text("keep")
    draft.symlink_to(mine)
    with acting_as(VICTIM), pytest.raises(SystemFailureError), claim(str(draft.parent)):
        pytest.fail("claimed")
    assert mine.read_text() == "keep"
    assert os.listdir(draft.parent) == [draft.name]


def test_draft_swapped_by_the_owner_of_the_folder(
    place: Path, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """He gets no second name for a file of ours, to which he has no access."""
    mine = home / "mine"
    mine.write_text("keep")
    link = os.link

    def swap_and_link(draft: str, name: str, **options: int) -> None:
        os.unlink(place / "stranger" / draft)
        (place / "stranger" / draft).symlink_to(mine)
        link(draft, name, **options)  # type: ignore[arg-type]

    monkeypatch.setattr(os, "link", swap_and_link)
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(make_folder(place / "run-root", 0, 0o700)))
    with claim(str(place / "stranger")) as session:
        assert not session.can_be_found()
    assert mine.stat().st_nlink == 1


def test_force_over_a_planted_marker(place: Path, home: Path) -> None:
    """It may name another session of ours: everybody finds its path in /proc/net/unix."""
    loose = make_folder(place / "loose", VICTIM, 0o777)
    with serving(home, command=as_user(VICTIM)):
        plant(loose, session_socket(home), STRANGER, 0o644)
        ended = ask(VICTIM, "serve", "--force", "-t", "0.1", cwd=loose)
        assert ended.returncode == 0
        assert os.listdir(loose) == []
        assert ask(VICTIM, "dump", cwd=home).stdout == b"A=1\n"


def test_marker_replaced_by_one_that_cannot_be_read(place: Path) -> None:
    """By somebody who may write to the folder: the session is lost then, and ends."""
    loose = make_folder(place / "loose", VICTIM, 0o777)
    with acting_as(STRANGER):
        (loose / "theirs").touch(mode=0o600)
    with acting_as(VICTIM), claim(str(loose)) as session:
        assert session.can_be_found()
        (loose / "theirs").replace(loose / ".hotenv")
        assert not session.can_be_found()


def test_folder_swapped_before_the_marker_is_read(
    place: Path, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The current folder is the one whose marker counts, whatever has its name by then."""
    team = make_folder(place / "team", STRANGER, 0o777)
    below = make_folder(make_folder(team / "here", VICTIM, 0o755) / "below", VICTIM, 0o755)
    plant(team / "here", Path("/here"), VICTIM, 0o600)
    plant(home, Path("/home"), VICTIM, 0o600)
    make_folder(home / "below", VICTIM, 0o755)
    monkeypatch.chdir(below)
    path = find_marker()
    with acting_as(STRANGER):
        (team / "here").rename(team / "there")
        (team / "here").symlink_to(home)
    with acting_as(VICTIM):
        marker = read_marker(path)
    assert (marker.path, marker.socket) == (str(team / "there" / ".hotenv"), "/here")


# The runtime folder


@pytest.mark.parametrize(
    ("kind", "owner", "says"),
    [
        ("folder", STRANGER, "set XDG_RUNTIME_DIR"),
        ("link", STRANGER, "set XDG_RUNTIME_DIR"),
        ("file", STRANGER, "set XDG_RUNTIME_DIR"),
        ("link", VICTIM, "is not a folder: remove it"),
        ("file", VICTIM, "is not a folder: remove it"),
    ],
)
def test_made_beforehand(place: Path, home: Path, kind: str, owner: int, says: str) -> None:
    """/tmp/hotenv-UID is refused then. Nothing is put into it, nor behind it."""
    target = make_folder(place / "target", VICTIM, 0o755)
    with acting_as(owner):
        if kind == "link":
            BASE.symlink_to(target)
        else:
            BASE.mkdir() if kind == "folder" else BASE.touch()
    try:
        before = os.lstat(BASE)
        owners = {owner, VICTIM} if owner != VICTIM else ()
        words = refusal(ask(VICTIM, "serve", cwd=home, XDG_RUNTIME_DIR=""), 8, *owners)
        assert str(BASE) in words
        assert says in words
        after = os.lstat(BASE)
        assert (after.st_mode, after.st_mtime_ns) == (before.st_mode, before.st_mtime_ns)
        assert os.listdir(target) == os.listdir(home) == []
    finally:
        BASE.rmdir() if kind == "folder" else BASE.unlink()


def test_own_but_too_wide(home: Path) -> None:
    """It is closed to others before there is a socket in it."""
    make_folder(BASE, VICTIM, 0o777)
    try:
        with serving(home, command=as_user(VICTIM, XDG_RUNTIME_DIR="")):
            assert session_socket(home).parent == BASE
            assert stat.S_IMODE(BASE.stat().st_mode) == 0o700
            assert ask(VICTIM, "dump", cwd=home).stdout == b"A=1\n"
    finally:
        shutil.rmtree(BASE)


@pytest.mark.parametrize(("caller", "name"), [(VICTIM, "stranger"), (0, "victim")])
def test_another_users_xdg_runtime_dir(place: Path, caller: int, name: str) -> None:
    """As after su and after sudo -E."""
    theirs, folder = place / f"run-{name}", make_folder(place / "here", caller, 0o755)
    result = ask(caller, "serve", cwd=folder, XDG_RUNTIME_DIR=theirs)
    words = refusal(result, 8, caller, theirs.stat().st_uid)
    assert "set XDG_RUNTIME_DIR to a folder of yours" in words
    assert os.listdir(theirs) == os.listdir(folder) == []


# A session that runs, and one that starts


def test_stranger_gets_nothing(place: Path, home: Path) -> None:
    """Neither what is on disk nor a connection, not even if folders are opened to him."""
    with serving(home, command=as_user(VICTIM)) as server:
        marker, path = home / ".hotenv", session_socket(home)

        def connect() -> None:
            with socket.socket(socket.AF_UNIX) as client:
                client.connect(str(path))

        def kill() -> None:
            os.kill(server.pid, signal.SIGTERM)

        def closed(*attempts: Callable[[], object]) -> None:
            with acting_as(STRANGER):
                for attempt in attempts:
                    with pytest.raises(PermissionError):
                        attempt()

        closed(marker.read_bytes, marker.unlink, path.lstat, connect, kill)
        path.parent.parent.chmod(0o755)
        closed(path.lstat, connect, lambda: os.listdir(path.parent))
        path.parent.chmod(0o755)
        closed(path.unlink, connect)
        assert [stat.S_IMODE(p.lstat().st_mode) for p in (marker, path)] == [0o600, 0o600]
        for option, code in (("-q", 10), ("-f", 8)):
            theirs = place / "run-stranger"
            refusal(ask(STRANGER, "serve", option, cwd=home, XDG_RUNTIME_DIR=theirs), code)
        assert ask(VICTIM, "dump", cwd=home).stdout == b"A=1\n"


def test_folder_swapped_while_it_is_typed(place: Path, home: Path) -> None:
    """By the owner of the one above, for a link to the folder of another session of ours."""
    team = make_folder(place / "team", STRANGER, 0o777)
    make_folder(team / "here", VICTIM, 0o755)
    with serving(home, command=as_user(VICTIM)), reading(team / "here") as server:
        with acting_as(STRANGER):
            (team / "here").rename(team / "there")
            (team / "here").symlink_to(home)
        assert server.stdin is not None
        server.stdin.write(b"A=2\n")
        server.stdin.close()
        wait_until((team / "there" / ".hotenv").exists, "the marker")
        assert ask(VICTIM, "dump", cwd=team / "there").stdout == b"A=2\n"
        assert ask(VICTIM, "dump", cwd=home).stdout == b"A=1\n"


def test_memory_is_closed_to_the_same_user(home: Path) -> None:
    """Before the secrets come and while they are there. Without hotenv's doing it is open."""
    with subprocess.Popen(["cat"], stdin=subprocess.PIPE, user=VICTIM, group=VICTIM) as plain:
        assert unreadable(plain.pid) == []
    with serving(home, command=as_user(VICTIM)) as server:
        assert unreadable(server.pid) == PRIVATE
    with reading(home) as server:
        children = Path(f"/proc/{server.pid}/task/{server.pid}/children")
        wait_until(children.read_text, "the child that reads")
        for pid in (server.pid, *map(int, children.read_text().split())):
            assert unreadable(pid) == PRIVATE


def test_lock_held_at_the_start(place: Path, home: Path) -> None:
    """The server gives up in time, and leaves nothing."""
    with locked(home):
        began = time.monotonic()
        words = refusal(ask(VICTIM, "serve", cwd=home), 8)
        assert time.monotonic() - began < BOUND
    assert "is locked by another process: try again" in words
    assert os.listdir(home) == os.listdir(place / "run-victim" / "hotenv") == []


def test_lock_held_at_the_end(home: Path) -> None:
    """The session ends in time all the same: only its marker has to stay."""
    with serving(home, b"A=1\n", "-q", command=as_user(VICTIM)) as server, locked(home):
        path = session_socket(home)
        assert ask(VICTIM, "dump", cwd=home).stdout == b"A=1\n"  # that needs no lock
        server.terminate()
        began = time.monotonic()
        code, words = finish(server)
        assert time.monotonic() - began < BOUND
    assert (code, words.count("\n")) == (8, 1)
    assert "is locked by another process" in words
    assert not path.exists()
    refusal(ask(VICTIM, *RUN, cwd=home), 4)
