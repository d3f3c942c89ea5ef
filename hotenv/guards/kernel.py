"""What the kernel here has for guards, and what is missing for one."""

from __future__ import annotations

import errno
import os

from hotenv import libc
from hotenv.errors import SystemFailureError
from hotenv.guards import syscalls as k

TYPE_CHECKING = False
if TYPE_CHECKING:
    from hotenv.guards.policy import Guard

_REFER, _TRUNCATE, _SCOPES = 2, 3, 6
"""Versions of Landlock that came with this."""


class Kernel:
    """``architecture``: as uname(2) calls it. ``landlock``: the version of its ABI, 0 if none."""

    __slots__ = ("architecture", "landlock")

    def __init__(self, architecture: str, landlock: int) -> None:
        self.architecture: str = architecture
        self.landlock: int = landlock

    @property
    def scopes(self) -> bool:
        """Whether Landlock keeps signals from processes outside."""
        return self.landlock >= _SCOPES

    @property
    def truncation(self) -> bool:
        """Whether Landlock decides on cutting files off."""
        return self.landlock >= _TRUNCATE

    @property
    def referring(self) -> bool:
        """Whether Landlock can allow renames from one directory to another."""
        return self.landlock >= _REFER

    def number(self, call: str) -> int:
        """The number of a system call."""
        return k.NUMBERS[self.architecture][call]

    def duplicate(self, process: int, descriptor: int) -> int:
        """A duplicate of ``descriptor`` of another process: pidfd_getfd(2)."""
        pidfd = libc.system_call(self.number("pidfd_open"), process, 0)
        try:
            return libc.system_call(self.number("pidfd_getfd"), pidfd, descriptor, 0)
        finally:
            os.close(pidfd)


def this_kernel() -> Kernel:
    """That of this machine.

    Error handling: raises SystemFailureError on an architecture or a system without guards, and
    without a /proc, by which a supervisor looks at the processes of a command.
    """
    name = os.uname()
    if name.sysname != "Linux" or name.machine not in k.NUMBERS:
        raise SystemFailureError(
            f"guards need Linux on {' or '.join(k.NUMBERS)}; this is {name.sysname} on "
            f"{name.machine}"
        )
    if not _shows_this_process():
        raise SystemFailureError(
            "guards need /proc, which is missing or belongs to another PID namespace: mount it "
            "(as 'unshare --mount-proc' does)"
        )
    return Kernel(name.machine, _landlock_version(k.NUMBERS[name.machine]))


def _shows_this_process() -> bool:
    try:
        return os.readlink("/proc/self") == str(os.getpid())
    except OSError:
        return False


def _landlock_version(numbers: dict[str, int]) -> int:
    number = numbers["landlock_create_ruleset"]
    try:
        return libc.system_call(number, None, 0, k.LANDLOCK_CREATE_RULESET_VERSION)
    except OSError as error:
        if error.errno in (errno.ENOSYS, errno.EOPNOTSUPP, errno.EPERM):
            return 0  # too old; not in the kernel's list "lsm="; or a container forbids it
        raise


def missing(guard: Guard, kernel: Kernel) -> list[str]:
    """What ``guard`` needs and ``kernel`` lacks, each as the beginning of a sentence."""
    if kernel.landlock == 0:
        lacking = ["Landlock ABI 2 (Linux 5.19): other processes can be reached"]
        if guard.fs_readonly:
            lacking.append("Landlock ABI 2 (Linux 5.19): files can be changed")
        if guard.no_terminals:
            lacking.append("Landlock ABI 2 (Linux 5.19): other terminals can be opened")
        if guard.deny_read:
            lacking.append("Landlock ABI 2 (Linux 5.19): what --deny-read names can be read")
        return lacking
    if not kernel.referring:
        return ["Landlock ABI 2 (Linux 5.19): files cannot be renamed into another directory"]
    return []


def check(guard: Guard, kernel: Kernel) -> None:
    """Raise SystemFailureError if ``kernel`` lacks what ``guard`` needs."""
    for lacking in missing(guard, kernel):
        what = lacking.partition(":")[0]
        raise SystemFailureError(
            f"this kernel or container lacks {what}: use --best-effort to continue without it"
        )
