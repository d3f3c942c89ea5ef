"""Removing what dead servers left behind. Nothing is removed that may still be in use.

A server locks the runtime base while its socket is there and does not listen yet: under the same
lock, a socket that refuses connections is that of a dead server. For markers see ``liveness``.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress

from hotenv.desk import place
from hotenv.errors import NoSessionError, SystemFailureError, attempt
from hotenv.guards.privatetmp import remove_abandoned
from hotenv.project import startonce
from hotenv.session import marker
from hotenv.session.find import find_marker
from hotenv.session.liveness import is_listening
from hotenv.session.lock import locked
from hotenv.session.marker import Marker
from hotenv.session.markerfile import draft_path, if_dead, withdraw
from hotenv.session.note import note_draft, notes_in, remove_note
from hotenv.session.owner import is_ours
from hotenv.session.runtime import find_runtime_bases, sockets_in
from hotenv.session.status import read_status, status_path


def prune() -> Iterator[str]:
    """Remove the sockets of dead servers from the runtime bases, and what belongs to them.

    And the notes of expired sessions, what is left of starts, commands and agents whose hotenv was
    killed, and the marker that ``run`` finds then, if its server is dead. Yields the path of each
    file that was removed.

    Error handling: raises SystemFailureError if something is not ours or cannot be removed, and the
    errors of reading a marker.
    """
    for base in find_runtime_bases():
        yield from _prune_base(base)
    yield from remove_abandoned()
    yield from _prune_marker()


def remove_remains(session: Marker) -> None:
    """Remove the files of ``session``, whose server has been killed, as far as there are any."""
    directory = os.path.dirname(session.path)
    if is_listening(session.socket) is False:
        for path in _files_of(session.socket):
            _remove_own(path)
    with suppress(SystemFailureError), _opened(directory) as dir_fd:
        withdraw(dir_fd, session.path, session.socket, if_dead)


def _prune_base(base: str) -> Iterator[str]:
    with _opened(base) as dir_fd:
        for socket_path in sockets_in(base):
            for path in _files_of(socket_path):
                with locked(dir_fd, base):  # not while it is told: that can take long
                    removed = is_listening(socket_path) is False and _remove_own(path)
                if removed:
                    yield path
        yield from filter(remove_note, notes_in(base))
    yield from startonce.remove_abandoned(base)
    yield from place.remove_abandoned(base)


def _files_of(socket_path: str) -> list[str]:
    """What a server may have left that had this socket."""
    published = read_status(socket_path)
    drafts = [draft_path(published.marker, socket_path)] if published else []
    return [socket_path, *drafts, note_draft(socket_path), status_path(socket_path)]


def _prune_marker() -> Iterator[str]:
    with suppress(NoSessionError):
        found = marker.read_marker(find_marker())
        with _opened(os.path.dirname(found.path)) as dir_fd:
            if withdraw(dir_fd, found.path, found.socket, if_dead):
                yield found.path


@contextmanager
def _opened(directory: str) -> Iterator[int]:
    with attempt(f"open {directory}"):
        descriptor = os.open(directory, os.O_RDONLY | os.O_DIRECTORY)
    try:
        yield descriptor
    finally:
        os.close(descriptor)


def _remove_own(path: str) -> bool:
    """Remove the file at ``path`` if there is one of ours; whether that was done."""
    if not _is_own_file(path):
        return False
    with attempt(f"remove {path}"):
        try:
            os.unlink(path)
        except FileNotFoundError:  # its server was just about to end
            return False
    return True


def _is_own_file(path: str) -> bool:
    with suppress(OSError, ValueError):  # a damaged status can name what is no path
        status = os.lstat(path)
        return is_ours(status.st_uid) and (
            stat.S_ISSOCK(status.st_mode) or stat.S_ISREG(status.st_mode)
        )
    return False
