"""One form of one value, to be found in a text. Pure."""

from __future__ import annotations

from itertools import groupby, product

TYPE_CHECKING = False
if TYPE_CHECKING:
    from hotenv.redaction.forms import Atom, Form

HEAD = 4
"""Bytes of the beginnings by which a needle is looked for at the end of a text."""

_LONGEST_ANCHOR = 32  # bytes: a search gains nothing from more
_SHORT_ANCHOR = 4
_MOST_ANCHORS = 64


class Needle:
    """Finds a form around its anchor: a part of it that is written in one way, or in few.

    ``wraps``: line breaks may stand anywhere in it, so it is looked for in a text without them.
    ``longest``: bytes that it takes at most.
    """

    __slots__ = ("_after", "_atoms", "_before", "anchors", "longest", "name", "wraps")

    def __init__(self, name: str, form: Form, *, wraps: bool) -> None:
        self.name: str = name
        self.wraps: bool = wraps
        self._atoms = _merged(form)
        self.longest: int = sum(max(map(len, atom)) for atom in self._atoms)
        atoms, first, end = _anchored(self._atoms)
        self._before, self._after = atoms[:first][::-1], atoms[end:]
        self.anchors: list[bytes] = list(dict.fromkeys(map(b"".join, product(*atoms[first:end]))))

    def heads(self) -> set[bytes]:
        """What it can begin with: HEAD bytes, or all of a shorter one."""
        heads = {b""}
        for atom in self._atoms:
            if all(len(head) >= HEAD for head in heads):
                break
            heads = {
                head if len(head) >= HEAD else (head + spelling)[:HEAD]
                for head in heads
                for spelling in atom
            }
        return heads

    def around(self, text: bytes, start: int, end: int) -> tuple[int, int] | None:
        """Where it stands in ``text``, if it does around an anchor from ``start`` to ``end``."""
        starts = {start}
        for atom in self._before:
            starts = {
                place - len(spelling)
                for place in starts
                for spelling in atom
                if place >= len(spelling) and text.startswith(spelling, place - len(spelling))
            }
            if not starts:
                return None
        ends, _ = _follow(self._after, text, {end})
        return (min(starts), max(ends)) if ends else None

    def begins(self, text: bytes, start: int) -> bool:
        """Whether ``text`` from ``start`` to its end may be a part of it, with more to come."""
        return _follow(self._atoms, text, {start})[1]


def _follow(atoms: list[Atom], text: bytes, places: set[int]) -> tuple[set[int], bool]:
    """Where ``atoms`` end that stand at one of ``places``; whether one was cut off by the end."""
    cut = False
    for atom in atoms:
        following = set()
        for place in places:
            for spelling in atom:
                if text.startswith(spelling, place):
                    following.add(place + len(spelling))
                elif len(text) - place < len(spelling) and spelling.startswith(text[place:]):
                    cut = True
        places = following
        if not places:
            break
    return places, cut


def _merged(form: Form) -> list[Atom]:
    """``form``, with what is written in one way joined."""
    merged: list[Atom] = []
    for is_plain, atoms in groupby(form, lambda atom: len(atom) == 1):
        if is_plain:
            merged.append((b"".join(spelling for (spelling,) in atoms),))
        else:
            merged += atoms
    return merged


def _anchored(atoms: list[Atom]) -> tuple[list[Atom], int, int]:
    """``atoms``, of which those from the first index to the second are the anchor."""
    literals = [(len(atom[0]), -index) for index, atom in enumerate(atoms) if len(atom) == 1]
    length, negative = max(literals, default=(0, 0))
    index = -negative
    if length >= _SHORT_ANCHOR:
        text = atoms[index][0]
        anchor, rest = text[:_LONGEST_ANCHOR], text[_LONGEST_ANCHOR:]
        split = [(anchor,), (rest,)] if rest else [(anchor,)]
        return [*atoms[:index], *split, *atoms[index + 1 :]], index, index + 1
    return atoms, *_best_window(atoms)


def _best_window(atoms: list[Atom]) -> tuple[int, int]:
    """The atoms that can be written in few ways and are the longest together."""
    best = (0, 0, 1)
    for first in range(len(atoms)):
        ways, length = 1, 0
        for end in range(first, len(atoms)):
            ways *= len(atoms[end])
            length += min(map(len, atoms[end]))
            if ways > _MOST_ANCHORS or length > 2 * _SHORT_ANCHOR:
                break
            best = max(best, (length, -first, end + 1))
    return -best[1], best[2]
