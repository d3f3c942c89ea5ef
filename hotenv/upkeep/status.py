"""The status of a session: whether it answers, and what its server has published."""

from __future__ import annotations

from hotenv.exchange.probe import GLANCE_TIMEOUT, Probe
from hotenv.session.clock import boot_time
from hotenv.session.status import read_status

TYPE_CHECKING = False
if TYPE_CHECKING:
    from datetime import datetime

    from hotenv.session.marker import Marker
    from hotenv.upkeep.report import Report


def time_remaining(marker: Marker) -> float | None:
    """Seconds until the session of ``marker`` expires if idle; None if that is not published.

    Error handling: raises UnresponsiveError if it does not answer within GLANCE_TIMEOUT, otherwise
    UnreachableError and ArtifactError as a request would.
    """
    with Probe(marker, GLANCE_TIMEOUT) as probe:
        published = read_status(marker.socket)  # before it answers: after that it may end
        probe.wait_for_answer()
    return None if published is None else max(0.0, published.deadline - boot_time())


def status(marker: Marker) -> Report:
    """The status of the session of ``marker``, which answers.

    Error handling: raises UnreachableError and ArtifactError as a request would.
    """
    with Probe(marker) as probe:
        found = report("alive", marker.socket, probe.pid, marker.path)
        probe.wait_for_answer()
    return found


def report(state: str, socket_path: str, pid: int | None, marker_path: str | None = None) -> Report:
    """What is known of the session with this socket; see Report for ``state`` and ``pid``."""
    from hotenv.upkeep.report import Report

    pid = pid or None  # 0: it is in another PID namespace
    published = read_status(socket_path)
    if published is None:
        return Report(state=state, marker=marker_path, socket=socket_path, pid=pid)
    idle, age = None, None
    if state != "dead":
        idle = max(0.0, published.deadline - boot_time())
        age = None if published.end is None else max(0.0, published.end - boot_time())
    return Report(
        state=state,
        marker=marker_path or published.marker,
        socket=socket_path,
        pid=pid,
        started=_local_time(published.started),
        idle_remaining=idle,
        timeout=published.timeout,
        age_remaining=age,
        variables=published.variables,
        log=published.log,
    )


def _local_time(seconds: float) -> datetime | None:
    """``seconds`` since 1970 with the time zone; None if that is in no year that has a number."""
    from datetime import datetime

    try:
        return datetime.fromtimestamp(seconds).astimezone()
    except (OverflowError, ValueError, OSError):
        return None
