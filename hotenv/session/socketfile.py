"""The file of a session's socket in the runtime base: creating it, recognizing it, removing it."""

from __future__ import annotations

import errno
import os
import secrets
import socket
import stat
import time
from contextlib import suppress

from hotenv.errors import SystemFailureError, attempt
from hotenv.session.lock import Pause, locked
from hotenv.session.owner import is_ours
from hotenv.session.status import SOCKET_SUFFIX

BACKLOG = 4096
"""Connections that the kernel keeps waiting; it lowers this to its own limit (somaxconn)."""

_ID_TRIES = 100
_PRIVATE_FILE = 0o600


class SocketFile:
    """A listening socket below a runtime base, and the ``path`` of its file."""

    def __init__(self, base: str, pause: Pause = time.sleep) -> None:
        """Create it, under a new session ID. Clients can connect when this returns.

        ``base`` is locked meanwhile, with ``pause`` between two tries: a socket that does not
        listen looks like that of a dead server.

        Error handling: raises SystemFailureError if that is not possible; then nothing is left.
        """
        with attempt(f"create a socket in {base}"):
            dir_fd = os.open(base, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
            try:
                with locked(dir_fd, base, pause):
                    listener, path, self._identity = _listening(base)
            finally:
                os.close(dir_fd)
        self.listener: socket.socket = listener
        self.path: str = path

    def is_in_place(self) -> bool:
        """Whether its file is still the one it was. Raises OSError if that is not known."""
        return _identity(self.path) == self._identity

    def remove(self) -> None:
        """Stop listening, and remove the file if that is still its own."""
        self.listener.close()
        with suppress(OSError):
            if self.is_in_place():
                os.unlink(self.path)


def _listening(base: str) -> tuple[socket.socket, str, tuple[int, int]]:
    """A socket that listens below ``base``, the path of its file, and the identity of that."""
    listener, path = _bound(base)
    try:
        identity = _identity(path)
        listener.listen(BACKLOG)
    except OSError:
        listener.close()
        with suppress(OSError):
            os.unlink(path)
        raise
    return listener, path, identity


def _bound(base: str) -> tuple[socket.socket, str]:
    """A socket that is bound below ``base`` under a new session ID, with mode 0600."""
    for _ in range(_ID_TRIES):
        path = os.path.join(base, secrets.token_hex(4) + SOCKET_SUFFIX)
        listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        try:
            # On Linux the file is born with the mode of the socket; elsewhere chmod is in time,
            # for no client can connect before listen().
            with suppress(OSError):
                os.fchmod(listener.fileno(), _PRIVATE_FILE)
            listener.bind(path)
            os.chmod(path, _PRIVATE_FILE)
        except OSError as error:
            listener.close()
            if error.errno != errno.EADDRINUSE:
                raise
        else:
            return listener, path
    raise SystemFailureError(
        f"no unused session ID in {base}: run 'hotenv prune' to remove old sockets"
    )


def _identity(path: str) -> tuple[int, int]:
    status = os.lstat(path)
    return status.st_dev, status.st_ino


def is_own_socket(path: str) -> bool:
    """Whether there is a socket of this user at ``path``. Raises OSError if nothing is there."""
    status = os.lstat(path)
    return stat.S_ISSOCK(status.st_mode) and is_ours(status.st_uid)
