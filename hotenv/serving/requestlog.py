"""The lines of a server's log (specification, section 8). Pure."""

from __future__ import annotations

from hotenv.printable import printable

TYPE_CHECKING = False
if TYPE_CHECKING:
    from datetime import datetime

    from hotenv.exchange.protocol import Request


def request_line(when: datetime, request: Request, *, verbose: bool = False) -> str:
    """``2026-02-14 15:04:05 run python``: time, command, and its name or (verbose) all its words.

    ``when`` is local time.
    """
    if request.command == "dump":
        summary = "-"
    else:
        summary = " ".join(request.args if verbose else request.args[:1])
    return f"{_time(when)} {request.command} {printable(summary)}"


def event_line(when: datetime, words: str) -> str:
    """``2026-02-14 15:04:05 hotenv: its time is over``: what happened to the session itself."""
    return f"{_time(when)} hotenv: {printable(words)}"


def _time(when: datetime) -> str:
    return when.isoformat(" ", "seconds")
