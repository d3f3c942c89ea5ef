"""Finds many needles in a text, in a time that hardly depends on how many they are. Pure.

A text is read as words of 8 or 4 bytes. Wherever a needle stands, one of the words in it is known:
a literal part of it is twice as long, so a whole word is in that, and all words that it can be cut
into are in one set. Only the few needles whose literal parts are shorter are searched for one by
one.
"""

from __future__ import annotations

from bisect import bisect_right
from itertools import accumulate, compress, count

from hotenv.redaction.needle import HEAD

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from hotenv.redaction.needle import Needle

_BREAKS = b"\r\n"
_SLACK = 8192  # bytes
_FEW = 24  # searches, that take as long as reading words of 4 bytes instead of 8
_WORDS = {8: "Q", 4: "I"}  # formats of struct, by their bytes


class Finder:
    """Finds ``needles``."""

    def __init__(self, needles: Iterable[Needle]) -> None:
        needles = list(needles)
        self.longest: int = 2 * max((each.longest for each in needles), default=0) + _SLACK
        """Bytes of a needle, with line breaks or whatever else stands in it, that are found."""
        self._sieve = _Sieve(needles)
        self._beginnings = [
            (wraps, _Beginnings([each for each in needles if each.wraps is wraps]))
            for wraps in (False, True)
        ]

    def find(self, text: bytes) -> Iterator[tuple[int, int, str]]:
        """Start, end and name of each needle in ``text``. They can overlap."""
        joined = _Joined(text)
        for needle, anchor, at in self._sieve.anchors(joined):
            place = joined.text if needle.wraps else text
            span = needle.around(place, at, at + len(anchor))
            if span is not None and needle.wraps:
                yield joined.place(span[0]), joined.place(span[1] - 1) + 1, needle.name
            elif span is not None:
                yield *span, needle.name

    def beginnings(self, text: bytes) -> Iterator[tuple[int, int, str]]:
        """Where at its end ``text`` may begin a needle, with how many bytes of that, and its name.

        Less than HEAD bytes have no name: many a needle begins with them.
        """
        for wraps, beginnings in self._beginnings:
            joined = text.translate(None, _BREAKS) if wraps else text
            for length, name in beginnings.at_end(joined):
                start = _last(text, length, self.longest) if wraps else len(text) - length
                yield start, length, name


class _Sieve:
    """Finds the anchors of needles."""

    def __init__(self, needles: list[Needle]) -> None:
        self._size = 8
        if sum(len(anchor) < 15 for needle in needles for anchor in needle.anchors) > _FEW:
            self._size = 4
        self._others: list[tuple[Needle, bytes]] = []  # too short for that
        self._by_word: dict[int, list[tuple[Needle, bytes, int]]] = {}
        for needle in needles:
            for anchor in needle.anchors:
                self._add(needle, anchor)

    def _add(self, needle: Needle, anchor: bytes) -> None:
        if len(anchor) < 2 * self._size - 1:
            self._others.append((needle, anchor))
            return
        for shift in range(self._size):
            (word,) = self._read(anchor[shift : shift + self._size])
            self._by_word.setdefault(word, []).append((needle, anchor, shift))

    def _read(self, text: bytes) -> memoryview[int]:
        whole = len(text) // self._size * self._size
        return memoryview(text)[:whole].cast(_WORDS[self._size])  # type: ignore[call-overload, no-any-return]

    def anchors(self, joined: _Joined) -> Iterator[tuple[Needle, bytes, int]]:
        """Each anchor, and where it stands in the text that its needle is looked for in."""
        words = self._read(joined.text)
        places = compress(count(), map(self._by_word.__contains__, words))
        # Mostly there is none, which is told sooner.
        for index in () if self._by_word.keys().isdisjoint(words) else places:
            for needle, anchor, shift in self._by_word[words[index]]:
                at = index * self._size - shift
                if at < 0 or not joined.text.startswith(anchor, at):
                    continue
                place = at if needle.wraps else joined.place(at)
                if needle.wraps or joined.original.startswith(anchor, place):
                    yield needle, anchor, place
        for needle, anchor in self._others:
            text = joined.text if needle.wraps else joined.original
            at = text.find(anchor)
            while at >= 0:
                yield needle, anchor, at
                at = text.find(anchor, at + 1)


class _Beginnings:
    """Finds what may be the beginning of a needle at the end of a text."""

    def __init__(self, needles: list[Needle]) -> None:
        self._needles: dict[bytes, list[Needle]] = {}
        for needle in needles:
            for head in needle.heads():
                self._needles.setdefault(head, []).append(needle)
        self._shorter = {head[:size] for head in self._needles for size in range(1, len(head))}
        self._reach = {
            head: max(each.longest for each in found) for head, found in self._needles.items()
        }

    def at_end(self, text: bytes) -> Iterator[tuple[int, str]]:
        """How many bytes at the end of ``text`` may be one, for each that is found, and of which.

        See :meth:`Finder.beginnings`.
        """
        for length in range(1, min(HEAD, len(text) + 1)):
            if text[-length:] in self._shorter:
                yield length, ""
        for head, needles in self._needles.items():
            at = text.find(head, max(0, len(text) - self._reach[head]))
            while at >= 0:
                begun = next((needle for needle in needles if needle.begins(text, at)), None)
                if begun is not None:
                    yield len(text) - at, begun.name
                    break  # those that begin later are in it
                at = text.find(head, at + 1)


class _Joined:
    """A text without line breaks."""

    def __init__(self, text: bytes) -> None:
        self.original: bytes = text
        self.text: bytes = text.translate(None, _BREAKS)
        self._removed: list[int] | None = None

    def place(self, index: int) -> int:
        """Where the byte at ``index`` stood."""
        if self._removed is None:
            lines = self.original.replace(b"\r", b"\n").split(b"\n")
            self._removed = list(accumulate(map(len, lines)))
        return index + bisect_right(self._removed, index)


def _last(text: bytes, count: int, most: int) -> int:
    """Where the last ``count`` bytes of ``text`` begin that are no line breaks.

    If it is farther than ``most`` bytes from the end, somewhere beyond that.
    """
    at = len(text)
    while count and len(text) - at <= most:
        at -= 1
        count -= text[at] not in _BREAKS
    return at
