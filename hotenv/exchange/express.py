"""The express lane: an ordinary exchange over a plain blocking socket, without Trio.

It is a transport and no second client: discovery, trust, protocol and errors are those of
``client``, which is what happens instead if this file is deleted. Loading Trio takes longer than
all the rest of a command, so the commands try this first.
"""

from __future__ import annotations

import socket
import time

from hotenv.errors import ArtifactError, UnreachableError
from hotenv.exchange import protocol
from hotenv.exchange.answer import GONE, PATIENCE, TOO_SLOW, conclude, malformed
from hotenv.exchange.peer import check_peer

TYPE_CHECKING = False
if TYPE_CHECKING:
    from hotenv.session.marker import Marker

_PIECE = 1024 * 1024


def exchange(marker: Marker, request: protocol.Request) -> dict[str, str] | None:
    """The variables of the session of ``marker``; None, with nothing sent, if anything is unusual.

    Error handling: raises what :func:`hotenv.exchange.client.exchange` would, once the request was
    sent.
    """
    line = protocol.encode_request(request)
    deadline = time.monotonic() + PATIENCE
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as connection:
        connection.setblocking(False)  # a full backlog is no ordinary case
        try:
            connection.connect(marker.socket)
            check_peer(connection, marker)
        except (OSError, UnreachableError):
            return None
        reader = protocol.LineReader(protocol.RESPONSE_LIMIT)
        try:
            connection.settimeout(PATIENCE)
            connection.sendall(line)
        except OSError:
            pass  # it may have refused before it had read everything, and then says so
        return conclude(marker, reader, receive(connection, reader, marker, deadline))


def receive(
    connection: socket.socket, reader: protocol.LineReader, marker: Marker, deadline: float
) -> str:
    """Read to the end of the connection or of our patience; which of them it was."""
    try:
        while (left := deadline - time.monotonic()) > 0:
            connection.settimeout(left)
            data = connection.recv(_PIECE)
            if not data:
                return GONE
            reader.feed(data)
    except TimeoutError:
        pass
    except OSError:
        return GONE
    except ArtifactError as error:
        raise malformed(marker, error) from None
    return TOO_SLOW
