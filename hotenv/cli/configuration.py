"""Guards that are not on the command line: of a project's file, and of variables."""

from __future__ import annotations

import os

from hotenv.cli.guards import add_guards, existing, given_guards, named, resolved
from hotenv.cli.projectguards import guards_here
from hotenv.errors import UsageError
from hotenv.guards.sources import (
    COMMAND,
    EXCEPTING,
    FILE,
    FORBIDDING,
    OPTIONS,
    PROFILE,
    PROFILES,
    ROOT,
    VARIABLE,
    Source,
    option_of,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping
    from typing import Any

    from hotenv.cli.projectguards import ProjectGuards

_OPTIONS, _PROFILES, _ROOT = "HOTENV_GUARD", "HOTENV_PROFILE", "HOTENV_FS_ROOT"
_BASE = Source("hotenv guard", COMMAND, {})
_LINE = "command line"
_NAMED = ("allow_domain", "allow_import")


def sources(given: Mapping[str, Any], in_variable: Mapping[str, Any]) -> list[Source]:
    """All sources of a guard. ``given``: the options of the command line.

    Error handling: raises UsageError for what is wrong in one of them.
    """
    project = guards_here()
    found = [_BASE]
    if project is not None:
        found.append(Source(project.name, FILE, project.settings))
        found += _profiles(project.used, project, project.name, FILE)
    found += _given(in_variable, project, _OPTIONS, VARIABLE)
    names = os.environ.get(_PROFILES, "").replace(",", " ").split()
    found += _profiles(names, project, _PROFILES, PROFILE)
    if root := os.environ.get(_ROOT):
        found.append(Source(_ROOT, ROOT, {"fs_readonly": existing(root, _ROOT)}))
    return found + _given(given, project, _LINE, OPTIONS)


def own_sources(given: Mapping[str, Any]) -> list[Source]:
    """The command line alone."""
    return [_BASE, *_given(given, None, _LINE, OPTIONS)]


def _given(
    given: Mapping[str, Any], project: ProjectGuards | None, name: str, rank: int
) -> list[Source]:
    settings: dict[str, bool | str | list[str]] = {}
    for option in (*FORBIDDING, *EXCEPTING):
        value = given.get(option)
        where = option_of(option) if rank == OPTIONS else f"{name}: {option_of(option)}"
        if isinstance(value, list):
            names = option in _NAMED
            find = _denied if option == "deny_read" else existing
            settings[option] = [
                named(option, each, where) if names else find(each, where) for each in value
            ]
        elif option == "fs_readonly" and isinstance(value, str):
            settings[option] = existing(value, where)
        elif value is not None:
            settings[option] = value
    return [
        Source(name, rank, settings),
        *_profiles(given.get("profile", []), project, name, rank),
    ]


def _denied(path: str, what: str) -> str:
    if not path:
        raise UsageError(f"{what}: must be a path")
    return resolved(path)


def _profiles(
    names: Iterable[str], project: ProjectGuards | None, user: str, rank: int
) -> Iterator[Source]:
    """The profiles ``names``. Those of a file have its rank, even if another source names them."""
    own = {} if project is None else project.profiles
    for name in names:
        if name in PROFILES:
            yield Source(f"profile {name} ({user})", rank, PROFILES[name])
        elif project is not None and name in own:
            yield Source(f"profile {name} ({project.name})", FILE, own[name])
        else:
            from hotenv.suggestion import did_you_mean

            known = [*PROFILES, *own]
            hint = f"{did_you_mean(name, known)} (known: {', '.join(known)})"
            raise UsageError(f"{user}: no such profile '{name}'{hint}")


def options_in_variable() -> dict[str, Any]:
    """Those in HOTENV_GUARD, written as in a shell. Error handling: raises UsageError."""
    words = os.environ.get(_OPTIONS)
    if not words:
        return {}
    import shlex

    from hotenv.cli.parser import Parser

    parser = Parser(prog="hotenv guard")
    add_guards(parser)
    try:
        return given_guards(parser.parse_args(shlex.split(words)))
    except (UsageError, ValueError) as error:
        raise UsageError(f"{_OPTIONS}: {error}") from None
