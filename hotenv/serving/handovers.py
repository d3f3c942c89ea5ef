"""The audit log of a server: whom it gave the variables to, and whom it refused them.

Written by a thread, for a disk may be slow, and the event loop does not wait for it.
"""

from __future__ import annotations

import os
import signal
from queue import SimpleQueue
from threading import Thread

from hotenv.audit.commands import timestamp
from hotenv.audit.writer import append, check
from hotenv.errors import HotenvError
from hotenv.serving.events import Event, Outcome

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

_TOLD = (Outcome.ANSWERED, Outcome.REFUSED)
_LAST_WRITE = 2.0  # seconds for it: the session is over


class HandOverAudit:
    """Appends a line to the log at ``path`` for each client that asked for the variables."""

    def __init__(self, path: str, *, required: bool, tell: Callable[[str], None]) -> None:
        """``tell``: gets the first reason why a line could not be written.

        ``required``: the session ends then.

        Error handling: raises SystemFailureError if the log cannot be written now.
        """
        self._path = os.path.abspath(path)
        self._required = required
        self._tell = tell
        self._works = True
        check(self._path)
        self._events: SimpleQueue[Event | None] = SimpleQueue()
        self._thread = Thread(target=self._write_all, daemon=True)
        # No signal is for this thread: it would not be seen by the one that waits for it.
        mask = signal.pthread_sigmask(signal.SIG_BLOCK, signal.valid_signals())
        self._thread.start()
        signal.pthread_sigmask(signal.SIG_SETMASK, mask)

    def event(self, event: Event) -> None:
        """Log ``event``, soon."""
        if event.outcome in _TOLD:
            self._events.put(event)

    def close(self) -> None:
        """Write what is left, unless that takes too long."""
        self._events.put(None)
        self._thread.join(_LAST_WRITE)

    def _write_all(self) -> None:
        while (event := self._events.get()) is not None:
            try:
                append(self._path, _fields(event))
            except HotenvError as error:
                self._fail(error)

    def _fail(self, error: HotenvError) -> None:
        if self._works:
            self._tell(f"not in the audit log: {error}")
        self._works = False
        if self._required:
            os.kill(os.getpid(), signal.SIGTERM)


def _fields(event: Event) -> dict[str, object]:
    request = event.request
    return {
        "time": timestamp(event.time),
        "what": request.command if request is not None else "connect",
        "program": request.args[0] if request is not None and request.args else None,
        "outcome": event.outcome.value,
        "refused_to": event.refused_to,
        "pid": event.pid,
        "uid": event.uid,
        "executable": _executable(event.pid),
        "folder": os.getcwd(),
    }


def _executable(pid: int | None) -> str | None:
    """What the process ``pid`` executes, if it is still there and the kernel tells."""
    try:
        return os.readlink(f"/proc/{pid}/exe")
    except OSError:
        return None
