"""`hotenv prune`: the files of dead sessions are removed, and nothing else."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from fakes import claim, describe
from hotenv.session.marker import format_marker
from hotenv.session.status import encode_status
from hotenv.upkeep.prune import prune
from processes import (
    ALONE,
    hotenv,
    is_clean,
    said,
    serving,
    socket_path,
)

pytestmark = pytest.mark.usefixtures("alone")


def test_prune(directory: Path, runtime: Path) -> None:
    """The files of a killed server are removed and listed; then there is nothing to do."""
    with serving(directory) as server:
        server.kill()
        server.wait()
    path = socket_path(directory)
    draft, note = directory / f".hotenv.{path.stem}", path.with_suffix(".expired.draft")
    for part in (draft, note):
        part.write_text("x")
    result = hotenv("prune", cwd=directory, command=ALONE)
    assert (result.returncode, result.stdout) == (0, b"")
    assert result.stderr.decode().splitlines() == [
        f"hotenv: removed {gone}"
        for gone in (path, draft, note, path.with_suffix(".json"), directory / ".hotenv")
    ]
    assert is_clean(directory, runtime)
    again = hotenv("prune", cwd=directory, command=ALONE)
    assert (again.returncode, said(again)) == (0, "hotenv: nothing to remove")


def test_prune_leaves_alone_what_may_be_in_use(tmp_path: Path, runtime: Path) -> None:
    """A live session, a stopped one, what is no socket of ours, and other files."""
    for name in "abc":
        (tmp_path / name).mkdir()
    with serving(tmp_path / "a"), serving(tmp_path / "b") as stopped:
        stopped.send_signal(signal.SIGSTOP)
        base = runtime / "hotenv"
        (base / "notes.txt").write_text("")
        (base / "0123456g.sock").write_text("")
        (base / "01234567.sock").mkdir()
        before = sorted(base.iterdir())
        for name in "ab":
            assert (
                said(hotenv("prune", cwd=tmp_path / name, command=ALONE))
                == "hotenv: nothing to remove"
            )
            assert (tmp_path / name / ".hotenv").exists()
        assert sorted(base.iterdir()) == before
    marker = tmp_path / "c" / ".hotenv"
    marker.write_text("what is this\n")
    marker.chmod(0o600)
    assert hotenv("prune", cwd=tmp_path / "c", command=ALONE).returncode == 9
    assert marker.exists()


def test_prune_of_a_marker_without_a_socket(directory: Path) -> None:
    """After a restart of the machine only the marker is left."""
    marker = directory / ".hotenv"
    marker.write_bytes(format_marker(f"{directory}/gone.sock"))
    marker.chmod(0o600)
    assert said(hotenv("prune", cwd=directory, command=ALONE)) == f"hotenv: removed {marker}"
    assert not marker.exists()


@pytest.mark.parametrize("marker", ["/a\0b/.hotenv", "/\ud800/.hotenv", "", "x" * 5000])
def test_prune_of_a_damaged_status(directory: Path, runtime: Path, marker: str) -> None:
    """What is published there may name what is no path."""
    path = dead_socket(runtime)
    path.with_suffix(".json").write_bytes(encode_status(describe(marker)))
    assert list(prune()) == [str(path), str(path.with_suffix(".json"))]
    assert is_clean(directory, runtime)


def test_slow_reader_delays_no_session(directory: Path, runtime: Path) -> None:
    """The output of prune may be read slowly: meanwhile sessions can begin."""
    path = dead_socket(runtime)
    removed = prune()
    assert next(removed) == str(path)
    with claim(str(directory)) as session:
        assert Path(session.marker_path).exists()
    assert list(removed) == []


def dead_socket(runtime: Path) -> Path:
    """A socket in the runtime base on which no process listens."""
    path = runtime / "hotenv" / "01234567.sock"
    path.parent.mkdir(mode=0o700)
    with socket.socket(socket.AF_UNIX) as left:
        left.bind(str(path))
    return path


def test_prune_while_its_server_ends(
    directory: Path, runtime: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A file that a server removes before prune does is nothing that prune has removed."""
    path = dead_socket(runtime)
    unlink = os.unlink

    def be_late(path: str) -> None:
        unlink(path)
        unlink(path)

    monkeypatch.setattr(os, "unlink", be_late)
    assert list(prune()) == []
    assert not path.exists()


def test_prune_while_sessions_begin(directory: Path, runtime: Path) -> None:
    """A socket that does not listen yet is not one of a dead server."""
    script = (
        "import os\nfrom hotenv.session import runtime\nfrom hotenv.upkeep.prune import prune\n"
        "runtime.LOGINS = runtime.SHARED = os.environ['XDG_RUNTIME_DIR']\n"
        "while True: list(prune())"
    )
    (directory / "elsewhere").mkdir()
    command = [sys.executable, "-c", script]
    pruner = subprocess.Popen(command, cwd=directory / "elsewhere", stderr=subprocess.PIPE)
    try:
        for _ in range(300):
            with claim(str(directory)) as session:
                assert Path(session.socket_path).exists()
                assert Path(session.marker_path).exists()
        assert pruner.poll() is None
    finally:
        pruner.kill()
        pruner.communicate()
    assert is_clean(directory, runtime)


STRANGE = {
    "link": lambda path: path.symlink_to("nowhere"),
    "link to a folder": lambda path: path.symlink_to("."),
    "pipe": os.mkfifo,
    "folder": Path.mkdir,
    "no time": lambda path: path.write_text("expired=nan\nidentity=\npath=/a\n"),
    "no end": lambda path: path.write_text("expired=inf\nidentity=\npath=/a\n"),
    "too late": lambda path: path.write_text("expired=1e300\nidentity=\npath=/a\n"),
    "too large": lambda path: path.write_bytes(bytes(70_000)),
}


@pytest.mark.parametrize("make", STRANGE.values(), ids=STRANGE)
def test_prune_of_what_is_no_note(
    directory: Path, runtime: Path, make: Callable[[Path], object]
) -> None:
    """It is in the way of every search, whose error says what to do; and that works."""
    path = runtime / "hotenv" / "01234567.expired"
    path.parent.mkdir(mode=0o700)
    make(path)
    result = hotenv("dump", cwd=directory)
    assert (result.returncode, said(result)) == (
        9,
        f"hotenv: invalid note {path}: run 'hotenv prune' to remove it",
    )
    assert said(hotenv("prune", cwd=directory, command=ALONE)) == f"hotenv: removed {path}"
    assert hotenv("dump", cwd=directory).returncode == 3


def test_prune_of_a_folder_with_files(directory: Path, runtime: Path) -> None:
    """They may be somebody's: they stay, and it says what to do."""
    path = runtime / "hotenv" / "01234567.expired"
    (path / "file").mkdir(parents=True)
    path.parent.chmod(0o700)
    result = hotenv("prune", cwd=directory, command=ALONE)
    assert (result.returncode, said(result)) == (
        8,
        f"hotenv: {path} is a directory with files in it, not a note: remove it yourself",
    )
    assert (path / "file").exists()
