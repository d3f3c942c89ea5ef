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
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from fakes import claim
from hotenv.errors import SystemFailureError
from hotenv.session.find import find_marker
from hotenv.session.marker import read_marker
from processes import LIMIT, finish, said, serving, wait_until
from users import (
    PRIVATE,
    STRANGER,
    VICTIM,
    acting_as,
    as_user,
    ask,
    guarding,
    in_user_namespace,
    listening,
    locked,
    make_directory,
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


@pytest.fixture
def place(unmeasured: None, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A directory with a home and a runtime directory for each user, and one shared by all."""
    directory = Path(tempfile.mkdtemp(prefix="hn", dir="/tmp"))
    directory.chmod(0o755)
    for name, owner in (("victim", VICTIM), ("stranger", STRANGER)):
        make_directory(directory / name, owner, 0o755)
        make_directory(directory / f"run-{name}", owner, 0o700)
    make_directory(directory / "shared", 0, 0o1777)
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(directory / "run-victim"))
    yield directory
    shutil.rmtree(directory)


def session_directory(place: Path, owner: int) -> Path:
    """A private directory, as the sockets of sessions are in; the victim can see into it."""
    return make_directory(place / "sockets", owner, 0o700)


@pytest.fixture
def home(place: Path) -> Path:
    """A directory of the victim's."""
    return place / "victim"


# Markers


@pytest.mark.parametrize(
    ("owner", "mode", "caller", "says"),
    [
        (STRANGER, 0o600, VICTIM, "run 'hotenv serve' in a directory of your own"),
        (STRANGER, 0o644, VICTIM, "run 'hotenv serve' in a directory of your own"),
        (STRANGER, 0o666, 0, "run 'hotenv serve' in a directory of your own"),
        (0, 0o644, VICTIM, "run 'hotenv serve' in a directory of your own"),
        (VICTIM, 0o620, VICTIM, "chmod 600"),
        (VICTIM, 0o602, VICTIM, "chmod 600"),
    ],
)
@pytest.mark.parametrize("directory_mode", [0o777, 0o1775, 0o755], ids=oct)
def test_planted_marker(
    place: Path, owner: int, mode: int, caller: int, says: str, directory_mode: int
) -> None:
    """In a parent directory too: nobody connects to what it names, and nothing is executed."""
    above = make_directory(place / "above", 0, directory_mode)
    below = make_directory(above / "below", VICTIM, 0o755)
    path = session_directory(place, owner) / "0123abcd.sock"
    marker = plant(above, path, owner, mode)
    with listening(path, owner) as received:
        words = refusal(ask(caller, *RUN, cwd=below), 8, owner)
        assert received() == []
    assert str(marker) in words
    assert says in words
    assert owner == caller or f"uid {caller}" in words


PASSED_OVER = {
    "run": RUN,
    "run --wait": ("run", "--wait", "0.2s", "--", "echo", "ran"),
    "dump": ("dump",),
    "status": ("status",),
    "status --short": ("status", "--short"),
    "stop": ("stop",),
}


@pytest.mark.parametrize("args", PASSED_OVER.values(), ids=PASSED_OVER)
@pytest.mark.parametrize("kind", ["marker", "link", "directory", "FIFO"])
def test_planted_where_every_user_may(place: Path, args: tuple[str, ...], kind: str) -> None:
    """As in /tmp: a stranger's is passed over, in any of the places there, and that is said."""
    below = make_directory(place / "shared" / "below", VICTIM, 0o755)
    marker = place / "shared" / ".hotenv"
    make: dict[str, Callable[[], object]] = {
        "marker": lambda: marker.write_text("socket=/tmp/x.sock\n"),
        "link": lambda: marker.symlink_to("nowhere"),
        "directory": marker.mkdir,
        "FIFO": lambda: os.mkfifo(marker),
    }
    with acting_as(STRANGER):
        make[kind]()
    for here in (below, below.parent):
        words = refusal(ask(VICTIM, *args, cwd=here), 3, STRANGER)
        assert f"({marker} of uid {STRANGER} was passed over)" in words
        assert "run 'hotenv serve' there" in words
        result = ask(VICTIM, "prune", cwd=here)
        assert (result.returncode, said(result)) == (0, "hotenv: nothing to remove")
    assert os.lstat(marker).st_uid == STRANGER


def test_sessions_around_a_planted_marker(place: Path) -> None:
    """What is passed over hides no session of the victim's."""
    above = make_directory(place / "above", VICTIM, 0o755)
    shared = make_directory(above / "shared", 0, 0o1777)
    below = make_directory(shared / "below", VICTIM, 0o755)
    plant(shared, place / "s", STRANGER, 0o644)
    with serving(above, command=as_user(VICTIM)):
        assert ask(VICTIM, "dump", cwd=below).stdout == b"A=1\n"
        with serving(below, b"A=2\n", command=as_user(VICTIM)):
            assert ask(VICTIM, "dump", cwd=below).stdout == b"A=2\n"
    for ended in (above, shared):
        (ended / ".hotenv").unlink()
    with serving(shared, b"A=3\n", command=as_user(VICTIM)):
        assert ask(VICTIM, "dump", cwd=shared).stdout == b"A=3\n"
        refusal(ask(STRANGER, "dump", cwd=shared), 3, VICTIM)


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
    place: Path, home: Path, caller: int, sudo: object, server: int, args: tuple[str, ...]
) -> None:
    """Behind a marker that is trusted: it is not sent a byte."""
    path = session_directory(place, VICTIM) / "0123abcd.sock"
    plant(home, path, VICTIM, 0o600)
    with listening(path, server) as received:
        words = refusal(ask(caller, *args, cwd=home, SUDO_UID=sudo), 4, VICTIM, server)
        assert set(received()) == {b""}
    assert "hotenv serve --force" in words


@pytest.mark.parametrize("force", [False, True], ids=["plain", "force"])
@pytest.mark.parametrize("kind", ["link", "broken link", "FIFO", "directory", "marker"])
def test_planted_where_all_may_write(place: Path, home: Path, kind: str, force: bool) -> None:
    """As in /tmp: what a stranger put in the marker's place is neither followed nor replaced."""
    path, mine = place / "shared" / ".hotenv", home / "mine"
    mine.write_text("keep")
    make: dict[str, Callable[[], object]] = {
        "link": lambda: path.symlink_to(mine),
        "broken link": lambda: path.symlink_to(home / "new"),
        "FIFO": lambda: os.mkfifo(path),
        "directory": path.mkdir,
        "marker": lambda: path.write_text(f"socket={mine}\n"),
    }
    with acting_as(STRANGER):
        make[kind]()
    result = ask(VICTIM, "serve", "--force" if force else "-q", cwd=path.parent)
    if force and kind not in ("FIFO", "directory"):
        words = refusal(result, 8, VICTIM, STRANGER)
    else:
        words = refusal(result, 10)
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


def test_draft_swapped_by_the_owner_of_the_directory(
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
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(make_directory(place / "run-root", 0, 0o700)))
    with claim(str(place / "stranger")) as session:
        assert not session.can_be_found()
    assert mine.stat().st_nlink == 1


def test_force_over_a_planted_marker(place: Path, home: Path) -> None:
    """It may name another session of ours: everybody finds its path in /proc/net/unix."""
    loose = make_directory(place / "loose", VICTIM, 0o777)
    with serving(home, command=as_user(VICTIM)):
        plant(loose, session_socket(home), STRANGER, 0o644)
        ended = ask(VICTIM, "serve", "--force", "-t", "0.1", cwd=loose)
        assert ended.returncode == 0
        assert os.listdir(loose) == []
        assert ask(VICTIM, "dump", cwd=home).stdout == b"A=1\n"


def test_marker_replaced_by_one_that_cannot_be_read(place: Path) -> None:
    """By somebody who may write to the directory: the session is lost then, and ends."""
    loose = make_directory(place / "loose", VICTIM, 0o777)
    with acting_as(STRANGER):
        (loose / "theirs").touch(mode=0o600)
    with acting_as(VICTIM), claim(str(loose)) as session:
        assert session.can_be_found()
        (loose / "theirs").replace(loose / ".hotenv")
        assert not session.can_be_found()


def test_directory_swapped_before_the_marker_is_read(
    place: Path, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The current directory is the one whose marker counts, whatever has its name by then."""
    team = make_directory(place / "team", STRANGER, 0o777)
    below = make_directory(make_directory(team / "here", VICTIM, 0o755) / "below", VICTIM, 0o755)
    plant(team / "here", Path("/here"), VICTIM, 0o600)
    plant(home, Path("/home"), VICTIM, 0o600)
    make_directory(home / "below", VICTIM, 0o755)
    monkeypatch.chdir(below)
    path = find_marker()
    with acting_as(STRANGER):
        (team / "here").rename(team / "there")
        (team / "here").symlink_to(home)
    with acting_as(VICTIM):
        marker = read_marker(path)
    assert (marker.path, marker.socket) == (str(team / "there" / ".hotenv"), "/here")


# The runtime directory


@pytest.mark.parametrize(
    ("kind", "owner", "says"),
    [
        ("directory", STRANGER, "set XDG_RUNTIME_DIR"),
        ("link", STRANGER, "set XDG_RUNTIME_DIR"),
        ("file", STRANGER, "set XDG_RUNTIME_DIR"),
        ("link", VICTIM, "is not a directory: remove it"),
        ("file", VICTIM, "is not a directory: remove it"),
    ],
)
def test_made_beforehand(place: Path, home: Path, kind: str, owner: int, says: str) -> None:
    """/tmp/hotenv-UID is refused then. Nothing is put into it, nor behind it."""
    target = make_directory(place / "target", VICTIM, 0o755)
    with acting_as(owner):
        if kind == "link":
            BASE.symlink_to(target)
        else:
            BASE.mkdir() if kind == "directory" else BASE.touch()
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
        BASE.rmdir() if kind == "directory" else BASE.unlink()


def test_own_but_too_wide(home: Path) -> None:
    """It is closed to others before there is a socket in it."""
    make_directory(BASE, VICTIM, 0o777)
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
    theirs, directory = place / f"run-{name}", make_directory(place / "here", caller, 0o755)
    result = ask(caller, "serve", cwd=directory, XDG_RUNTIME_DIR=theirs)
    words = refusal(result, 8, caller, theirs.stat().st_uid)
    assert "set XDG_RUNTIME_DIR to a directory you own" in words
    assert os.listdir(theirs) == os.listdir(directory) == []


# A session that runs, and one that starts


def test_stranger_gets_nothing(place: Path, home: Path) -> None:
    """Neither what is on disk nor a connection, not even if directories are opened to him."""
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
        refusal(ask(VICTIM, "dump", cwd=home), 9)  # nor what others could have put there
        path.parent.chmod(0o700)
        for option in ("-q", "-f"):
            theirs = place / "run-stranger"
            refusal(ask(STRANGER, "serve", option, cwd=home, XDG_RUNTIME_DIR=theirs), 10)
        assert ask(VICTIM, "dump", cwd=home).stdout == b"A=1\n"


def test_directory_swapped_while_it_is_typed(place: Path, home: Path) -> None:
    """By the owner of the one above, for a link to the directory of another session of ours."""
    team = make_directory(place / "team", STRANGER, 0o777)
    make_directory(team / "here", VICTIM, 0o755)
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


# Locks


@pytest.mark.parametrize("owner", [STRANGER, VICTIM])
def test_locked_by_a_reader(place: Path, home: Path, owner: int) -> None:
    """Who may only read the directory, or a marker, holds up nothing; nor does a user's flock."""
    marker = plant(home, place / "gone" / "0123abcd.sock", VICTIM, 0o644)
    with locked(home, marker, owner=owner):
        with serving(home, b"A=1\n", "-q", "--force", command=as_user(VICTIM)) as server:
            wait_until(lambda: session_socket(home).parent.name == "hotenv", "the new marker")
            (home / ".hotenv").chmod(0o644)
            with locked(home / ".hotenv", owner=owner):
                assert ask(VICTIM, "dump", cwd=home).stdout == b"A=1\n"
                server.terminate()
                assert finish(server) == (0, "")
        assert os.listdir(home) == os.listdir(place / "run-victim" / "hotenv") == []
        with serving(home, command=as_user(VICTIM)):
            pass


@pytest.mark.parametrize(("owner", "mode"), [(STRANGER, 0o666), (VICTIM, 0o666)])
def test_guarded_by_a_stranger(place: Path, owner: int, mode: int) -> None:
    """A marker to which others can write is replaced without a word from them."""
    loose = make_directory(place / "loose", VICTIM, 0o777)
    marker = plant(loose, place / "gone" / "0123abcd.sock", owner, mode)
    with guarding(marker, STRANGER):
        ended = ask(VICTIM, "serve", "--force", "-q", "-t", "0.1", cwd=loose)
    assert (ended.returncode, ended.stderr) == (0, b"")
    assert os.listdir(loose) == []


@pytest.mark.parametrize("args", [("serve", "--force"), ("prune",)], ids=" ".join)
def test_guard_held_at_the_start(place: Path, home: Path, args: tuple[str, ...]) -> None:
    """By a hotenv of the same user that was stopped: the wait is bounded, and said in words."""
    marker = plant(home, place / "gone" / "0123abcd.sock", VICTIM, 0o600)
    before = marker.read_bytes()
    with guarding(marker, VICTIM):
        words = refusal(ask(VICTIM, *args, cwd=home), 8)
    assert f"{marker} is locked by another process of yours: try again" in words
    assert os.listdir(home) == [".hotenv"]
    assert marker.read_bytes() == before


def test_guard_held_at_the_end(place: Path, home: Path) -> None:
    """The session ends in time all the same, and without a word: only its marker has to stay."""
    with serving(home, b"A=1\n", "-q", command=as_user(VICTIM)) as server:
        with guarding(home / ".hotenv", VICTIM):
            assert ask(VICTIM, "dump", cwd=home).stdout == b"A=1\n"  # that needs no lock
            server.terminate()
            assert finish(server) == (0, "")
        assert os.listdir(place / "run-victim" / "hotenv") == []
        refusal(ask(VICTIM, *RUN, cwd=home), 4)
        assert ask(VICTIM, "serve", "--if-needed", "-q", "-t", "0.1", cwd=home).returncode == 0
        assert os.listdir(home) == []


# User namespaces


def ask_in_namespace(
    *args: str, cwd: Path, mapped: bool = False
) -> subprocess.CompletedProcess[bytes]:
    """Run a command of the victim's in a user namespace."""
    command = [*in_user_namespace(VICTIM, mapped=mapped), *args]
    result = subprocess.run(command, cwd=cwd, input=b"A=2\n", capture_output=True, timeout=LIMIT)
    if result.returncode == 77:
        pytest.skip("users may not make user namespaces here")
    return result


@pytest.mark.parametrize(
    "args",
    [
        RUN,
        ("dump",),
        ("status",),
        ("status", "--all"),
        ("stop",),
        ("stop", "--all"),
        ("prune",),
        ("serve",),
        ("serve", "--force"),
        ("serve", "--if-needed"),
    ],
    ids=" ".join,
)
@pytest.mark.parametrize("owner", [STRANGER, VICTIM])
def test_all_users_look_the_same(
    place: Path, home: Path, args: tuple[str, ...], owner: int
) -> None:
    """In a namespace that maps none nothing is ours: a stranger's marker would look so."""
    if args != ("serve",):
        plant(home, place / "s", owner, 0o600 if owner == VICTIM else 0o644)
    runtime = make_directory(place / "run-victim" / "hotenv", VICTIM, 0o700)
    words = refusal(ask_in_namespace(*args, cwd=home), 8)
    assert "cannot tell users apart" in words
    assert "uid_map" not in words
    assert os.listdir(home) == ([] if args == ("serve",) else [".hotenv"])
    assert os.listdir(runtime) == []


def test_log_of_all_users(home: Path) -> None:
    """Nor is a log file."""
    words = refusal(ask_in_namespace("serve", "--log", "log", cwd=home), 8)
    assert "cannot tell users apart" in words


def test_own_user_is_mapped(place: Path, home: Path) -> None:
    """Then users can be told apart: the session is used, and a stranger's marker is not."""
    with serving(home, command=as_user(VICTIM)):
        result = ask_in_namespace("dump", cwd=home, mapped=True)
        assert (result.returncode, result.stdout) == (0, b"A=1\n")
    plant(home, place / "s", STRANGER, 0o644)
    words = refusal(ask_in_namespace(*RUN, cwd=home, mapped=True), 8, VICTIM)
    assert "is owned by" in words
