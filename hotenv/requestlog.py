"""The line that a server logs for a successful request (specification, section 8). Pure."""

from __future__ import annotations

from hotenv.printable import printable

TYPE_CHECKING = False
if TYPE_CHECKING:
    from datetime import datetime

    from hotenv.protocol import Request


def log_line(when: datetime, request: Request, *, verbose: bool = False) -> str:
    """``2026-02-14 15:04:05 run python``: time, command, and its name or (verbose) all its words.

    ``when`` is local time.
    """
    if request.command == "dump":
        summary = "-"
    else:
        summary = " ".join(request.args if verbose else request.args[:1])
    return f"{when.isoformat(' ', 'seconds')} {request.command} {printable(summary)}"
