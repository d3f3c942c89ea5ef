"""Dotenv text -> the variables it sets. Pure: the caller's environment comes in as a mapping.

The grammar and the interpolation are python-dotenv's. Its high-level functions drop a bad line with
a log message; here a bad line is an error with its number. Neither the names nor the text of the
input are in any message: an unquoted PEM key turns key material into names.
"""

from __future__ import annotations

import io
import re
from collections import ChainMap
from collections.abc import Iterator, Mapping

from attrs import frozen
from dotenv.parser import Binding, parse_stream
from dotenv.variables import Variable, parse_variables

from hotenv.errors import InputError
from hotenv.snapshot import Snapshot
from hotenv.variables import why_unfit

_NEWLINE = re.compile(r"\r\n|\n|\r")  # as python-dotenv counts
_MOST_SHOWN = 10


@frozen
class Contents:
    """What a dotenv text holds, and what its author may not have meant."""

    snapshot: Snapshot
    warnings: tuple[str, ...]


def parse_dotenv(data: bytes, environ: Mapping[str, str], *, interpolate: bool = True) -> Contents:
    """Parse ``data``. ``${NAME}`` means an earlier line of it, or else ``environ``.

    Without ``interpolate`` a value is what the grammar gives, byte for byte.

    Error handling: raises InputError, with the numbers of all bad lines, if ``data`` is not UTF-8
    or not dotenv text, or sets what no environment can hold.
    """
    text = _decode(data)
    errors: list[str] = []
    warnings: list[str] = []
    values: dict[str, str | None] = {}
    known = ChainMap[str, str | None](values, dict(environ))
    for line, binding in _bindings(text):
        if binding.error:
            errors.append(f"line {line} is not NAME=value (is a quote left open?)")
        elif binding.key is None:
            continue
        elif binding.value is None:
            values[binding.key] = None
            warnings.append(f"line {line} has a name without '=' and sets nothing")
        else:
            value = binding.value
            if interpolate:
                value, complete = _interpolate(value, known)
                if not complete:
                    warnings.append(f"line {line} refers to a variable that is set nowhere")
            if reason := why_unfit(binding.key, value):
                errors.append(f"line {line} has {reason}, which no environment can hold")
            values[binding.key] = value
    if errors:
        raise InputError(_summary(errors))
    variables = {name: value for name, value in values.items() if value is not None}
    if not variables:
        warnings.append("there are no variables in it")
    return Contents(Snapshot(variables), tuple(warnings))


def _decode(data: bytes) -> str:
    try:
        return data.decode()
    except UnicodeDecodeError as error:
        line = 1 + len(_NEWLINE.findall(data[: error.start].decode()))
    raise InputError(f"standard input: line {line} is not UTF-8")


def _bindings(text: str) -> Iterator[tuple[int, Binding]]:
    """Each binding with the number of the line on which it begins.

    python-dotenv's own number is that of the blank lines before it, and too high after a bad line
    that ends with CRLF, for it takes the two characters apart.
    """
    line, between = 1, ""  # between where the last binding began and where this one does
    for binding in parse_stream(io.StringIO(text, newline="")):
        entry = binding.original.string
        rest = entry.lstrip()
        line += len(_NEWLINE.findall(between + entry[: len(entry) - len(rest)]))
        yield line, binding
        between = rest


def _interpolate(value: str, known: Mapping[str, str | None]) -> tuple[str, bool]:
    """``value`` with each ``${NAME}`` replaced, and whether every one was found."""
    atoms = list(parse_variables(value))
    complete = all(
        known.get(atom.name) is not None or atom.default is not None
        for atom in atoms
        if isinstance(atom, Variable)
    )
    return "".join(atom.resolve(known) for atom in atoms), complete


def _summary(errors: list[str]) -> str:
    more = len(errors) - _MOST_SHOWN
    shown = "; ".join(errors[:_MOST_SHOWN])
    return f"standard input: {shown}" + (f"; and {more} more" if more > 0 else "")
