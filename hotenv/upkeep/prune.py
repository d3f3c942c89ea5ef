"""Removing what dead servers left behind. Nothing is removed that may still be in use.

A server locks the runtime base while its socket is there and does not listen yet, and the folder of
a marker while it changes that: under the same locks, a socket that refuses is one of a dead server.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress

from hotenv.errors import NoSessionError, attempt
from hotenv.exchange.visit import is_dead
from hotenv.session import marker
from hotenv.session.claim import draft_path, withdraw_marker
from hotenv.session.folderlock import locked_folder
from hotenv.session.published import read_status, status_path
from hotenv.session.runtime import find_runtime_base, sockets_in


def prune() -> Iterator[str]:
    """Remove the sockets of dead servers from the runtime base, and what belongs to them.

    And the marker that ``run`` would find, if its server is dead. Yields the path of each file that
    was removed.

    Error handling: raises SystemFailureError if something is not ours or cannot be removed, and the
    errors of reading a marker.
    """
    yield from _prune_base()
    yield from _prune_marker()


def _prune_base() -> Iterator[str]:
    base = find_runtime_base()
    if base is None:
        return
    with _opened(base) as folder:
        for socket_path in sockets_in(base):
            for path in _files_of(socket_path):
                with locked_folder(folder, base):  # not while it is told: that can take long
                    removed = is_dead(socket_path) and _remove_own(path)
                if removed:
                    yield path


def _files_of(socket_path: str) -> list[str]:
    """What a server may have left that had this socket."""
    record = read_status(socket_path)
    drafts = [draft_path(record.marker, socket_path)] if record else []
    return [socket_path, *drafts, status_path(socket_path)]


def _prune_marker() -> Iterator[str]:
    with suppress(NoSessionError):
        found = marker.read_marker(marker.find_marker())
        if is_dead(found.socket):
            with _opened(os.path.dirname(found.path)) as folder:
                if withdraw_marker(folder, found.path, found.socket):
                    yield found.path


@contextmanager
def _opened(folder: str) -> Iterator[int]:
    with attempt(f"open {folder}"):
        descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
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
        ours = status.st_uid == os.geteuid()
        return ours and (stat.S_ISSOCK(status.st_mode) or stat.S_ISREG(status.st_mode))
    return False
