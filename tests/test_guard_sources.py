"""What several sources of a guard make together (hotenv.guards.sources)."""

from __future__ import annotations

import pytest

from hotenv.errors import UsageError
from hotenv.guards.policy import Guard
from hotenv.guards.sources import (
    COMMAND,
    EXCEPTING,
    FILE,
    FORBIDDING,
    OPTIONS,
    PROFILES,
    ROOT,
    VARIABLE,
    Source,
    combined,
    counts,
    settings_of,
)

OFFLINE: dict[str, bool] = {"no_network": True}
LOCAL: dict[str, bool] = {"allow_localhost": True}
STRICT: dict[str, bool] = {"strict_imports": True}


def of(*settings: tuple[int, object]) -> Guard:
    """What the settings make, each with its rank."""
    return combined([Source(f"rank {rank}", rank, its) for rank, its in settings])  # type: ignore[arg-type]


def test_every_setting_has_a_name() -> None:
    """There is one for each field of a guard, and no other."""
    assert {*FORBIDDING, *EXCEPTING} == {*Guard.__slots__}
    for settings in PROFILES.values():
        assert {*settings} <= {*Guard.__slots__}


@pytest.mark.parametrize(
    ("settings", "guard"),
    [
        ([], Guard()),
        # guards add up
        (
            [(FILE, OFFLINE), (OPTIONS, {"no_subprocess": True, "private_tmp": True})],
            Guard(no_network=True, no_subprocess=True, private_tmp=True),
        ),
        ([(FILE, {"no_network": False})], Guard()),
        # an exception from the network implies that guard, at its own rank
        ([(FILE, LOCAL)], Guard(allow_localhost=True)),
        ([(OPTIONS, LOCAL)], Guard(allow_localhost=True)),
        # it counts for its own source and for lower ones, not for higher ones
        ([(FILE, {**OFFLINE, **LOCAL})], Guard(allow_localhost=True)),
        ([(FILE, OFFLINE), (OPTIONS, LOCAL)], Guard(allow_localhost=True)),
        ([(FILE, LOCAL), (OPTIONS, OFFLINE)], Guard(no_network=True)),
        ([(FILE, LOCAL), (VARIABLE, OFFLINE), (OPTIONS, LOCAL)], Guard(allow_localhost=True)),
        ([(FILE, LOCAL), (VARIABLE, LOCAL), (OPTIONS, OFFLINE)], Guard(no_network=True)),
        # two of the same rank are one source
        ([(OPTIONS, OFFLINE), (OPTIONS, LOCAL)], Guard(allow_localhost=True)),
        # hosts
        (
            [(FILE, {"allow_domain": ["a", "b"]}), (OPTIONS, {"allow_domain": ["b:1", "c"]})],
            Guard(allow_domain=["b:1", "c"]),
        ),
        ([(FILE, OFFLINE), (OPTIONS, {"allow_domain": ["a"]})], Guard(allow_domain=["a"])),
        ([(FILE, {"allow_domain": ["a"]}), (OPTIONS, LOCAL)], Guard(allow_localhost=True)),
        # what nothing excepts: this machine, and terminals
        (
            [(FILE, {"no_localhost": True}), (OPTIONS, {"no_terminals": True})],
            Guard(no_localhost=True, no_terminals=True),
        ),
        ([(FILE, {"no_localhost": True}), (OPTIONS, LOCAL)], Guard(no_network=True)),
        ([(FILE, {"no_localhost": True}), (OPTIONS, OFFLINE)], Guard(no_network=True)),
        (
            [(FILE, {"no_localhost": True}), (OPTIONS, {"allow_domain": ["a"]})],
            Guard(no_localhost=True, allow_domain=["a"]),
        ),
        # paths that are denied
        (
            [(FILE, {"deny_read": ["/a"]}), (OPTIONS, {"deny_read": ["/b"]})],
            Guard(deny_read=["/a", "/b"]),
        ),
        (
            [(FILE, {"deny_read": ["/a"]}), (OPTIONS, {"allow_write": ["/a/b"]})],
            Guard(deny_read=["/a"], allow_write=["/a/b"]),
        ),
        (
            [
                (FILE, {"fs_readonly": "", "allow_write": ["/a/b"]}),
                (OPTIONS, {"deny_read": ["/a"]}),
            ],
            Guard(fs_readonly=True, deny_read=["/a"]),
        ),
        # paths
        (
            [(FILE, {"fs_readonly": ""}), (OPTIONS, {"allow_write": ["/a"]})],
            Guard(fs_readonly=True, allow_write=["/a"]),
        ),
        (
            [
                (FILE, {"fs_readonly": "", "allow_write": ["/a", "/b"]}),
                (OPTIONS, {"fs_readonly": "", "allow_write": ["/b/c"]}),
            ],
            Guard(fs_readonly=True, allow_write=["/b/c"]),
        ),
        (
            [(FILE, {"fs_readonly": "", "allow_write": ["/a"]}), (OPTIONS, {"fs_readonly": ""})],
            Guard(fs_readonly=True),
        ),
        (
            [(FILE, {"fs_readonly": "/a"}), (OPTIONS, {"allow_read": ["/b"]})],
            Guard(fs_readonly=True, allow_read=["/a", "/b"]),
        ),
        (
            [(FILE, {"fs_readonly": "/a"}), (ROOT, {"fs_readonly": "/b"})],
            Guard(fs_readonly=True, allow_read=[]),
        ),
        (
            [(FILE, {"fs_readonly": ""}), (ROOT, {"fs_readonly": "/b"})],
            Guard(fs_readonly=True, allow_read=["/b"]),
        ),
        (
            [(FILE, LOCAL), (OPTIONS, {"allow_udp": True})],
            Guard(allow_localhost=True, allow_udp=True),
        ),
        ([(FILE, {**LOCAL, "allow_udp": True}), (OPTIONS, LOCAL)], Guard(allow_localhost=True)),
        # imports
        ([(FILE, {"strict_imports": "all"}), (OPTIONS, STRICT)], Guard(strict_imports="all")),
        (
            [(FILE, STRICT), (OPTIONS, {"allow_import": ["a"]})],
            Guard(strict_imports=True, allow_import=["a"]),
        ),
        (
            [(FILE, {**STRICT, "allow_import": ["a"]}), (OPTIONS, STRICT)],
            Guard(strict_imports=True),
        ),
        # Unix sockets are closed by the command itself: no file opens them
        ([(COMMAND, {}), (OPTIONS, {"allow_unix": ["/a"]})], Guard(allow_unix=["/a"])),
        ([(FILE, {"allow_unix": ["/a"]}), (COMMAND, {})], Guard()),
        (
            [(FILE, OFFLINE), (COMMAND, {}), (VARIABLE, {"allow_unix": ["/a"]})],
            Guard(no_network=True, allow_unix=["/a"]),
        ),
        (
            [(COMMAND, {}), (VARIABLE, {"allow_unix": ["/a"]}), (OPTIONS, OFFLINE)],
            Guard(no_network=True),
        ),
    ],
)
def test_combined(settings: list[tuple[int, object]], guard: Guard) -> None:
    """Whatever the order in which they are found."""
    assert of(*settings) == guard
    turned = of(*reversed(settings))
    assert {*settings_of_guard(turned)} == {*settings_of_guard(guard)}


