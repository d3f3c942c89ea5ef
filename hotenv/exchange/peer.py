"""Who is at the other end of a Unix socket, as the kernel reports it."""

from __future__ import annotations

import sys

from hotenv.errors import UnreachableError
from hotenv.exchange.answer import gone
from hotenv.lightweight import socket
from hotenv.session.owner import user

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Protocol

    import trio

    from hotenv.session.marker import Marker

    class HasPeer(Protocol):
        """A connected socket, the standard library's or Trio's."""

        def getsockopt(self, level: int, optname: int, buflen: int, /) -> bytes:
            """See socket(7)."""

    class HasServer(HasPeer, Protocol):
        """One that a client has connected to an address."""

        def getpeername(self) -> str:
            """See unix(7)."""


_INT = 4  # bytes

_UCRED_SIZE = 3 * _INT  # Linux: pid, uid, gid of struct ucred, unix(7)

_SOL_LOCAL = 0  # macOS: unix(4) and <sys/un.h>
_LOCAL_PEERCRED = 1
_LOCAL_PEERPID = 2
_XUCRED_SIZE = 3 * _INT + 16 * _INT  # version, uid, number of groups, 16 groups: struct xucred


def check_peer(connection: HasServer, marker: Marker) -> int | None:
    """The process ID of the server of ``connection``: of the process that called listen(2).

    It is 0 if the process is not in this PID namespace, and None where the kernel does not tell;
    there, the private directory of the socket is the only protection.

    A program that may not bind the name of a session's socket, as under a guard, can still bind
    another and rename it: the kernel knows the name that was bound.

    Error handling: raises UnreachableError unless it runs as the marker's owner, and its socket was
    bound by the name in the marker.
    """
    try:
        peer = identify(connection)
        bound = connection.getpeername()
    except OSError:  # macOS: it has closed the connection by now
        raise gone(marker) from None
    pid, uid = peer or (None, marker.owner)
    if uid != marker.owner:
        raise UnreachableError(
            f"the server of {marker.path} runs as {user(uid)}, but the marker is owned by "
            f"{user(marker.owner)}: run 'hotenv serve --force' in the marker's directory to start "
            "your own session"
        )
    if bound != marker.socket:
        raise UnreachableError(
            f"another socket has taken the place of {marker.socket}: run 'hotenv serve --force' in "
            f"the directory of {marker.path} to start a new session"
        )
    return pid


def identify(connection: HasPeer) -> tuple[int, int] | None:
    """The process ID and user ID of the peer of ``connection``; None where it cannot be known."""
    if sys.platform == "darwin":
        pid = _integer(connection.getsockopt(_SOL_LOCAL, _LOCAL_PEERPID, _INT), 0)
        uid = _integer(connection.getsockopt(_SOL_LOCAL, _LOCAL_PEERCRED, _XUCRED_SIZE), 1)
    elif hasattr(socket, "SO_PEERCRED"):
        ucred = connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, _UCRED_SIZE)
        pid, uid = _integer(ucred, 0), _integer(ucred, 1)
    else:
        return None
    return pid, uid


def tell_senders(listener: socket.socket) -> None:
    """Have the kernel say, with what is received on connections to ``listener``, who sent it.

    That is not always the peer: a guard may have connected for it.
    """
    if sys.platform == "linux":
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_PASSCRED, 1)


async def receive_from(connection: trio.socket.SocketType, size: int) -> tuple[bytes, int]:
    """Up to ``size`` bytes, and the process ID of the sender, which is 0 if it is not known."""
    sender = 0
    if sys.platform == "linux":
        data, ancillary, *_ = await connection.recvmsg(size, socket.CMSG_SPACE(_UCRED_SIZE))
        for level, kind, structure in ancillary:
            if (level, kind) == (socket.SOL_SOCKET, socket.SCM_CREDENTIALS):
                sender = _integer(structure, 0)
    else:
        data = await connection.recv(size)
    return data, sender


def _integer(structure: bytes, index: int) -> int:
    return int.from_bytes(structure[index * _INT : (index + 1) * _INT], sys.byteorder)
