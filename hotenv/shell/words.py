"""Commands and their words in the tree that shfmt makes of a text for bash. Pure."""

from __future__ import annotations

from attrs import field, frozen

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    Node = dict[str, Any]

_GLOBS = set("*?[]{}")
_ESCAPED_IN_QUOTES = set('$`"\\')


@frozen
class Position:
    """Where something is in a text, both counted from 1, the column in bytes."""

    line: int
    column: int


@frozen
class Command:
    """A simple command: its ``words``, None for each that is not plain, and where it begins.

    A word is plain if bash makes exactly one word of it, which stands there: no expansion, no
    pattern. ``assigned``: names of the variables that are set for it, or by it; None for each that
    cannot be told. Its ``repr`` shows no words.
    """

    words: tuple[str | None, ...] = field(repr=False)
    assigned: tuple[str | None, ...]
    position: Position


def commands(node: object) -> Iterator[Command]:
    """Every simple command in ``node``, wherever it stands, in the order of the text."""
    if isinstance(node, list):
        for each in node:
            yield from commands(each)
    if isinstance(node, dict):
        if node.get("Type") in _MAKERS:
            yield _MAKERS[node["Type"]](node)
        for each in node.values():
            yield from commands(each)


def _call(node: Node) -> Command:
    words = tuple(map(plain, node.get("Args", ())))
    return Command(words, _names(node.get("Assigns", ())), _position(node))


def _declaration(node: Node) -> Command:
    words = tuple(map(_declared, node.get("Args", ())))
    assigned = (word and word.partition("=")[0] for word in words)
    return Command((node["Variant"]["Value"], *words), tuple(assigned), _position(node))


def _declared(argument: Node) -> str | None:
    name = argument.get("Name")
    return name["Value"] if name else plain(argument["Value"])


def _loop(node: Node) -> Command:
    return Command((), (node["Name"]["Value"],), _position(node))


def _let(node: Node) -> Command:
    return Command(("let",), (), _position(node))


_MAKERS = {"CallExpr": _call, "DeclClause": _declaration, "LetClause": _let, "WordIter": _loop}


def _names(assignments: list[Node]) -> tuple[str, ...]:
    return tuple(each["Name"]["Value"] for each in assignments if each.get("Name"))


def _position(node: Node) -> Position:
    return Position(node["Pos"]["Line"], node["Pos"]["Col"])


def plain(word: Node) -> str | None:
    """What bash makes of ``word``, if it is plain."""
    text = ""
    for number, part in enumerate(word["Parts"]):
        piece = _piece(part)
        if piece is None or (number == 0 and part["Type"] == "Lit" and piece.startswith("~")):
            return None
        text += piece
    return text


def _piece(part: Node) -> str | None:
    kind, value = part["Type"], part.get("Value", "")
    if kind == "Lit":
        return _unquoted(value)
    if kind == "SglQuoted" and not (part.get("Dollar") and "\\" in value):
        return str(value)
    if kind == "DblQuoted" and not part.get("Dollar"):
        pieces = part.get("Parts", ())
        if all(each["Type"] == "Lit" for each in pieces):
            return "".join(_without_escapes(each["Value"], _ESCAPED_IN_QUOTES) for each in pieces)
    return None


def _unquoted(value: str) -> str | None:
    """What stands outside of quotes, unless it is a pattern."""
    outside = value.replace("\\\\", "").replace("{}", "")  # two braces stand for themselves
    bare = {char for at, char in enumerate(outside) if at == 0 or outside[at - 1] != "\\"}
    return None if bare & _GLOBS else _without_escapes(value, None)


def _without_escapes(value: str, escaped: set[str] | None) -> str:
    """``value`` without the backslashes that quote: any character, if ``escaped`` is None."""
    text, rest = "", value
    while rest:
        before, backslash, rest = rest.partition("\\")
        text += before
        if backslash and rest[:1] == "\n":
            rest = rest[1:]
        elif backslash:
            keep = "" if rest and (escaped is None or rest[0] in escaped) else backslash
            text, rest = text + keep + rest[:1], rest[1:]
    return text
