"""The files of a session: a socket, its status beside it, and a marker.

The order of a claim: the socket listens, and the status is published, before the marker is there,
and the marker is complete when it is first seen, so every client that finds a marker can connect.
If any step fails, everything created so far is removed. The order of a release: the socket, the
marker, the status. If the session has expired, its note is there before its marker is gone: no
client finds neither (see ``note``).

All of it may wait for a file system or another process: within Trio it belongs into a thread.
"""

from __future__ import annotations

import os
import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from functools import partial

from attrs import field, frozen

from hotenv.errors import HotenvError, SystemFailureError, attempt
from hotenv.session import marker
from hotenv.session.lock import Pause
from hotenv.session.markerfile import MarkerFile, MayReplace, remove_draft
from hotenv.session.note import Notes, leave_note
from hotenv.session.runtime import make_runtime_base, runtime_bases
from hotenv.session.socketfile import SocketFile, is_own_socket
from hotenv.session.status import Status, StatusFile, status_path

LOOK_EVERY = 5.0
"""Seconds between looks whether clients can still find the session."""


@frozen
class Session:
    """A claimed session: where its socket and its marker are."""

    socket_path: str
    marker_path: str
    listener: socket.socket
    _socket_file: SocketFile = field(repr=False)
    _status_file: StatusFile = field(repr=False)
    _marker_file: MarkerFile = field(repr=False)
    _publishing: threading.Lock = field(repr=False)
    _expired: threading.Event = field(repr=False)

    def expire(self) -> None:
        """Let the release leave a note, because the time of the session is over."""
        self._expired.set()

    def wait_until_lost(self, stop: threading.Event) -> bool:
        """Return True once clients cannot find the session any more, or False after ``stop``.

        Looks every LOOK_EVERY seconds. For a thread: a network file system may hang.
        """
        while self.can_be_found():
            if stop.wait(LOOK_EVERY):
                return False
        return True

    def can_be_found(self) -> bool:
        """Whether the marker still names the socket, and the socket is still the one it was.

        True also if the system cannot tell, as when no descriptor is left: it may still be so.
        """
        try:
            return self._marker_file.is_in_place() and self._socket_file.is_in_place()
        except SystemFailureError as error:
            return not isinstance(error.__cause__, PermissionError)  # it is another user's now
        except (HotenvError, OSError):
            return False

    def publish_deadline(self, deadline: float) -> None:
        """Publish when it expires if idle (seconds of the boot clock). For a thread, as above."""
        with self._publishing:
            self._status_file.publish_deadline(deadline)


@contextmanager
def claim(
    directory: str,
    *,
    describe: Callable[..., Status],
    may_replace: MayReplace | None = None,
    pause: Pause = time.sleep,
) -> Iterator[Session]:
    """Create a session in ``directory``, and release it at the end of the block.

    ``describe`` returns the status to publish, given the path of the ``marker`` and the ``device``
    and ``inode`` of its directory. ``may_replace`` decides whether an existing marker is replaced;
    the files of its session are removed then. ``pause`` waits while another process holds a lock;
    whatever it raises ends the claim.

    Error handling: raises SessionExistsError if there is a file that may not be replaced, and
    SystemFailureError if something cannot be created; then nothing is left behind. The release
    raises SystemFailureError if the marker could not be removed, or a note of its expiry not be
    left: then the marker stays, for the same end. The socket is gone then.
    """
    with ExitStack() as undo:
        dir_fd, marker_path = _open(directory)
        undo.callback(os.close, dir_fd)
        socket_file = SocketFile(make_runtime_base(), pause)
        undo.callback(socket_file.remove)
        status = os.fstat(dir_fd)
        with attempt(f"write the status file of {socket_file.path}"):
            description = describe(marker=marker_path, device=status.st_dev, inode=status.st_ino)
            status_file = StatusFile(socket_file.path, description)
        publishing = threading.Lock()
        undo.callback(_withdraw_status, status_file, publishing)
        expired = threading.Event()
        origin = os.path.realpath(os.path.dirname(marker_path))
        leave = partial(_leave_note_if, expired, socket_file.path, dir_fd, origin)
        marker_file = MarkerFile(
            dir_fd,
            marker_path,
            socket_file.path,
            is_composed=description.composition is not None,
            may_replace=may_replace,
            pause=pause,
        )
        undo.callback(marker_file.remove, pause, leave)
        undo.callback(socket_file.remove)  # once more, for the order of the release: first of all
        if marker_file.replaced is not None:
            remove_draft(dir_fd, marker_file.replaced)
            _remove_from_base(marker_file.replaced)
        with suppress(HotenvError, OSError):  # a marker is nearer than a note
            Notes().forget(directory)
        yield Session(
            socket_file.path,
            marker_path,
            socket_file.listener,
            socket_file,
            status_file,
            marker_file,
            publishing,
            expired,
        )


def _open(directory: str) -> tuple[int, str]:
    """A descriptor for ``directory``, and the path of a marker in it."""
    with attempt("determine the current directory"):
        marker_path = os.path.join(os.path.abspath(directory), marker.NAME)
    with attempt(f"open the directory of {marker_path}"):
        # As it was given: "." is the current directory even if another one has its name by now.
        # Held for the whole session: the marker is found again if the directory is renamed, and
        # overlayfs does not give it another inode number.
        flags = os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC
        return os.open(marker.checked_path(directory), flags), marker_path


def _withdraw_status(status_file: StatusFile, publishing: threading.Lock) -> None:
    with publishing:  # of a thread that was abandoned: its descriptor is not closed yet
        status_file.remove()


def _leave_note_if(expired: threading.Event, socket_path: str, dir_fd: int, origin: str) -> None:
    if expired.is_set():
        leave_note(socket_path, dir_fd, origin)


def _remove_from_base(socket_path: str) -> None:
    """Remove the files that a replaced session has in a base, if they surely are ours."""
    with suppress(OSError):
        if os.path.dirname(socket_path) in runtime_bases() and is_own_socket(socket_path):
            os.unlink(socket_path)
            os.unlink(status_path(socket_path))
