"""Attributes of files: mode, owner, times and extended ones, which Landlock does not know.

The command cannot change any. Where an exception allows it, the supervisor opens the file, looks
where that is, and makes the change itself on what it has opened.
"""

from __future__ import annotations

import errno
import os
import struct

from hotenv import libc
from hotenv.guards import syscalls as k
from hotenv.guards.closed import Closed
from hotenv.guards.fields import is_within
from hotenv.guards.foresight import blocked_change
from hotenv.guards.paths import open_path, real_path
from hotenv.guards.verdict import DENY_READ, DONE, Blocked, Verdict, fails, refused
from hotenv.session.owner import is_ours, is_root

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from hotenv.guards.kernel import Kernel
    from hotenv.guards.listener import Call
    from hotenv.guards.policy import Guard

_TIMES = struct.Struct("=4q")
_UTIMBUF = struct.Struct("=2q")
_LONGEST_ATTRIBUTE = 65536  # XATTR_SIZE_MAX


class Attributes:
    """Decides the calls that change attributes, for ``guard``."""

    def __init__(self, guard: Guard, kernel: Kernel) -> None:
        self._readonly, self._closed = guard.fs_readonly, Closed(guard)
        self._utimensat = kernel.number("utimensat")
        self._writable = [os.path.realpath(path) for path in guard.allow_write]
        self._is_root = is_root()  # it could do everything, without the guard

    def chmod(self, call: Call) -> Verdict:
        """chmod(2) and its like."""
        directory, path, mode = {"chmod": (-1, 0, 1), "fchmod": (0, -1, 1)}.get(
            call.name, (0, 1, 2)
        )
        flags = call.integer(3) if call.name == "fchmodat2" else 0
        return self._change(
            call, directory, path, lambda file: os.chmod(file, call.integer(mode) & 0o7777), flags
        )

    def chown(self, call: Call) -> Verdict:
        """chown(2) and its like."""
        directory, path, first = {"fchown": (0, -1, 1), "fchownat": (0, 1, 2)}.get(
            call.name, (-1, 0, 1)
        )
        flags = call.integer(4) if call.name == "fchownat" else 0
        if call.name == "lchown":
            flags = k.AT_SYMLINK_NOFOLLOW
        owner, group = call.integer(first), call.integer(first + 1)
        return self._change(call, directory, path, lambda file: os.chown(file, owner, group), flags)

    def utime(self, call: Call) -> Verdict:
        """utimensat(2) and the older calls for times."""
        directory = 0 if call.name in ("utimensat", "futimesat") else -1
        path = directory + 1
        times = _times(call, path + 1)
        flags = call.integer(3) if call.name == "utimensat" else 0
        if directory == 0 and not call.arguments[path]:
            path = -1  # the descriptor itself

        def change(file: str) -> None:
            libc.system_call(self._utimensat, k.AT_FDCWD, os.fsencode(file) + b"\0", times, 0)

        return self._change(call, directory, path, change, flags)

    def xattr(self, call: Call) -> Verdict:
        """setxattr(2), removexattr(2) and their like."""
        directory, path = (0, -1) if call.name.startswith("f") else (-1, 0)
        flags = k.AT_SYMLINK_NOFOLLOW if call.name.startswith("l") else 0
        name = call.text(call.arguments[1])
        if "remove" in call.name:
            remove = os.removexattr  # type: ignore[attr-defined,unused-ignore]
            return self._change(call, directory, path, lambda file: remove(file, name), flags)
        change = os.setxattr  # type: ignore[attr-defined,unused-ignore]
        value = call.memory(call.arguments[2], min(call.arguments[3], _LONGEST_ATTRIBUTE))
        return self._change(
            call,
            directory,
            path,
            lambda file: change(file, name, value, call.integer(4)),
            flags,
        )

    def truncate(self, call: Call) -> Verdict:
        """truncate(2), where Landlock does not know it."""
        return self._change(call, -1, 0, lambda file: os.truncate(file, call.arguments[1]))

    def other(self, call: Call) -> Verdict:
        """What no exception allows: flags of a file system, leases, and the newest calls."""
        return refused(blocked_change(call, "change", ""), errno.EACCES)

    def _change(
        self,
        call: Call,
        directory: int,
        path: int,
        change: Callable[[str], None],
        flags: int = 0,
    ) -> Verdict:
        """Make the ``change``, given a path, if the file is one that may be changed."""
        try:
            target = _target(call, directory, path, flags)
        except OSError as error:
            return fails(error.errno or errno.ENOENT)
        try:
            where, status = real_path(target), os.fstat(target)
            nowhere = status.st_nlink == 0 or not where.startswith("/")  # a pipe, a memory file
            if not (nowhere or self._may_change(where)):
                if not self._is_root and not is_ours(status.st_uid):
                    return fails(errno.EPERM)
                if self._closed.denies(where):
                    return refused(Blocked(DENY_READ, "change", path=where), errno.EACCES)
                return refused(blocked_change(call, "change", where), errno.EACCES)
            call.confirm()
            change(f"/proc/self/fd/{target}")
        except OSError as error:
            return fails(error.errno or errno.EPERM)
        finally:
            os.close(target)
        return DONE

    def _may_change(self, path: str) -> bool:
        writable = not self._readonly or is_within(path, self._writable)
        return writable and not self._closed.denies(path)


def _target(call: Call, directory: int, path: int, flags: int) -> int:
    """A descriptor of the file whose attributes a call changes."""
    name = b"" if path < 0 else call.text(call.arguments[path])
    if path < 0 or (not name and flags & k.AT_EMPTY_PATH):
        with call.descriptor(call.integer(directory)) as duplicate:
            return os.dup(duplicate)
    base = k.AT_FDCWD if directory < 0 else call.integer(directory)
    follow = not flags & k.AT_SYMLINK_NOFOLLOW
    return open_path(call, base, name, follow=follow, exact=True)


def _times(call: Call, index: int) -> bytes | None:
    """The times of a call as utimensat(2) takes them."""
    pointer = call.arguments[index]
    if not pointer:
        return None
    if call.name == "utime":
        access, change = _UTIMBUF.unpack(call.memory(pointer, _UTIMBUF.size))
        return _TIMES.pack(access, 0, change, 0)
    data = call.memory(pointer, _TIMES.size)
    if call.name == "utimensat":
        return data
    access, access_part, change, change_part = _TIMES.unpack(data)
    return _TIMES.pack(access, access_part * 1000, change, change_part * 1000)
