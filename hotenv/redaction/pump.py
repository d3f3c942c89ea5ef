"""Carries what a command writes to where it would have gone, without values."""

from __future__ import annotations

import os
import select
import stat

from hotenv.descriptors import reopen_nonblocking
from hotenv.redaction.filter import PIECE
from hotenv.redaction.redactor import PATIENCE
from hotenv.stdio import is_gone

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from hotenv.handover.streams import Server
    from hotenv.redaction.redactor import Redactor


class Pump:
    """From ``source`` to ``sink``, both of which are closed at the end. It never waits.

    A command is as fast as its reader: nothing is read while something has to be written. If the
    reader goes away, ``source`` is closed, and the command gets SIGPIPE as it would without this.
    """

    def __init__(
        self,
        keeper: Server,
        source: int,
        sink: int,
        redactor: Redactor,
        lose: Callable[[], None] = lambda: None,
    ) -> None:
        """``lose``: called when the reader goes away."""
        self._lose = lose
        self._keeper = keeper
        self._source = source
        self._redactor = redactor
        self._sink = reopen_nonblocking(sink)
        if self._sink != sink:
            os.close(sink)
        self._is_terminal = os.isatty(self._sink)
        blocks = self._sink == sink and not stat.S_ISREG(os.fstat(sink).st_mode)
        self._most = select.PIPE_BUF if blocks else PIECE  # bytes that are written at once
        self._pending = b""
        self._ended = self._closed = False
        self.failure: OSError | None = None
        """What keeps the sink from taking more, if not that its reader has gone."""
        self._go_on()

    @property
    def settled(self) -> bool:
        """Whether all that was written to the source so far has come out, or waits in a pipe.

        That has a reader of its own. On a terminal, what comes next should not come before.
        """
        if self._pending:
            return not self._is_terminal
        return self._closed or not _is_readable(self._source)

    def _go_on(self) -> None:
        self._keeper.watch(self._source, self._read)
        self._keeper.watch(self._sink, self._give_up, 0)

    def _read(self) -> None:
        try:
            data = os.read(self._source, PIECE)
        except BlockingIOError:
            return
        except OSError:  # EIO: nobody has the pseudo-terminal open any more
            data = b""
        self._ended = not data
        self._pending = self._redactor.feed(data) if data else self._redactor.finish()
        if self._redactor.waiting:
            self._keeper.call_in(PATIENCE, self._release)
        self._write()

    def _release(self) -> None:
        """Nothing has come for a while."""
        if not self._closed:
            self._pending += self._redactor.release()
            self._write()

    def _write(self) -> None:
        """Write what has to be written, as far as that goes without waiting."""
        try:
            while self._pending and _is_writable(self._sink):
                written = os.write(self._sink, self._pending[: self._most])
                self._pending = self._pending[written:]
        except BlockingIOError:
            pass
        except OSError as error:
            self.failure = None if is_gone(error) else error
            self._give_up()
            return
        if self._pending:
            self._keeper.unwatch(self._source)
            self._keeper.watch(self._sink, self._write, select.POLLOUT)
        elif self._ended:
            self._close()
        else:
            self._go_on()

    def _give_up(self) -> None:
        """The reader has gone away."""
        self._close()
        self._lose()

    def _close(self) -> None:
        for descriptor in (self._source, self._sink):
            self._keeper.unwatch(descriptor)
            os.close(descriptor)
        self._pending = b""
        self._closed = True


def _is_readable(descriptor: int) -> bool:
    return _is(select.POLLIN, descriptor)


def _is_writable(descriptor: int) -> bool:
    return _is(select.POLLOUT, descriptor)


def _is(event: int, descriptor: int) -> bool:
    """Whether ``event`` holds, or there is an error to find out."""
    poll = select.poll()
    poll.register(descriptor, event)
    return bool(poll.poll(0))
