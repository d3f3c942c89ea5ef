"""Addresses of sockets as they stand in memory (hotenv.guards.addresses)."""

from __future__ import annotations

import socket
import struct

import pytest

from hotenv.guards import syscalls as k
from hotenv.guards.addresses import (
    blocked_outside,
    blocked_unix,
    family_of,
    internet,
    is_complete,
    is_loopback,
)
from hotenv.guards.verdict import ANY, NO_NETWORK, Blocked

IPV4 = struct.pack("=H", 2) + struct.pack("!H4s8x", 80, socket.inet_aton("192.0.2.1"))
IPV6 = struct.pack("=H", 10) + struct.pack(
    "!HI16sI", 53, 0, socket.inet_pton(socket.AF_INET6, "2001:db8::1"), 0
)


def unix(path: bytes) -> bytes:
    """The address of a Unix socket."""
    return struct.pack("=H", 1) + path


def test_internet() -> None:
    """Host and port, and nothing where an address is cut off."""
    assert internet(IPV4) == ("192.0.2.1", 80)
    assert internet(IPV6) == ("2001:db8::1", 53)
    assert [family_of(each) for each in (IPV4, IPV6, unix(b"/a"), b"")] == [2, 10, 1, 0]
    for cut in (IPV4[:7], IPV6[:23], b"", b"\2", unix(b"/a")):
        assert internet(cut) == ("", 0)


def test_complete() -> None:
    """As long as the kernel wants it, whatever stands in it."""
    assert is_complete(IPV4, k.AF_INET)
    assert is_complete(IPV6[:24], k.AF_INET6)
    assert not is_complete(IPV4[:15], k.AF_INET)
    assert not is_complete(IPV6[:23], k.AF_INET6)
    assert not is_complete(IPV4, k.AF_INET6)


def test_loopback() -> None:
    """Every name of this machine that leads nowhere else, and no other."""
    for host in ("127.0.0.1", "127.255.255.254", "::1", "::ffff:127.0.0.1"):
        assert is_loopback(host)
    for host in ("0.0.0.0", "::", "128.0.0.1", "12.7.0.1", "::127.0.0.1", "::ffff:1.127.0.1", ""):  # noqa: S104
        assert not is_loopback(host)


@pytest.mark.parametrize(
    ("address", "blocked"),
    [
        (IPV4, Blocked(NO_NETWORK, "send", host="192.0.2.1", port="80")),
        (IPV4[:5], Blocked(NO_NETWORK, "send", family="2")),
        (b"", Blocked(NO_NETWORK, "send", family="0")),
        (unix(b"/a\0b"), Blocked(ANY, "send", path="/a")),
        (unix(b"\0a\0b"), Blocked(ANY, "send", path="@a")),
        (unix(b""), Blocked(ANY, "send", path="")),
    ],
)
def test_refusals(address: bytes, blocked: Blocked) -> None:
    """They name what was to be reached."""
    assert blocked_outside("send", address) == blocked


def test_unix() -> None:
    """What could be allowed says how; a name service does not count."""
    assert blocked_unix("connect", unix(b"x"), "/a/x") == Blocked(
        ANY, "connect", path="/a/x", remedy="--allow-unix /a/x"
    )
    assert blocked_unix("connect", unix(b"x"), "/a/x", allowable=False).remedy == ""
    assert not blocked_unix("connect", unix(b"x"), "/run/nscd/socket").counts
    assert not blocked_unix("connect", unix(b"x"), "/run/systemd/userdb/io.systemd.X").counts
