"""`run --wait`, and -C for every command."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

from processes import (
    HOTENV,
    LIMIT,
    hotenv,
    said,
    serving,
)


def test_wait_for_a_session(folder: Path) -> None:
    """run --wait starts first, and runs when the session answers; a dead one is no answer."""
    with serving(folder) as server:
        server.kill()
        server.wait()
    client = subprocess.Popen(
        [*HOTENV, "run", "--wait", f"{LIMIT}", "--", "printenv", "A"],
        cwd=folder,
        stdout=subprocess.PIPE,
    )
    assert client.poll() is None
    with serving(folder, b"A=new\n", "--force"):
        assert client.communicate(timeout=LIMIT)[0] == b"new\n"
    assert client.returncode == 0


def test_wait_in_vain(folder: Path) -> None:
    """Then it fails as without it."""
    result = hotenv("run", "--wait", "0.2", "--", "true", cwd=folder)
    assert result.returncode == 3
    assert said(result)


def test_another_folder(tmp_path: Path) -> None:
    """-C for every command: the session, the log and the command are there."""
    (tmp_path / "there").mkdir()
    there = tmp_path / "there"
    serve_there = hotenv(
        "-C", "there", "serve", "--detach", "--log", "log", cwd=tmp_path, stdin=b"A=1\n"
    )
    assert serve_there.returncode == 0
    assert (there / "log").exists()
    assert hotenv("-C", "there", "dump", cwd=tmp_path).stdout == b"A=1\n"
    assert hotenv("run", "-C", "there", "--", "pwd", cwd=tmp_path).stdout == f"{there}\n".encode()
    assert re.fullmatch(
        rb"[45]m.*\n", hotenv("status", "--short", "-C", "there", cwd=tmp_path).stdout
    )
    assert hotenv("stop", "-C", "there", cwd=tmp_path).returncode == 0
    assert said(hotenv("prune", "-C", "there", cwd=tmp_path))
