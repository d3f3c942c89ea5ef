"""The log file: private, appended to, and really a file."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest

from hotenv.errors import SystemFailureError
from hotenv.serving.logfile import open_log


def test_new_file_is_private(folder: Path, umask: None) -> None:
    """0600 whatever the umask; the descriptor is not inherited."""
    os.umask(0)
    descriptor = open_log("log")
    assert stat.S_IMODE(os.fstat(descriptor).st_mode) == 0o600
    assert not os.get_inheritable(descriptor)
    os.close(descriptor)


def test_existing_file_is_appended_to(folder: Path) -> None:
    """What is there stays, and becomes private."""
    Path("log").write_text("before\n")
    Path("log").chmod(0o644)
    descriptor = open_log("log")
    os.write(descriptor, b"after\n")
    os.close(descriptor)
    assert Path("log").read_text() == "before\nafter\n"
    assert stat.S_IMODE(Path("log").stat().st_mode) == 0o600


@pytest.mark.parametrize("kind", ["link", "dangling link", "FIFO", "folder", "device"])
def test_no_regular_file(folder: Path, kind: str) -> None:
    """A link is not followed, a FIFO not waited for; what it points to is not touched."""
    path = folder / "log"
    target = folder / "target"
    if kind == "link":
        target.write_text("mine")
        target.chmod(0o644)
        path.symlink_to(target)
    elif kind == "dangling link":
        path.symlink_to(target)
    elif kind == "FIFO":
        os.mkfifo(path)
    elif kind == "folder":
        path.mkdir()
    else:
        path = Path(os.devnull)
    with pytest.raises(SystemFailureError, match=f"the log {path}.*regular file"):
        open_log(str(path))
    assert target.exists() == (kind == "link")
    if kind == "link":
        assert (target.read_text(), stat.S_IMODE(target.stat().st_mode)) == ("mine", 0o644)


def test_folder_that_is_not_there(folder: Path) -> None:
    """The error names the file."""
    with pytest.raises(SystemFailureError, match="cannot open the log nowhere/log"):
        open_log("nowhere/log")
