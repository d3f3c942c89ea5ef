"""The status of a session: whether it answers, and what its server has published."""

from __future__ import annotations

from hotenv.exchange.visit import Visit
from hotenv.session.boottime import boot_time
from hotenv.session.published import read_status

TYPE_CHECKING = False
if TYPE_CHECKING:
    from datetime import datetime

    from hotenv.session.marker import Marker
    from hotenv.upkeep.statusreport import Report


def idle_left(marker: Marker) -> float | None:
    """Seconds until the session of ``marker`` ends if nobody asks; None if it does not tell.

    Error handling: raises UnreachableError and ArtifactError as asking it would.
    """
    with Visit(marker) as visit:
        record = read_status(marker.socket)  # before it answers: after that it may end
        visit.wait_for_answer()
    return None if record is None else max(0.0, record.deadline - boot_time())


def status(marker: Marker) -> Report:
    """The status of the session of ``marker``, which answers.

    Error handling: raises UnreachableError and ArtifactError as asking it would.
    """
    with Visit(marker) as visit:
        found = report("alive", marker.socket, visit.pid, marker.path)
        visit.wait_for_answer()
    return found


def report(state: str, socket_path: str, pid: int | None, marker_path: str | None = None) -> Report:
    """What is known of the session with this socket; see Report for ``state`` and ``pid``."""
    from hotenv.upkeep.statusreport import Report

    record = read_status(socket_path)
    if record is None:
        return Report(state=state, marker=marker_path, socket=socket_path, pid=pid)
    idle, age = None, None
    if state != "dead":
        idle = max(0.0, record.deadline - boot_time())
        age = None if record.end is None else max(0.0, record.end - boot_time())
    return Report(
        state=state,
        marker=marker_path or record.marker,
        socket=socket_path,
        pid=pid,
        started=_local_time(record.started),
        idle_left=idle,
        timeout=record.timeout,
        age_left=age,
        variables=record.variables,
        log=record.log,
    )


def _local_time(seconds: float) -> datetime | None:
    """``seconds`` since 1970 with the time zone; None if that is in no year that has a number."""
    from datetime import datetime

    try:
        return datetime.fromtimestamp(seconds).astimezone()
    except (OverflowError, ValueError, OSError):
        return None
