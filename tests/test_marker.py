"""marker: its grammar and when it is trusted (decisions 13 and 14)."""

from __future__ import annotations

import os
import signal
import socket
import stat
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import NoReturn

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hotenv.errors import ArtifactError, NoSessionError, SystemFailureError
from hotenv.session.marker import (
    SIZE_LIMIT,
    SOCKET_PATH_LIMIT,
    check_trust,
    format_marker,
    load,
    parse_marker,
    read_marker,
)
from hotenv.session.owner import sudo_uid, user

CONTENT = b"socket=/tmp/hotenv-1000/a3f19c2d.sock\n"
SOCKET = "/tmp/hotenv-1000/a3f19c2d.sock"
STRANGER = 54321

as_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a file away")
not_as_root = pytest.mark.skipif(os.geteuid() == 0, reason="permissions do not bind root")


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """Where a marker would be in an empty directory."""
    return tmp_path / ".hotenv"


@pytest.fixture
def no_hang() -> Iterator[None]:
    """Interrupts a system call that would never return."""

    def give_up(_signum: int, _frame: object) -> NoReturn:
        raise AssertionError("it hangs")

    before = signal.signal(signal.SIGALRM, give_up)
    signal.alarm(30)
    yield
    signal.alarm(0)
    signal.signal(signal.SIGALRM, before)


def write(path: Path, content: bytes = CONTENT, mode: int = 0o600) -> None:
    """Make a marker."""
    path.write_bytes(content)
    path.chmod(mode)


# Grammar


@pytest.mark.parametrize(
    ("content", "path_of_socket"),
    [
        pytest.param(CONTENT, SOCKET, id="the specification's example"),
        pytest.param(b"socket=/a", "/a", id="no newline at the end"),
        pytest.param(b"later=1\nsocket=/a\nmore=\n", "/a", id="unknown keys"),
        pytest.param(b"later=1\nsocket=/a\nlater=2\n", "/a", id="an unknown key twice"),
        pytest.param(b"Socket=/b\nsocket=/a\n", "/a", id="another key"),
        pytest.param(b"socket=/a b=c d\n", "/a b=c d", id="spaces and equals signs"),
        pytest.param("socket=/é\n".encode(), "/é", id="UTF-8"),
        pytest.param(b"socket=/\xff\n", os.fsdecode(b"/\xff"), id="no text"),
        pytest.param(
            b"socket=/" + b"x" * (SOCKET_PATH_LIMIT - 1),
            "/" + "x" * (SOCKET_PATH_LIMIT - 1),
            id="the longest path",
        ),
    ],
)
def test_grammar(content: bytes, path_of_socket: str) -> None:
    """A marker has lines of key=value, one of which is socket= with an absolute path."""
    assert parse_marker(content, "/x/.hotenv") == path_of_socket


@pytest.mark.parametrize(
    "content",
    [
        pytest.param(b"", id="empty"),
        pytest.param(b"\n", id="a blank line"),
        pytest.param(b"later=1\n", id="no socket"),
        pytest.param(b"SOCKET=/a\n", id="capitals"),
        pytest.param(b"socket=/a\nsocket=/a\n", id="two sockets"),
        pytest.param(b"socket=/a\n\n", id="a blank line at the end"),
        pytest.param(b"\nsocket=/a\n", id="a blank line at the start"),
        pytest.param(b"socket=/a\nlater\n", id="no equals sign"),
        pytest.param(b"socket=/a\n# comment\n", id="a comment"),
        pytest.param(b"socket=/a\n=x\n", id="no key"),
        pytest.param(b"socket =/a\n", id="a space after the key"),
        pytest.param(b" socket=/a\n", id="a space before the key"),
        pytest.param(b"socket=/a\nlater =1\n", id="a space after another key"),
        pytest.param(b"\xef\xbb\xbfsocket=/a\n", id="a byte order mark"),
        pytest.param(b"socket=\n", id="no path"),
        pytest.param(b"socket=a.sock\n", id="a relative path"),
        pytest.param(b"socket= /a\n", id="a space before the path"),
        pytest.param(b"socket=\0a\n", id="an abstract socket"),
        pytest.param(b"socket=/a\0b\n", id="NUL in the path"),
        pytest.param(b"socket=/" + b"x" * SOCKET_PATH_LIMIT, id="a path too long"),
        pytest.param(b"A=1\nTOKEN=x\n", id="dotenv text"),
    ],
)
def test_no_marker(content: bytes) -> None:
    """Anything else is an error that names the file."""
    with pytest.raises(ArtifactError, match=r"^invalid marker /x/\.hotenv: "):
        parse_marker(content, "/x/.hotenv")


