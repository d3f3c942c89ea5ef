"""What an audit log says of a command: that it has begun, and how it has ended.

The first line is on disk before the command starts, so killing hotenv does not hide the command.
"""

from __future__ import annotations

import os
import time
from datetime import UTC, datetime

from hotenv.audit.writer import append
from hotenv.errors import HotenvError, SystemFailureError
from hotenv.stdio import say

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

BEGUN = "begun"
"""The outcome in a first line."""


class CommandLog:
    """Writes to the log at ``path``."""

    def __init__(
        self,
        path: str,
        *,
        hide: Callable[[str], str],
        names: Sequence[str] | None = None,
        verbose: bool = False,
        required: bool = False,
    ) -> None:
        """``hide``: takes values out of texts. ``names``: of the variables that commands get.

        ``verbose``: log all words of commands. ``required``: fail if a line cannot be written.
        Else the first failure is told.
        """
        self._path = path
        self._hide = hide
        self._names = names
        self._verbose = verbose
        self._required = required
        self._told = False

    def begin(
        self, what: str, program: str, words: Sequence[str], folder: str, **more: object
    ) -> CommandAudit:
        """Log that a command begins, which is ``words``, in ``folder``, and what else is known.

        Error handling: raises SystemFailureError if that is required and fails.
        """
        fields = {
            "time": timestamp(time.time()),
            "what": what,
            "program": self._hide(program),
            "words": [*map(self._hide, words)] if self._verbose else None,
            "folder": self._hide(folder),
            "pid": os.getpid(),
            "uid": os.getuid(),
            "names": self._names,
            **more,
        }
        return CommandAudit(self, fields, self.append({**fields, "outcome": BEGUN}))

    def append(self, fields: Mapping[str, object]) -> int | None:
        """Append a line; its number. Errors are those of :meth:`begin`."""
        try:
            return append(self._path, fields)
        except HotenvError as error:
            if self._required:
                raise
            if not self._told:
                say(f"warning: not in the audit log: {error}")
            self._told = True
            return None


class CommandAudit:
    """Writes the line about the end of a command, which began with line ``began`` of ``log``."""

    def __init__(self, log: CommandLog, fields: Mapping[str, object], began: int | None) -> None:
        self._log = log
        self._fields = {**fields, "began": began}
        self._start = time.monotonic()

    def end(self, **outcome: object) -> None:
        """Log that it has ended, with ``outcome``. Errors are those of :meth:`CommandLog.begin`."""
        milliseconds = int((time.monotonic() - self._start) * 1000)
        self._log.append({**self._fields, "milliseconds": milliseconds, **outcome})

    def ended(self, status: int, blocked: int | None = None) -> int:
        """Log that it ended with the wait status ``status``, which is returned.

        ``blocked``: how often a guard refused something. Returns the status of a failure if the
        line was required and could not be written, which is told.
        """
        try:
            self.end(**outcome_of(status), blocked=blocked)
        except HotenvError as error:
            say(str(error))
            return SystemFailureError.exit_code << 8
        return status

    def not_started(self) -> None:
        """Log that it could not be executed."""
        self.end(failed="not started")


def outcome_of(status: int) -> dict[str, int | None]:
    """What a line says of the wait status ``status``."""
    signaled = os.WIFSIGNALED(status)
    return {
        "status": None if signaled else os.WEXITSTATUS(status),
        "signal": os.WTERMSIG(status) if signaled else None,
    }


def timestamp(seconds: float) -> str:
    """``seconds`` since 1970 as a time in UTC, to the millisecond (RFC 3339)."""
    when = datetime.fromtimestamp(seconds, UTC).isoformat(timespec="milliseconds")
    return when.replace("+00:00", "Z")
