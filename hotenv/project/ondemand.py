"""Whether a command that has no session may have one started, and where."""

from __future__ import annotations

import os

from hotenv.errors import (
    ExpiredError,
    HotenvError,
    NoSessionError,
    RefusedError,
    UnresponsiveError,
)
from hotenv.project.settings import consult
from hotenv.session.find import find_marker
from hotenv.session.liveness import DEAD, liveness
from hotenv.session.marker import read_marker


def directory_to_start(
    error: HotenvError, directory: str | None = None, *, above: bool = False
) -> str:
    """The directory of the session to start, where a command in ``directory`` met ``error``.

    That is the directory of the project's file, if it is as near as what the search for a session
    has found: one that has expired or is dead is started anew, and not that of a parent.

    Error handling: raises ``error`` if none may be started, with the reason if there is a file that
    is not allowed; UsageError if an allowed file is invalid.
    """
    end = _end_of_search(error, directory, above=above)
    project, reason = consult(directory)
    if project is None and reason and isinstance(error, NoSessionError):
        raise NoSessionError(f"{error} ({reason})") from None
    if project is None or not project.starts_on_demand:
        raise error
    if end is not None and len(project.directory) < len(os.path.realpath(end)):
        raise error
    return project.directory


def _end_of_search(error: HotenvError, directory: str | None, *, above: bool) -> str | None:
    """Where the search for a session has ended; None if it came to the root.

    Raises ``error`` if that is where a session may be alive.
    """
    if isinstance(error, ExpiredError):
        return error.directory
    if isinstance(error, NoSessionError):
        return None
    if isinstance(error, RefusedError | UnresponsiveError):
        raise error
    path = find_marker(directory, above=above)
    if liveness(path, read_marker(path).socket) != DEAD:
        raise error
    return os.path.dirname(path) or os.curdir