@given(st.binary(max_size=100).filter(lambda raw: not {0, ord("\n")} & set(raw)))
def test_round_trip(raw: bytes) -> None:
    """Every path of a socket comes out of its marker unchanged."""
    path = os.fsdecode(b"/" + raw)
    assert parse_marker(format_marker(path), "/x/.hotenv") == path


def test_longest_path_of_a_socket(runtime: Path) -> None:
    """The limit on a path is the system's own."""
    longest = f"{runtime}/".ljust(SOCKET_PATH_LIMIT, "x")
    with socket.socket(socket.AF_UNIX) as listener:
        with pytest.raises(OSError, match="too long"):
            listener.bind(longest + "x")
        listener.bind(longest)


def test_format() -> None:
    """A marker is written as the specification shows it."""
    assert format_marker(SOCKET) == CONTENT


# Reading


def test_read(path: Path) -> None:
    """A marker says where it is, where its socket is and whose it is."""
    write(path)
    marker = read_marker(str(path))
    assert (marker.path, marker.socket) == (str(path), SOCKET)
    assert marker.owner == path.stat().st_uid


def _link(path: Path) -> None:
    target = path.with_name("target")
    write(target)
    path.symlink_to(target)


def _listen(path: Path) -> None:
    with socket.socket(socket.AF_UNIX) as listener, pytest.MonkeyPatch.context() as patch:
        patch.chdir(path.parent)  # for a path that is short enough
        listener.bind(path.name)


@contextmanager
def before_open(happen: Callable[[], None]) -> Iterator[None]:
    """Let something happen between the look at a file and its open."""
    real_open = os.open

    def late_open(name: str, flags: int, *, dir_fd: int | None = None) -> int:
        happen()
        return real_open(name, flags, dir_fd=dir_fd)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(os, "open", late_open)
        yield


KINDS: list[object] = [
    pytest.param(_link, id="symbolic link"),
    pytest.param(lambda path: path.symlink_to("nowhere"), id="broken link"),
    pytest.param(lambda path: path.symlink_to("/dev/zero"), id="link to a device"),
    pytest.param(Path.mkdir, id="directory"),
    pytest.param(os.mkfifo, id="FIFO"),
    pytest.param(_listen, id="socket"),
]


@pytest.mark.usefixtures("no_hang")
@pytest.mark.parametrize("make", KINDS)
def test_not_a_regular_file(make: Callable[[Path], None], path: Path) -> None:
    """Whatever is no regular file is no marker; a FIFO that nobody writes to never hangs."""
    make(path)
    with pytest.raises(ArtifactError, match="not a regular file"):
        read_marker(str(path))
    with pytest.raises(ArtifactError, match="not a regular file"):
        load(str(path))


@pytest.mark.usefixtures("no_hang")
@pytest.mark.parametrize("make", KINDS)
def test_swapped_while_it_is_opened(make: Callable[[Path], None], path: Path) -> None:
    """Nor is one that takes the place of a regular file between the look and the open."""
    write(path)

    def swap() -> None:
        path.unlink()
        make(path)

    with before_open(swap), pytest.raises((ArtifactError, SystemFailureError)):
        load(str(path))


def test_gone(path: Path) -> None:
    """A marker that is removed after it was found is as good as none."""
    with pytest.raises(NoSessionError, match="no longer exists"):
        read_marker(str(path))
    with pytest.raises(NoSessionError, match="no longer exists"):
        load(str(path))
    write(path)
    with before_open(path.unlink), pytest.raises(NoSessionError, match="no longer exists"):
        load(str(path))


@pytest.mark.parametrize("size", [SIZE_LIMIT + 1, 1 << 31])
def test_too_large(size: int, path: Path) -> None:
    """A file of any size is read no further than the limit."""
    write(path)
    os.truncate(path, size)
    with pytest.raises(ArtifactError, match=f"larger than {SIZE_LIMIT} bytes"):
        read_marker(str(path))


def test_as_large_as_can_be(path: Path) -> None:
    """A marker of exactly the limit is read."""
    write(path, CONTENT + b"later=" + b"x" * (SIZE_LIMIT - len(CONTENT) - 6))
    assert path.stat().st_size == SIZE_LIMIT
    assert read_marker(str(path)).socket == SOCKET


@not_as_root
def test_unreadable(path: Path) -> None:
    """A marker that we may not read is an error of the system."""
    write(path, mode=0)
    with pytest.raises(SystemFailureError, match=r"cannot read .*: permission denied"):
        read_marker(str(path))


def test_under_a_file(path: Path) -> None:
    """So is a path that the system does not take."""
    write(path)
    with pytest.raises(SystemFailureError, match="not a directory"):
        read_marker(str(path / "x"))


