"""``--no-localhost``: the supervisor connects, and sends to addresses, but not to this machine.

The rules of the game are those of ``internet`` and ``datagrams``: an address stands in the memory
of the command, so it is read once, and what is done is done on a duplicate of the socket. What the
command connects stays connected there, and it needs nobody to send. It may bind and listen as it
likes: who comes to it does so by himself.

Excepted are the resolvers of this machine, as /etc/resolv.conf named them when the command started.
"""

from __future__ import annotations

import errno
import os
import socket
import stat

from hotenv import libc
from hotenv.guards import syscalls as k
from hotenv.guards.addresses import DNS, internet, packed
from hotenv.guards.attempts import UNFINISHED, begin, finish, set_timeout
from hotenv.guards.destinations import destination
from hotenv.guards.thismachine import is_here, resolvers
from hotenv.guards.verdict import NO_LOCALHOST, Blocked, fails, refused

TYPE_CHECKING = False
if TYPE_CHECKING:
    from hotenv.guards.destinations import Destination
    from hotenv.guards.kernel import Kernel
    from hotenv.guards.later import Later
    from hotenv.guards.listener import Call
    from hotenv.guards.messages import Message
    from hotenv.guards.verdict import Verdict


class Elsewhere:
    """Decides where the command connects and sends to."""

    def __init__(self, kernel: Kernel, later: Later) -> None:
        self._number, self._later = kernel.number("connect"), later
        self._resolvers = resolvers()

    def connect(self, call: Call, address: bytes) -> Verdict:
        """connect(2)."""
        with call.descriptor(call.integer(0)) as duplicate:
            if not stat.S_ISSOCK(os.fstat(duplicate).st_mode):
                return fails(errno.ENOTSOCK)
            one = socket.socket(fileno=os.dup(duplicate))
        with one:
            if one.family == socket.AF_UNIX:
                return fails(errno.EINVAL)
            host, port = internet(address)
            if host and self._is_closed(host, port):
                return _refused("connect", host, port, counts=not _is_probe(one, port))
            return self._connect(call, one, address)

    def _connect(self, call: Call, one: socket.socket, address: bytes) -> Verdict:
        def connect(it: socket.socket) -> int:  # with all that the address says
            try:
                libc.system_call(self._number, it.fileno(), address, len(address))
            except OSError as error:
                return error.errno or errno.EIO
            return 0

        error, limit = begin(one, connect)
        if error not in UNFINISHED or not os.get_blocking(one.fileno()):
            return fails(error)
        kept = one.dup()
        return self._later.answer(call, lambda: finish(call, kept, connect, limit))

    def set_timeout(self, call: Call) -> Verdict:
        """setsockopt(2) that says how long a connect waits: see :mod:`attempts`."""
        return set_timeout(call)

    def refusal(self, one: socket.socket, message: Message, flags: int) -> Verdict | None:
        """What keeps ``message`` from being sent on ``one``; None if nothing does."""
        if one.family == socket.AF_UNIX:
            connected = message.address and one.type == socket.SOCK_STREAM
            return fails(errno.EISCONN) if connected else None
        leading = [kind for level, kind, _ in message.control if (level, kind) in k.CONTROL_DETOURS]
        if leading:
            return refused(Blocked(NO_LOCALHOST, "send", control=str(leading[0])))
        opens = bool(flags & k.MSG_FASTOPEN) and one.type == socket.SOCK_STREAM
        if where := self._destination(one, message.address, opens=opens):
            host, port = where[:2]
            if isinstance(host, str) and self._is_closed(host, int(port)):
                return _refused("send", host, int(port))
        return fails(errno.EOPNOTSUPP) if opens else None  # as where the kernel has it switched off

    def destination(self, one: socket.socket, address: bytes) -> Destination | None:
        """Where what has ``address`` is sent on ``one``; None if that says nothing."""
        return self._destination(one, address, opens=False)

    def _destination(
        self, one: socket.socket, address: bytes, *, opens: bool
    ) -> Destination | None:
        """``opens``: whether a stream is connected by that: else the kernel does not look at it."""
        ignored = one.family == socket.AF_UNIX or (one.type == socket.SOCK_STREAM and not opens)
        return None if ignored or not address else destination(address, one.family)

    def _is_closed(self, host: str, port: int) -> bool:
        return is_here(host) and not (port == DNS and packed(host) in self._resolvers)


def _is_probe(one: socket.socket, port: int) -> bool:
    """Whether it sends nothing: getaddrinfo asks so which address it should use first."""
    return one.type == socket.SOCK_DGRAM and port != DNS


def _refused(what: str, host: str, port: int, *, counts: bool = True) -> Verdict:
    return refused(Blocked(NO_LOCALHOST, what, counts=counts, host=host, port=str(port)))
