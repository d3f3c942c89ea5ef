"""Dotenv text -> what stands on which line. Pure.

The grammar is python-dotenv's. Its high-level functions drop a bad line with a log message; here a
bad line is kept, with its number, and without a word of it.
"""

from __future__ import annotations

import io
import re
from collections.abc import Iterator

import dotenv.parser
from attrs import field, frozen

from hotenv.errors import InputError

_NEWLINE = re.compile(r"\r\n|\n|\r")  # as python-dotenv counts


@frozen
class Binding:
    """What begins on ``line``. No ``name``: a bad line. No ``value``: a name without ``=``."""

    line: int
    name: str | None = field(repr=False)
    value: str | None = field(repr=False)


def read_bindings(data: bytes) -> tuple[Binding, ...]:
    """Everything in ``data`` but comments and blank lines, in order.

    Error handling: raises InputError, with the number of the line, if ``data`` is not UTF-8.
    """
    return tuple(
        Binding(line, None if binding.error else binding.key, binding.value)
        for line, binding in _numbered(_decode(data))
        if binding.error or binding.key is not None
    )


def _decode(data: bytes) -> str:
    try:
        return data.decode()
    except UnicodeDecodeError as error:
        line = 1 + len(_NEWLINE.findall(data[: error.start].decode()))
    raise InputError(f"standard input: line {line} is not UTF-8")


def _numbered(text: str) -> Iterator[tuple[int, dotenv.parser.Binding]]:
    """Each of python-dotenv's bindings with the number of the line on which it begins.

    python-dotenv's own number is that of the blank lines before it, and too high after a bad line
    that ends with CRLF, for it takes the two characters apart.
    """
    line, between = 1, ""  # between where the last binding began and where this one does
    for binding in dotenv.parser.parse_stream(io.StringIO(text, newline="")):
        entry = binding.original.string
        rest = entry.lstrip()
        line += len(_NEWLINE.findall(between + entry[: len(entry) - len(rest)]))
        yield line, binding
        between = rest
