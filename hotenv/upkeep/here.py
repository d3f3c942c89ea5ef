"""The session of the current directory itself, for ``serve --if-needed``: does it answer?"""

from __future__ import annotations

import os

from hotenv.errors import NoSessionError, UnreachableError
from hotenv.exchange.probe import Probe
from hotenv.session.find import check_session
from hotenv.session.liveness import DEAD, liveness
from hotenv.session.marker import NAME, read_marker


def answers_here() -> bool:
    """Whether a live session of the current directory answers; False also if it is surely dead.

    Error handling: raises the errors of the session, if it may be alive elsewhere.
    """
    try:
        session = read_marker(NAME)
        check_session(session, os.curdir)
        with Probe(session) as probe:
            probe.wait_for_answer()
    except NoSessionError:
        return False
    except UnreachableError:
        if liveness(NAME, session.socket) == DEAD:
            return False
        if _is_named(session.socket):
            raise
        return answers_here()  # of the session that has replaced it meanwhile
    return True


def _is_named(socket_path: str) -> bool:
    """Whether the marker in the current directory still names the socket."""
    try:
        return read_marker(NAME).socket == socket_path
    except NoSessionError:
        return False
