"""A visit to a server: is it there and does it answer, without asking for anything.

The protocol has two requests, and both hand the secrets over. A connection that ends without a
request is refused by a server that is alive; it extends no session and is in no log.
"""

from __future__ import annotations

import socket
import struct
import time

from hotenv.errors import because
from hotenv.exchange import protocol
from hotenv.exchange.answer import PATIENCE, conclude_greeting, unreachable
from hotenv.exchange.express import receive
from hotenv.exchange.peer import check_peer

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Self

    from hotenv.session.marker import Marker


class Visit:
    """A connection to the server of ``marker``, for the length of a ``with`` block.

    ``pid``: see :func:`hotenv.exchange.peer.check_peer`.

    Error handling: raises UnreachableError if nobody trustworthy is there.
    """

    def __init__(self, marker: Marker) -> None:
        self._marker = marker
        self._deadline = time.monotonic() + PATIENCE
        self._connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        try:
            # A full backlog is waited out. settimeout() would not: it makes connect fail at once.
            patience = struct.pack("ll", int(PATIENCE), 0)
            self._connection.setsockopt(socket.SOL_SOCKET, socket.SO_SNDTIMEO, patience)
            self._connection.connect(marker.socket)
            self.pid = check_peer(self._connection, marker)
        except OSError as error:
            self._connection.close()
            raise unreachable(marker, f"{marker.socket}: {because(error)}") from error
        except BaseException:
            self._connection.close()
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_error: object) -> None:
        self._connection.close()

    def wait_for_answer(self) -> None:
        """Return when the server has answered. Once.

        Error handling: raises UnreachableError if it does not in time, ArtifactError if what it
        answers is not what a server would.
        """
        reader = protocol.LineReader(protocol.RESPONSE_LIMIT)
        try:  # noqa: SIM105 - without contextlib, which takes longer to load than the rest
            self._connection.shutdown(socket.SHUT_WR)
        except OSError:
            pass  # it is gone: that shows when it is read
        reason = receive(self._connection, reader, self._marker, self._deadline)
        conclude_greeting(self._marker, reader, reason)


def is_dead(path: str) -> bool:
    """Whether surely nobody listens on the socket at ``path``, or none is there."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as connection:
        connection.setblocking(False)
        try:
            connection.connect(path)
        except (ConnectionRefusedError, FileNotFoundError):
            return True
        except OSError:
            pass
        return False
