"""What the command would inherit, and could use as a way around its guard."""

from __future__ import annotations

import os
import select
import stat

from hotenv.errors import SystemFailureError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from hotenv.guards.policy import Guard

_IO_URING = "anon_inode:[io_uring]"
_TUNNEL = "/dev/net/tun"


def check_inherited(guard: Guard) -> None:
    """Raise SystemFailureError if a descriptor that the command gets is a way around ``guard``."""
    _check(lambda descriptor: _way_around(descriptor, guard))


def check_inherited_inside() -> None:
    """Raise SystemFailureError if another guard around this one could connect a descriptor.

    Its supervisor would decide by its own exceptions.
    """
    _check(_stand_in)


def _check(find: Callable[[int], str]) -> None:
    for name in os.listdir("/proc/self/fd"):
        descriptor = int(name)
        try:
            if os.get_inheritable(descriptor) and (found := find(descriptor)):
                raise SystemFailureError(
                    f"the command would inherit {found} as descriptor {descriptor}: close it "
                    f"first ({descriptor}>&- in a shell)"
                )
        except OSError:
            continue  # it was opened for the listing, and is closed


def _way_around(descriptor: int, guard: Guard) -> str:
    """What ``descriptor`` is, if it is one."""
    target = os.readlink(f"/proc/self/fd/{descriptor}")
    if target == _IO_URING:
        return "an io_uring instance"
    closed = guard.no_network or guard.no_localhost
    if target == _TUNNEL and closed:
        return "a TUN/TAP device"
    if not stat.S_ISSOCK(os.fstat(descriptor).st_mode):
        return ""
    import socket  # few commands inherit one

    from hotenv.session.status import names_session

    with socket.socket(fileno=os.dup(descriptor)) as one:
        if one.family != socket.AF_UNIX:
            return "an internet socket" if closed else ""
        if one.type == socket.SOCK_DGRAM:
            return "a Unix datagram socket"
        if one.getsockopt(socket.SOL_SOCKET, socket.SO_ACCEPTCONN):
            return "a listening Unix socket" if guard.no_network else ""
        try:
            peer = os.fsdecode(one.getpeername())
        except OSError:
            return "an unconnected Unix socket"
        return "a connection to a session" if names_session(peer) else ""


def _stand_in(descriptor: int) -> str:
    """What ``descriptor`` is if it may be a socket that another supervisor gave: see sockets."""
    if not stat.S_ISSOCK(os.fstat(descriptor).st_mode):
        return ""
    import socket

    with socket.socket(fileno=os.dup(descriptor)) as one:
        poll = select.poll()
        poll.register(one, 0)
        is_unix = one.family == socket.AF_UNIX
        return "a Unix socket without a peer" if is_unix and poll.poll(0) else ""
