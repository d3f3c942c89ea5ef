"""The runtime base: where it is, and when it is refused."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest

from hotenv.errors import SystemFailureError
from hotenv.session.runtime import make_runtime_base, runtime_base

needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="gives files to another user: needs root")


@pytest.mark.parametrize("value", [None, "", "relative", "./x"])
def test_without_a_usable_xdg_runtime_dir(
    value: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Unset, empty and relative are the same: a folder in /tmp that has the user's number."""
    if value is None:
        monkeypatch.delenv("XDG_RUNTIME_DIR")
    else:
        monkeypatch.setenv("XDG_RUNTIME_DIR", value)
    assert runtime_base() == f"/tmp/hotenv-{os.geteuid()}"


def test_made_private(runtime: Path, umask: None) -> None:
    """Mode 0700, whatever the umask; a wider one that is there is tightened."""
    os.umask(0)
    base = make_runtime_base()
    assert base == str(runtime / "hotenv")
    assert stat.S_IMODE(os.stat(base).st_mode) == 0o700
    os.chmod(base, 0o755)
    assert make_runtime_base() == base
    assert stat.S_IMODE(os.stat(base).st_mode) == 0o700


@pytest.mark.parametrize("kind", ["file", "link"])
def test_not_a_real_folder(runtime: Path, tmp_path: Path, kind: str) -> None:
    """A file or a symbolic link in its place is refused and left alone."""
    base = runtime / "hotenv"
    if kind == "file":
        base.write_text("")
    else:
        base.symlink_to(tmp_path)
    with pytest.raises(SystemFailureError, match="not a folder"):
        make_runtime_base()
    assert os.path.lexists(base)


@needs_root
def test_somebody_elses(runtime: Path) -> None:
    """The error names both users and what to do."""
    base = runtime / "hotenv"
    base.mkdir()
    os.chown(base, 12345, 12345)
    with pytest.raises(SystemFailureError) as caught:
        make_runtime_base()
    for part in ("uid 12345", f"uid {os.geteuid()}", "XDG_RUNTIME_DIR"):
        assert part in str(caught.value)


def test_where_it_cannot_be_made(monkeypatch: pytest.MonkeyPatch) -> None:
    """The error names the folder and the variable."""
    monkeypatch.setenv("XDG_RUNTIME_DIR", "/nonexistent/run")
    with pytest.raises(SystemFailureError, match=r"/nonexistent/run/hotenv.*XDG_RUNTIME_DIR"):
        make_runtime_base()


def test_newline_in_its_name(runtime: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A marker has no way to name a socket in there."""
    strange = runtime / "a\nb"
    strange.mkdir()
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(strange))
    with pytest.raises(SystemFailureError, match="newline"):
        make_runtime_base()
    assert list(strange.iterdir()) == []
