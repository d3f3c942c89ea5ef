"""Private directories that are locked as long as they are in use, so that abandoned ones are known.

The lock is gone with the last process that has its descriptor, however that has ended.
"""

from __future__ import annotations

import fcntl
import os
from contextlib import suppress

from hotenv.session.runtime import PRIVATE_DIRECTORY


def create_locked(stem: str) -> tuple[str, int]:
    """Create one whose path is ``stem`` and eight more characters.

    Returns its path, and the descriptor that keeps it locked. Error handling: raises OSError.
    """
    while True:
        path = f"{stem}{os.urandom(4).hex()}"
        try:
            os.mkdir(path, PRIVATE_DIRECTORY)
        except FileExistsError:
            continue
        # Until it is locked, it may be taken for abandoned, and removed.
        with suppress(FileNotFoundError, BlockingIOError):
            lock = lock_directory(path)
            with suppress(FileNotFoundError):
                if os.path.samestat(os.fstat(lock), os.stat(path)):
                    return path, lock
            os.close(lock)


def lock_directory(path: str) -> int:
    """A descriptor that keeps the directory at ``path`` locked.

    Error handling: raises BlockingIOError if it is locked already, OSError if it is not there or is
    a link.
    """
    descriptor = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        os.close(descriptor)
        raise
    return descriptor
