"""What ``serve --check`` lists: where the value of each variable comes from. Pure."""

from __future__ import annotations

import json

from hotenv.intake.contract import Contents

HEADER = ("NAME", "SOURCE", "LINE", "INPUT")


def to_rows(contents: Contents) -> list[tuple[str, str, str, str]]:
    """A row for each variable, below HEADER."""
    return [
        (origin.name, origin.source, str(origin.line), origin.title) for origin in contents.origins
    ]


def to_json(contents: Contents) -> str:
    """An array with an object for each variable, and one for each other problem.

    Keys: ``name``, ``source``, ``line``, ``input`` (what messages call the text) and ``problems``
    (an array of texts). ``name`` and ``source`` are null if the problem concerns no variable,
    ``line`` if it concerns no line, and ``input`` if it concerns all texts together.
    """
    problems: dict[tuple[str, int | None], list[str]] = {}
    for problem in contents.problems:
        problems.setdefault((problem.title, problem.line), []).append(problem.what)
    entries: list[dict[str, object]] = [
        {
            "name": origin.name,
            "source": origin.source,
            "line": origin.line,
            "input": origin.title,
            "problems": problems.get((origin.title, origin.line), []),
        }
        for origin in contents.origins
    ]
    listed = {(origin.title, origin.line) for origin in contents.origins}
    entries += [
        {"name": None, "source": None, "line": line, "input": title or None, "problems": texts}
        for (title, line), texts in problems.items()
        if (title, line) not in listed
    ]
    return json.dumps(entries, indent=2) + "\n"
