"""Dotenv text -> bindings. Pure.

The grammar is python-dotenv's. Its high-level functions drop a bad line with a log message; here a
bad line is kept, with its number, and without a word of it.
"""

from __future__ import annotations

import io
import re
from collections.abc import Iterator

import dotenv.parser

from hotenv.intake.bindings import Binding, CostError, count_lines, too_expensive

_BLANK = re.compile(r"\s*")
_BAD = "not NAME=value (unclosed quote?)"
_ALONE = "name without '=' sets nothing"


def read_dotenv(text: str) -> Iterator[Binding]:
    """Everything in ``text`` but comments and blank lines, in order.

    CRLF is one newline wherever it stands, as it is for python-dotenv in a file.

    Error handling: raises TextError, with the number of the line, at a limit.
    """
    for line, binding in _numbered(text.replace("\r\n", "\n")):
        if binding.error:
            yield Binding(line, None, None, problem=_BAD)
        elif binding.key is not None:
            yield Binding(line, binding.key, binding.value, problem=_ALONE)


def _numbered(text: str) -> Iterator[tuple[int, dotenv.parser.Binding]]:
    """Each of python-dotenv's bindings with the number of the line on which it begins.

    python-dotenv's own number is that of the blank lines before it.
    """
    line, between = 1, ""  # between where the last binding began and where this one does
    end = 0  # of the last binding
    try:
        for binding in dotenv.parser.parse_stream(io.StringIO(text, newline="")):
            entry = binding.original.string
            rest = entry.lstrip()
            line += count_lines(between + entry[: len(entry) - len(rest)])
            yield line, binding
            between = rest
            end += len(entry)
    except (CostError, MemoryError) as error:
        blank = _BLANK.match(text, end)
        between += blank.group() if blank else ""
        raise too_expensive(line + count_lines(between), error) from None
