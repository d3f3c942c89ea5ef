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
from hotenv.guards.fields import is_within

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator

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


def rules(guard: Guard, kernel: Kernel, system: Iterable[str], closed: Collection[str]) -> Ruleset:
    """The rules of ``guard``.

    ``system``: the paths that may be read in any case. ``closed``: those that are never written.

    Error handling: raises SystemFailureError if a path cannot be opened.
    """
    if not guard.fs_readonly:
        # A file that is found by its name must not be replaced, either.
        rights = k.WRITE_FILE | (k.REMOVING_AND_MAKING if guard.allow_domain else 0)
        ruleset = Ruleset(kernel, rights | k.REFER)
        ruleset.grant("/", k.REFER)
        _grant_all(ruleset, all_but(closed), rights)
        return ruleset
    writing = k.WRITE_FILE | k.REMOVING_AND_MAKING | k.REFER
    if kernel.truncation:
        writing |= k.TRUNCATE
    reading = 0 if guard.allow_read is None else _READING
    ruleset = Ruleset(kernel, writing | reading)
    for path in guard.allow_write:
        with attempt(f"allow writing to {path}"):
            ruleset.grant(path, reading)
            _grant_all(ruleset, all_but(closed, path), writing)
    _grant_all(ruleset, WRITABLE_DEVICES, k.WRITE_FILE)
    for descriptor, flags in _inherited_files():
        written = (k.WRITE_FILE | k.TRUNCATE) * _writes(flags)
        _grant_all(ruleset, [descriptor], written | reading & k.READ_FILE * _reads(flags))
    if reading:
        _grant_all(ruleset, [*(guard.allow_read or ()), *system, *READABLE_DEVICES], reading)
    return ruleset


def _grant_all(ruleset: Ruleset, targets: Iterable[str | int], rights: int) -> None:
    """As far as they are there: nobody asked for them by name."""
    for target in targets:
        try:
            ruleset.grant(target, rights)
        except OSError:
            continue


def all_but(excluded: Collection[str], root: str = "/") -> Iterator[str]:
    """Paths that cover ``root`` without those that are ``excluded``."""
    if is_within(root, excluded):
        return
    if not any(is_within(path, [root]) for path in excluded):
        yield root
        return
    try:
        with os.scandir(root) as entries:
            for entry in entries:
                if not entry.is_symlink():
                    yield from all_but(excluded, entry.path)
    except PermissionError:
        return  # what is in there cannot be told apart, and stays closed


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
