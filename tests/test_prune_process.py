"""`hotenv prune`: what nobody uses is removed, and nothing else."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from fakes import claim, describe
from hotenv.session.marker import format_marker
from hotenv.session.statusrecord import encode_record
from hotenv.upkeep.prune import prune
from processes import (
    hotenv,
    is_clean,
    said,
    serving,
    socket_path,
)


def test_prune(folder: Path, runtime: Path) -> None:
    """What a killed server left is removed and told; then there is nothing to do."""
    with serving(folder) as server:
        server.kill()
        server.wait()
    path = socket_path(folder)
    draft = folder / f".hotenv.{path.stem}"
    draft.write_text("x")
    result = hotenv("prune", cwd=folder)
    assert (result.returncode, result.stdout) == (0, b"")
    assert result.stderr.decode().splitlines() == [
        f"hotenv: removed {gone}"
        for gone in (path, draft, path.with_suffix(".json"), folder / ".hotenv")
    ]
    assert is_clean(folder, runtime)
    again = hotenv("prune", cwd=folder)
    assert (again.returncode, said(again)) == (0, "hotenv: nothing is left of dead sessions")


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
            assert said(hotenv("prune", cwd=tmp_path / name)).endswith("of dead sessions")
            assert (tmp_path / name / ".hotenv").exists()
        assert sorted(base.iterdir()) == before
    marker = tmp_path / "c" / ".hotenv"
    marker.write_text("what is this\n")
    marker.chmod(0o600)
    assert hotenv("prune", cwd=tmp_path / "c").returncode == 9
    assert marker.exists()


def test_prune_of_a_marker_without_a_socket(folder: Path) -> None:
    """After a restart of the machine only the marker is left."""
    marker = folder / ".hotenv"
    marker.write_bytes(format_marker(f"{folder}/gone.sock"))
    marker.chmod(0o600)
    assert said(hotenv("prune", cwd=folder)) == f"hotenv: removed {marker}"
    assert not marker.exists()


@pytest.mark.parametrize("marker", ["/a\0b/.hotenv", "/\ud800/.hotenv", "", "x" * 5000])
def test_prune_of_a_damaged_status(folder: Path, runtime: Path, marker: str) -> None:
    """What is published there may name what is no path."""
    path = dead_socket(runtime)
    path.with_suffix(".json").write_bytes(encode_record(describe(marker)))
    assert list(prune()) == [str(path), str(path.with_suffix(".json"))]
    assert is_clean(folder, runtime)


def test_what_is_told_holds_nobody_up(folder: Path, runtime: Path) -> None:
    """Whoever reads what prune says may take their time: meanwhile sessions can begin."""
    path = dead_socket(runtime)
    removed = prune()
    assert next(removed) == str(path)
    with claim(str(folder)) as session:
        assert Path(session.marker_path).exists()
    assert list(removed) == []


def dead_socket(runtime: Path) -> Path:
    """A socket in the runtime base on which nobody listens."""
    path = runtime / "hotenv" / "01234567.sock"
    path.parent.mkdir(mode=0o700)
    with socket.socket(socket.AF_UNIX) as left:
        left.bind(str(path))
    return path


def test_prune_while_its_server_ends(
    folder: Path, runtime: Path, monkeypatch: pytest.MonkeyPatch
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


def test_prune_while_sessions_begin(folder: Path, runtime: Path) -> None:
    """A socket that does not listen yet is not one of a dead server."""
    script = "from hotenv.upkeep.prune import prune\nwhile True: list(prune())"
    (folder / "elsewhere").mkdir()
    command = [sys.executable, "-c", script]
    pruner = subprocess.Popen(command, cwd=folder / "elsewhere", stderr=subprocess.PIPE)
    try:
        for _ in range(300):
            with claim(str(folder)) as session:
                assert Path(session.socket_path).exists()
                assert Path(session.marker_path).exists()
        assert pruner.poll() is None
    finally:
        pruner.kill()
        pruner.communicate()
    assert is_clean(folder, runtime)
