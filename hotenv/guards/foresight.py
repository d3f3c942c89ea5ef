"""Where a call would change the file system without a guard, and whether it could.

For the report only: what the kernel decides may be something else by then.
"""

from __future__ import annotations

import os
import stat

from hotenv.guards import syscalls as k
from hotenv.guards.fields import is_within
from hotenv.guards.paths import open_path, real_path
from hotenv.guards.probes import is_optional_file
from hotenv.guards.system import SETTINGS
from hotenv.guards.verdict import FS_READONLY, Blocked

TYPE_CHECKING = False
if TYPE_CHECKING:
    from hotenv.guards.listener import Call


def blocked_change(call: Call, what: str, path: str) -> Blocked:
    """The refusal of a change of the file at ``path``."""
    return Blocked(
        FS_READONLY,
        what,
        counts=not is_optional_file(path, call.program()),
        remedy=f"--allow-write {place}" if (place := _excepted(path)) else "",
        path=path,
    )


Identity = tuple[int, int]
"""Device and inode."""


def identity_of(status: os.stat_result) -> Identity:
    """What tells a file from all others, whatever its name."""
    return status.st_dev, status.st_ino


def _excepted(path: str) -> str:
    """What an exception should open: the directory, but not all devices for one of them.

    Nor a whole home, or everything, for what is in there.
    """
    if is_within(path, SETTINGS):
        return ""  # nothing could
    directory, is_there = os.path.dirname(path), os.path.exists(path)
    if directory in ("/", os.path.expanduser("~")):
        return path if is_there else ""
    return path if is_there and is_within(path, ["/dev"]) else directory


class Place:
    """Where a path leads. ``path`` has no symbolic links; ``status`` is None without a file.

    A directory is there that ``path`` is in.
    """

    def __init__(self, path: str, status: os.stat_result | None) -> None:
        self.path: str = path
        self.status: os.stat_result | None = status

    @property
    def identity(self) -> Identity | None:
        """What tells it from all others; None if nothing is there."""
        return None if self.status is None else identity_of(self.status)

    def is_directory(self) -> bool:
        """Whether a directory is there."""
        return self.status is not None and stat.S_ISDIR(self.status.st_mode)

    def is_special(self) -> bool:
        """Whether it is something without a path, such as a pipe or a memory file."""
        unnamed = self.status is not None and self.status.st_nlink == 0
        return unnamed or not self.path.startswith("/")

    def is_empty(self) -> bool:
        """Whether nothing is in the directory."""
        try:
            with os.scandir(self.path) as entries:
                return next(entries, None) is None
        except OSError:
            return True

    def may_appear(self, root: bool) -> bool:
        """Whether something could be made there; ``root`` may do everything."""
        return self.status is None and self._may_change_directory(root)

    def may_vanish(self, root: bool) -> bool:
        """Whether what is there could be removed."""
        return self.status is not None and self._may_change_directory(root)

    def is_changed_by(self, flags: int) -> bool:
        """Whether to open it with ``flags`` would change something, or fail."""
        if self.status is None or self.is_directory() or flags & k.O_EXCL:
            return bool(flags & k.WRITING)
        return bool(flags & k.WRITING & ~k.O_CREAT)

    def unnamed(self) -> Place:
        """Where a file without a name would be made in this, which is a directory."""
        return Place(f"{self.path.rstrip('/')}/", None)

    def may_write(self, flags: int, root: bool) -> bool:
        """Whether it could be opened for writing with ``flags``."""
        if self.status is None:
            return bool(flags & k.O_CREAT) and self.may_appear(root)
        if self.is_directory() or (flags & k.O_CREAT and flags & k.O_EXCL):
            return False
        return root or os.access(self.path, os.W_OK)

    def may_read(self, root: bool) -> bool:
        """Whether it could be opened for reading."""
        return self.status is not None and (root or os.access(self.path, os.R_OK))

    def may_execute(self) -> bool:
        """Whether it is a program that could be executed."""
        is_file = self.status is not None and stat.S_ISREG(self.status.st_mode)
        return is_file and os.access(self.path, os.X_OK)

    def _may_change_directory(self, root: bool) -> bool:
        directory = os.path.dirname(self.path)
        return root or os.access(directory, os.W_OK | os.X_OK)


def find_place(call: Call, directory: int, path: bytes, *, follow: bool) -> Place | None:
    """Where ``path`` leads; None if nothing can be there."""
    try:
        target = open_path(call, directory, path, follow=follow)
    except OSError:
        return _missing(call, directory, path)
    try:
        return Place(real_path(target), os.fstat(target))
    finally:
        os.close(target)


def _missing(call: Call, directory: int, path: bytes) -> Place | None:
    """Where something could be made; None if there is no directory for it."""
    folder, _, name = path.rstrip(b"/").rpartition(b"/")
    if not name:
        return None
    folder = folder or (b"/" if path[:1] == b"/" else b".")
    try:
        parent = open_path(call, directory, folder, flags=os.O_DIRECTORY)
    except OSError:
        return None
    try:
        where = real_path(parent).rstrip("/")
        return Place(f"{where}/{os.fsdecode(name)}", None)
    finally:
        os.close(parent)
