"""Sockets: what the command gets for one, and where it may go.

The rules of the game. A check of what stands in memory, or behind the number of a descriptor, is
worth nothing by the time the kernel makes the call. So the command never holds a socket that could
do what is forbidden, and the checks below only choose what it gets:

- For a Unix socket it gets one end of a pair whose other end is closed. The kernel connects that
  nowhere. What an exception allows takes its place: see ``unixsockets``.
- Without a network, a socket for UDP is shut down before the command gets it: the kernel sends
  nothing from it. If UDP is excepted it is not: see ``datagrams``. One for TCP can do nothing
  before connect or listen, which are not let through.
"""

from __future__ import annotations

import errno
import os
import stat
import struct

from hotenv.guards import syscalls as k
from hotenv.guards.addresses import (
    DNS,
    LONGEST_ADDRESS,
    blocked_outside,
    family_of,
    internet,
    is_loopback,
    remedy_for,
)
from hotenv.guards.listener import BadArgument
from hotenv.guards.threads import Vanished
from hotenv.guards.unixsockets import UnixSockets, same_socket
from hotenv.guards.verdict import (
    ANSWERED,
    ANY,
    DONE,
    GO_ON,
    NO_LOCALHOST,
    NO_NETWORK,
    Blocked,
    Verdict,
    fails,
    refused,
)
from hotenv.lightweight import socket

TYPE_CHECKING = False
if TYPE_CHECKING:
    from hotenv.guards.datagrams import Datagrams
    from hotenv.guards.elsewhere import Elsewhere
    from hotenv.guards.internet import Internet
    from hotenv.guards.listener import Call
    from hotenv.guards.policy import Guard

_MESSAGE = struct.Struct("@PI")  # the address and its length, first in struct msghdr
_MESSAGE_OF_MANY = 64  # bytes of struct mmsghdr
_MOST_MESSAGES = 1024  # UIO_MAXIOV

_FAMILIES = {k.AF_NETLINK: "netlink", 17: "packet", 38: "alg", 40: "vsock"}


