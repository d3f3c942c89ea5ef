"""Files: what would have been changed or read, for the report.

Landlock decides what is opened, made and removed. What is found here about such a call is only
reported; the kernel makes its own decision after it.
"""

from __future__ import annotations

import errno
import os

from hotenv.guards import syscalls as k
from hotenv.guards.closed import Closed
from hotenv.guards.fields import is_within
from hotenv.guards.foresight import Identity, Place, blocked_change, find_place
from hotenv.guards.landlock import READABLE_DEVICES, WRITABLE_DEVICES
from hotenv.guards.paths import open_path, real_path
from hotenv.guards.processes import is_inside
from hotenv.guards.verdict import (
    ANSWERED,
    DENY_READ,
    FS_READONLY,
    GO_ON,
    NO_TERMINALS,
    Blocked,
    Verdict,
    fails,
    refused,
)
from hotenv.guards.words import FOLDER
from hotenv.session.owner import is_root

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable

    from hotenv.guards.kernel import Kernel
    from hotenv.guards.listener import Call
    from hotenv.guards.policy import Guard

_CWD = k.AT_FDCWD

# Of each call: the index of the descriptor of a directory (or -1) and that of a path.
_MADE = {
    "mkdir": (-1, 0),
    "mkdirat": (0, 1),
    "mknod": (-1, 0),
    "mknodat": (0, 1),
    "link": (-1, 1),
    "linkat": (2, 3),
    "symlink": (-1, 1),
    "symlinkat": (1, 2),
}
_REMOVED = {
    "unlink": (-1, 0),
    "unlinkat": (0, 1),
    "rmdir": (-1, 0),
    "rename": (-1, 0),
    "renameat": (0, 1),
    "renameat2": (0, 1),
}
_TARGETS = {"rename": (-1, 1), "renameat": (2, 3), "renameat2": (2, 3)}
_SOURCES = {"link": (-1, 0), "linkat": (0, 1)}
_OPENED = {"open": (-1, 0, 1), "openat": (0, 1, 2), "openat2": (0, 1, -1), "creat": (-1, 0, -1)}


