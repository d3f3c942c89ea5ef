"""Guards as values (hotenv.guards.policy)."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from hotenv.errors import UsageError
from hotenv.guards.fields import is_denied, is_within
from hotenv.guards.policy import Guard


def test_a_guard_is_a_value() -> None:
    """Two that say the same are equal, and none can be changed."""
    one = Guard(no_network=True, allow_unix=["/a", "/a"])
    assert one == Guard(no_network=True, allow_unix=("/a",))
    assert hash(one) == hash(Guard(no_network=True, allow_unix=("/a",)))
    assert one != Guard(no_network=True)
    assert one != "a guard"
    assert one == Guard(no_network=True, allow_unix=[Path("/a")])
    assert repr(one) == "Guard(no_network=True, allow_unix=('/a',))"
    with pytest.raises(AttributeError, match="immutable"):
        one.no_network = False


def test_an_exception_from_no_network_implies_it() -> None:
    """Who allows this machine does not allow all others."""
    assert Guard(allow_localhost=True).no_network


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ({"fs_readonly": True, "allow_write": ["a"]}, "allow_write a: must be an absolute path"),
        ({"allow_unix": "/a"}, "allow_unix: must be a list of paths, not a string"),
        ({"allow_unix": ["/a\0"]}, "allow_unix /a\0: must be an absolute path"),
        ({"allow_write": ["/a"]}, "has no effect without --fs-readonly"),
        ({"allow_read": ["/a"]}, "has no effect without --fs-readonly=ROOT"),
        ({"fs_readonly": "/root"}, "fs_readonly: must be True or False"),
        ({"allow_udp": True}, "allow_udp: has no effect without an exception from --no-network"),
        ({"strict_imports": "some"}, "strict_imports: must be True, False or 'all'"),
        ({"allow_import": ["a"]}, "allow_import: has no effect without --strict-imports"),
        ({"strict_imports": True, "allow_import": "a"}, "allow_import: must be a list of modules"),
        ({"strict_imports": True, "allow_import": ["a-b"]}, "allow_import a-b: must be the name"),
        ({"allow_read": []}, "has no effect without --fs-readonly=ROOT"),
        ({"no_terminals": "/dev"}, "no_terminals: must be True or False"),
        ({"deny_read": "/a"}, "deny_read: must be a list of paths, not a string"),
        ({"deny_read": ["a"]}, "deny_read a: must be an absolute path"),
        (
            {"no_localhost": True, "no_network": True},
            "no_localhost: has no effect with --no-network, which forbids more",
        ),
        (
            {"no_localhost": True, "allow_localhost": True, "allow_domain": ["a"]},
            "no_localhost: cannot be combined with --allow-localhost",
        ),
    ],
)
def test_nonsense(fields: dict[str, Any], said: str) -> None:
    """An exception from what is not forbidden is a mistake, and so is a relative path."""
    with pytest.raises(UsageError) as raised:
        Guard(**fields)
    assert said in str(raised.value)


def strict(*allowed: str, value: bool | str = True) -> Guard:
    """A guard of imports."""
    return Guard(strict_imports=value, allow_import=allowed)


def denied(*paths: str, write: tuple[str, ...] = ()) -> Guard:
    """A guard of some files."""
    return Guard(deny_read=paths, allow_write=write)


def readonly(*writable: str, read: list[str] | None = None) -> Guard:
    """A guard of files."""
    return Guard(fs_readonly=True, allow_write=writable, allow_read=read)


@pytest.mark.parametrize(
    ("one", "other", "both"),
    [
        (
            Guard(allow_localhost=True, allow_udp=True),
            Guard(allow_domain=["a"], allow_udp=True),
            Guard(no_network=True),
        ),
        (
            Guard(allow_localhost=True, allow_domain=["a"], allow_udp=True),
            Guard(allow_domain=["a"], allow_udp=True),
            Guard(allow_domain=["a"], allow_udp=True),
        ),
        (
            Guard(allow_localhost=True, allow_udp=True),
            Guard(allow_localhost=True),
            Guard(allow_localhost=True),
        ),
        (Guard(no_localhost=True), Guard(), Guard(no_localhost=True)),
        (Guard(no_localhost=True), Guard(no_network=True), Guard(no_network=True)),
        (
            Guard(no_localhost=True),
            Guard(allow_localhost=True, allow_udp=True),
            Guard(no_network=True),
        ),
        (
            Guard(no_localhost=True),
            Guard(allow_domain=["a"], allow_localhost=True),
            Guard(allow_domain=["a"], no_localhost=True),
        ),
        (
            Guard(no_localhost=True, allow_domain=["a"]),
            Guard(allow_domain=["b"]),
            Guard(no_network=True),
        ),
        (Guard(no_terminals=True), Guard(), Guard(no_terminals=True)),
        (denied("/a"), denied("/b"), denied("/a", "/b")),
        (denied("/a", write=("/a/b",)), Guard(), denied("/a", write=("/a/b",))),
        (denied("/a", write=("/a/b",)), denied("/a"), denied("/a")),
        (denied("/a", write=("/a/b",)), denied("/a/b/c"), denied("/a", "/a/b/c", write=("/a/b",))),
        (denied("/a"), readonly("/a/b", "/c"), denied("/a") & readonly("/c")),
        (
            denied("/a", write=("/a/b",)),
            readonly("/a"),
            Guard(fs_readonly=True, deny_read=["/a"], allow_write=["/a/b"]),
        ),
        (
            denied("/a"),
            readonly(read=["/a/b", "/c"]),
            Guard(fs_readonly=True, deny_read=["/a"], allow_read=["/c"]),
        ),
        (Guard(), strict("a"), strict("a")),
        (strict(value="all"), strict("a"), strict(value="all")),
        (strict("a", "b.c"), strict("a.b", "b", "c"), strict("b.c", "a.b")),
        (strict("ab"), strict("a"), strict()),
        (
            Guard(no_network=True),
            Guard(no_subprocess=True, private_tmp=True),
            Guard(no_network=True, no_subprocess=True, private_tmp=True),
        ),
        (readonly("/a"), Guard(), readonly("/a")),
        (readonly("/a"), readonly("/b"), readonly()),
        (readonly("/a", "/b/c"), readonly("/a/d", "/b"), readonly("/b/c", "/a/d")),
        (readonly("/a"), readonly("/ab"), readonly()),
        (readonly(read=["/a"]), readonly(), readonly(read=["/a"])),
        (readonly(read=["/a"]), readonly(read=["/b"]), readonly(read=[])),
        (readonly(read=["/a"]), readonly(read=["/a/b"]), readonly(read=["/a/b"])),
        (
            readonly("/a", read=["/b"]),
            readonly("/b", read=["/a"]),
            readonly(read=["/b", "/a"]),
        ),
        (Guard(allow_localhost=True), Guard(), Guard(allow_localhost=True)),
        (Guard(allow_localhost=True), Guard(no_network=True), Guard(no_network=True)),
        (Guard(allow_unix=["/a"]), Guard(), Guard()),
        (Guard(allow_unix=["/"]), Guard(allow_unix=["/a"]), Guard(allow_unix=["/a"])),
    ],
)
def test_both(one: Guard, other: Guard, both: Guard) -> None:
    """What one of two forbids is forbidden, and excepted is only what both except."""
    assert one & other == both
    assert {*_paths(other & one)} == {*_paths(both)}
    assert one & one == one


def _paths(guard: Guard) -> tuple[str, ...]:
    allowed = (*guard.allow_write, *(guard.allow_read or ()), *guard.allow_unix)
    return (*allowed, *(f"not {path}" for path in guard.deny_read))


def test_what_is_denied() -> None:
    """An exception counts in what it lies deeper in, and what is denied deeper in that counts."""
    assert is_denied("/a/b", ["/a"], [])
    assert is_denied("/a", ["/a"], ["/a"])
    assert is_denied("/a/b", ["/a/b"], ["/a"])
    assert not is_denied("/a/b/c", ["/a"], ["/a/b"])
    assert is_denied("/a/bc", ["/a"], ["/a/b"])
    assert is_denied("/a/b/c/d", ["/a", "/a/b/c"], ["/a/b"])
    assert not is_denied("/ab", ["/a"], [])


def test_no_guard() -> None:
    """Only guards go together."""
    with pytest.raises(TypeError):
        Guard() & True  # type: ignore[operator]


def test_within() -> None:
    """Below a path is not what only begins like it."""
    assert is_within("/a", ["/b", "/a"])
    assert is_within("/a/b", ["/a"])
    assert is_within("/a", ["/"])
    assert not is_within("/ab", ["/a"])
    assert not is_within("/", ["/a"])
