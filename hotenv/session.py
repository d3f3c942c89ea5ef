"""What a session owns on disk, a socket and a marker: claimed in order, released in order.

The order of a claim: the socket listens before the marker is there, and the marker is complete when
it is first seen, so whoever finds a marker can connect. Whatever fails, what was made so far is
removed. The order of a release: the socket, then the marker.

A release must never remove the marker of a newer session. Checking a marker and then changing it
are two steps, and every hotenv that does both holds a lock on the marker's folder meanwhile.
"""

from __future__ import annotations

import errno
import os
import secrets
import socket
import stat
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from functools import partial

from attrs import frozen

from hotenv import marker
from hotenv.errors import HotenvError, SystemFailureError, attempt
from hotenv.folderlock import locked_folder
from hotenv.runtime import make_runtime_base, runtime_base

BACKLOG = 4096
"""Connections that the kernel keeps waiting; it lowers this to its own limit (somaxconn)."""

_CANNOT_LINK = {errno.EPERM, errno.EACCES, errno.EOPNOTSUPP, errno.ENOSYS, errno.EMLINK}
_ID_TRIES = 100
_PRIVATE_FILE = 0o600


@frozen
class Session:
    """A claimed session: its listening socket, and where its socket and its marker are."""

    listener: socket.socket
    socket_path: str
    marker_path: str
    _directory: int
    _identity: tuple[int, int]

    def can_be_found(self) -> bool:
        """Whether the marker still names the socket, and the socket is still the one it was.

        True also if the system cannot tell, as when no descriptor is left: it may still be so.
        """
        try:
            _, content = marker.load(marker.NAME, dir_fd=self._directory)
            named = marker.parse_marker(content, marker.NAME)
            return named == self.socket_path and _identity(named) == self._identity
        except SystemFailureError as error:
            return not isinstance(error.__cause__, PermissionError)  # it is somebody else's now
        except (HotenvError, OSError):
            return False


@contextmanager
def claim(folder: str, *, force: bool = False) -> Iterator[Session]:
    """Own a new session in ``folder`` for the length of the block.

    ``force`` replaces a marker that is there, and removes the socket that it names.

    Error handling: raises SessionExistsError if there is a marker and no ``force``, and
    SystemFailureError if what is needed cannot be made; then nothing is left behind. The release
    raises SystemFailureError if the marker could not be removed; the socket is gone then.
    """
    with ExitStack() as undo:
        with attempt("tell the current folder"):
            marker_path = os.path.join(os.path.abspath(folder), marker.NAME)
        with attempt(f"open the folder of {marker_path}"):
            # As it was given: "." is the current folder even if another one has its name by now.
            # Held for the whole session: the marker is found again if the folder is renamed.
            directory = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        undo.callback(os.close, directory)
        base = make_runtime_base()
        with attempt(f"make a socket in {base}"):
            listener, socket_path = _bind(base)
            identity = _identity(socket_path)
            remove_socket = partial(_remove_socket, listener, socket_path, identity)
            undo.callback(remove_socket)
            listener.listen(BACKLOG)
        _publish(directory, marker_path, socket_path, force=force)
        undo.callback(_withdraw, directory, marker_path, socket_path)
        undo.callback(remove_socket)  # once more, for the order of the release: first of all
        yield Session(listener, socket_path, marker_path, directory, identity)


def _bind(base: str) -> tuple[socket.socket, str]:
    """A socket that is bound below ``base`` under a new session id, with mode 0600."""
    for _ in range(_ID_TRIES):
        path = os.path.join(base, f"{secrets.token_hex(4)}.sock")
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
    raise SystemFailureError(f"no free session id in {base}: remove old sockets there")


def _remove_socket(listener: socket.socket, path: str, identity: tuple[int, int]) -> None:
    """End ``listener`` and remove its file, if that is still its file."""
    listener.close()
    with suppress(OSError):
        if _identity(path) == identity:
            os.unlink(path)


def _identity(path: str) -> tuple[int, int]:
    status = os.lstat(path)
    return status.st_dev, status.st_ino


def _publish(directory: int, path: str, socket_path: str, *, force: bool) -> None:
    """Put a marker for ``socket_path`` into the folder, whole and at once."""
    draft = f"{marker.NAME}.{os.path.basename(socket_path).removesuffix('.sock')}"
    with locked_folder(directory, path), attempt(f"write {path}"):
        _write(draft, directory, socket_path, path)
        try:
            if force:
                _replace(draft, directory, path)
            else:
                _link(draft, directory, socket_path, path)
        except FileExistsError:
            raise marker.exists(path) from None
        finally:
            with suppress(FileNotFoundError):
                os.unlink(draft, dir_fd=directory)


def _write(name: str, directory: int, socket_path: str, path: str) -> None:
    """Write the marker under ``name``, and check that clients will trust it under ``path``."""
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
    descriptor = os.open(name, flags, _PRIVATE_FILE, dir_fd=directory)
    try:
        with open(descriptor, "wb") as file:
            os.fchmod(descriptor, _PRIVATE_FILE)  # whatever the umask took away
            file.write(marker.format_marker(socket_path))
        marker.check_trust(marker.load(name, dir_fd=directory)[0], path)
    except BaseException:
        with suppress(OSError):
            os.unlink(name, dir_fd=directory)
        raise


def _replace(draft: str, directory: int, path: str) -> None:
    """Give the draft its name, and remove the socket of the session that had it."""
    # A stranger's marker may name another session of ours: that is no order to remove it.
    replaced = _socket_named_in(directory, trusted=True)
    try:
        os.replace(draft, marker.NAME, src_dir_fd=directory, dst_dir_fd=directory)
    except PermissionError:  # in a folder like /tmp: say whose it is
        marker.check_trust(os.lstat(marker.NAME, dir_fd=directory), path)
        raise
    _remove_replaced(replaced)


def _link(draft: str, directory: int, socket_path: str, path: str) -> None:
    """Give the draft its name, if that is free."""
    try:
        os.link(
            draft,
            marker.NAME,
            src_dir_fd=directory,
            dst_dir_fd=directory,
            follow_symlinks=False,  # whoever owns the folder can put one in the draft's place
        )
    except OSError as error:
        if error.errno not in _CANNOT_LINK:
            raise
        # A file system without links. A reader could see this one before it is complete.
        _write(marker.NAME, directory, socket_path, path)


def _withdraw(directory: int, path: str, socket_path: str) -> None:
    """Remove the marker if it still names our socket: it may be a newer session's by now."""
    with locked_folder(directory, path), attempt(f"remove {path}"):
        if _socket_named_in(directory) == socket_path:
            os.unlink(marker.NAME, dir_fd=directory)


def _socket_named_in(directory: int, *, trusted: bool = False) -> str | None:
    """The socket that the folder's marker names, if it is a marker at all (``trusted``: ours)."""
    try:
        status, content = marker.load(marker.NAME, dir_fd=directory)
        if trusted:
            marker.check_trust(status, marker.NAME)
        return marker.parse_marker(content, marker.NAME)
    except HotenvError:
        return None


def _remove_replaced(path: str | None) -> None:
    """Remove the socket of the session whose marker we replaced, if it surely is one of ours."""
    if path is None or os.path.dirname(path) != runtime_base():
        return
    with suppress(OSError):
        status = os.lstat(path)
        if stat.S_ISSOCK(status.st_mode) and status.st_uid == os.geteuid():
            os.unlink(path)