def test_load_in_a_directory(path: Path) -> None:
    """A name is looked up in the open directory that is given."""
    write(path)
    dir_fd = os.open(path.parent, os.O_RDONLY)
    try:
        status, content = load(path.name, dir_fd=dir_fd)
        with pytest.raises(NoSessionError):
            load("other", dir_fd=dir_fd)
    finally:
        os.close(dir_fd)
    assert (status.st_ino, content) == (path.stat().st_ino, CONTENT)


@pytest.mark.parametrize("size", [len(CONTENT), SIZE_LIMIT + 1], ids=["a marker", "too large"])
def test_nothing_stays_open(size: int, path: Path) -> None:
    """The file is closed again, whatever was in it."""
    write(path)
    os.truncate(path, size)
    free = os.dup(0)
    os.close(free)
    with suppress(ArtifactError):
        load(str(path))
    still_free = os.dup(0)
    os.close(still_free)
    assert still_free == free


# Trust


@pytest.mark.parametrize("mode", [0o600, 0o400, 0o644, 0o755], ids=oct)
def test_trusted_modes(mode: int, path: Path) -> None:
    """Who else may read it does not matter: a marker holds no secret."""
    write(path, mode=mode)
    assert read_marker(str(path)).socket == SOCKET


@pytest.mark.parametrize("mode", [0o620, 0o602, 0o666, 0o777], ids=oct)
def test_distrusted_modes(mode: int, path: Path) -> None:
    """A marker that others may write to could be theirs."""
    write(path, mode=mode)
    with pytest.raises(SystemFailureError, match=rf"writable by others \(mode {mode:04o}\)"):
        read_marker(str(path))


@pytest.mark.parametrize(
    ("caller", "owner", "sudo", "trusted"),
    [
        pytest.param(1000, 1000, None, True, id="one's own"),
        pytest.param(1000, 1001, None, False, id="a stranger's"),
        pytest.param(1000, 0, None, False, id="root's"),
        pytest.param(1000, 1001, "1001", False, id="SUDO_UID of somebody who is not root"),
        pytest.param(0, 0, None, True, id="root's own"),
        pytest.param(0, 1000, None, False, id="a user's, for root"),
        pytest.param(0, 1000, "1000", True, id="of the user who called sudo"),
        pytest.param(0, 0, "1000", True, id="root's own, under sudo"),
        pytest.param(0, 1000, "1001", False, id="of another user, under sudo"),
        pytest.param(0, 1000, "", False, id="SUDO_UID empty"),
        pytest.param(0, 1000, "1000x", False, id="SUDO_UID no number"),
        pytest.param(0, 1000, "-1", False, id="SUDO_UID negative"),
        pytest.param(0, 3, "³", False, id="SUDO_UID of other digits"),
    ],
)
def test_owners(
    caller: int, owner: int, sudo: str | None, trusted: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Only one's own marker is trusted; root may also use that of the user who called sudo."""
    monkeypatch.setattr(os, "geteuid", lambda: caller)
    if sudo is not None:
        monkeypatch.setenv("SUDO_UID", sudo)
    status = os.stat_result((stat.S_IFREG | 0o600, 1, 1, 1, owner, owner, 1, 0, 0, 0))
    if trusted:
        check_trust(status, "/x/.hotenv")
    else:
        with pytest.raises(SystemFailureError, match=rf"is owned by .*uid {owner}\b.* not by you"):
            check_trust(status, "/x/.hotenv")


@as_root
def test_marker_of_another_user(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Root uses a marker of another user only under that user's sudo."""
    write(path)
    os.chown(path, STRANGER, -1)
    with pytest.raises(SystemFailureError, match=f"is owned by .*uid {STRANGER}"):
        read_marker(str(path))
    monkeypatch.setenv("SUDO_UID", str(STRANGER))
    assert read_marker(str(path)).owner == STRANGER


def test_distrusted_is_not_opened(path: Path) -> None:
    """Whose it is is said first, also of a marker that could not be opened."""
    write(path, b"no marker", mode=0o666)
    with (
        before_open(lambda: pytest.fail("it was opened")),
        pytest.raises(SystemFailureError, match="writable by others"),
    ):
        read_marker(str(path))


def test_changed_while_it_is_opened(path: Path) -> None:
    """What was opened is what has to be trusted, not what was looked at."""
    write(path)
    with (
        before_open(lambda: path.chmod(0o666)),
        pytest.raises(SystemFailureError, match="writable by others"),
    ):
        read_marker(str(path))


def test_sudo_uid(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without sudo there is no such user, nor for whom sudo has not made root."""
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    assert sudo_uid() is None
    monkeypatch.setenv("SUDO_UID", "1000")
    assert sudo_uid() == 1000
    monkeypatch.setattr(os, "geteuid", lambda: 1001)
    assert sudo_uid() is None


def test_user() -> None:
    """A user is named, and numbered for those who have no name."""
    assert "uid 0" in user(0)
    assert user(4_000_000_123) == "uid 4000000123"
