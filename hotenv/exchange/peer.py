"""Who is at the other end of a Unix socket, by the kernel's word."""

from __future__ import annotations

import socket
import struct

from hotenv.errors import UnreachableError
from hotenv.session.marker import user

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Protocol

    from hotenv.session.marker import Marker

    class HasPeer(Protocol):
        """A connected socket, the standard library's or Trio's."""

        def getsockopt(self, level: int, optname: int, buflen: int, /) -> bytes: ...


_UCRED = struct.Struct("3i")  # pid, uid, gid: struct ucred of unix(7)


def check_peer(connection: HasPeer, marker: Marker) -> int | None:
    """The process id of the server of ``connection``: of the process that called listen(2).

    It is 0 if the process is not of this pid namespace, and None where there is no SO_PEERCRED
    (it is Linux's); there the private folder of the socket has to do.

    Error handling: raises UnreachableError unless it runs as the marker's owner.
    """
    if not hasattr(socket, "SO_PEERCRED"):
        return None
    raw = connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, _UCRED.size)
    pid, uid, _gid = _UCRED.unpack(raw)
    if uid != marker.owner:
        raise UnreachableError(
            f"the server behind {marker.path} is run by {user(uid)}, the marker belongs to "
            f"{user(marker.owner)}: start a session of your own with 'hotenv serve --force'"
        )
    return int(pid)