class Sockets:
    """Decides the calls that have to do with sockets, for ``guard``."""

    def __init__(
        self,
        guard: Guard,
        internet: Internet | None = None,
        datagrams: Datagrams | None = None,
        *,
        elsewhere: Elsewhere | None = None,
    ) -> None:
        """``internet``: decides about exceptions from a guard of the network, if there are any.

        ``elsewhere``: decides about a network that is open but for this machine. ``datagrams``:
        likewise, about UDP.
        """
        self._guard = guard
        self._internet, self._datagrams, self._elsewhere = internet, datagrams, elsewhere
        self._name = NO_NETWORK if elsewhere is None else NO_LOCALHOST
        self._unix = UnixSockets(guard)

    def create(self, call: Call) -> Verdict:
        """socket(2)."""
        family, flags, protocol = (call.integer(index) for index in range(3))
        kind = flags & k.SOCK_TYPE
        if family == k.AF_UNIX and kind in (k.SOCK_STREAM, k.SOCK_SEQPACKET):
            one, other = socket.socketpair(socket.AF_UNIX, kind)
            other.close()
            return _give(call, one, flags)
        if family == k.AF_UNIX:
            return refused(Blocked(ANY, "socket", family="unix", type="datagram"))
        is_internet = family in (k.AF_INET, k.AF_INET6)
        if is_internet and kind == k.SOCK_DGRAM and protocol in (0, k.IPPROTO_UDP):
            one = socket.socket(family, kind)
            if self._datagrams is None:
                try:
                    one.shutdown(socket.SHUT_RDWR)
                except OSError:
                    pass  # it was shut down, although it is not connected
            return _give(call, one, flags)
        name = _FAMILIES.get(family, str(family))
        needless = family == k.AF_NETLINK and protocol == 0  # of address look-ups
        blocked = Blocked(
            self._name, "socket", counts=not needless, family=name, protocol=str(protocol)
        )
        return refused(blocked)

    def pair(self, call: Call) -> Verdict:
        """socketpair(2), of a type that can send to other sockets."""
        return refused(Blocked(ANY, "socketpair", type=str(call.integer(1) & k.SOCK_TYPE)))

    def connect(self, call: Call) -> Verdict:
        """connect(2)."""
        address = _address(call, call.arguments[1], call.integer(2))
        family = family_of(address)
        if family == k.AF_UNIX:
            return self._unix.connect(call, address)
        if self._elsewhere is not None:
            return self._elsewhere.connect(call, address)
        if not self._guard.no_network:
            return GO_ON  # no socket that the command has is one to decide
        if self._internet is not None and (verdict := self._internet.connect(call, address)):
            return verdict
        probe = self._is_probe(call, address)
        remedy = "" if probe else self._remedy(call, address)
        return refused(blocked_outside("connect", address, counts=not probe, remedy=remedy))

    def _is_probe(self, call: Call, address: bytes) -> bool:
        """Whether it sends nothing: getaddrinfo asks so which address it should use first."""
        host, port = internet(address)
        if not host:
            return True  # AF_UNSPEC ends a connection
        known = is_loopback(host) or (self._internet is not None and self._internet.is_known(host))
        return known and port != DNS and _kind(call) == k.SOCK_DGRAM

    def _remedy(self, call: Call, address: bytes) -> str:
        """The option that allows TCP to an address."""
        host, port = internet(address)
        if port == DNS or _kind(call) != k.SOCK_STREAM:
            return ""
        if is_loopback(host):
            return "" if self._guard.allow_localhost else "--allow-localhost"
        return remedy_for(host, port) if call.name == "connect" else ""

    def bind(self, call: Call) -> Verdict:
        """bind(2)."""
        address = _address(call, call.arguments[1], call.integer(2))
        if family_of(address) == k.AF_UNIX:
            return self._unix.bind(call, address)
        if not self._guard.no_network:
            return GO_ON
        if self._internet is not None and (verdict := self._internet.bind(call, address)):
            return verdict
        host, port = internet(address)
        probe = not host or (port == 0 and host in ("127.0.0.1", "::1"))  # is there IPv6 at all?
        remedy = "" if probe else self._remedy(call, address)
        return refused(blocked_outside("bind", address, counts=not probe, remedy=remedy))

    def listen(self, call: Call) -> Verdict:
        """listen(2), without a network: a TCP socket would take a port by itself."""
        call.check_socket(call.integer(0))
        with call.descriptor(call.integer(0)) as duplicate:
            if not stat.S_ISSOCK(os.fstat(duplicate).st_mode):
                return fails(errno.ENOTSOCK)
            one = same_socket(duplicate)
            try:
                if one.family != socket.AF_UNIX:
                    if self._internet is not None:
                        return self._internet.listen(call, duplicate)
                    return refused(Blocked(NO_NETWORK, "listen"))
                one.listen(max(0, call.integer(1)))
            except OSError as error:
                return fails(error.errno or errno.EINVAL)
            finally:
                one.close()
        return DONE

    def sendto(self, call: Call) -> Verdict:
        """sendto(2) with an address."""
        address = _address(call, call.arguments[4], call.integer(5))
        if self._datagrams is not None:
            return self._datagrams.sendto(call, address)
        return refused(blocked_outside("send", address))

    def sendmsg(self, call: Call) -> Verdict:
        """sendmsg(2), which the kernel refuses by itself if it has an address."""
        if self._datagrams is not None:
            return self._datagrams.sendmsg(call)
        return self._messages(call, call.integer(2), 1)

    def sendmmsg(self, call: Call) -> Verdict:
        """sendmmsg(2), likewise."""
        if self._datagrams is not None:
            return self._datagrams.sendmmsg(call)
        return self._messages(call, call.integer(3), min(call.integer(2), _MOST_MESSAGES))

    def _messages(self, call: Call, flags: int, count: int) -> Verdict:
        data = call.memory(call.arguments[1], _MESSAGE_OF_MANY * max(0, count))
        for start in range(0, len(data) - _MESSAGE.size + 1, _MESSAGE_OF_MANY):
            pointer, size = _MESSAGE.unpack_from(data, start)
            if pointer and size:
                return refused(
                    blocked_outside("send", _address(call, pointer, min(size, LONGEST_ADDRESS)))
                )
        if flags & k.MSG_FASTOPEN:
            return refused(Blocked(NO_NETWORK, "send"))
        return GO_ON

    def option(self, call: Call) -> Verdict:
        """setsockopt(2) that joins a multicast group, chooses a route, or a timeout."""
        is_timeout = call.integer(1) == k.SOL_SOCKET and call.integer(2) in k.SNDTIMEO
        connecting = self._internet or self._elsewhere
        if is_timeout and connecting is not None:
            return connecting.set_timeout(call)
        option = (call.integer(1), call.integer(2))
        counts = option != k.FASTOPEN
        return refused(Blocked(self._name, "setsockopt", counts=counts, option=str(option[1])))


def _give(call: Call, one: socket.socket, flags: int) -> Verdict:
    try:
        one.setblocking(not flags & k.SOCK_NONBLOCK)
        call.install(one.fileno(), cloexec=bool(flags & k.SOCK_CLOEXEC))
    except OSError as error:
        return fails(error.errno or errno.EMFILE)
    finally:
        one.close()
    return ANSWERED


def _kind(call: Call) -> int | None:
    """The type of the socket; None if that is not known."""
    try:
        with call.descriptor(call.integer(0)) as duplicate:
            one = same_socket(duplicate)
            try:
                return one.type
            finally:
                one.close()
    except (OSError, Vanished):
        return None


def _address(call: Call, pointer: int, size: int) -> bytes:
    """The address for the socket of the call, which is its first argument."""
    call.check_socket(call.integer(0))
    if not 0 <= size <= LONGEST_ADDRESS:
        raise BadArgument(errno.EINVAL)
    address = call.memory(pointer, size)
    if len(address) < size:
        raise BadArgument(errno.EFAULT)
    return address
