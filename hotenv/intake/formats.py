"""The formats of a text -> bindings. Pure.

Only dotenv text has quotes, references and questions. In the others a value is what stands there.
"""

from __future__ import annotations

import codecs
from collections.abc import Callable, Iterator, Mapping, Sequence

from hotenv.intake.bindings import Binding, CostError, TextError, count_lines, too_expensive
from hotenv.intake.dotenvtext import read_dotenv
from hotenv.intake.jsontext import is_json, read_json

_ALONE = "name without '=' sets nothing"
_UTF_16 = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)


def read_bindings(data: bytes, form: str) -> Sequence[Binding]:
    """What ``data``, a text in the format ``form``, sets.

    Error handling: raises TextError, with the number of the line if there is one, if it is not
    UTF-8, obviously in another format, or runs into a limit.
    """
    try:
        text = _decode(data)
        if "\0" in text and form != "null":
            line = 1 + count_lines(text[: text.index("\0")])
            raise TextError(line, "contains a NUL character: did you mean '--format null'?")
        bindings = tuple(FORMATS[form](text))
        if form in ("dotenv", "docker") and _is_meant_as_json(text, bindings):
            raise TextError(None, "this is JSON: read it with '--format json'")
    except (CostError, MemoryError) as error:
        raise too_expensive(None, error) from None
    return bindings


def _decode(data: bytes) -> str:
    """The text, without a byte order mark at its beginning."""
    if data.startswith(_UTF_16):
        raise TextError(None, "this is UTF-16: convert it to UTF-8, as with 'iconv -f UTF-16'")
    try:
        return data.decode().removeprefix("\ufeff")
    except UnicodeDecodeError as error:
        line = 1 + count_lines(data[: error.start].decode())
    raise TextError(line, "not valid UTF-8")


def _is_meant_as_json(text: str, bindings: Sequence[Binding]) -> bool:
    if not text.lstrip().startswith(("{", "[")):
        return False
    return any(binding.name is None for binding in bindings) or is_json(text)


def _read_docker(text: str) -> Iterator[Binding]:
    """As ``docker run --env-file`` reads it: no quotes, and a comment only as a whole line.

    Source: pkg/kvfile of docker's command line. A name alone would be taken from the environment
    there.
    """
    for line, whole in enumerate(text.split("\n"), 1):
        entry = whole.removesuffix("\r").lstrip(" \t")
        if entry and not entry.startswith("#"):
            name, equals, value = entry.partition("=")
            if any(character.isspace() for character in name):
                yield Binding(line, None, None, problem="white space in the name")
            else:
                yield _binding(line, name, value if equals else None)


def _read_null(text: str) -> Iterator[Binding]:
    """``NAME=value``, each with a NUL at its end, as ``env -0`` prints them. Each is one line."""
    *entries, rest = text.split("\0")
    for line, entry in enumerate(entries, 1):
        name, equals, value = entry.partition("=")
        yield _binding(line, name, value if equals else None)
    if rest:
        raise TextError(len(entries) + 1, "no NUL character at the end: was the text cut short?")


def _binding(line: int, name: str, value: str | None) -> Binding:
    return Binding(line, name, value, literal=True, problem=_ALONE if value is None else "")


FORMATS: Mapping[str, Callable[[str], Iterator[Binding]]] = {
    "dotenv": read_dotenv,
    "json": read_json,
    "docker": _read_docker,
    "null": _read_null,
}
"""What ``serve --format`` can read."""
