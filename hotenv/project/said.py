"""What the tables of a project's file say, as they stand there, checked or not. Pure."""

from __future__ import annotations

import json

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

_LEVELS = 4  # of tables in tables that are shown one by one


def flattened(tables: Mapping[str, Any], levels: int = _LEVELS) -> dict[str, Any]:
    """The values of ``tables``, which may be unchecked, as they stand there, by dotted path."""
    flat: dict[str, Any] = {}
    for name, value in tables.items():
        if isinstance(value, dict) and levels:
            below = flattened(value, levels - 1)
            flat |= {f"{name}.{path}": each for path, each in below.items()}
        else:
            flat[name] = value
    return flat


def shown(value: object) -> str:
    """A value as the file has it."""
    return json.dumps(value, ensure_ascii=False, default=str)


def words_of_source(tables: Mapping[str, Any]) -> list[str]:
    """The command that is the source; empty if none is. ``tables`` may be unchecked."""
    words = _session(tables).get("source")
    return [each for each in words if isinstance(each, str)] if isinstance(words, list) else []


def words_for_files(tables: Mapping[str, Any]) -> list[str]:
    """The words that may name a file which is run or read. ``tables`` may be unchecked."""
    read = _session(tables).get("input")
    return [*words_of_source(tables), *([read] if isinstance(read, str) else [])]


def _session(tables: Mapping[str, Any]) -> Mapping[str, Any]:
    session = tables.get("session")
    return session if isinstance(session, dict) else {}
