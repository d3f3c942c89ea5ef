"""Which programs the commands of a session may name. Pure, and advisory.

It keeps those who send commands from mistakes, and is no boundary: an allowed program can do what
it likes, and there are many ways to run a program under another name. A guard is one.
"""

from __future__ import annotations

from collections.abc import Iterable
from fnmatch import fnmatchcase

from attrs import Attribute, field, frozen
from attrs.converters import optional

from hotenv.errors import FieldError, UsageError
from hotenv.handover.wellknown import LOADERS
from hotenv.shell.words import Position, commands
from hotenv.shell.wrappers import Unclear, inner_commands, is_wrapper, name_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

_OPAQUE = {"eval", "source", ".", "alias"}
"""Builtins that can run anything, or make something else of a name."""

_READERS = {"read", "mapfile", "readarray", "getopts"}
"""Builtins that set the variables whose names are among their arguments."""

_LEADING = ("PATH", *LOADERS)
"""Variables that say which program a name stands for, or make it run others."""


class DeniedError(UsageError):
    """A policy denies a command, which was not run. ``line`` and ``column``: where, from 1.

    The message shows nothing of the command.
    """

    def __init__(self, reason: str, position: Position) -> None:
        super().__init__(
            f"denied by the policy at line {position.line}, column {position.column}: {reason}"
        )
        self.line: int = position.line
        self.column: int = position.column


def _names(values: Iterable[str]) -> frozenset[str]:
    # A string is an iterable of strings too; the validator, which knows the field, refuses it.
    return values if isinstance(values, str) else frozenset(values)  # type: ignore[return-value]


def _are_words(_instance: object, attribute: Attribute[Any], values: object) -> None:
    if isinstance(values, str):
        raise FieldError(attribute.name, "must be a list of strings, not a string")
    if isinstance(values, frozenset) and not all(isinstance(v, str) and v for v in values):
        raise FieldError(attribute.name, "must be a list of non-empty strings")


@frozen
class Policy:
    """Which programs may be named.

    ``allow``: no others, builtins included; as they are written, names or paths. None: all.
    ``deny``: none of these names, however their paths are written. ``patterns``: no command whose
    plain words, joined by spaces, match one of these. What denies wins.

    Error handling: raises UsageError, which names the field, unless they are lists of strings.
    """

    allow: frozenset[str] | None = field(
        converter=optional(_names), validator=_are_words, default=None
    )
    deny: frozenset[str] = field(converter=_names, validator=_are_words, default=())
    patterns: frozenset[str] = field(converter=_names, validator=_are_words, default=())

    def check(self, tree: object, within: Position | None = None) -> list[tuple[str, Position]]:
        """Check all commands in ``tree``: the texts in it that are scripts again, and where.

        ``within``: where in the whole text it is, if it was such a text.

        Error handling: raises DeniedError for the first command that is denied.
        """
        scripts: list[tuple[str, Position]] = []
        for command in commands(tree):
            position = within or command.position
            self._check_assigned(command.assigned, position)
            scripts += ((text, position) for text in self._check_words(command.words, position))
        return scripts

    def _check_words(self, words: tuple[str | None, ...], position: Position) -> Iterator[str]:
        """Check one command, and what it runs. Gives the scripts that it runs."""
        if not words:
            return
        self._check_denied(words, position)
        self._check_assigned(_assigned(words), position)
        try:
            inner = [*inner_commands(words)]
        except Unclear:
            self._check_unclear(words, position)
            return
        only_runs = bool(inner) and is_wrapper(words) and "/" not in (words[0] or "")
        self._check_allowed(words[0], position, only_runs=only_runs)
        for each in inner:
            self._check_assigned(each.assigned, position)
            if each.text is not None:
                yield each.text
            yield from self._check_words(each.words, position)

    def _check_denied(self, words: tuple[str | None, ...], position: Position) -> None:
        name = name_of(words[0])
        if name in self.deny:
            raise DeniedError(f"'{name}' is denied", position)
        text = " ".join([name, *(word or "" for word in words[1:])])
        for pattern in self.patterns:
            if None not in words and fnmatchcase(text, pattern):
                raise DeniedError(f"'{pattern}' is denied", position)
            if None in words[1:] and name and fnmatchcase(name, pattern.split(" ")[0]):
                reason = f"a word is not plain, so it may match '{pattern}', which is denied"
                raise DeniedError(reason, position)

    def _check_unclear(self, words: tuple[str | None, ...], position: Position) -> None:
        if self.allow is not None:
            raise DeniedError("it is not clear which program is run", position)
        for word in words:
            if name_of(word) in self.deny:
                raise DeniedError(f"'{name_of(word)}' is denied", position)

    def _check_allowed(self, word: str | None, position: Position, *, only_runs: bool) -> None:
        if self.allow is None or only_runs:
            return
        if word is None:
            raise DeniedError("the name of the program is not plain", position)
        if word in _OPAQUE:
            raise DeniedError(f"it is not clear what '{word}' runs", position)
        if word not in self.allow:
            raise DeniedError("the program is not in the list of allowed ones", position)

    def _check_assigned(self, names: Iterable[str | None], position: Position) -> None:
        if self.allow is None:
            return
        for name in names:
            if name is None:
                raise DeniedError("it is not clear which variable is set", position)
            if any(fnmatchcase(name, leading) for leading in _LEADING):
                raise DeniedError("it sets a variable that affects which programs run", position)


def _assigned(words: tuple[str | None, ...]) -> Iterable[str | None]:
    """What may be names of variables that a builtin sets."""
    if words[:2] == ("printf", "-v"):
        return words[2:3]
    return filter(None, words[1:]) if words[0] in _READERS else ()
