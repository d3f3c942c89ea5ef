"""The resolver of a command that may reach some hosts: hotenv itself, at the end of a connection.

What the command connects to port 53 of this machine, as the resolv.conf that it sees says, comes
out here. It hears of names that are allowed, and nothing that it asks leaves.
"""

from __future__ import annotations

import _thread
import os
import socket
import struct

from hotenv.guards.addresses import DNS
from hotenv.guards.dns import Query
from hotenv.guards.domains import remedy_for_name
from hotenv.guards.names import LASTS
from hotenv.guards.verdict import NO_NETWORK, Blocked

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from hotenv.guards.listener import Call
    from hotenv.guards.names import Names

_HERE = "127.0.0.1"
RESOLVER = (_HERE, DNS)
"""Where the command finds it."""

CONFIGURATION = f"nameserver {_HERE}\nsearch .\noptions use-vc\n"
"""As resolv.conf(5) has it: by TCP, and names as they are written."""

_MOST = 64  # connections, each of which has a thread
_BACKLOG = 8
_IDLE = 30.0  # seconds
_SIZE = struct.Struct("!H")  # before each message


class Resolver:
    """Answers for ``names``."""

    def __init__(self, names: Names, tell: Callable[[Call, Blocked], None]) -> None:
        """``tell``: gets what is refused; called in any thread."""
        self._names, self._tell = names, tell
        self._listeners: set[socket.socket] = set()  # one for each connection

    def listener(self) -> socket.socket | None:
        """A socket for one connection, to be given to :meth:`serve`; None if there are too many."""
        if len(self._listeners) >= _MOST:
            return None
        return socket.create_server((_HERE, 0), backlog=_BACKLOG)

    def serve(self, call: Call, listener: socket.socket, client: tuple[str, int]) -> None:
        """Serve ``client``, who has connected to ``listener``, in a thread. ``call``: who asks."""
        self._listeners.add(listener)
        _thread.start_new_thread(self._serve, (call, listener, client))

    def _serve(self, call: Call, listener: socket.socket, client: tuple[str, int]) -> None:
        try:
            with listener, _accepted(listener, client) as connection:
                connection.settimeout(_IDLE)
                while True:
                    answer = self.answer(call, _message(connection))
                    connection.sendall(_SIZE.pack(len(answer)) + answer)
        except (OSError, ValueError):
            pass  # it has gone, or asks for nothing that there is
        finally:
            self._listeners.discard(listener)

    def answer(self, call: Call, message: bytes) -> bytes:
        """The answer to ``message``. Raises ValueError if that is not a question."""
        query = Query(message)
        addresses = self._names.find(query.name)
        if addresses is None:
            name, counts = query.name, _matters(query.name)
            remedy = remedy_for_name(name) if counts else ""
            blocked = Blocked(NO_NETWORK, "look up", remedy=remedy, counts=counts, host=name)
            self._tell(call, blocked)
        return query.answer(addresses, int(LASTS))


def _matters(name: str) -> bool:
    """Whether a program needs it: not its own machine's name, nor that of an address."""
    return name != os.uname().nodename.lower() and not name.endswith(".arpa")


def _accepted(listener: socket.socket, client: tuple[str, int]) -> socket.socket:
    """The connection of ``client``, as another process may have connected before it."""
    listener.settimeout(_IDLE)
    while True:
        connection, peer = listener.accept()
        if peer == client:
            return connection
        connection.close()


def _message(connection: socket.socket) -> bytes:
    (size,) = _SIZE.unpack(_exactly(connection, _SIZE.size))
    return _exactly(connection, size)


def _exactly(connection: socket.socket, size: int) -> bytes:
    data = b""
    while len(data) < size:
        piece = connection.recv(size - len(data))
        if not piece:
            raise ConnectionError("the other side has closed it")
        data += piece
    return data
