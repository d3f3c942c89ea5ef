"""The log of a server (specification, section 8): to standard error, to a log file, or nowhere.

A terminal or pipe may be slow, full, stopped or gone, and a write that blocks would keep secrets in
memory past their deadline. A line that cannot be written at once is dropped, and the next one that
can be says how many were.
"""

from __future__ import annotations

import os
import select
import stat
from datetime import datetime

from hotenv.descriptors import reopen_nonblocking
from hotenv.errors import HotenvError, SystemFailureError, attempt
from hotenv.printable import printable
from hotenv.program import describe
from hotenv.session.marker import NAME
from hotenv.session.owner import is_ours, not_yours

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from hotenv.exchange.protocol import Request
    from hotenv.serving.events import Event

_PRIVATE_FILE = 0o600
_LONGEST = select.PIPE_BUF  # bytes that a pipe takes whole or not at all
_CUT = b"...\n"


class Log:
    """Never waits and never raises. ``quiet`` keeps errors only, ``verbose`` all arguments."""

    def __init__(
        self, terminal: int | None, file: int | None, *, quiet: bool = False, verbose: bool = False
    ) -> None:
        """``terminal``: the file descriptor for people; ``file``: that of a log file.

        The file has everything; the requests are shown to people only if there is no file.
        """
        self._terminal = None if terminal is None else LineWriter(terminal)
        self._file = None if file is None else LineWriter(file)
        self._quiet = quiet
        self._verbose = verbose

    def tell(self, message: str) -> None:
        """Say what happened to the session."""
        if self._terminal is not None and not self._quiet:
            self._terminal.write(f"hotenv: {printable(message)}")
        self.note(message)

    def note(self, message: str) -> None:
        """Write to the log file only: it is no news to the person at the terminal."""
        if self._file is not None and not self._quiet:
            self._file.write(message_line(datetime.now(), message))

    def event(self, event: Event) -> None:
        """Log a request, if it was answered or refused."""
        writer = self._file or self._terminal
        if writer is None or self._quiet:
            return
        when = datetime.fromtimestamp(event.time)
        if event.answered is not None:
            writer.write(request_line(when, event.answered, verbose=self._verbose))
        elif event.refused_to is not None:
            writer.write(message_line(when, f"refused to {event.refused_to}: pid {event.pid}"))

    def failure(self, error: Exception) -> None:
        """Log why the server fails. What catches ``error`` says it on standard error."""
        if self._file is not None:
            message = str(error) if isinstance(error, HotenvError) else describe(error)
            self._file.write(message_line(datetime.now(), message))


def request_line(when: datetime, request: Request, *, verbose: bool = False) -> str:
    """``2026-02-14 15:04:05 run python``: time, command, and its name or (verbose) all its words.

    ``when`` is local time.
    """
    if request.command == "dump":
        summary = "-"
    else:
        summary = " ".join(request.args if verbose else request.args[:1])
    return f"{_time(when)} {request.command} {printable(summary)}"


def message_line(when: datetime, message: str) -> str:
    """``2026-02-14 15:04:05 hotenv: session expired``: what happened to the session itself."""
    return f"{_time(when)} hotenv: {printable(message)}"


def _time(when: datetime) -> str:
    return when.isoformat(" ", "seconds")


class LineWriter:
    """Writes lines to a file descriptor that others share, without waiting and without raising."""

    def __init__(self, descriptor: int) -> None:
        """``descriptor`` is not changed and not closed; it may be closed already."""
        self._descriptor = reopen_nonblocking(descriptor)
        self._poll = select.poll()
        self._poll.register(self._descriptor, select.POLLOUT)
        self._dropped = 0

    def write(self, line: str) -> None:
        """Write ``line``, which has no newline, or count it as dropped."""
        lost = f"hotenv: lines lost here: {self._dropped} (output was blocked)"
        if self._dropped and self._put(lost):
            self._dropped = 0
        if not self._put(line):
            self._dropped += 1

    def _put(self, line: str) -> bool:
        data = line.encode("utf-8", "backslashreplace") + b"\n"
        if len(data) > _LONGEST:
            data = data[: _LONGEST - len(_CUT)].decode("utf-8", "ignore").encode() + _CUT
        try:
            ready = self._poll.poll(0)
            return bool(ready and ready[0][1] & select.POLLOUT and os.write(self._descriptor, data))
        except OSError:
            return False


def open_log_file(path: str, taken: Sequence[str] = ()) -> int:
    """A descriptor that appends to the file at ``path``, which has mode 0600 when this returns.

    Error handling: raises SystemFailureError if it cannot be opened, is not a regular file (or is a
    link to one), is owned by another user, or is or would be one of the files of a session:
    ``taken`` are their paths, or those of their directories.
    """
    refusal = SystemFailureError(f"log file {path} belongs to a session: use another file")
    real = os.path.realpath(path)
    is_marker = os.path.basename(real) == NAME
    if is_marker or {real, os.path.dirname(real)} & set(map(os.path.realpath, taken)):
        raise refusal
    # Not waiting for the reader of a FIFO; regular files do not care.
    flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY
    with attempt(f"open log file {path}", "must be a regular file, not a link"):
        descriptor = os.open(path, flags | os.O_CLOEXEC, _PRIVATE_FILE)
        try:
            status = os.fstat(descriptor)
            if not stat.S_ISREG(status.st_mode):
                raise SystemFailureError(f"log file {path} is not a regular file: use another file")
            if any(_is_named(each, status) for each in taken):  # by another link to it
                raise refusal
            if not is_ours(status.st_uid):
                raise not_yours(f"log file {path}", status.st_uid, "use another file")
            os.fchmod(descriptor, _PRIVATE_FILE)
        except BaseException:
            os.close(descriptor)
            raise
    return descriptor


def _is_named(path: str, status: os.stat_result) -> bool:
    try:
        return os.path.samestat(os.lstat(path), status)
    except OSError:
        return False
