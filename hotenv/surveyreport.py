"""What ``serve --check`` prints: for each variable where its value would come from. Pure."""

from __future__ import annotations

import json
from collections.abc import Sequence

from hotenv.contract import Contents
from hotenv.printable import printable

_HEADER = ("NAME", "SOURCE", "LINE")


def as_table(contents: Contents) -> str:
    """A line for each variable, below a header; nothing if there is none."""
    rows = [(printable(o.name), o.source, str(o.line)) for o in contents.origins]
    return _aligned([_HEADER, *rows]) if rows else ""


def _aligned(rows: Sequence[tuple[str, str, str]]) -> str:
    names = max(len(name) for name, _, _ in rows)
    sources = max(len(source) for _, source, _ in rows)
    return "".join(f"{name:{names}}  {source:{sources}}  {line}\n" for name, source, line in rows)


def as_json(contents: Contents) -> str:
    """An array with an object for each variable, and one for each other problem.

    Keys: ``name``, ``source``, ``line``, ``problems`` (an array of texts). What is not about a
    variable has no name and no source, what is not about a line no line: null.
    """
    entries: list[dict[str, object]] = [
        {
            "name": origin.name,
            "source": origin.source,
            "line": origin.line,
            "problems": [p.what for p in contents.problems if p.line == origin.line],
        }
        for origin in contents.origins
    ]
    lines = {origin.line for origin in contents.origins}
    entries += [
        {"name": None, "source": None, "line": problem.line, "problems": [problem.what]}
        for problem in contents.problems
        if problem.line not in lines
    ]
    return json.dumps(entries, indent=2) + "\n"
