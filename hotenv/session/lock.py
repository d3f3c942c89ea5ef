"""Locks on an open file: exclusive, and gone with the last descriptor of the one that opened it.

On a marker there are two, each on a byte of its own. The guard is held while the marker is checked
and changed, which are two steps. The life is held by the server as long as it lives; it is seen
across mount, PID and user namespaces. Only the owner of a marker can open it for writing, so no
other user can hold up a session; a lock on a directory can be taken by every user who can read it.
Never is an inode remembered without its descriptor: lock first, then look whether the path still
names what was locked.

They are open file description locks where the system has them (Linux). Elsewhere (macOS) the guard
is an flock and the life is not known. Where a file system has no locks it goes without: links and
renames are atomic all the same, only the check before them is not.
"""

from __future__ import annotations

import errno
import fcntl
import os
import struct
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress

from hotenv.errors import SystemFailureError, attempt

Pause = Callable[[float], object]
"""Waits for a number of seconds."""

LOCK_TIMEOUT = 2.0
"""Seconds to wait for a lock: a hotenv of the same user that was stopped may hold it."""

_POLL = 0.01
_BUSY = {errno.EACCES, errno.EAGAIN}
_GUARD, _LIFE = 0, 1  # bytes of a marker
_FLOCK = struct.Struct("@hhqqi0q")  # struct flock of fcntl(2): type, whence, start, length, pid
_HAS_RANGES = hasattr(fcntl, "F_OFD_SETLK")


class BusyError(SystemFailureError):
    """Another process holds a lock for too long."""


@contextmanager
def guarded(
    descriptor: int, name: str, pause: Pause = time.sleep, timeout: float | None = None
) -> Iterator[None]:
    """Hold the guard of the marker that is open as ``descriptor``, for reading and writing.

    ``name`` is what errors call it.

    Error handling: raises BusyError if another process holds it longer than ``timeout`` seconds (by
    default LOCK_TIMEOUT), and whatever ``pause`` raises.
    """
    limit = LOCK_TIMEOUT if timeout is None else timeout
    with attempt(f"lock {name}"):
        _wait(lambda: _take(descriptor, _GUARD), name, pause, limit)
    try:
        yield
    finally:
        with suppress(OSError):
            _release(descriptor, _GUARD)


@contextmanager
def locked(dir_fd: int, name: str, pause: Pause = time.sleep) -> Iterator[None]:
    """Hold the lock of the private directory that is open as ``dir_fd``. See :func:`guarded`."""
    with attempt(f"lock {name}"):
        _wait(lambda: _flock(dir_fd), name, pause, LOCK_TIMEOUT)
    try:
        yield
    finally:
        with suppress(OSError):
            fcntl.flock(dir_fd, fcntl.LOCK_UN)


def hold_life(descriptor: int) -> None:
    """Hold the life of the marker that is open as ``descriptor``, until that is closed."""
    if _HAS_RANGES:
        _take(descriptor, _LIFE)


def is_held(descriptor: int) -> bool:
    """Whether a server holds the life of the marker; False also where that is not known."""
    return _HAS_RANGES and _holder(descriptor, _LIFE) == fcntl.F_WRLCK


def _wait(take: Callable[[], bool], name: str, pause: Pause, timeout: float) -> None:
    deadline = time.monotonic() + timeout
    while not take():
        if time.monotonic() > deadline:
            raise BusyError(f"{name} is locked by another process of yours: try again")
        pause(_POLL)


def _take(descriptor: int, byte: int) -> bool:
    """Whether it was taken, or cannot be; False if another process has it, or just had it.

    A hotenv locks as only who may write can. A marker that others may read, as one that git made,
    they can lock as readers for ever: that is not waited for.
    """
    if not _HAS_RANGES:
        return _flock(descriptor)
    wanted = _FLOCK.pack(fcntl.F_WRLCK, os.SEEK_SET, byte, 1, 0)
    try:
        fcntl.fcntl(descriptor, fcntl.F_OFD_SETLK, wanted)
    except OSError as error:
        ours = (fcntl.F_WRLCK, fcntl.F_UNLCK)
        return error.errno not in _BUSY or _holder(descriptor, byte) not in ours
    return True


def _holder(descriptor: int, byte: int) -> int | None:
    """How another process holds it: F_WRLCK, F_RDLCK, F_UNLCK (by now none does); None: unknown."""
    question = _FLOCK.pack(fcntl.F_WRLCK, os.SEEK_SET, byte, 1, 0)
    try:
        answer = fcntl.fcntl(descriptor, fcntl.F_OFD_GETLK, question)
    except OSError:
        return None
    return int(_FLOCK.unpack(answer)[0])


def _release(descriptor: int, byte: int) -> None:
    if _HAS_RANGES:
        unlocked = _FLOCK.pack(fcntl.F_UNLCK, os.SEEK_SET, byte, 1, 0)
        fcntl.fcntl(descriptor, fcntl.F_OFD_SETLK, unlocked)
    else:
        fcntl.flock(descriptor, fcntl.LOCK_UN)


def _flock(descriptor: int) -> bool:
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:
        return True  # it cannot be locked
    return True
