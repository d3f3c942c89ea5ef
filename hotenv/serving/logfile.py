"""The file that takes the log of a server: private, appended to, and no link to somewhere else."""

from __future__ import annotations

import os
import stat

from hotenv.errors import SystemFailureError, attempt
from hotenv.session.marker import user

_PRIVATE_FILE = 0o600


def open_log(path: str) -> int:
    """A descriptor that appends to the file at ``path``, which has mode 0600 when this returns.

    Error handling: raises SystemFailureError if it cannot be opened, is no regular file (nor a
    link to one), or belongs to somebody else.
    """
    # Not waiting for the reader of a FIFO; regular files do not care.
    flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY
    with attempt(f"open the log {path}", "it has to be a regular file, and no link"):
        descriptor = os.open(path, flags | os.O_CLOEXEC, _PRIVATE_FILE)
        try:
            status = os.fstat(descriptor)
            if not stat.S_ISREG(status.st_mode):
                raise SystemFailureError(f"the log {path} is not a regular file: name another one")
            if status.st_uid != os.geteuid():
                raise SystemFailureError(
                    f"the log {path} belongs to {user(status.st_uid)} and not to you, "
                    f"{user(os.geteuid())}: name another one"
                )
            os.fchmod(descriptor, _PRIVATE_FILE)
        except BaseException:
            os.close(descriptor)
            raise
    return descriptor
