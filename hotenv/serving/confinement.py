"""Confined processes: which they are, and whether the client of a connection is one.

Every sandbox that works without root sets NoNewPrivs (prctl(2)) first. A process cannot get rid of
it, and its children inherit it. A client has to be free of it, and in sight: what the server cannot
see may be confined.

The client is the process that called connect(2): whoever is handed a connection asks in its name.
"""

from __future__ import annotations

import errno
import os
import select
import sys

from hotenv.errors import SystemFailureError, because
from hotenv.exchange.peer import identify
from hotenv.lightweight import socket

TYPE_CHECKING = False
if TYPE_CHECKING:
    from hotenv.exchange.peer import HasPeer

CONFINED = "a process with NoNewPrivs, as in a sandbox"
UNSEEN = "a process that the server cannot see (in another container, or gone)"

EXISTS: bool = hasattr(socket, "SO_PEERCRED")
"""Whether this system has such processes, and tells who the client is: Linux."""

_NO_DESCRIPTORS = {errno.EMFILE, errno.ENFILE}

_REMEDY = "run the command outside, or start the session with 'hotenv serve --allow-confined'"

_SO_PEERPIDFD = 77  # <asm-generic/socket.h>: Linux 6.5
_INT = 4  # bytes
_PIECE = 4096  # bytes; a status has about 1500, and 11 more for each group of the user's


def obstacle() -> str | None:
    """Why this process cannot tell who is confined, where there are such processes, or None.

    Error handling: raises SystemFailureError if there is no descriptor left to look with.
    """
    try:
        if os.readlink("/proc/self") != str(os.getpid()):
            return "/proc shows another PID namespace"
        confined = has_no_new_privs(_read("self", "status"))
    except OSError as error:
        if error.errno in _NO_DESCRIPTORS:
            raise SystemFailureError(f"cannot read /proc/self/status: {because(error)}") from error
        return "/proc is not there"
    if confined is None:
        return "/proc does not tell"
    return "the server has NoNewPrivs itself" if confined else None


def can_refuse() -> bool:
    """Whether a server in this process can tell who is confined."""
    return EXISTS and obstacle() is None


def why_refused(connection: HasPeer, accepted: float) -> str | None:
    """To what kind of a process an answer would go, if it must not: CONFINED or UNSEEN.

    ``accepted``: when ``connection`` was, in seconds of :func:`hotenv.session.clock.boot_time`.

    Error handling: raises OSError if there is no descriptor left to look with (two are needed).
    """
    try:
        peer = identify(connection)
        if peer is not None and peer[0] == os.getpid():
            return None
        confined = None if peer is None else _is_confined(connection, peer[0], accepted)
    except OSError as error:
        if error.errno in _NO_DESCRIPTORS:
            raise
        return UNSEEN
    if confined is None:
        return UNSEEN
    return CONFINED if confined else None


def refusal_message(reason: str) -> str:
    """What a client is told."""
    return f"refused to {reason}: {_REMEDY}"


def _is_confined(connection: HasPeer, pid: int, accepted: float) -> bool | None:
    """None if the process ``pid`` is not, or not any more, the one that has connected."""
    pidfd = _pidfd(connection)
    if pidfd is None:
        confined = has_no_new_privs(_read(pid, "status"))
        # In this order: what had the number before it was accepted has it had ever since.
        return confined if start_time(_read(pid, "stat")) <= accepted else None
    try:
        confined = has_no_new_privs(_read(pid, "status"))
        return None if _has_exited(pidfd) else confined
    finally:
        os.close(pidfd)


def _pidfd(connection: HasPeer) -> int | None:
    """A descriptor of the peer's process; None before Linux 6.5."""
    try:
        pidfd = connection.getsockopt(socket.SOL_SOCKET, _SO_PEERPIDFD, _INT)
    except OSError as error:
        if error.errno == errno.ENOPROTOOPT:
            return None
        raise
    return int.from_bytes(pidfd, sys.byteorder)


def _has_exited(pidfd: int) -> bool:
    poll = select.poll()
    poll.register(pidfd, select.POLLIN)
    return bool(poll.poll(0))


def has_no_new_privs(status: bytes) -> bool | None:
    """What /proc/PID/status says; None if it does not, or if the process has exited."""
    if _field(status, b"State")[:1] in (b"Z", b"X"):
        return None
    return {b"0": False, b"1": True}.get(_field(status, b"NoNewPrivs"))


def _field(status: bytes, name: bytes) -> bytes:
    # The first field is a name that the process has chosen; it is escaped, and so one line.
    return status.partition(b"\n%s:\t" % name)[2].partition(b"\n")[0]


def start_time(stat: bytes) -> float:
    """When the process of /proc/PID/stat began, in seconds since the machine was started.

    Rounded down to what the kernel counts in, a hundredth of a second as a rule.
    """
    after_name = stat.rpartition(b")")[2].split()  # begins with the third field, proc_pid_stat(5)
    return int(after_name[22 - 3]) / os.sysconf("SC_CLK_TCK")


def _read(pid: int | str, name: str) -> bytes:
    descriptor = os.open(f"/proc/{pid}/{name}", os.O_RDONLY | os.O_CLOEXEC)
    try:
        data = piece = os.read(descriptor, _PIECE)
        while len(piece) == _PIECE:
            piece = os.read(descriptor, _PIECE)
            data += piece
        return data
    finally:
        os.close(descriptor)
