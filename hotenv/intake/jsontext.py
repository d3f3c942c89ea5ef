"""JSON -> bindings: one object, its names and values as they are. Pure."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any, NoReturn

from hotenv.intake.bindings import Binding, TextError

_SPACE = re.compile(r"[ \t\n\r]*")
_NESTED = "the value is an object or an array: it must be a string, a number, true or false"


def read_json(text: str) -> Iterator[Binding]:
    """The members of the object that is ``text``.

    A number is kept as it is written, ``true`` and ``false`` too, and ``null`` sets nothing.

    Error handling: raises TextError if it is not an object, or not JSON.
    """
    names: set[str] = set()
    for line, name, value in _Members(text):
        if name in names:
            yield Binding(line, None, None, problem="duplicate name")
        elif isinstance(value, dict | list):
            yield Binding(line, None, None, problem=_NESTED)
        elif value is None:
            yield Binding(line, name, None, problem="null sets nothing")
        else:
            word = str(value).lower() if isinstance(value, bool) else value
            yield Binding(line, name, word, literal=True)
        names.add(name)


def is_json(text: str) -> bool:
    """Whether ``text`` is an object or an array."""
    try:
        return isinstance(json.loads(text), dict | list)
    except (ValueError, RecursionError):
        return False


class _Members:
    """Iterates over the members of an object: the line of each, its name and its value.

    The decoder of the standard library reads each string and value; what is between them is read
    here, because it tells nobody where a member begins.
    """

    def __init__(self, text: str) -> None:
        self._text = text
        self._at = 0
        self._line, self._counted = 1, 0
        self._decoder = json.JSONDecoder(
            parse_float=str, parse_int=str, parse_constant=self._refuse_constant
        )

    def __iter__(self) -> Iterator[tuple[int, str, Any]]:
        self._expect("{", "must be a JSON object")
        if not self._next_is("}"):
            yield self._member()
            while not self._next_is("}"):
                self._expect(",")
                yield self._member()
        self._at += 1
        self._skip()
        if self._at < len(self._text):
            self._fail("text after the object")

    def _member(self) -> tuple[int, str, Any]:
        if not self._next_is('"'):
            self._fail()
        line = self._line_here()
        name = self._decode()
        self._expect(":")
        self._skip()
        return line, name, self._decode()

    def _decode(self) -> Any:  # noqa: ANN401 - whatever JSON holds
        try:
            value, self._at = self._decoder.raw_decode(self._text, self._at)
        except json.JSONDecodeError as error:
            self._at = error.pos
            self._fail()
        except RecursionError:
            self._fail(_NESTED)
        return value

    def _expect(self, character: str, otherwise: str = "not valid JSON") -> None:
        if not self._next_is(character):
            self._fail(otherwise)
        self._at += 1

    def _next_is(self, character: str) -> bool:
        self._skip()
        return self._text.startswith(character, self._at)

    def _skip(self) -> None:
        space = _SPACE.match(self._text, self._at)
        self._at = space.end() if space else self._at

    def _line_here(self) -> int:
        self._line += self._text.count("\n", self._counted, self._at)
        self._counted = self._at
        return self._line

    def _refuse_constant(self, _word: str) -> NoReturn:
        self._fail("not valid JSON")  # NaN and the like, which only Python takes

    def _fail(self, what: str = "not valid JSON") -> NoReturn:
        raise TextError(self._line_here(), what)
