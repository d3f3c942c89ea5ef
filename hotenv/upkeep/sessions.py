"""All sessions of this user, as far as they have something in the runtime base."""

from __future__ import annotations

import os
from contextlib import suppress

from hotenv.errors import HotenvError
from hotenv.exchange.visit import Visit, is_dead
from hotenv.session.marker import Marker
from hotenv.session.published import read_status
from hotenv.session.runtime import find_runtime_base, sockets_in
from hotenv.upkeep.status import report
from hotenv.upkeep.statusreport import Report


def live_sessions() -> list[Marker]:
    """Each session behind whose socket somebody listens.

    Error handling: raises SystemFailureError if the runtime base cannot be read or trusted.
    """
    return [_session_at(path) for path in _sockets() if not is_dead(path)]


def reports() -> list[Report]:
    """The status of each session, and of what is left of dead ones; oldest first.

    Error handling: raises SystemFailureError if the runtime base cannot be read or trusted.
    """
    found = [_look(path) for path in _sockets()]
    return sorted(found, key=lambda each: each.started.timestamp() if each.started else 0)


def _sockets() -> list[str]:
    base = find_runtime_base()
    return sockets_in(base) if base else []


def _session_at(socket_path: str) -> Marker:
    """The session of a socket; its marker is where it says, if it says so."""
    record = read_status(socket_path)
    return Marker(record.marker if record else socket_path, socket_path, os.geteuid())


def _look(socket_path: str) -> Report:
    pid, state = None, "dead"
    if not is_dead(socket_path):
        state = "silent"
        with suppress(HotenvError), Visit(_session_at(socket_path)) as visit:
            pid = visit.pid
            visit.wait_for_answer()
            state = "alive"
    return report(state, socket_path, pid)
