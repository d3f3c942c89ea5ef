"""What ``hotenv status`` tells about sessions, for people and for programs. Pure."""

from __future__ import annotations

import json

from attrs import frozen

from hotenv.durations import format_whole_seconds

TYPE_CHECKING = False
if TYPE_CHECKING:
    from datetime import datetime

HEADER = ("DIRECTORY", "STATE", "PID", "EXPIRES IN", "VARIABLES")
"""Above the rows of all sessions."""

_UNKNOWN = "-"


@frozen(kw_only=True)
class Report:
    """What is known of one session at the moment; None is what is not known, unless it says more.

    ``state``: "alive", "dead" (no server listens), "unresponsive" (one does, and does not answer).
    ``pid``: of its server, None also if it is dead. ``started``: with its time zone.
    ``idle_remaining``: seconds until it expires if idle; ``timeout``: the idle timeout.
    ``age_remaining``: seconds until it expires even if in use, None also if it has no such
    limit. ``log``: None also if it has no log file.
    """

    state: str
    marker: str | None
    socket: str
    pid: int | None
    started: datetime | None = None
    idle_remaining: float | None = None
    timeout: float | None = None
    age_remaining: float | None = None
    variables: int | None = None
    log: str | None = None

    @property
    def directory(self) -> str | None:
        """The directory of its marker."""
        return None if self.marker is None else self.marker.rpartition("/")[0] or "/"


def to_facts(report: Report) -> list[tuple[str, str]]:
    """The rows for one session: what, and how much."""
    known = report.started is not None
    return [
        ("marker", report.marker or _UNKNOWN),
        ("socket", report.socket),
        ("pid", _text(report.pid)),
        ("started", report.started.isoformat(" ", "seconds")[:19] if report.started else _UNKNOWN),
        ("idle timeout", f"{_time(report.idle_remaining)} left of {_time(report.timeout)}"),
        (
            "max age",
            "no limit" if known and report.age_remaining is None else _time(report.age_remaining),
        ),
        ("variables", _text(report.variables)),
        ("log", report.log or ("none" if known else _UNKNOWN)),
    ]


def to_row(report: Report) -> tuple[str, ...]:
    """The row for one of many sessions, below HEADER."""
    return (
        report.directory or _UNKNOWN,
        report.state,
        _text(report.pid),
        _time(report.idle_remaining),
        _text(report.variables),
    )


def to_object(report: Report) -> dict[str, object]:
    """The object for one session in JSON: the fields of a Report, and its directory."""
    return {
        "state": report.state,
        "directory": report.directory,
        "marker": report.marker,
        "socket": report.socket,
        "pid": report.pid,
        "started": report.started.isoformat(timespec="seconds") if report.started else None,
        "idle_remaining": _rounded(report.idle_remaining),
        "timeout": report.timeout,
        "age_remaining": _rounded(report.age_remaining),
        "variables": report.variables,
        "log": report.log,
    }


def to_json(reports: Report | list[Report]) -> str:
    """The object for one session, or an array with one for each."""
    if isinstance(reports, Report):
        return json.dumps(to_object(reports), indent=2) + "\n"
    return json.dumps([to_object(each) for each in reports], indent=2) + "\n"


def _rounded(seconds: float | None) -> float | None:
    return None if seconds is None else round(seconds, 3)


def _time(seconds: float | None) -> str:
    return _UNKNOWN if seconds is None else format_whole_seconds(seconds)


def _text(number: int | None) -> str:
    return _UNKNOWN if number is None else str(number)
