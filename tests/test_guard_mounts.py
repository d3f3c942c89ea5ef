"""Other names of a path, and which are terminals (hotenv.guards.mounts, .terminals)."""

from __future__ import annotations

import pytest

from hotenv.guards.mounts import Mount, all_names, names_of, read_mounts
from hotenv.guards.terminals import is_terminal, terminals

LINES = r"""
1 0 8:1 / / rw - ext4 /dev/sda1 rw
2 1 0:5 / /dev rw shared:2 - devtmpfs udev rw
3 2 0:6 / /dev/pts rw master:1 shared:3 - devpts devpts rw
4 1 8:2 / /home rw - ext4 /dev/sda2 rw
5 1 8:2 /you/shop /srv/my\040shop rw - ext4 /dev/sda2 rw
6 1 8:2 / /backup rw - ext4 /dev/sda2 rw
7 1 0:5 / /jail/dev rw - devtmpfs udev rw
8 7 0:9 / /jail/pts rw - devpts devpts rw
9 1 0:7 / /tmp rw - tmpfs none rw
10 1 0:8 / /tmp rw - tmpfs none rw
11 1 0:7 / /old rw - tmpfs none rw
"""
MOUNTS = [*map(Mount, LINES.strip().splitlines())]


@pytest.mark.parametrize(
    ("path", "names"),
    [
        ("/etc/shadow", ["/etc/shadow"]),
        ("/home/me/.ssh", ["/home/me/.ssh", "/backup/me/.ssh"]),
        (
            "/home/you/shop/key",
            ["/home/you/shop/key", "/srv/my shop/key", "/backup/you/shop/key"],
        ),
        ("/home/you", ["/home/you", "/srv/my shop", "/backup/you"]),
        ("/srv/my shop", ["/srv/my shop", "/home/you/shop", "/backup/you/shop"]),
        ("/home", ["/home", "/srv/my shop", "/backup"]),
        ("/tmp/a", ["/tmp/a"]),  # of the one that hides the other
        ("/old/a", ["/old/a", "/tmp/a"]),
    ],
)
def test_names(path: str, names: list[str]) -> None:
    """Wherever a file system, or a part of it, is mounted again."""
    assert [*names_of(path, MOUNTS)] == names
    assert all_names([path, path], MOUNTS) == names


def test_without_mounts() -> None:
    """Where they cannot be read, a path has one name."""
    assert [*names_of("/a", [])] == ["/a"]


def test_real_mounts() -> None:
    """Those of this machine can be read."""
    assert "/proc" in [mount.point for mount in read_mounts() if mount.kind == "proc"]


def test_terminals() -> None:
    """Each mount of them, and each name in /dev that is there, wherever that is mounted too."""
    found = terminals(MOUNTS)
    assert {"/dev/pts", "/jail/pts"} <= {*found}
    assert "/dev/tty" not in found
    assert ("/jail/dev/ptmx" in found) == ("/dev/ptmx" in found)


@pytest.mark.parametrize(
    ("name", "is_one"),
    [
        *((name, True) for name in ("tty0", "tty63", "console", "vcs", "vcsa1", "vcsu", "ptmx")),
        *((name, True) for name in ("pts", "input", "uinput")),
        *((name, False) for name in ("tty", "ttyS0", "ttyUSB0", "null", "shm", "fd", "inputs")),
    ],
)
def test_terminal(name: str, is_one: bool) -> None:
    """By their names; the terminal of the command itself stays open, and so do serial lines."""
    assert is_terminal(name) == is_one