def settings_of_guard(guard: Guard) -> list[object]:
    """Its fields, with paths in any order."""
    fields = (getattr(guard, name) for name in Guard.__slots__)
    return [tuple(sorted(each)) if isinstance(each, tuple) else each for each in fields]


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ([(OPTIONS, {"allow_write": ["/a"]})], "--allow-write has no effect"),
        (
            [(FILE, {"no_localhost": True, **LOCAL})],
            "--no-localhost (rank 0) cannot be combined with --allow-localhost",
        ),
        (
            [(OPTIONS, {"no_localhost": True, **OFFLINE})],
            "--no-localhost has no effect with --no-network, which forbids more",
        ),
        ([(OPTIONS, {"allow_read": ["/a"]})], "--allow-read has no effect"),
        (
            [(OPTIONS, {**OFFLINE, "allow_udp": True})],
            "--allow-udp has no effect without --allow-localhost or --allow-domain",
        ),
        (
            [(FILE, {"allow_import": ["a"]}), (OPTIONS, STRICT)],
            "--allow-import (rank 0) has no effect without --strict-imports",
        ),
        (
            [(OPTIONS, {"fs_readonly": "", "allow_read": ["/a"]})],
            "--allow-read has no effect without --fs-readonly=ROOT",
        ),
        (
            [(FILE, {"allow_write": ["/a"]}), (OPTIONS, {"fs_readonly": ""})],
            "--allow-write (rank 0) has no effect without --fs-readonly",
        ),
    ],
)
def test_pointless_exceptions(settings: list[tuple[int, object]], said: str) -> None:
    """One that could never count is a mistake, and told with its source."""
    with pytest.raises(UsageError) as raised:
        of(*settings)
    assert said in str(raised.value)


def test_hosts_that_count() -> None:
    """As far as they are part of what is allowed."""
    guard = Guard(allow_domain=["a:80"])
    assert counts("allow_domain", "a", guard)
    assert not counts("allow_domain", "b", guard)


def test_hermetic() -> None:
    """It is all other profiles, and a private directory for temporary files."""
    sources = [Source(name, OPTIONS, settings) for name, settings in PROFILES.items()]
    others = combined([each for each in sources if each.name != "hermetic"])
    assert combined(sources) == others & Guard(private_tmp=True)
    assert combined([Source("", OPTIONS, PROFILES["hermetic"])]) == combined(sources)


def test_modules_that_count() -> None:
    """As far as they are part of what is allowed."""
    guard = Guard(strict_imports=True, allow_import=["a"])
    assert counts("allow_import", "a.b", guard)
    assert not counts("allow_import", "ab", guard)
    source = Source("x", OPTIONS, {"strict_imports": "all", "allow_import": ["a"]})
    assert [*settings_of(source)] == [("strict_imports", "all"), ("allow_import", "a")]


def test_what_counts() -> None:
    """Each setting by itself, and whether the guard has it."""
    file = Source("file", FILE, {**OFFLINE, **LOCAL, "fs_readonly": "/a", "allow_write": ["/a/b"]})
    line = Source("line", OPTIONS, {**OFFLINE, "fs_readonly": ""})
    guard = combined([file, line])
    assert [(name, path, counts(name, path, guard)) for name, path in settings_of(file)] == [
        ("no_network", "", True),
        ("fs_readonly", "/a", True),
        ("allow_localhost", "", False),
        ("allow_write", "/a/b", False),
    ]
    assert [*settings_of(Source("x", FILE, {"no_network": False}))] == []
    assert repr(line) == "Source('line', 5, {'no_network': True, 'fs_readonly': ''})"
