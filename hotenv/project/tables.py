"""The tables of a project's file: what they may say. Pure.

A key has the name of the option that says the same on the command line. A table or key is known if
it is in TABLES, which is the one list of them.
"""

from __future__ import annotations

import json

from hotenv.durations import DEFAULT_TIMEOUT, format_duration
from hotenv.errors import FieldError, UsageError
from hotenv.guards.sources import PROFILES
from hotenv.intake.rules import FORMATS
from hotenv.project import converters
from hotenv.project.agentrules import Rules
from hotenv.suggestion import did_you_mean

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Any

START_TIMEOUT = 60.0
"""Seconds for which a command waits for the session that another one is starting."""

ASK_TIMEOUT = 120.0
"""Seconds for which a command of an agent waits for its user's answer."""

SIZE_LIMIT = 16 * 1024
"""Characters of all tables, as JSON: a server publishes a part of them."""

SOURCES = ("source", "input", "env")
"""Keys of the table session, of which one says where the variables come from."""

RULES = ("allow", "ask", "deny")
"""Keys of the table agent that say what becomes of a command, as :class:`Rules` takes them."""

_PROFILE: dict[str, Callable[[object], object]] = {
    "no-network": converters.flag,
    "no-subprocess": converters.flag,
    "no-localhost": converters.flag,
    "no-terminals": converters.flag,
    "fs-readonly": converters.flag_or_directory,
    "deny-read": converters.texts,
    "private-tmp": converters.flag,
    "strict-imports": converters.flag_or_all,
    "allow-localhost": converters.flag,
    "allow-udp": converters.flag,
    "allow-domain": converters.domains,
    "allow-import": converters.modules,
    "allow-write": converters.texts,
    "allow-read": converters.texts,
}

TABLES: dict[str, dict[str, Callable[[object], object]]] = {
    "session": {
        "source": converters.texts,
        "input": converters.text,
        "env": converters.patterns,
        "format": converters.format_name,
        "prompt": converters.flag,
        "strict": converters.flag,
        "no-interpolate": converters.flag,
        "timeout": converters.duration,
        "max-age": converters.duration,
        "require-locked-memory": converters.flag,
        "require-hardening": converters.flag,
        "allow-confined": converters.flag,
        "on-demand": converters.flag,
        "start-timeout": converters.duration,
    },
    "run": {
        "only": converters.patterns,
        "except": converters.patterns,
        "no-override": converters.flag,
        "isolated": converters.flag,
        "pass": converters.passed,
        "as-file": converters.as_file,
    },
    "agent": {
        "allow": converters.commands,
        "ask": converters.commands,
        "deny": converters.commands,
        "network": converters.domains,
        "write": converters.paths,
        "only": converters.patterns,
        "ask-timeout": converters.duration,
    },
    "guard": {**_PROFILE, "profile": converters.texts},
    "profiles": _PROFILE,  # of each table in it, by name
}
"""For each key of each table, what converts its value."""

TIGHTENING = ("guard", "profiles")
"""Tables that can only tighten what a user asks for: they need no permission."""

_NOT_IN_FILES = {
    "allow-unix": "a file cannot allow sockets: use --allow-unix or HOTENV_GUARD",
}

DEFAULTS: dict[str, object] = {
    "session.format": FORMATS[0],
    "session.prompt": False,
    "session.strict": False,
    "session.no-interpolate": False,
    "session.timeout": format_duration(DEFAULT_TIMEOUT),
    "session.max-age": None,
    "session.require-locked-memory": False,
    "session.require-hardening": False,
    "session.allow-confined": False,
    "session.on-demand": True,
    "session.start-timeout": format_duration(START_TIMEOUT),
    "run.no-override": False,
    "run.isolated": False,
    "agent.ask-timeout": format_duration(ASK_TIMEOUT),
}
"""What counts where a file says nothing, by dotted path. None: no limit."""


def check_tables(tables: Mapping[str, Any], where: str) -> dict[str, dict[str, Any]]:
    """The values of ``tables``, converted, by table and key; every table is there.

    ``where``: what an error says before the dotted path, such as ``/shop/hotenv.toml: ``.

    Error handling: raises UsageError for an unknown table or key, a wrong type or value.
    """
    values: dict[str, dict[str, Any]] = {name: {} for name in TABLES}
    for table, keys in tables.items():
        path = f"{where}{table}"
        _refuse_unknown(table, TABLES, path, "table")
        if table == "profiles":
            values[table] = _profiles(_as_table(keys, path), path)
        else:
            values[table] = _checked(keys, TABLES[table], path)
    _check_together(values["session"], where)
    _check_rules(values["agent"], where)
    if len(json.dumps(tables)) > SIZE_LIMIT:
        raise UsageError(f"{where.rstrip()} too large (limit {SIZE_LIMIT} characters)")
    return values


def _profiles(tables: Mapping[str, Any], path: str) -> dict[str, Any]:
    for name in tables:
        if name in PROFILES:
            raise UsageError(f"{path}.{name}: hotenv has a profile of this name: use another name")
    return {
        name: _checked(keys, TABLES["profiles"], f"{path}.{name}") for name, keys in tables.items()
    }


def _checked(
    keys: object, known: Mapping[str, Callable[[object], object]], path: str
) -> dict[str, Any]:
    values = {}
    for key, value in _as_table(keys, path).items():
        if key in _NOT_IN_FILES:
            raise UsageError(f"{path}.{key}: {_NOT_IN_FILES[key]}")
        _refuse_unknown(key, known, f"{path}.{key}", "key")
        values[key] = _converted(known[key], value, f"{path}.{key}")
    return values


def _as_table(value: object, path: str) -> Mapping[str, Any]:
    if not isinstance(value, dict):
        raise UsageError(f"{path}: must be a table")
    return value


def _refuse_unknown(word: str, known: Mapping[str, object], path: str, kind: str) -> None:
    if word not in known:
        hint = did_you_mean(word, known)
        raise UsageError(f"{path}: unknown {kind}{hint} (known: {', '.join(known)})")


def _converted(convert: Callable[[object], object], value: object, path: str) -> object:
    try:
        return convert(value)
    except FieldError as error:
        reason = f"{error.item}{error.item and ': '}{error.reason}"
    except (ValueError, UsageError) as error:
        reason = str(error)
    raise UsageError(f"{path}: {reason}")


def _check_together(session: Mapping[str, Any], where: str) -> None:
    given = [key for key in SOURCES if key in session]
    if len(given) > 1:
        raise UsageError(f"{where}session.{given[1]}: cannot be used with session.{given[0]}")
    if "format" in session and given not in (["source"], ["input"]):
        raise UsageError(f"{where}session.format: requires session.source or session.input")


def _check_rules(agent: Mapping[str, Any], where: str) -> None:
    try:
        Rules(*(agent.get(key, ()) for key in RULES))
    except FieldError as error:
        raise UsageError(f"{where}agent.{error.field}: {error.reason}") from None
