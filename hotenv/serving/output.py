"""Where a server's words go, and its request log: to standard error, to a log file, or nowhere."""

from __future__ import annotations

from datetime import datetime

from hotenv.errors import HotenvError, internal_error
from hotenv.exchange.protocol import Request
from hotenv.printable import printable
from hotenv.serving.linewriter import LineWriter
from hotenv.serving.requestlog import event_line, request_line


class Output:
    """Never waits and never raises. ``quiet`` leaves errors only, ``verbose`` has all words."""

    def __init__(
        self, words: int | None, log: int | None, *, quiet: bool = False, verbose: bool = False
    ) -> None:
        """``words``: the descriptor for people; ``log``: that of a log file, which has all."""
        self._words = None if words is None else LineWriter(words)
        self._log = None if log is None else LineWriter(log)
        self._quiet = quiet
        self._verbose = verbose

    def tell(self, words: str) -> None:
        """Say what happened to the session."""
        if self._words is not None and not self._quiet:
            self._words.write(f"hotenv: {printable(words)}")
        self.note(words)

    def note(self, words: str) -> None:
        """Write down in a log file what is no news to whoever is at the terminal."""
        if self._log is not None and not self._quiet:
            self._log.write(event_line(datetime.now(), words))

    def log(self, request: Request) -> None:
        """Log a request that was answered."""
        writer = self._log or self._words
        if writer is not None and not self._quiet:
            writer.write(request_line(datetime.now(), request, verbose=self._verbose))

    def log_failure(self, error: Exception) -> None:
        """Log why the server fails. On standard error it is said by whoever catches ``error``."""
        if self._log is not None:
            words = str(error) if isinstance(error, HotenvError) else internal_error(error)
            self._log.write(event_line(datetime.now(), words))
