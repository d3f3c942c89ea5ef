"""Where a message goes: an address as the kernel reads it at a socket of some family."""

from __future__ import annotations

import errno
import struct

from hotenv.guards import syscalls as k
from hotenv.guards.addresses import family_of, internet
from hotenv.guards.listener import BadArgument

Destination = tuple[int | str, ...]
"""As the module socket has it."""

_NETLINK = struct.Struct("=4xII")  # struct sockaddr_nl: process and groups
_INET_SIZE, _INET6_SIZE = 16, 24  # bytes
_FLOW = 0xFFFFF
_INET6_END = struct.Struct("=I")  # the interface, behind the address


def destination(address: bytes, family: int) -> Destination | None:
    """Where a datagram to ``address`` goes, of a socket of ``family``; None if it says nothing.

    Error handling: raises BadArgument if the kernel would not take the address.
    """
    if family == k.AF_NETLINK:
        return _of_netlink(address)
    kind = family_of(address)
    if family == k.AF_INET:
        if len(address) < _INET_SIZE:
            raise BadArgument(errno.EINVAL)
        if kind not in (k.AF_INET, k.AF_UNSPEC):  # here, the latter stands for the former
            raise BadArgument(errno.EAFNOSUPPORT)
        return internet(k.AF_INET.to_bytes(2, "little") + address[2:])
    if kind == k.AF_UNSPEC:
        return None
    if kind == k.AF_INET and len(address) >= _INET_SIZE:
        host, port = internet(address)
        return f"::ffff:{host}", port, 0, 0
    if kind != k.AF_INET6 or len(address) < _INET6_SIZE:
        raise BadArgument(errno.EINVAL)
    flow = int.from_bytes(address[4:8], "big") & _FLOW
    (link,) = _INET6_END.unpack(address[24:28].ljust(4, b"\0"))
    return (*internet(address), flow, link)


def _of_netlink(address: bytes) -> Destination:
    if len(address) < _NETLINK.size or family_of(address) != k.AF_NETLINK:
        raise BadArgument(errno.EINVAL)
    return _NETLINK.unpack_from(address)
