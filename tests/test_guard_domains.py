"""Hosts that a guard excepts, and their names (hotenv.guards.domains, hotenv.guards.names)."""

from __future__ import annotations

from ipaddress import IPv4Address, IPv6Address, ip_network

import pytest
from hypothesis import assume, given
from hypothesis.strategies import ip_addresses

from hotenv.errors import UsageError
from hotenv.guards.addresses import is_suspect, remedy_for
from hotenv.guards.domains import Domain, common
from hotenv.guards.names import Names, look_up
from hotenv.guards.policy import Guard


@pytest.mark.parametrize(
    ("text", "canonical"),
    [
        ("example.com", "example.com"),
        ("Example.COM.", "example.com"),
        ("example.com:443", "example.com:443"),
        ("b\u00fccher.example:80", "xn--bcher-kva.example:80"),
        ("B\u00dcCHER.example", "xn--bcher-kva.example"),
        ("my_host", "my_host"),
        (".Example.com.:80", ".example.com:80"),
        (".b\u00fccher.example", ".xn--bcher-kva.example"),
        ("192.0.2.1:80", "192.0.2.1:80"),
        ("2001:DB8::0:1", "2001:db8::1"),
        ("[2001:db8::1]:443", "[2001:db8::1]:443"),
        ("[2001:db8::1]", "2001:db8::1"),
        ("::ffff:192.0.2.1", "192.0.2.1"),
        ("2852039166", "2852039166"),  # a name: what it is found to be is suspect
    ],
)
def test_domains(text: str, canonical: str) -> None:
    """Neither case, nor a final dot, nor another spelling counts."""
    assert str(Domain(text)) == canonical
    assert str(Domain(canonical)) == canonical


@pytest.mark.parametrize(
    "text",
    [
        *("", ".", "a..b", "..example.com", "*.example.com", "http://example.com", "a/b", "a b"),
        *(".192.0.2.1", ".", ".:80"),
        *("a:", "a:b", "a:65536", "a:-1", "[::1", "[::1]x", "[::1]:x", "a:1:2", "x" * 64),
        *(".".join(["x" * 60] * 5), "\u2260.com", "a:\u0663"),
    ],
)
def test_no_domains(text: str) -> None:
    """One host or those below it, no other pattern and no URL."""
    with pytest.raises(UsageError, match=r"allow_domain.*must be HOST or HOST:PORT"):
        Guard(allow_domain=[text])


def test_guards() -> None:
    """The exception implies its guard, and two guards allow what both do."""
    one = Guard(allow_domain=["A.example", "b.example:1", "c.example", "b.example:1"])
    assert one.no_network
    assert one.allow_domain == ("a.example", "b.example:1", "c.example")
    assert (one & Guard()).allow_domain == one.allow_domain
    assert (Guard() & Guard(private_tmp=True)).allow_domain == ()
    assert (one & Guard(no_network=True)).allow_domain == ()
    other = Guard(allow_domain=["a.example:80", "b.example", "d.example"])
    assert {*(one & other).allow_domain} == {"a.example:80", "b.example:1"}
    with pytest.raises(UsageError, match="must be a list"):
        Guard(allow_domain="a")


def test_common() -> None:
    """A host without a port is all of its ports."""
    assert common(["a"], ["a:1", "b"]) == ["a:1"]
    assert common(["a:1"], ["a:2"]) == []
    assert {*common([".a"], ["b.a:1", "a", "ba"])} == {"b.a:1", "a"}
    assert common([".a:1"], ["b.a"]) == ["b.a:1"]


@pytest.mark.parametrize(
    "address",
    [
        *("127.0.0.1", "::1", "::ffff:127.0.0.1", "64:ff9b::7f00:1", "::", "224.0.0.1"),
        "0.0.0.0",  # noqa: S104 - nobody binds it
        *("169.254.169.254", "::ffff:169.254.169.254", "64:ff9b::a9fe:a9fe", "fe80::1"),
        *("fd00:ec2::254", "100.100.100.200", "168.63.129.16", "::ffff:168.63.129.16"),
    ],
)
def test_suspect(address: str) -> None:
    """Of this machine, or of its cloud, in each spelling; nobody is told to allow it."""
    assert is_suspect(address)
    assert remedy_for(address, 80) == ""


def test_decent() -> None:
    """Others, private ones among them."""
    for address in ("192.0.2.1", "10.0.0.1", "2001:db8::1", "64:ff9b::c000:201"):
        assert not is_suspect(address)
    assert remedy_for("192.0.2.1", 80) == "--allow-domain 192.0.2.1:80"
    assert remedy_for("2001:db8::1", 80) == "--allow-domain [2001:db8::1]:80"
    assert remedy_for("::ffff:192.0.2.1", 80) == "--allow-domain 192.0.2.1:80"
    assert remedy_for("192.0.2.1", 65536) == ""
    assert remedy_for("", 80) == ""


@given(ip_addresses())
def test_suspect_by_the_library(address: IPv4Address | IPv6Address) -> None:
    """What is special is what Python says that it is."""
    special = address.is_loopback or address.is_link_local or address.is_unspecified
    assume(address not in ip_network("64:ff9b::/96") and not getattr(address, "ipv4_mapped", None))
    assert is_suspect(str(address)) == (special or address.is_multicast)


