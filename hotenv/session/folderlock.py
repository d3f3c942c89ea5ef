"""The lock of a folder: checking a marker or a socket and then changing it are two steps."""

from __future__ import annotations

import errno
import fcntl
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress

from hotenv.errors import SystemFailureError, attempt

PATIENCE = 2.0
"""Seconds to wait for the lock: anyone who can read the folder could hold it for ever."""

_POLL = 0.01
_CANNOT_LOCK = {errno.EBADF, errno.EINVAL, errno.ENOLCK, errno.ENOSYS, errno.EOPNOTSUPP}


@contextmanager
def locked_folder(directory: int, name: str) -> Iterator[None]:
    """Hold the lock of the open folder ``directory`` while what is in it is checked and changed.

    ``name`` is what errors call it.

    Where folders cannot be locked, as on NFS, it goes without: links and renames are atomic all
    the same, only the check before them is not.

    Error handling: raises SystemFailureError if somebody holds it longer than PATIENCE.
    """
    deadline = time.monotonic() + PATIENCE
    with attempt(f"lock {name}"):
        while True:
            try:
                fcntl.flock(directory, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                if time.monotonic() > deadline:
                    raise SystemFailureError(
                        f"{name} is locked by another process: try again"
                    ) from None
                time.sleep(_POLL)
                continue
            except OSError as error:
                if error.errno not in _CANNOT_LOCK:
                    raise
            break
    try:
        yield
    finally:
        with suppress(OSError):
            fcntl.flock(directory, fcntl.LOCK_UN)
