"""What is excepted from ``--no-network``: the supervisor connects for the command.

The rules of the game:

- The command holds sockets that the kernel connects, binds and makes listen for nobody but the
  supervisor. That reads the address once, and acts on its own duplicate of the socket, which is
  the same one whatever the number means in the command by then.
- A socket for this machine is bound to the loopback interface first, for good: no option, no route
  and no other name for it leads out. For other hosts, names come from the supervisor alone.
- Nobody waits in connect: see ``attempts``. What is sent to an address by UDP: see ``datagrams``.
"""

from __future__ import annotations

import errno
import os
import socket

from hotenv.guards import syscalls as k
from hotenv.guards.addresses import (
    DNS,
    blocked_outside,
    family_of,
    internet,
    is_complete,
    is_loopback,
)
from hotenv.guards.attempts import UNFINISHED, begin, finish, set_timeout
from hotenv.guards.resolver import RESOLVER
from hotenv.guards.thismachine import is_here
from hotenv.guards.verdict import DONE, NO_LOCALHOST, NO_NETWORK, Blocked, fails, refused

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from hotenv.guards.destinations import Destination
    from hotenv.guards.later import Later
    from hotenv.guards.listener import Call
    from hotenv.guards.messages import Message
    from hotenv.guards.names import Names
    from hotenv.guards.policy import Guard
    from hotenv.guards.resolver import Resolver
    from hotenv.guards.verdict import Verdict

_FAMILIES = (socket.AF_INET, socket.AF_INET6)
_INTERFACE = b"lo\0"
_LONGEST_INTERFACE = 16  # IFNAMSIZ
_HARMLESS = {
    (socket.IPPROTO_IP, socket.IP_TOS),
    (socket.IPPROTO_IP, socket.IP_TTL),
    (socket.IPPROTO_IPV6, socket.IPV6_TCLASS),
    (socket.IPPROTO_IPV6, socket.IPV6_HOPLIMIT),
    (socket.IPPROTO_UDP, 103),  # UDP_SEGMENT
}
"""Control data that does not say where a message goes."""


