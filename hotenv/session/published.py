"""What a server publishes beside its socket: where it is, and how it is read."""

from __future__ import annotations

from hotenv.errors import HotenvError
from hotenv.session.marker import load
from hotenv.session.statusrecord import StatusRecord, decode_record

SOCKET_SUFFIX = ".sock"
STATUS_SUFFIX = ".json"


def status_path(socket_path: str) -> str:
    """Where the server of ``socket_path`` publishes its status."""
    return socket_path.removesuffix(SOCKET_SUFFIX) + STATUS_SUFFIX


def read_status(socket_path: str) -> StatusRecord | None:
    """What the server of ``socket_path`` has published; None if that cannot be read.

    A session is as good without it: nobody needs it to use a session.
    """
    try:
        return decode_record(load(status_path(socket_path))[1])
    except HotenvError:
        return None
