"""Whether the server of a session may be alive, although it cannot be reached.

A directory can be seen where the socket of its session cannot: in a container, in another mount
namespace, on another host. So a session is dead only if it cannot be alive: its server does not
hold the life of its marker, and its socket refuses connections, or is missing from a directory that
is there, or the machine has booted since the marker was made.
"""

from __future__ import annotations

import os
import time

from hotenv.lightweight import socket
from hotenv.session.clock import boot_time

_CLOCK_STEPS = 120.0  # seconds by which the time of day may have been corrected since

ALIVE, DEAD, ELSEWHERE = "alive", "dead", "elsewhere"
"""A process listens here; it cannot be alive; it may be alive where it can be reached."""


def liveness(marker_path: str, socket_path: str, *, dir_fd: int | None = None) -> str:
    """The liveness of the session of a marker, which names the socket."""
    flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
    try:
        descriptor = os.open(marker_path, flags, dir_fd=dir_fd)
    except OSError:
        return ELSEWHERE
    try:
        return liveness_of(descriptor, socket_path)
    finally:
        os.close(descriptor)


def liveness_of(descriptor: int, socket_path: str | None) -> str:
    """The same for the marker that is open as ``descriptor`` and names ``socket_path``, if any."""
    from hotenv.session.lock import is_held

    listening = False if socket_path is None else is_listening(socket_path)
    if listening:
        return ALIVE
    if is_held(descriptor):
        return ELSEWHERE
    if listening is False or booted_since(os.fstat(descriptor).st_mtime):
        return DEAD
    return ELSEWHERE


def is_listening(socket_path: str) -> bool | None:
    """Whether a process listens on the socket; None if that cannot be seen from here.

    It is seen that none does if the socket refuses, or is missing from a directory that is there.
    """
    connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        connection.setblocking(False)
        connection.connect(socket_path)
    except BlockingIOError:  # the backlog is full
        return True
    except ConnectionRefusedError:
        return False
    except FileNotFoundError:
        return False if os.path.isdir(os.path.dirname(socket_path)) else None
    except OSError:
        return None
    finally:
        connection.close()
    return True


def booted_since(moment: float) -> bool:
    """Whether the machine has surely booted since ``moment``, in seconds since 1970."""
    return moment < time.time() - boot_time() - _CLOCK_STEPS