class Internet:
    """Decides about TCP, and UDP if that is excepted too, to what ``guard`` excepts."""

    def __init__(
        self, guard: Guard, names: Names | None, resolver: Resolver | None, later: Later
    ) -> None:
        """``names``, ``resolver``: for the hosts that are excepted, if any are."""
        self._localhost, self._udp, self._later = guard.allow_localhost, guard.allow_udp, later
        self._names, self._resolver = names, resolver
        self._is_closed: Callable[[str], bool] = is_here if guard.no_localhost else lambda _: False

    def connect(self, call: Call, address: bytes) -> Verdict | None:
        """connect(2); None if no exception is for it."""
        host, port = internet(address)
        with call.descriptor(call.integer(0)) as duplicate:
            one = self._socket(duplicate)
        if one is None:
            return None
        with one:
            if failed := _failed(one, address):
                return failed
            if self._resolver is not None and (host, port) == RESOLVER and _is_tcp(one):
                return self._ask(call, one, self._resolver)
            exception = self._exception(host, port)
            if not exception:
                return self._closed("connect", host, port)
            verdict = self._connect(call, one, (host, port))
        return verdict.by(exception, "connect", host=host, port=str(port))

    def _connect(self, call: Call, one: socket.socket, where: tuple[str, int]) -> Verdict:
        if is_loopback(where[0]):
            keep_inside(one)

        def connect(it: socket.socket) -> int:
            return it.connect_ex(where)

        error, limit = begin(one, connect)
        if error not in UNFINISHED or not os.get_blocking(one.fileno()):
            return fails(error)
        kept = one.dup()
        return self._later.answer(call, lambda: finish(call, kept, connect, limit))

    def _ask(self, call: Call, one: socket.socket, resolver: Resolver) -> Verdict:
        """Connect ``one`` to hotenv itself."""
        listener = resolver.listener()
        if listener is None:
            return fails(errno.ECONNREFUSED)
        verdict = self._connect(call, one, listener.getsockname())
        if verdict.answered or verdict.error in (0, errno.EINPROGRESS):
            resolver.serve(call, listener, one.getsockname())
        else:
            listener.close()
        return verdict

    def _exception(self, host: str, port: int) -> str:
        """The option that allows an address; empty if none does."""
        if self._localhost and is_loopback(host) and port != DNS:
            return "allow-localhost"
        known = self._names is not None and self._names.is_allowed(host, port)
        return "allow-domain" if known and not self._is_closed(host) else ""

    def _closed(self, what: str, host: str, port: int) -> Verdict | None:
        """The refusal of this machine, which no exception could open; None if that is not why."""
        if not host or not self._is_closed(host):
            return None
        return refused(Blocked(NO_LOCALHOST, what, host=host, port=str(port)))

    def is_known(self, host: str) -> bool:
        """Whether some port of the address ``host`` is excepted, so that programs ask about it."""
        return self._names is not None and self._names.is_known(host)

    def bind(self, call: Call, address: bytes) -> Verdict | None:
        """bind(2); None if no exception is for it."""
        host, port = internet(address)
        with call.descriptor(call.integer(0)) as duplicate:
            one = self._socket(duplicate)
        if one is None:
            return None
        with one:
            if failed := _failed(one, address):
                return failed
            if not (self._localhost and is_loopback(host)):
                return None
            try:
                keep_inside(one)
                one.bind((host, port))
            except OSError as error:
                return fails(error.errno or errno.EINVAL)
        return DONE.by("allow-localhost", "bind", host=host, port=str(port))

    def refusal(self, one: socket.socket, message: Message, flags: int) -> Verdict | None:
        """What keeps ``message`` from being sent on ``one``; None if nothing does."""
        if flags & k.MSG_FASTOPEN:
            return refused(Blocked(NO_NETWORK, "send"))
        kinds = [(level, kind) for level, kind, _ in message.control]
        leading = [kind for kind in kinds if kind not in _HARMLESS]
        if leading and one.family != socket.AF_UNIX:
            return refused(Blocked(NO_NETWORK, "send", control=str(leading[0][1])))
        return self._refusal_to(one, message.address) if message.address else None

    def _refusal_to(self, one: socket.socket, address: bytes) -> Verdict | None:
        if one.family not in _FAMILIES or one.type != socket.SOCK_DGRAM:
            return refused(blocked_outside("send", address))
        if failed := _failed(one, address):
            return failed
        host, port = internet(address)
        if self._exception(host, port):
            return None
        return self._closed("send", host, port) or refused(blocked_outside("send", address))

    def destination(self, one: socket.socket, address: bytes) -> Destination | None:
        """Where what has ``address`` is sent on ``one``; None if that says nothing."""
        if not address:
            return None
        where = internet(address)
        if is_loopback(where[0]):
            keep_inside(one)
        return where

    def _socket(self, duplicate: int) -> socket.socket | None:
        """The socket behind ``duplicate``; None if it is not one for what is excepted."""
        one = socket.socket(fileno=os.dup(duplicate))
        if _is_tcp(one) or (self._udp and _is_udp(one)):
            return one
        one.close()
        return None

    def listen(self, call: Call, duplicate: int) -> Verdict:
        """listen(2): a socket that is not bound would take a port on all addresses."""
        with socket.socket(fileno=os.dup(duplicate)) as one:
            local = _is_tcp(one) and is_loopback(str(one.getsockname()[0]))
            if not (self._localhost and local):
                return refused(Blocked(NO_NETWORK, "listen"))
            try:
                keep_inside(one)
                one.listen(max(0, call.integer(1)))
            except OSError as error:
                return fails(error.errno or errno.EINVAL)
        return DONE

    def set_timeout(self, call: Call) -> Verdict:
        """setsockopt(2) that says how long a connect waits: see :mod:`attempts`."""
        return set_timeout(call)


def _is_tcp(one: socket.socket) -> bool:
    return one.family in _FAMILIES and one.proto == socket.IPPROTO_TCP


def _is_udp(one: socket.socket) -> bool:
    return one.family in _FAMILIES and one.proto == socket.IPPROTO_UDP


def keep_inside(one: socket.socket) -> None:
    """Bind ``one`` to the loopback interface. Without privileges, that cannot be undone."""
    level, option = socket.SOL_SOCKET, k.SO_BINDTODEVICE
    if one.getsockopt(level, option, _LONGEST_INTERFACE) != _INTERFACE:
        one.setsockopt(level, option, _INTERFACE)


def _failed(one: socket.socket, address: bytes) -> Verdict | None:
    """The verdict on an address that is none for ``one``; None if it is one."""
    if not is_complete(address, one.family):
        return fails(errno.EINVAL)
    known = family_of(address) in (one.family, socket.AF_UNSPEC)  # that ends a connection
    return None if known else fails(errno.EAFNOSUPPORT)
