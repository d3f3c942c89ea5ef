"""Rules of Landlock for a guard: which paths may be changed or read, and who may be reached.

The domain that they make also keeps the command from tracing processes outside of it, from reading
their memory, and from mounting anything, which takes no rule.
"""

from __future__ import annotations

import os
import stat
import struct

from hotenv import libc
from hotenv.errors import attempt
from hotenv.guards import syscalls as k
from hotenv.guards.covering import covering

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from hotenv.guards.closed import Closed
    from hotenv.guards.kernel import Kernel
    from hotenv.guards.policy import Guard

_RULESET = struct.Struct("=QQQ")  # rights for files, for the network, and scopes
_PATH_BENEATH = struct.Struct("=Qi")  # rights, and the descriptor of a file or directory: packed
_READING = k.EXECUTE | k.READ_FILE | k.READ_DIR

WRITABLE_DEVICES = ("/dev/null", "/dev/zero", "/dev/full", "/dev/tty")
READABLE_DEVICES = (*WRITABLE_DEVICES, "/dev/random", "/dev/urandom")


class Ruleset:
    """Rules that a process applies to itself, behind the descriptor ``descriptor``."""

    def __init__(self, kernel: Kernel, rights: int) -> None:
        """``rights``: those for files that are denied but for the rules."""
        self._kernel = kernel
        self._rights = rights
        scopes = k.LANDLOCK_SCOPES if kernel.scopes else 0
        attributes = _RULESET.pack(rights, 0, scopes)
        size = len(attributes) if scopes else 8  # older kernels know the first field only
        number = kernel.number("landlock_create_ruleset")
        self.descriptor: int = libc.system_call(number, attributes, size, 0)

    def grant(self, target: str | int, rights: int) -> None:
        """Allow ``rights`` for the file or directory ``target`` and what is below it.

        ``target``: a path, or a descriptor. Error handling: raises OSError if it is not there.
        """
        descriptor = os.open(target, k.O_PATH) if isinstance(target, str) else target
        try:
            if not stat.S_ISDIR(os.fstat(descriptor).st_mode):
                rights &= k.OF_FILES
            rule = _PATH_BENEATH.pack(rights & self._rights, descriptor)
            if rights & self._rights:
                number = self._kernel.number("landlock_add_rule")
                kind = k.LANDLOCK_RULE_PATH_BENEATH
                libc.system_call(number, self.descriptor, kind, rule, 0)
        finally:
            if isinstance(target, str):
                os.close(descriptor)

    def restrict(self) -> None:
        """Apply the rules to this thread and its future children, for good."""
        libc.system_call(self._kernel.number("landlock_restrict_self"), self.descriptor, 0)


def rules(guard: Guard, kernel: Kernel, system: Iterable[str], closed: Closed) -> Ruleset:
    """The rules of ``guard``.

    ``system``: the paths that may be read in any case. ``closed``: those that stay closed.

    Error handling: raises SystemFailureError if a path cannot be opened.
    """
    reading, writing = _reading(guard), _writing(guard, kernel)
    ruleset = Ruleset(kernel, reading | writing | k.REFER)
    if not writing & k.REFER:
        ruleset.grant("/", k.REFER)
    for path in guard.allow_write:
        with attempt(f"allow writing to {path}"):
            opened = os.open(path, k.O_PATH | os.O_CLOEXEC)
        real = os.path.realpath(f"/proc/self/fd/{opened}")
        unread, unwritten = closed.unread_in(real), closed.unwritten_in(real)
        _grant(ruleset, {reading: unread, writing: unwritten}, real, closed, opened)
        os.close(opened)
    unread = closed.unread_in("/")
    if not guard.fs_readonly:
        _grant(ruleset, {reading: unread, writing: closed.unwritten_in("/")}, "/", closed)
    elif guard.allow_read is None:
        _grant(ruleset, {reading: unread}, "/", closed)
    else:
        for path in map(os.path.realpath, guard.allow_read):
            _grant(ruleset, {reading: closed.unread_in(path)}, path, closed)
        for path in (*system, *READABLE_DEVICES):
            _grant(ruleset, {reading: unread}, os.path.realpath(path), closed)
    _grant_all(ruleset, closed.system, reading)
    _grant_all(ruleset, WRITABLE_DEVICES, k.WRITE_FILE)
    inherited = _inherited_files() if guard.closes_files or guard.no_terminals else ()
    for descriptor, flags in inherited:
        written = (k.WRITE_FILE | k.TRUNCATE) * _writes(flags)
        _grant_all(ruleset, [descriptor], written | reading & k.READ_FILE * _reads(flags))
    return ruleset


def _reading(guard: Guard) -> int:
    """The rights to read that are not everywhere."""
    if guard.allow_read is not None or guard.deny_read:
        return _READING
    return k.READ_FILE if guard.no_terminals else 0


def _writing(guard: Guard, kernel: Kernel) -> int:
    """Likewise, to change."""
    if guard.closes_files:
        truncating = k.TRUNCATE if kernel.truncation else 0
        return k.WRITE_FILE | k.REMOVING_AND_MAKING | k.REFER | truncating
    # A file that is found by its name must not be replaced, either.
    return k.WRITE_FILE | (k.REMOVING_AND_MAKING if guard.allow_domain else 0)


def _grant(
    ruleset: Ruleset,
    without: dict[int, list[str]],
    root: str,
    closed: Closed,
    opened: int | None = None,
) -> None:
    """Allow each of the rights in ``root`` but for what it is ``without``.

    ``opened``: a descriptor of ``root``, if another process could replace it meanwhile.
    """
    for path, rights in covering(without, root, divided=closed.divided):
        _grant_all(ruleset, [path if path != root or opened is None else opened], rights)


def _grant_all(ruleset: Ruleset, targets: Iterable[str | int], rights: int) -> None:
    """As far as they are there: nobody asked for them by name."""
    for target in targets:
        try:
            ruleset.grant(target, rights)
        except OSError:
            continue


def inherited_identities() -> tuple[set[tuple[int, int]], set[tuple[int, int]]]:
    """Device and inode of each file that the command gets opened for reading, and for writing."""
    read, written = set(), set()
    for descriptor, flags in _inherited_files():
        status = os.fstat(descriptor)
        identity = status.st_dev, status.st_ino
        read |= {identity} if _reads(flags) else set()
        written |= {identity} if _writes(flags) else set()
    return read, written


def _reads(flags: int) -> bool:
    return flags & os.O_ACCMODE != os.O_WRONLY and not flags & k.O_PATH


def _writes(flags: int) -> bool:
    return flags & os.O_ACCMODE != os.O_RDONLY and not flags & k.O_PATH


def _inherited_files() -> Iterator[tuple[int, int]]:
    """The descriptors of files that the command gets, with the flags that they were opened with.

    They can be opened again, by their paths or as /dev/stdout.
    """
    import fcntl

    for name in os.listdir("/proc/self/fd"):
        try:
            descriptor = int(name)
            mode = os.fstat(descriptor).st_mode
            if os.get_inheritable(descriptor) and (stat.S_ISREG(mode) or stat.S_ISCHR(mode)):
                yield descriptor, fcntl.fcntl(descriptor, fcntl.F_GETFL)
        except OSError:
            continue  # it was opened for the listing, and is closed
