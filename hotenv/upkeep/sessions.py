"""All sessions of this user that have a file in the runtime base."""

from __future__ import annotations

import os
from contextlib import ExitStack

from hotenv.errors import HotenvError
from hotenv.exchange.probe import GLANCE_TIMEOUT, Probe, wait_for_answers
from hotenv.session.liveness import is_listening
from hotenv.session.marker import Marker
from hotenv.session.runtime import find_runtime_bases, runtime_bases, sockets_in
from hotenv.session.status import read_status
from hotenv.upkeep.report import Report
from hotenv.upkeep.status import report


def no_sessions() -> str:
    """What to say where there are none: where they were looked for."""
    return f"no sessions (looked in {', '.join(runtime_bases())})"


def live_sessions() -> list[Marker]:
    """Each session behind whose socket a process listens.

    Error handling: raises SystemFailureError if the runtime base cannot be read or trusted.
    """
    return [_session_at(path) for path in _sockets() if is_listening(path) is not False]


def reports() -> list[Report]:
    """The status of each session, and of the files of dead ones; oldest first.

    All servers are probed at the same time, each for GLANCE_TIMEOUT.

    Error handling: raises SystemFailureError if the runtime base cannot be read or trusted.
    """
    paths = _sockets()
    states = dict.fromkeys(paths, "unresponsive")
    probes: dict[str, Probe] = {}
    with ExitStack() as stack:
        for path in paths:
            if is_listening(path) is False:
                states[path] = "dead"
                continue
            try:
                probes[path] = stack.enter_context(Probe(_session_at(path), GLANCE_TIMEOUT))
            except HotenvError:
                continue
        wait_for_answers(probes.values())
        states |= {path: "alive" for path, probe in probes.items() if probe.error is None}
    pids = {path: probe.pid for path, probe in probes.items()}
    found = [report(states[path], path, pids.get(path)) for path in paths]
    return sorted(found, key=lambda each: each.started.timestamp() if each.started else 0)


def _sockets() -> list[str]:
    return [path for base in find_runtime_bases() for path in sockets_in(base)]


def _session_at(socket_path: str) -> Marker:
    """The session of a socket; its marker is where its status says, if it has one."""
    published = read_status(socket_path)
    return Marker(published.marker if published else socket_path, socket_path, os.geteuid())
