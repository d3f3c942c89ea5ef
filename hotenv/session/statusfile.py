"""The file beside its socket in which a server publishes its status."""

from __future__ import annotations

import os
from contextlib import suppress

from hotenv.session.published import status_path
from hotenv.session.statusrecord import (
    DEADLINE_OFFSET,
    StatusRecord,
    encode_deadline,
    encode_record,
)

_PRIVATE_FILE = 0o600


class StatusFile:
    """The status of one session, as its server publishes it."""

    def __init__(self, socket_path: str, record: StatusRecord) -> None:
        """Publish ``record``. The name is ours, as the socket is: what has it is a dead server's.

        Raises OSError.
        """
        self._path = status_path(socket_path)
        content = encode_record(record)
        with suppress(FileNotFoundError):
            os.unlink(self._path)
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
        self._descriptor = os.open(self._path, flags, _PRIVATE_FILE)
        try:
            os.fchmod(self._descriptor, _PRIVATE_FILE)
            with open(self._descriptor, "wb", closefd=False) as file:
                file.write(content)
        except OSError:
            self.remove()
            raise
        self._deadline_at = len(content) + DEADLINE_OFFSET

    def postpone(self, deadline: float) -> None:
        """Publish a new ``deadline`` (seconds of the boot clock), as well as it goes."""
        with suppress(OSError):
            os.pwrite(self._descriptor, encode_deadline(deadline), self._deadline_at)

    def remove(self) -> None:
        """Publish nothing any more."""
        with suppress(OSError):
            if os.path.samestat(os.lstat(self._path), os.fstat(self._descriptor)):
                os.unlink(self._path)
        os.close(self._descriptor)
