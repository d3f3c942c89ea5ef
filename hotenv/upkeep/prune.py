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
    with _opened(base) as folder, locked_folder(folder, base):
        for socket_path in sockets_in(base):
            if is_dead(socket_path):
                record = read_status(socket_path)
                drafts = [draft_path(record.marker, socket_path)] if record else []
                for path in [socket_path, *drafts, status_path(socket_path)]:
                    if _is_own_file(path):
                        with attempt(f"remove {path}"):
                            os.unlink(path)
                        yield path


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


def _is_own_file(path: str) -> bool:
    with suppress(OSError):
        status = os.lstat(path)
        ours = status.st_uid == os.geteuid()
        return ours and (stat.S_ISSOCK(status.st_mode) or stat.S_ISREG(status.st_mode))
    return False
