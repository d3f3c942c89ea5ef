"""The direct client: an ordinary exchange over a plain blocking socket, without Trio.

This is only a transport, not a second client: discovery, trust, protocol and errors are those of
``client``, which is used whenever this one does not apply. Importing Trio takes longer than the
rest of a command, so the commands try this first.
"""

from __future__ import annotations

import time

from hotenv.errors import ArtifactError, UnreachableError
from hotenv.exchange import protocol
from hotenv.exchange.answer import ANSWER_TIMEOUT, conclude, malformed
from hotenv.exchange.peer import check_peer
from hotenv.lightweight import socket

TYPE_CHECKING = False
if TYPE_CHECKING:
    from hotenv.session.marker import Marker

_PIECE = 1024 * 1024


def exchange(
    marker: Marker, request: protocol.Request, timeout: float = ANSWER_TIMEOUT
) -> dict[str, str] | None:
    """The variables of the session of ``marker``; None, with nothing sent, if anything is unusual.

    Error handling: raises what :func:`hotenv.exchange.client.exchange` would, once the request was
    sent.
    """
    line = protocol.encode_request(request)
    deadline = time.monotonic() + timeout
    connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        connection.setblocking(False)  # a full backlog is no ordinary case
        try:
            connection.connect(marker.socket)
            check_peer(connection, marker)
        except (OSError, UnreachableError):
            return None
        reader = protocol.LineReader(protocol.RESPONSE_LIMIT)
        try:
            connection.settimeout(timeout)
            connection.sendall(line)
        except OSError:
            pass  # it may have rejected it before it had read everything, and then says so
        in_time = _receive(connection, reader, marker, deadline)
        return conclude(marker, reader, None if in_time else timeout)
    finally:
        connection.close()


def _receive(
    connection: socket.socket, reader: protocol.LineReader, marker: Marker, deadline: float
) -> bool:
    """Read until the server closes the connection; False if ``deadline`` comes first."""
    try:
        while (remaining := deadline - time.monotonic()) > 0:
            connection.settimeout(remaining)
            data = connection.recv(_PIECE)
            if not data:
                return True
            reader.feed(data)
    except TimeoutError:
        pass
    except OSError:
        return True
    except ArtifactError as error:
        raise malformed(marker, error) from None
    return False
