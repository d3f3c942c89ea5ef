"""Where messages go, and what is this machine (hotenv.guards.destinations, .thismachine)."""

from __future__ import annotations

import errno
import socket
import struct

import pytest

from hotenv.guards import thismachine
from hotenv.guards.addresses import packed
from hotenv.guards.destinations import destination
from hotenv.guards.listener import BadArgument
from hotenv.guards.thismachine import is_here, resolvers_in

UNSPEC, V4, V6, NETLINK = 0, socket.AF_INET, socket.AF_INET6, 16


def of(family: int, host: str, port: int = 9, flow: int = 0, link: int = 0) -> bytes:
    """An address as the kernel has it."""
    if ":" in host:
        address = struct.pack("=HHI", family, socket.htons(port), socket.htonl(flow))
        return address + socket.inet_pton(V6, host) + struct.pack("=I", link)
    return struct.pack("=HH4s8x", family, socket.htons(port), socket.inet_aton(host))


@pytest.mark.parametrize(
    ("family", "address", "where"),
    [
        (V4, of(V4, "192.0.2.1"), ("192.0.2.1", 9)),
        (V4, of(UNSPEC, "127.0.0.1"), ("127.0.0.1", 9)),
        (V6, of(V6, "fe80::1", 9, 5, 3), ("fe80::1", 9, 5, 3)),
        (V6, of(V6, "::ffff:127.0.0.1", 9), ("::ffff:127.0.0.1", 9, 0, 0)),
        (V6, of(V6, "::1")[:24], ("::1", 9, 0, 0)),
        (V6, of(V4, "127.0.0.1"), ("::ffff:127.0.0.1", 9, 0, 0)),
        (V6, of(UNSPEC, "::1"), None),
        (NETLINK, struct.pack("=HHII", NETLINK, 0, 7, 1), (7, 1)),
    ],
)
def test_destinations(family: int, address: bytes, where: object) -> None:
    """The kernel takes some addresses for others."""
    assert destination(address, family) == where


@pytest.mark.parametrize(
    ("family", "address", "error"),
    [
        (V4, of(V4, "192.0.2.1")[:15], errno.EINVAL),
        (V4, of(V6, "::1"), errno.EAFNOSUPPORT),
        (V6, of(V6, "::1")[:23], errno.EINVAL),
        (V6, of(V4, "192.0.2.1")[:15], errno.EINVAL),
        (V6, of(1, "::1"), errno.EINVAL),
        (NETLINK, b"\x10\0", errno.EINVAL),
        (NETLINK, of(V4, "127.0.0.1"), errno.EINVAL),
    ],
)
def test_no_destinations(family: int, address: bytes, error: int) -> None:
    """What the kernel would not take."""
    with pytest.raises(BadArgument) as raised:
        destination(address, family)
    assert raised.value.error == error


@pytest.mark.parametrize(
    "host",
    [
        *("127.0.0.1", "127.255.255.254", "0.0.0.0", "224.0.0.1", "255.255.255.255"),  # noqa: S104 - a way here
        *("::", "::1", "::ffff:127.0.0.1", "::ffff:0.0.0.0", "ff02::1", "64:ff9b::7f00:1"),
    ],
)
def test_here(host: str) -> None:
    """Every name that all machines have for themselves, and what comes back from the network."""
    assert is_here(socket.inet_ntop(V6 if ":" in host else V4, _raw(host)))


@pytest.mark.parametrize("host", ["192.0.2.77", "8.8.8.8", "::ffff:8.8.8.8", "2001:db8::77"])
def test_elsewhere(host: str) -> None:
    """All others, unless this machine has them."""
    assert not is_here(host)


def test_when_in_doubt(monkeypatch: pytest.MonkeyPatch) -> None:
    """What cannot be found out counts as this machine."""

    def broken(*_: object) -> None:
        raise OSError(errno.EMFILE, "too many")

    with monkeypatch.context() as patch:
        patch.setattr(socket, "socket", broken)
        assert is_here("192.0.2.77")


def test_anycast(monkeypatch: pytest.MonkeyPatch, tmp_path: object) -> None:
    """Addresses that nobody can be bound to, and which arrive here all the same."""
    monkeypatch.setattr(thismachine, "_ANYCAST", f"{tmp_path}/anycast6")
    assert not is_here("2001:db8::")
    with open(f"{tmp_path}/anycast6", "w", encoding="ascii") as file:
        file.write("2    eth0    20010db8000000000000000000000000     1\n")
    assert is_here("2001:db8::")


def test_resolvers() -> None:
    """As resolv.conf(5) has them; the rest of the file does not matter."""
    text = """
# nameserver 127.0.0.9
nameserver 127.0.0.53
  nameserver\t::1  # with more
nameserver fe80::1%eth0
nameserver
nameserver name
search nameserver 127.0.0.1
"""
    assert [*resolvers_in(text)] == [packed(host) for host in ("127.0.0.53", "::1", "fe80::1")]


def _raw(host: str) -> bytes:
    return socket.inet_pton(V6 if ":" in host else V4, host)
