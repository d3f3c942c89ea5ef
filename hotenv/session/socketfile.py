"""The file of a session's socket in the runtime base: how it is made, known again, and removed."""

from __future__ import annotations

import errno
import os
import secrets
import socket
import stat
from contextlib import suppress

from hotenv.errors import SystemFailureError, attempt
from hotenv.session import marker
from hotenv.session.folderlock import locked_folder
from hotenv.session.published import SOCKET_SUFFIX

BACKLOG = 4096
"""Connections that the kernel keeps waiting; it lowers this to its own limit (somaxconn)."""

_ID_TRIES = 100
_PRIVATE_FILE = 0o600


class SocketFile:
    """A listening socket below a runtime base, and the ``path`` of its file."""

    def __init__(self, base: str) -> None:
        """Make it, under a new session id. Somebody can connect when this returns.

        ``base`` is locked meanwhile: a socket that does not listen looks like one of a dead server.

        Error handling: raises SystemFailureError if that is not possible; then nothing is left.
        """
        with attempt(f"make a socket in {base}"):
            folder = os.open(base, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
            try:
                with locked_folder(folder, base):
                    self.listener, self.path = _bind(base)
                    try:
                        self._identity = _identity(self.path)
                        self.listener.listen(BACKLOG)
                    except OSError:
                        self.listener.close()
                        with suppress(OSError):
                            os.unlink(self.path)
                        raise
            finally:
                os.close(folder)

    def is_in_place(self) -> bool:
        """Whether its file is still the one it was. Raises OSError if that is not known."""
        return _identity(self.path) == self._identity

    def remove(self) -> None:
        """Stop listening, and remove the file if that is still its own."""
        self.listener.close()
        with suppress(OSError):
            if self.is_in_place():
                os.unlink(self.path)


def _bind(base: str) -> tuple[socket.socket, str]:
    """A socket that is bound below ``base`` under a new session id, with mode 0600."""
    for _ in range(_ID_TRIES):
        path = os.path.join(base, secrets.token_hex(4) + SOCKET_SUFFIX)
        if (size := len(os.fsencode(path))) > marker.SOCKET_PATH_LIMIT:
            raise SystemFailureError(
                f"the path of a socket in {base} would have {size} bytes, the system's limit is "
                f"{marker.SOCKET_PATH_LIMIT}: set XDG_RUNTIME_DIR to a shorter one"
            )
        listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        try:
            # On Linux the file is born with the mode of the socket; elsewhere chmod is in time,
            # for nobody can connect before listen().
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
    raise SystemFailureError(f"no free session id in {base}: 'hotenv prune' removes old sockets")


def _identity(path: str) -> tuple[int, int]:
    status = os.lstat(path)
    return status.st_dev, status.st_ino


def is_own_socket(path: str) -> bool:
    """Whether there is a socket of this user at ``path``. Raises OSError if nothing is there."""
    status = os.lstat(path)
    return stat.S_ISSOCK(status.st_mode) and status.st_uid == os.geteuid()
