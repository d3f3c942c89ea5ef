"""Where a guard comes from, and what several sources make together. Pure.

The rules of the game: what any source forbids is forbidden. What a source excepts counts for what
it forbids itself, and for sources of a lower rank. So the file of a repository can tighten what
its user asks for, and never loosen it.
"""

from __future__ import annotations

from hotenv.errors import UsageError
from hotenv.guards.domains import common
from hotenv.guards.fields import is_part, is_within
from hotenv.guards.policy import Guard

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    Settings = Mapping[str, bool | str | Sequence[str]]
    """By the name of the option, with ``_`` for ``-``. ``fs_readonly`` is the root, or True,
    ``strict_imports`` True or ``"all"``."""

FORBIDDING = (
    *("no_network", "no_localhost", "no_subprocess", "no_terminals", "fs_readonly", "deny_read"),
    *("private_tmp", "strict_imports"),
)
EXCEPTING = (
    *("allow_localhost", "allow_udp", "allow_domain", "allow_import"),
    *("allow_write", "allow_read", "allow_unix"),
)

_IMPLYING = ("allow_localhost", "allow_domain")
"""Exceptions that imply the guard they are from."""

PROFILES: Mapping[str, Settings] = {
    "net-hermetic": {"no_network": True, "allow_localhost": True},
    "exec-deny": {"no_subprocess": True},
    "fs-readonly": {"fs_readonly": True},
    "strict-imports": {"strict_imports": True},
    "hermetic": {
        "no_network": True,
        "allow_localhost": True,
        "no_subprocess": True,
        "fs_readonly": True,
        "strict_imports": True,
        "private_tmp": True,
    },
}
"""The profiles that need no file."""

FILE, COMMAND, VARIABLE, PROFILE, ROOT, OPTIONS = range(6)
"""Ranks. COMMAND is what any guard forbids, whatever its options."""


class Source:
    """``settings`` that come from ``name``, as a user calls it, with a rank."""

    __slots__ = ("name", "rank", "settings")

    def __init__(self, name: str, rank: int, settings: Settings) -> None:
        self.name: str = name
        self.rank: int = rank
        self.settings: Settings = settings

    def __repr__(self) -> str:
        return f"Source({self.name!r}, {self.rank}, {dict(self.settings)!r})"

    def has(self, name: str) -> bool:
        """Whether it is among the settings, and not switched off."""
        return self.settings.get(name, False) is not False

    def all_of(self, name: str) -> Sequence[str]:
        """What is excepted by ``name``."""
        excepted = self.settings.get(name, ())
        return excepted if isinstance(excepted, (list, tuple)) else ()

    def value(self, name: str) -> str:
        """What the option ``name`` has behind ``=``; empty if there is nothing."""
        value = self.settings.get(name)
        return value if isinstance(value, str) else ""

    @property
    def root(self) -> str:
        """The directory in which everything that is read has to be; empty if there is none."""
        return self.value("fs_readonly")


def combined(sources: Sequence[Source]) -> Guard:
    """The guard that ``sources`` make.

    Error handling: raises UsageError for an exception from what nobody forbids it for.
    """
    for source in sources:
        _check(source, [each for each in sources if each.rank <= source.rank])
    guard = None
    for source in sources:
        if source.rank == COMMAND or any(map(source.has, (*FORBIDDING, *_IMPLYING))):
            its = _guard(source, [each for each in sources if each.rank >= source.rank])
            guard = its if guard is None else guard & its
    return Guard() if guard is None else guard


def _check(source: Source, lower: Sequence[Source]) -> None:
    if source.has("no_localhost"):
        _check_together(source)
    closing = ("fs_readonly", "deny_read")
    if source.has("allow_write") and not any(each.has(name) for each in lower for name in closing):
        raise _pointless(source, "allow_write", "--fs-readonly or --deny-read")
    if source.has("allow_read") and not any(each.root for each in lower):
        raise _pointless(source, "allow_read", "--fs-readonly=ROOT")
    if source.has("allow_import") and not any(each.has("strict_imports") for each in lower):
        raise _pointless(source, "allow_import", "--strict-imports")
    if source.has("allow_udp") and not any(each.has(name) for each in lower for name in _IMPLYING):
        raise _pointless(source, "allow_udp", "--allow-localhost or --allow-domain")


def _check_together(source: Source) -> None:
    option = f"{option_of('no_localhost')}{_where(source)}"
    if source.has("allow_localhost"):
        raise UsageError(f"{option} cannot be combined with --allow-localhost")
    if source.has("no_network") and not source.all_of("allow_domain"):
        raise UsageError(f"{option} has no effect with --no-network, which forbids more")


def _pointless(source: Source, name: str, guard: str) -> UsageError:
    return UsageError(f"{option_of(name)}{_where(source)} has no effect without {guard}")


def _where(source: Source) -> str:
    return "" if source.rank == OPTIONS else f" ({source.name})"


def _guard(source: Source, higher: Sequence[Source]) -> Guard:
    """What ``source`` forbids, with the exceptions of those that are not below it."""
    offline = any(map(source.has, ("no_network", *_IMPLYING)))
    readonly, strict = source.has("fs_readonly"), source.has("strict_imports")

    def excepted(name: str, *, forbidden: bool = True) -> list[str]:
        return [each for one in higher for each in one.all_of(name) if forbidden]

    closed, denied = source.has("no_localhost"), source.all_of("deny_read")
    local = offline and not closed and any(each.has("allow_localhost") for each in higher)
    domains = excepted("allow_domain", forbidden=offline)
    return Guard(
        no_network=offline,
        no_subprocess=source.has("no_subprocess"),
        fs_readonly=readonly,
        private_tmp=source.has("private_tmp"),
        no_terminals=source.has("no_terminals"),
        no_localhost=closed and (not offline or bool(domains)),
        deny_read=denied,
        strict_imports=source.value("strict_imports") or strict,
        allow_localhost=local,
        allow_udp=(local or bool(domains)) and any(each.has("allow_udp") for each in higher),
        allow_domain=domains,
        allow_import=excepted("allow_import", forbidden=strict),
        allow_write=excepted("allow_write", forbidden=readonly or bool(denied)),
        allow_read=[source.root, *excepted("allow_read")] if source.root else None,
        allow_unix=excepted("allow_unix"),
    )


def option_of(name: str) -> str:
    """The option that ``name`` is a setting for."""
    return f"--{name.replace('_', '-')}"


def settings_of(source: Source) -> Iterator[tuple[str, str]]:
    """Each setting of ``source`` by itself: the name, and what is excepted, or its value if any."""
    for name in (*FORBIDDING, *EXCEPTING):
        if excepted := source.all_of(name):
            yield from ((name, each) for each in excepted)
        elif source.has(name):
            yield name, source.value(name)


def counts(name: str, value: str, guard: Guard) -> bool:
    """Whether a setting is part of ``guard``, which it was meant for."""
    if name in FORBIDDING:
        return True
    if not value:
        return bool(getattr(guard, name))
    if name == "allow_domain":
        return bool(common([value], guard.allow_domain))
    if name == "allow_import":
        return is_part(value, guard.allow_import)
    return is_within(value, getattr(guard, name) or ())
