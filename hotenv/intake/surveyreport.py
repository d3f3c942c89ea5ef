"""What ``serve --check`` prints: for each variable where its value would come from. Pure."""

from __future__ import annotations

import json

from hotenv.intake.contract import Contents

HEADER = ("NAME", "SOURCE", "LINE")


def as_rows(contents: Contents) -> list[tuple[str, str, str]]:
    """A row for each variable, below HEADER."""
    return [(origin.name, origin.source, str(origin.line)) for origin in contents.origins]


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
