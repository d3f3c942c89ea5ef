"""session.lockeddirectory: a directory that is in use is told from one that is abandoned."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from hotenv.session import lockeddirectory
from hotenv.session.lockeddirectory import create_locked, lock_directory


def test_in_use(tmp_path: Path) -> None:
    """As long as the descriptor is open."""
    path, lock = create_locked(f"{tmp_path}/x-")
    assert Path(path).name.startswith("x-")
    assert os.stat(path).st_mode & 0o777 == 0o700
    with pytest.raises(BlockingIOError):
        lock_directory(path)
    os.close(lock)
    os.close(lock_directory(path))


def test_one_that_is_removed_at_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Before it is locked, it looks abandoned: then another one is made. None stays open."""
    removed: list[str] = []

    def remove_first(path: str) -> int:
        lock = lock_directory(path)
        if len(removed) < 2:
            os.rmdir(path)
            removed.append(path)
            if len(removed) == 2:  # and another one is there by now
                os.mkdir(path)
        return lock

    monkeypatch.setattr(lockeddirectory, "lock_directory", remove_first)
    before = len(os.listdir("/proc/self/fd"))
    path, lock = create_locked(f"{tmp_path}/x-")
    assert path not in removed
    os.close(lock)
    assert len(os.listdir("/proc/self/fd")) == before


def test_nowhere(tmp_path: Path) -> None:
    """There is nothing to try again."""
    with pytest.raises(FileNotFoundError):
        create_locked(f"{tmp_path}/none/x-")


def test_links(tmp_path: Path) -> None:
    """A link is not followed."""
    (tmp_path / "link").symlink_to(tmp_path)
    with pytest.raises(OSError, match="link"):
        lock_directory(str(tmp_path / "link"))
