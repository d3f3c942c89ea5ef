"""Whose a file or a process is, also where the kernel shows many users as one."""

from __future__ import annotations

import os
import re
import socket
import stat
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

import hotenv
from fakes import claim
from hotenv.errors import SystemFailureError
from hotenv.serving.log import open_log_file
from hotenv.session import owner
from hotenv.session.find import find_marker, find_session
from hotenv.session.marker import check_trust, read_marker
from hotenv.session.owner import is_ours, is_trusted
from hotenv.session.runtime import find_runtime_bases, make_runtime_base
from hotenv.session.socketfile import is_own_socket
from hotenv.upkeep.prune import prune

ALL = b"         0          0 4294967295\n"
ROOTLESS = b"         0       1000          1\n         1     100000      65536\n"
NO_ONE = b""
SAYS = r"^cannot tell users apart: uid \d+ stands for every user that this user namespace does not"


@pytest.fixture
def namespace(monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    """Sets who the caller is, and what the kernel tells of the user namespace."""

    def be(caller: int, uid_map: bytes | None, overflow: bytes | None = b"65534\n") -> None:
        files = {"/proc/self/uid_map": uid_map, "/proc/sys/kernel/overflowuid": overflow}
        monkeypatch.setattr(owner, "_content", files.__getitem__)
        monkeypatch.setattr(os, "geteuid", lambda: caller)

    return be


Be = Callable[..., None]


@pytest.mark.parametrize(
    ("caller", "uid", "uid_map", "overflow", "ours"),
    [
        pytest.param(1000, 1000, ALL, b"65534\n", True, id="one's own"),
        pytest.param(1000, 1001, ALL, b"65534\n", False, id="a stranger's"),
        pytest.param(1000, 65534, ALL, b"65534\n", False, id="nobody's"),
        pytest.param(1000, 1000, ROOTLESS, b"65534\n", True, id="one's own in a namespace"),
        pytest.param(1000, 65534, ROOTLESS, b"65534\n", False, id="an unmapped user's"),
        pytest.param(65534, 1000, ROOTLESS, b"65534\n", False, id="a user's, for an unmapped one"),
        pytest.param(65534, 1000, NO_ONE, b"65534\n", False, id="a user's, where none is mapped"),
        pytest.param(65534, 65534, ROOTLESS, b"65534\n", None, id="any unmapped user's"),
        pytest.param(65534, 65534, NO_ONE, b"65534\n", None, id="where none is mapped"),
        pytest.param(65534, 65534, ALL, b"65534\n", True, id="really nobody's"),
        pytest.param(65534, 65534, NO_ONE, b"1234\n", True, id="another overflow uid"),
        pytest.param(1234, 1234, NO_ONE, b"1234\n", None, id="another overflow uid, ours"),
        pytest.param(65534, 65534, NO_ONE, None, None, id="overflow uid unknown"),
        pytest.param(65534, 65534, b"0 0 65536\n", b"65534\n", None, id="most are mapped"),
        pytest.param(65534, 65534, b"0 1 4294967295\n", b"65534\n", None, id="other numbers"),
    ],
)
def test_is_ours(
    namespace: Be, caller: int, uid: int, uid_map: bytes, overflow: bytes | None, ours: bool | None
) -> None:
    """Only the caller's own; and nothing is, nor is anything not, if that cannot be known."""
    namespace(caller, uid_map, overflow)
    if ours is None:
        with pytest.raises(SystemFailureError, match=SAYS):
            is_ours(uid)
    else:
        assert is_ours(uid) is ours


@pytest.mark.parametrize(("platform", "ours"), [("linux", None), ("darwin", True)])
def test_without_proc(
    namespace: Be, monkeypatch: pytest.MonkeyPatch, platform: str, ours: bool | None
) -> None:
    """Where there are user namespaces it counts as one of them; elsewhere there are none."""
    monkeypatch.setattr(sys, "platform", platform)
    namespace(65534, None, None)
    if ours is None:
        with pytest.raises(SystemFailureError, match=SAYS):
            is_ours(65534)
    else:
        assert is_ours(65534)
    namespace(1000, None, None)
    assert is_ours(1000)


def test_files_of_the_kernel() -> None:
    """They are read as they are, and a file that is not there is none."""
    assert owner._content("/nonexistent/file") is None
    if sys.platform == "linux":
        content = Path("/proc/self/uid_map").read_bytes()
        assert owner._content("/proc/self/uid_map") == content
        assert owner._maps_all_users() is (content.split() == ALL.split())
        assert owner._overflow_uid() == int(Path("/proc/sys/kernel/overflowuid").read_text())


@pytest.mark.parametrize(("caller", "ours"), [(0, True), (1000, False)])
def test_sudo(namespace: Be, monkeypatch: pytest.MonkeyPatch, caller: int, ours: bool) -> None:
    """The user who called sudo, for root; not even that if it could be any other one."""
    monkeypatch.setenv("SUDO_UID", "65534")
    namespace(caller, ALL)
    assert is_trusted(65534) is ours
    assert not is_trusted(1001)
    namespace(caller, ROOTLESS)
    if ours:
        with pytest.raises(SystemFailureError, match=SAYS):
            is_trusted(65534)
    monkeypatch.delenv("SUDO_UID")
    assert not is_trusted(65534)


def _socket(_directory: Path, runtime: Path) -> object:
    with socket.socket(socket.AF_UNIX) as sock:
        sock.bind(str(runtime / "s"))
    return is_own_socket(str(runtime / "s"))


def _check_trust(_directory: Path, _runtime: Path) -> None:
    uid = os.geteuid()
    check_trust(os.stat_result((stat.S_IFREG | 0o600, 1, 1, 1, uid, 1, 1, 0, 0, 0)), "/x")


def _claim(directory: Path, _runtime: Path) -> object:
    with claim(str(directory)):
        return None


def _prune(_directory: Path, runtime: Path) -> object:
    (runtime / "hotenv" / "0123abcd.json").touch()
    return list(prune())


PLACES: dict[str, Callable[[Path, Path], object]] = {
    "trust": _check_trust,
    "find": lambda directory, _: find_marker(str(directory)),
    "read": lambda directory, _: read_marker(str(directory / ".hotenv")),
    "session": lambda directory, _: find_session(str(directory)),
    "runtime base": lambda *_: make_runtime_base(),
    "runtime bases": lambda *_: find_runtime_bases(),
    "socket": _socket,
    "log": lambda directory, _: open_log_file(str(directory / "log")),
    "prune": _prune,
    "claim": _claim,
}


@pytest.mark.parametrize("place", PLACES.values(), ids=PLACES)
def test_every_place_asks(
    namespace: Be, directory: Path, runtime: Path, place: Callable[[Path, Path], object]
) -> None:
    """Wherever it matters whose something is, it is nobody's if users cannot be told apart."""
    (runtime / "hotenv").mkdir(mode=0o700)
    marker = directory / ".hotenv"
    marker.write_text(f"socket={runtime}/hotenv/0123abcd.sock\n")
    marker.chmod(0o600)
    namespace(os.geteuid(), NO_ONE, str(os.geteuid()).encode())
    with pytest.raises(SystemFailureError, match=SAYS):
        place(directory, runtime)


def test_no_place_compares_by_itself() -> None:
    """Owners are compared in one module; a server's, and its directory's, with a trusted marker."""
    compared = re.compile(
        r".*(?:\b\w*uid\b|uid\(\)) *(?:[=!]=|in\b|not in\b).*|.*[=!]= *[\w.]*uid.*"
    )
    found = [
        line.strip()
        for path in Path(hotenv.__file__).parent.rglob("*.py")
        if path.name != "owner.py"
        for line in path.read_text().splitlines()
        if compared.match(line)
    ]
    assert [line for line in found if ".owner" not in line] == []
    assert len(found) == 2
