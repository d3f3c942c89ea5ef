"""Which addresses are this machine's, and which of its resolvers are on it."""

from __future__ import annotations

import errno
import socket

from hotenv.guards.addresses import NAT64, packed

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

_ELSEWHERE = (errno.EADDRNOTAVAIL, errno.EAFNOSUPPORT)
"""Errors of a bind to another machine's address. With any other error, it counts as ours."""

_ANYCAST = "/proc/net/anycast6"
_RESOLVERS = "/etc/resolv.conf"


def is_here(host: str) -> bool:
    """Whether what is sent to ``host`` arrives at this machine, perhaps among others.

    ``host``: see :func:`hotenv.guards.addresses.internet`. Multicast and broadcast come back.
    """
    address = packed(host)
    if address.startswith(NAT64):
        address = address.removeprefix(NAT64)
    if not any(address):
        return True  # the kernel takes it for loopback
    if len(address) == 4:
        if address[0] == 127 or address[0] >> 4 == 14:
            return True
        return _can_bind(socket.AF_INET, (socket.inet_ntop(socket.AF_INET, address), 0))
    if address[0] == 0xFF or _is_anycast(address):
        return True
    if address[0] == 0xFE and address[1] >> 6 == 2:  # link-local: whatever the link is
        links = [index for index, _ in socket.if_nameindex()]
        return any(_can_bind(socket.AF_INET6, (host, 0, 0, index)) for index in links)
    return _can_bind(socket.AF_INET6, (host, 0))


def _can_bind(family: int, where: tuple[str, int] | tuple[str, int, int, int]) -> bool:
    try:
        with socket.socket(family, socket.SOCK_DGRAM) as one:
            one.bind(where)
    except OSError as error:
        return error.errno not in _ELSEWHERE
    return True


def _is_anycast(address: bytes) -> bool:
    """Whether it is one of IPv6 that this machine has, although nobody can be bound to it."""
    try:
        with open(_ANYCAST, encoding="ascii") as file:
            return address.hex() in file.read()
    except OSError:
        return False  # there is no IPv6


def resolvers_in(text: str) -> Iterator[bytes]:
    """The addresses of the resolvers that ``text`` names, as resolv.conf(5) has them."""
    for line in text.splitlines():
        word, host, *_ = [*line.split(), "", ""]
        if word == "nameserver":
            try:
                yield packed(host.partition("%")[0])
            except OSError:
                continue


def resolvers() -> frozenset[bytes]:
    """Those of this machine; none if it does not say."""
    try:
        with open(_RESOLVERS, encoding="utf-8", errors="replace") as file:
            return frozenset(resolvers_in(file.read()))
    except OSError:
        return frozenset()
