"""The state directory (hotenv.session.state)."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from hotenv.audit.writer import append
from hotenv.errors import SystemFailureError
from hotenv.session.state import check_state_directory, make_state_directory, state_directory


def test_where_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    """As the XDG Base Directory Specification has it: a relative path counts as none."""
    monkeypatch.setenv("XDG_STATE_HOME", "/state")
    assert state_directory("audit") == "/state/hotenv/audit"
    monkeypatch.setenv("HOME", "/home/you")
    for value in ("", "state"):
        monkeypatch.setenv("XDG_STATE_HOME", value)
        assert state_directory("audit") == "/home/you/.local/state/hotenv/audit"


def test_a_relative_home(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Nothing is looked for, or written, below the current directory."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("XDG_STATE_HOME")
    monkeypatch.setenv("HOME", "home")
    for use in (state_directory, make_state_directory, check_state_directory):
        with pytest.raises(SystemFailureError, match="HOME is not an absolute path"):
            use("audit")
    with pytest.raises(SystemFailureError, match="HOME is not an absolute path"):
        append("log", {"what": "run"})
    assert not (tmp_path / "home").exists()


def test_it_is_private(state: Path) -> None:
    """Nobody else can look into it, whatever the umask."""
    os.umask(0)
    make_state_directory("audit")
    make_state_directory("audit")
    check_state_directory("audit")
    modes = [path.stat().st_mode & 0o777 for path in (state / "hotenv", state / "hotenv/audit")]
    assert modes == [0o700, 0o700]


@pytest.mark.parametrize("name", ["hotenv", "hotenv/audit"])
def test_not_if_others_can_write(state: Path, name: str) -> None:
    """What stands there could be theirs: also for the head of an audit log."""
    make_state_directory("audit")
    (state / name).chmod(0o777)
    try:
        for use in (make_state_directory, check_state_directory):
            with pytest.raises(SystemFailureError, match="is writable by others: run 'chmod 700'"):
                use("audit")
        with pytest.raises(SystemFailureError, match="is writable by others: run 'chmod 700'"):
            append(str(state / "log"), {"what": "run"})
    finally:
        (state / name).chmod(0o700)
