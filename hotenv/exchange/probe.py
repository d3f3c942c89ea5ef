"""Check that a server is running and answers, without sending a request.

Both requests of the protocol return the variables, so neither is suitable for a check. A connection
that ends without a request is rejected by a live server; it extends no session and is in no log.
"""

from __future__ import annotations

import select
import time

from hotenv.errors import ArtifactError, HotenvError
from hotenv.exchange import protocol
from hotenv.exchange.answer import (
    ANSWER_TIMEOUT,
    cannot_connect,
    conclude_probe,
    malformed,
    too_slow,
)
from hotenv.exchange.peer import check_peer
from hotenv.lightweight import socket

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Self

    from hotenv.session.marker import Marker

GLANCE_TIMEOUT = 0.3
"""Seconds to wait for a live server where nobody wants to wait: in a prompt, in a list of many."""

_RETRY = 0.02  # seconds between tries while the server's backlog is full
_PIECE = 64 * 1024


class Probe:
    """A connection to the server of ``marker``, for the length of a ``with`` block.

    ``pid``: see :func:`hotenv.exchange.peer.check_peer`. ``error``: why it does not answer, once
    that was waited for.
    """

    def __init__(self, marker: Marker, timeout: float = ANSWER_TIMEOUT) -> None:
        """Connect. ``timeout``: seconds from here until the whole answer has to be there.

        Error handling: raises UnreachableError if no trusted server is there.
        """
        self.marker: Marker = marker
        self.error: HotenvError | None = None
        self._timeout = timeout
        self._deadline = time.monotonic() + timeout
        self._reader = protocol.LineReader(protocol.RESPONSE_LIMIT)
        self._connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        try:
            self._connect()
            self.pid: int | None = check_peer(self._connection, marker)
        except BaseException:
            self._connection.close()
            raise

    def _connect(self) -> None:
        self._connection.setblocking(False)
        while True:
            try:
                return self._connection.connect(self.marker.socket)
            except BlockingIOError:  # the backlog is full
                if self.remaining <= 0:
                    raise too_slow(self.marker, self._timeout) from None
                time.sleep(_RETRY)
            except OSError as error:
                raise cannot_connect(self.marker, error) from error

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_error: object) -> None:
        self._connection.close()

    @property
    def remaining(self) -> float:
        """Seconds until it is given up."""
        return self._deadline - time.monotonic()

    def fileno(self) -> int:
        """The file descriptor of the connection."""
        return self._connection.fileno()

    def ask(self) -> None:
        """End our side of the connection, which a server has to answer."""
        try:
            self._connection.shutdown(socket.SHUT_WR)
        except OSError:
            pass  # it is gone: that shows when it is read

    def receive(self) -> bool:
        """Take what has arrived; whether that was the end of the answer."""
        try:
            data = self._connection.recv(_PIECE)
            self._reader.feed(data)
        except BlockingIOError:
            return False
        except OSError:
            data = b""
        except ArtifactError as error:
            self.error = malformed(self.marker, error)
            return True
        if not data:
            self.conclude(None)
        return not data

    def conclude(self, timed_out: float | None) -> None:
        """Decide whether what has arrived is an answer. See :func:`conclude_probe`."""
        try:
            conclude_probe(self.marker, self._reader, timed_out)
        except HotenvError as error:
            self.error = error

    def wait_for_answer(self) -> None:
        """Return when the server has answered. Once.

        Error handling: raises UnreachableError if it does not in time, ArtifactError if its answer
        is not one of hotenv's.
        """
        wait_for_answers([self])
        if self.error is not None:
            raise self.error

    def give_up(self) -> None:
        """Wait no longer."""
        self.conclude(self._timeout)


def wait_for_answers(probes: Iterable[Probe]) -> None:
    """Return when each of ``probes`` has been answered or given up; see their ``error``."""
    poll = select.poll()
    pending = {probe.fileno(): probe for probe in probes}
    for probe in pending.values():
        probe.ask()
        poll.register(probe, select.POLLIN)
    while pending:
        remaining = min(probe.remaining for probe in pending.values())
        ready = [descriptor for descriptor, _ in poll.poll(max(0.0, remaining) * 1000)]
        for descriptor, probe in list(pending.items()):
            if descriptor in ready and probe.receive():
                del pending[descriptor]
                poll.unregister(descriptor)
            elif probe.remaining <= 0:
                probe.give_up()
                del pending[descriptor]
                poll.unregister(descriptor)