class Files:
    """Decides the calls that have to do with files, for ``guard``."""

    def __init__(
        self,
        guard: Guard,
        kernel: Kernel,
        system: Iterable[str],
        inherited: tuple[Collection[Identity], Collection[Identity]],
    ) -> None:
        """``system``: what can be read in any case. ``inherited``: see :class:`Deciders`."""
        self._kernel = kernel
        self._readonly, self._closed = guard.fs_readonly, Closed(guard)
        self._writable = [os.path.realpath(path) for path in guard.allow_write]
        self._readable: list[str] | None = None
        if guard.allow_read is not None:
            allowed = (*guard.allow_read, *guard.allow_write, *system, *READABLE_DEVICES)
            self._readable = [os.path.realpath(path) for path in allowed]
        self._own = [os.path.realpath(FOLDER)]
        self._inherited_read, self._inherited_written = inherited
        self._is_root = is_root()  # it could do everything, without the guard

    def opened(self, call: Call) -> Verdict:
        """open(2) and its like."""
        directory, path, index = _OPENED[call.name]
        flags = k.O_CREAT | k.O_TRUNC | os.O_WRONLY
        if call.name == "openat2":
            flags = int.from_bytes(call.memory(call.arguments[2], 8), "little")
        elif index >= 0:
            flags = call.integer(index)
        place = self._place(call, directory, path, follow=True)
        cuts = self._readonly and not self._kernel.truncation
        if cuts and flags & (k.O_TRUNC | k.O_ACCMODE) == k.O_TRUNC:
            return refused(blocked_change(call, "write", place.path if place else ""), errno.EACCES)
        if place is None or flags & k.O_PATH:
            return GO_ON
        if flags & k.O_TMPFILE and flags & k.WRITING:
            place = place.unnamed() if place.is_directory() else None
            return self._reported(call, "create", place, self._may_appear)
        if place.is_changed_by(flags):
            return self._reported(
                call, "write", place, lambda it: it.may_write(flags, self._is_root)
            )
        return self._listed(call, place, flags, directory, path) or self._read(place)

    def _listed(
        self, call: Call, place: Place, flags: int, directory: int, path: int
    ) -> Verdict | None:
        """Open for the command what it may only read if the supervisor finds it in order.

        That is a directory above what is denied, which it may list: the kernel could only allow
        that together with all that is in it. By way of another process, as /proc/PID/root, it is
        not opened: who may look there the kernel decides. And it is what is about the command's own
        processes, where others are denied.
        """
        if not self._is_ours_to_open(place.path) or call.name == "openat2":
            return None
        base, exact = _CWD if directory < 0 else call.integer(directory), place.is_directory()
        exact = exact and not self._is_own_process(place.path)
        try:
            found = open_path(call, base, call.text(call.arguments[path]), exact=exact)
        except OSError:
            return None
        try:
            if not self._is_ours_to_open(real_path(found)):  # it was moved meanwhile
                return None
            opened = os.open(f"/proc/self/fd/{found}", os.O_RDONLY | flags & os.O_NONBLOCK)
        except OSError as error:
            return fails(error.errno or errno.EACCES)
        finally:
            os.close(found)
        try:
            call.install(opened, cloexec=bool(flags & os.O_CLOEXEC))
        except OSError as error:
            return fails(error.errno or errno.EMFILE)
        finally:
            os.close(opened)
        return ANSWERED

    def _is_ours_to_open(self, path: str) -> bool:
        return self._divides(path) or self._is_own_process(path)

    def _is_own_process(self, path: str) -> bool:
        """Whether ``path`` is about a process of the command's, or lists all there are."""
        processes = self._closed.processes
        if not processes or not is_within(path, [processes]):
            return False
        number, _, what = path[len(processes) + 1 :].partition("/")
        if not number.isdecimal():
            return path == processes
        return what.rpartition("/")[2] != "mem" and is_inside(int(number))

    def _divides(self, path: str) -> bool:
        readable = self._readable is None or is_within(path, self._readable)
        return readable and self._closed.divides(path) and not self._closed.denies(path)

    def _read(self, place: Place) -> Verdict:
        if not place.may_read(self._is_root) or place.identity in self._inherited_read:
            return GO_ON
        return self._unless_readable("read", place)

    def executed(self, call: Call) -> Verdict:
        """execve(2), execveat(2): what may not be read may not be executed either."""
        is_at = call.name == "execveat"
        directory = call.integer(0) if is_at else _CWD
        path = call.text(call.arguments[1 if is_at else 0])
        place = find_place(call, directory, path, follow=True) if path else None
        if place is None or not place.may_execute():
            return GO_ON
        return self._unless_readable("exec", place)

    def _unless_readable(self, what: str, place: Place) -> Verdict:
        if guard := self._closing(place):
            return Verdict(None, Blocked(guard, what, path=place.path))
        if self._readable is None or is_within(place.path, self._readable) or place.is_special():
            return GO_ON
        remedy = f"--allow-read {place.path}"
        return Verdict(None, Blocked(FS_READONLY, what, path=place.path, remedy=remedy))

    def made(self, call: Call) -> Verdict:
        """mkdir(2), link(2) and the like."""
        place = self._place(call, *_MADE[call.name])
        if call.name in _SOURCES and place is not None and self._is_writable(place):
            place = self._linked(call, place)
        return self._reported(call, "create", place, self._may_appear)

    def _may_appear(self, place: Place) -> bool:
        return place.may_appear(self._is_root)

    def _linked(self, call: Call, place: Place) -> Place:
        """A link would make its target writable: that has to be so before."""
        flags = call.integer(4) if call.name == "linkat" else 0
        follow = bool(flags & k.AT_SYMLINK_FOLLOW)
        source = self._place(call, *_SOURCES[call.name], follow=follow)
        if source is None or source.status is None or self._is_writable(source):
            return place
        return Place(source.path, None)

    def removed(self, call: Call) -> Verdict:
        """unlink(2), rename(2) and the like."""
        place = self._place(call, *_REMOVED[call.name])
        if place is None or not place.may_vanish(self._is_root):
            return GO_ON
        if call.name in _TARGETS:
            return self._renamed(call, place)
        is_directory = call.name == "rmdir" or (
            call.name == "unlinkat" and call.integer(2) & k.AT_REMOVEDIR
        )
        if bool(is_directory) != place.is_directory() or (is_directory and not place.is_empty()):
            return GO_ON
        return self._unless_open("remove", call, place)

    def _renamed(self, call: Call, place: Place) -> Verdict:
        target = self._place(call, *_TARGETS[call.name])
        if target is None or (target.status is not None and not self._may_replace(call, target)):
            return GO_ON
        if self._is_open(place):
            place = target
        return self._unless_open("rename", call, place)

    def _may_replace(self, call: Call, target: Place) -> bool:
        """Whether a rename may put something else in the place of what is there."""
        if call.name == "renameat2" and call.integer(4) & k.RENAME_NOREPLACE:
            return False
        return not target.is_directory() or target.is_empty()

    def _unless_open(self, what: str, call: Call, place: Place) -> Verdict:
        if self._is_open(place):
            return GO_ON
        return Verdict(None, self._blocked(what, call, place, names=True))

    def _blocked(self, what: str, call: Call, place: Place, *, names: bool) -> Blocked:
        """``names``: whether it is about a name that appears or vanishes."""
        closing = self._closing(place, names=names)
        if not closing:
            return blocked_change(call, what, place.path)
        if closing == DENY_READ and not self._closed.denies(place.path) and self._is_fixed(place):
            # It would be refused anyway. No exception would open it: something in it is closed.
            return Blocked(FS_READONLY, what, path=place.path)
        return Blocked(closing, what, path=place.path)

    def _is_fixed(self, place: Place) -> bool:
        return self._readonly and not is_within(place.path, self._writable)

    def _closing(self, place: Place, *, names: bool = False) -> str:
        """The guard that closes ``place``, whatever the exceptions from the others; or nothing."""
        if place.is_special():
            return ""
        if is_within(place.path, self._closed.terminals):
            return NO_TERMINALS
        fixed = names and self._closed.divides(os.path.dirname(place.path))
        return DENY_READ if fixed or self._closed.denies(place.path) else ""

    def _is_open(self, place: Place) -> bool:
        """Whether names may appear and vanish where ``place`` is: not for an exception itself."""
        if self._closing(place, names=True):
            return False
        if not self._readonly:
            return True
        return is_within(os.path.dirname(place.path), self._writable)

    def truncated(self, call: Call) -> Verdict:
        """truncate(2)."""
        place = self._place(call, -1, 0, follow=True)
        return self._reported(call, "write", place, lambda it: it.may_write(0, self._is_root))

    def _reported(
        self, call: Call, what: str, place: Place | None, is_possible: Callable[[Place], bool]
    ) -> Verdict:
        """The kernel goes on; what it refuses, if without a guard it ``is_possible``, is told."""
        if place is None or self._is_writable(place) or not is_possible(place):
            return GO_ON
        blocked = self._blocked(what, call, place, names=place.status is None)
        if not blocked.counts and is_within(place.path, self._own):
            return GO_ON  # a cache of what Python loads because of hotenv
        return Verdict(None, blocked)

    def _is_writable(self, place: Place) -> bool:
        if place.identity in self._inherited_written:
            return True
        if self._closing(place, names=place.status is None):
            return False
        return (
            not self._readonly
            or is_within(place.path, self._writable)
            or place.path in WRITABLE_DEVICES
            or place.is_special()
        )

    def _place(
        self, call: Call, directory: int, path: int, *, follow: bool = False
    ) -> Place | None:
        base = _CWD if directory < 0 else call.integer(directory)
        return find_place(call, base, call.text(call.arguments[path]), follow=follow)
