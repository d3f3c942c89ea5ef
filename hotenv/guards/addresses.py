"""Addresses of sockets, as the kernel reads them, and refusals that name them."""

from __future__ import annotations

import os

from hotenv.guards import syscalls as k
from hotenv.guards.domains import HIGHEST_PORT
from hotenv.guards.probes import is_name_service
from hotenv.guards.verdict import ANY, NO_NETWORK, Blocked
from hotenv.lightweight import socket

DNS = 53
"""The port of resolvers. One on this machine would carry names to others."""

LONGEST_ADDRESS = 128
"""Bytes: struct sockaddr_storage."""

_MAPPED, NAT64 = bytes(10) + b"\xff\xff", bytes.fromhex("0064ff9b") + bytes(8)
"""Before an address of IPv4 that is one of IPv6."""

_LENGTHS = {k.AF_INET: 16, k.AF_INET6: 24}
"""Bytes: struct sockaddr_in, and sockaddr_in6 of RFC 2133."""


def family_of(address: bytes) -> int:
    """The family of ``address``: AF_*."""
    return int.from_bytes(address[:2], "little")


def internet(address: bytes) -> tuple[str, int]:
    """The host and the port of ``address``; an empty host if it is not one of the internet."""
    port = int.from_bytes(address[2:4], "big")
    if family_of(address) == k.AF_INET and len(address) >= 8:
        return socket.inet_ntop(socket.AF_INET, address[4:8]), port
    if family_of(address) == k.AF_INET6 and len(address) >= 24:
        return socket.inet_ntop(socket.AF_INET6, address[8:24]), port
    return "", 0


def is_complete(address: bytes, family: int) -> bool:
    """Whether ``address`` has the length that the kernel asks for at a socket of ``family``."""
    return len(address) >= _LENGTHS[family]


def is_loopback(host: str) -> bool:
    """Whether ``host``, as :func:`internet` spells it, is this machine and never another one."""
    return host == "::1" or host.startswith(("127.", "::ffff:127."))


def packed(host: str) -> bytes:
    """The address ``host`` as the kernel has it, without IPv6 around IPv4.

    Error handling: raises OSError for anything else.
    """
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    return socket.inet_pton(family, host).removeprefix(_MAPPED)


_METADATA = {packed(each) for each in ("100.100.100.200", "168.63.129.16", "fd00:ec2::254")}
"""Where clouds hand out credentials, beside the link-local 169.254.169.254."""


def is_suspect(host: str) -> bool:
    """Whether it is one that no name outside should stand for: of this machine, or of its cloud.

    Error handling: raises OSError if ``host`` is not an address.
    """
    address = packed(host).removeprefix(NAT64)
    if len(address) == 4:
        special = address[0] == 127 or address[:2] == b"\xa9\xfe" or address[0] >> 4 == 14
    else:
        special = address == bytes(15) + b"\1" or address[0] == 0xFF
        special = special or (address[0] == 0xFE and address[1] >> 6 == 2)
    return special or not any(address) or address in _METADATA


def remedy_for(host: str, port: int) -> str:
    """The option that allows the address ``host``; empty if it should not be suggested."""
    try:
        if is_suspect(host) or port > HIGHEST_PORT:
            return ""
    except OSError:
        return ""
    address = packed(host)
    family = socket.AF_INET if len(address) == 4 else socket.AF_INET6
    shown = socket.inet_ntop(family, address)
    return f"--allow-domain {f'[{shown}]' if ':' in shown else shown}:{port}"


def blocked_outside(what: str, address: bytes, *, counts: bool = True, remedy: str = "") -> Blocked:
    """The refusal to reach ``address``, outside. ``remedy``: what would allow it."""
    if family_of(address) == k.AF_UNIX:
        return blocked_unix(what, address)
    host, port = internet(address)
    if not host:
        return Blocked(NO_NETWORK, what, counts=counts, family=str(family_of(address)))
    return Blocked(NO_NETWORK, what, counts=counts, remedy=remedy, host=host, port=str(port))


def blocked_unix(what: str, address: bytes, where: str = "", *, allowable: bool = True) -> Blocked:
    """The refusal of a Unix socket.

    ``where``: its path without symbolic links. ``allowable``: whether an exception could be.
    """
    abstract = "@" if address[2:3] == b"\0" else ""
    name = address[3 if abstract else 2 :].partition(b"\0")[0]
    path = where or abstract + os.fsdecode(name)
    # What is bound is not there yet.
    remedy = f"--allow-unix {os.path.dirname(where) if what == 'bind' else where}"
    remedy = remedy if where and allowable else ""
    return Blocked(ANY, what, counts=not is_name_service(where), remedy=remedy, path=path)