class Resolver:
    """What a host has for addresses, and how often somebody asked; and a clock."""

    def __init__(self, **addresses: list[str]) -> None:
        self.addresses = {name.replace("_", "."): found for name, found in addresses.items()}
        self.asked: list[str] = []
        self.time = 0.0

    def find(self, host: str) -> list[str]:
        """Its addresses now."""
        self.asked.append(host)
        return self.addresses.get(host, [])

    def names(self, *domains: str) -> Names:
        """Names that are looked up here."""
        return Names(domains, find=self.find, now=lambda: self.time)


@pytest.mark.parametrize(
    ("domain", "host", "expected"),
    [
        ("a.example", "a.example", True),
        ("a.example", "b.a.example", False),
        ("a.example", "ba.example", False),
        (".a.example", "a.example", True),
        (".a.example", "b.a.example", True),
        (".a.example", "c.b.a.example", True),
        (".a.example", ".b.a.example", True),
        (".b.a.example", ".a.example", False),
        (".a.example", "ba.example", False),
        (".a.example", "a.example.org", False),
        (".a.example", "example", False),
    ],
)
def test_below(domain: str, host: str, *, expected: bool) -> None:
    """A dot in front stands for the host and all that are below it."""
    assert Domain(domain).has(host) is expected


def lines(names: Names) -> list[str]:
    """What the file has that is not of this machine."""
    return [line for line in names.hosts().splitlines() if not line.startswith(("127.", "::1"))]


def test_only_what_was_found() -> None:
    """An address can be reached when the name has been looked up, at the ports that are allowed."""
    resolver = Resolver(a_example=["192.0.2.1", "2001:db8::1"], b_example=["192.0.2.2"])
    names = resolver.names("a.example:80", "a.example:443", "b.example")
    assert not names.is_allowed("192.0.2.1", 80)
    assert lines(names) == [
        "192.0.2.1 a.example a.example.",
        "2001:db8::1 a.example a.example.",
        "192.0.2.2 b.example b.example.",
    ]
    assert names.is_allowed("192.0.2.1", 80)
    assert names.is_allowed("::ffff:192.0.2.1", 443)
    assert names.is_allowed("2001:db8::1", 443)
    assert not names.is_allowed("192.0.2.1", 81)
    assert names.is_allowed("192.0.2.2", 81)
    assert names.is_known("192.0.2.1")
    assert not names.is_known("192.0.2.3")
    for host in ("192.0.2.3", "", "a.example"):
        assert not names.is_allowed(host, 80)


def test_names_below() -> None:
    """They are looked up when they are asked for; others are not, nor are addresses."""
    resolver = Resolver(a_example=["192.0.2.1"], x_a_example=["192.0.2.2", "127.0.0.1"])
    names = resolver.names(".a.example:80", "b.example")
    assert lines(names) == ["192.0.2.1 a.example a.example."]
    assert names.find("x.a.example") == ["192.0.2.2"]
    assert names.find("y.a.example") == []
    assert names.is_allowed("192.0.2.2", 80)
    assert not names.is_allowed("192.0.2.2", 81)
    for host in ("example", "xa.example", "x.b.example", "192.0.2.1", ""):
        assert names.find(host) is None
    assert resolver.asked == ["a.example", "b.example", "x.a.example", "y.a.example"]


def test_names_without_end() -> None:
    """Answers are kept for a while, and not more of them than there is room for."""
    resolver = Resolver(x_a=["192.0.2.1"])
    names = resolver.names(".a")
    names.find("x.a")
    for number in range(1000):
        names.find(f"{number}.a")
    names.find("x.a")
    assert resolver.asked.count("x.a") == 2


def test_rebinding() -> None:
    """A name that leads to this machine or its cloud leads nowhere."""
    bad = ["127.0.0.1", "169.254.169.254", "::ffff:10.0.0.1", "fd00:ec2::254", "fe80::1%1"]
    names = Resolver(a_example=bad).names("a.example")
    assert lines(names) == ["::ffff:10.0.0.1 a.example a.example."]
    assert names.is_allowed("10.0.0.1", 1)
    for host in ("127.0.0.1", "169.254.169.254", "fd00:ec2::254", "fe80::1"):
        assert not names.is_allowed(host, 1)


def test_addresses() -> None:
    """Who names an address means it, whatever it is; nobody is asked."""
    resolver = Resolver()
    names = resolver.names("169.254.169.254:80")
    assert names.is_allowed("169.254.169.254", 80)
    assert names.is_allowed("::ffff:169.254.169.254", 80)
    assert not names.is_allowed("169.254.169.254", 81)
    assert lines(names) == []
    assert resolver.asked == []


def test_addresses_change() -> None:
    """An answer is used for a while, an empty one not at all; what was true once can be reached."""
    resolver = Resolver(a_example=["192.0.2.1"])
    names = resolver.names("a.example", "b.example")
    names.hosts()
    resolver.addresses["a.example"] = ["192.0.2.9"]
    resolver.time = 30.0
    assert lines(names) == ["192.0.2.1 a.example a.example."]
    assert resolver.asked == ["a.example", "b.example", "b.example"]
    resolver.time = 30.1
    assert lines(names) == ["192.0.2.9 a.example a.example."]
    assert names.is_allowed("192.0.2.1", 1)
    assert names.is_allowed("192.0.2.9", 1)


def test_look_up() -> None:
    """The system's own resolver, and a name that it does not have."""
    assert "127.0.0.1" in look_up("127.0.0.1")
    assert look_up("no such name") == []
