"""What a session owns on disk: a socket, its status beside it, and a marker.

The order of a claim: the socket listens, and the status is published, before the marker is there,
and the marker is complete when it is first seen, so whoever finds a marker can connect. Whatever
fails, what was made so far is removed. The order of a release: the socket, the marker, the status.

A release must never remove the marker of a newer session. Checking a marker and then changing it
are two steps, and every hotenv that does both holds a lock on the marker's folder meanwhile.
"""

from __future__ import annotations

import errno
import os
import socket
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress

from attrs import field, frozen

from hotenv.errors import HotenvError, SystemFailureError, attempt
from hotenv.session import marker
from hotenv.session.folderlock import locked_folder
from hotenv.session.published import SOCKET_SUFFIX, status_path
from hotenv.session.runtime import make_runtime_base, runtime_base
from hotenv.session.socketfile import SocketFile, is_own_socket
from hotenv.session.statusfile import StatusFile
from hotenv.session.statusrecord import StatusRecord

_CANNOT_LINK = {errno.EPERM, errno.EACCES, errno.EOPNOTSUPP, errno.ENOSYS, errno.EMLINK}
_PRIVATE_FILE = 0o600


@frozen
class Session:
    """A claimed session: where its socket and its marker are."""

    socket_path: str
    marker_path: str
    listener: socket.socket
    _socket_file: SocketFile = field(repr=False)
    _status_file: StatusFile = field(repr=False)
    _directory: int = field(repr=False)

    def can_be_found(self) -> bool:
        """Whether the marker still names the socket, and the socket is still the one it was.

        True also if the system cannot tell, as when no descriptor is left: it may still be so.
        """
        try:
            _, content = marker.load(marker.NAME, dir_fd=self._directory)
            named = marker.parse_marker(content, marker.NAME)
            return named == self.socket_path and self._socket_file.is_in_place()
        except SystemFailureError as error:
            return not isinstance(error.__cause__, PermissionError)  # it is somebody else's now
        except (HotenvError, OSError):
            return False

    def postpone(self, deadline: float) -> None:
        """Publish that it now ends at ``deadline`` (seconds of the boot clock)."""
        self._status_file.postpone(deadline)


@contextmanager
def claim(
    folder: str, *, describe: Callable[[str], StatusRecord], force: bool = False
) -> Iterator[Session]:
    """Own a new session in ``folder`` for the length of the block.

    ``describe`` makes of the marker's path what is published about the session. ``force`` replaces
    a marker that is there, and removes the socket that it names.

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
        socket_file = SocketFile(make_runtime_base())
        undo.callback(socket_file.remove)
        with attempt(f"publish the status of {socket_file.path}"):
            status_file = StatusFile(socket_file.path, describe(marker_path))
        undo.callback(status_file.remove)
        _publish(directory, marker_path, socket_file.path, force=force)
        undo.callback(withdraw_marker, directory, marker_path, socket_file.path)
        undo.callback(socket_file.remove)  # once more, for the order of the release: first of all
        yield Session(
            socket_file.path,
            marker_path,
            socket_file.listener,
            socket_file,
            status_file,
            directory,
        )


def _publish(directory: int, path: str, socket_path: str, *, force: bool) -> None:
    """Put a marker for ``socket_path`` into the folder, whole and at once."""
    draft = os.path.basename(draft_path(path, socket_path))
    with locked_folder(directory, f"the folder of {path}"), attempt(f"write {path}"):
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


def draft_path(marker_path: str, socket_path: str) -> str:
    """Where a marker is written before it is put into place: nobody else's, as the socket is."""
    return f"{marker_path}.{os.path.basename(socket_path).removesuffix(SOCKET_SUFFIX)}"


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
    if replaced is not None:
        _remove_draft(directory, replaced)
        _remove_from_base(replaced)


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


def withdraw_marker(directory: int, path: str, socket_path: str) -> bool:
    """Remove the marker of the open folder ``directory``, if it names ``socket_path``.

    It may be a newer session's by now. ``path`` is what errors call it; returns whether it was
    removed.
    """
    with locked_folder(directory, f"the folder of {path}"), attempt(f"remove {path}"):
        if _socket_named_in(directory) != socket_path:
            return False
        os.unlink(marker.NAME, dir_fd=directory)
        _remove_draft(directory, socket_path)
        return True


def _remove_draft(directory: int, socket_path: str) -> None:
    """Remove what a server leaves beside its marker if it is killed while it puts that in place."""
    with suppress(OSError):
        os.unlink(draft_path(marker.NAME, socket_path), dir_fd=directory)


def _socket_named_in(directory: int, *, trusted: bool = False) -> str | None:
    """The socket that the folder's marker names, if it is a marker at all (``trusted``: ours)."""
    try:
        status, content = marker.load(marker.NAME, dir_fd=directory)
        if trusted:
            marker.check_trust(status, marker.NAME)
        return marker.parse_marker(content, marker.NAME)
    except HotenvError:
        return None


def _remove_from_base(socket_path: str) -> None:
    """Remove what a session whose marker we replaced has in the base, if it surely is ours."""
    with suppress(OSError):
        if os.path.dirname(socket_path) == runtime_base() and is_own_socket(socket_path):
            os.unlink(socket_path)
            os.unlink(status_path(socket_path))
