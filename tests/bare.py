"""hotenv without what macOS lacks: the program of a lane of the process tests.

The rest is still Linux: ``sys.platform``, epoll, what the numbers of the terminal mean.
"""

from __future__ import annotations

import _signal  # type: ignore[import-not-found]
import _socket
import errno
import fcntl
import mmap
import os
import posix
import resource
import select
import signal
import socket
import sys
import time
from collections.abc import Callable
from fnmatch import fnmatchcase
from types import ModuleType

MISSING: dict[tuple[ModuleType, ...], tuple[str, ...]] = {
    (os, posix): (
        *("waitid", "waitid_result", "P_ALL", "P_PGID", "P_PID", "P_PIDFD", "CLD_*"),
        *("WEXITED", "WNOWAIT", "WSTOPPED", "pidfd_open", "PIDFD_*", "memfd_create", "MFD_*"),
        *("pipe2", "eventfd*", "EFD_*", "timerfd_*", "TFD_*", "splice", "SPLICE_*", "getrandom"),
        *("GRND_*", "sched_get*", "sched_set*", "posix_fadvise", "posix_fallocate", "fdatasync"),
        *("copy_file_range", "[gs]etres[ug]id", "setns", "unshare", "CLONE_*", "*xattr", "XATTR_*"),
        *("O_PATH", "O_TMPFILE", "O_DIRECT", "O_NOATIME", "O_RSYNC", "O_LARGEFILE"),
    ),
    (signal, _signal): (
        *("pidfd_send_signal", "sigtimedwait", "sigwaitinfo", "struct_siginfo"),
        *("SIGRTMIN", "SIGRTMAX", "SIGPWR", "SIGSTKFLT", "SIGPOLL", "SIGCLD"),
    ),
    (socket, _socket): (
        *("SO_PEERCRED", "SO_PASSCRED", "SO_PEERSEC", "SCM_CREDENTIALS", "SOCK_CLOEXEC"),
        *("SOCK_NONBLOCK", "MSG_CMSG_CLOEXEC", "MSG_NOSIGNAL"),
    ),
    (time,): ("CLOCK_BOOTTIME", "CLOCK_TAI"),
    (fcntl,): ("F_ADD_SEALS", "F_GET_SEALS", "F_SEAL_*", "F_OFD_*", "F_[GS]ETPIPE_SZ"),
    (mmap,): ("MADV_DODUMP", "MADV_DOFORK", "MADV_DONTDUMP", "MADV_DONTFORK"),
    (resource,): ("prlimit",),
    (select,): ("POLLRDHUP",),
}
"""Patterns of the names that are taken away, by the modules that have them."""

MISSING_IN_C = (
    "memfd_create",
    "pidfd_open",
    "prctl",
    "signalfd",
    "statx",
    "syscall",
    "timer_create",
)
"""Functions that the C library seems not to have; memfd_secret is one of those of ``syscall``."""

_OF_PROC = ("/proc", "/dev/fd")  # the latter is a link to the former

_OPEN_FILES = 256
"""Limit of descriptors of a process on macOS."""


def take_away() -> None:
    """Take it all away from this process, for good."""
    for modules, patterns in MISSING.items():
        for module in modules:
            for name in dir(module):
                if any(fnmatchcase(name, pattern) for pattern in patterns):
                    delattr(module, name)
                    if name in getattr(module, "__all__", ()):
                        module.__all__.remove(name)
    sys.addaudithook(_refuse_proc)
    for look_up in (os.stat, os.lstat, os.readlink):  # nothing audits them
        setattr(os, look_up.__name__, _without_proc(look_up))
    _take_away_from_libc()
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    soft = _OPEN_FILES if hard == resource.RLIM_INFINITY else min(_OPEN_FILES, hard)
    resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


def _refuse_proc(event: str, args: tuple[object, ...]) -> None:
    if event in ("open", "os.listdir", "os.scandir", "os.chdir") and args:
        _check(args[0])


def _without_proc(look_up: Callable[..., object]) -> Callable[..., object]:
    def checked(path: object, *args: object, **options: object) -> object:
        _check(path)
        return look_up(path, *args, **options)

    return checked


def _check(path: object) -> None:
    if isinstance(path, (str, bytes, os.PathLike)):
        name = os.fsdecode(path)
        if any(name == top or name.startswith(f"{top}/") for top in _OF_PROC):
            raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), name)


def _take_away_from_libc() -> None:
    from hotenv import libc

    library = libc._libc

    class Rest:
        def __getattr__(self, name: str) -> object:
            if name in MISSING_IN_C:
                raise AttributeError(name)  # as ctypes does
            return getattr(library, name)

    libc._libc = Rest()  # type: ignore[assignment]


if __name__ == "__main__":
    take_away()
    from hotenv.cli.main import main
    from hotenv.exchange import probe
    from hotenv.session import runtime

    probe.GLANCE_TIMEOUT = 60.0  # a busy machine may take longer than a person would wait
    runtime.LOGINS = runtime.SHARED = os.environ.get("XDG_RUNTIME_DIR", runtime.SHARED)

    sys.exit(main())
