"""What a terminal obeys and does not show, in a text that may be cut off anywhere. Pure."""

from __future__ import annotations

import re
from bisect import bisect_right

# A byte of C1 is none if it is a part of a character in UTF-8; there, 0xc2 announces it.
_C1 = rb"(?:\xc2|(?<![\x80-\xff]))"
_CSI = rb"(?:\x1b\[|" + _C1 + rb"\x9b)[0-?]*[ -/]*"
# OSC, DCS, APC, PM, SOS. A longer one is text: nobody hides a name in it.
_STRING = (
    rb"(?:\x1b[\]PX^_]|"
    + _C1
    + rb"[\x90\x98\x9d-\x9f])(?:[^\x07\x1b\x9c]|(?<=[\x80-\xff])\x9c){0,4096}"
)
_SHORT = rb"\x1b(?:[ -/]+[0-~]|[0-OQ-WYZ\\`-~])"

_SEQUENCE = re.compile(
    rb"(" + _CSI + rb"[@-~]|" + _SHORT + rb")|" + _STRING + rb"(?:\x07|\x1b\\|\x9c)"
)
_UNFINISHED = re.compile(rb"(?:" + _CSI + rb"|" + _STRING + rb"\x1b?|\x1b[ -/]*|\xc2)\Z")
_STARTS = b"\x1b\x90\x98\x9b\x9d\x9e\x9f"
_OTHERS = bytes(byte for byte in range(256) if byte not in _STARTS)
_LONGEST = 4096 + 8  # bytes of an unfinished one


class View:
    """A text as a terminal shows it.

    ``unfinished``: where in the original the sequence begins that its end cuts off; its length if
    there is none.
    """

    def __init__(self, original: bytes) -> None:
        from_here = max(0, len(original) - _LONGEST)
        cut = _UNFINISHED.search(original, from_here)
        self.unfinished: int = cut.start() if cut else len(original)
        self._starts: list[int] = []  # in the text: where a sequence was
        self._totals = [0]  # bytes removed so far
        pieces = []
        at = 0
        for sequence in _SEQUENCE.finditer(original, 0, self.unfinished):
            start, end = sequence.span()
            pieces.append(original[at:start])
            self._starts.append(start - self._totals[-1])
            self._totals.append(self._totals[-1] + end - start)
            at = end
        pieces.append(original[at : self.unfinished])
        self.text: bytes = b"".join(pieces)

    def place(self, index: int) -> int:
        """Where the byte at ``index`` stands in the original."""
        return index + self._totals[bisect_right(self._starts, index)]


def view(text: bytes) -> View | None:
    """``text`` as a terminal shows it, if there is a difference."""
    return None if _is_plain(text) and not text.endswith(b"\xc2") else View(text)


def instructions(text: bytes) -> bytes:
    """The sequences in ``text``, but for those that have a text themselves."""
    if _is_plain(text):
        return b""
    return b"".join(sequence[1] or b"" for sequence in _SEQUENCE.finditer(text))


def _is_plain(text: bytes) -> bool:
    """Whether no sequence begins in ``text``: soon told, and mostly so."""
    return b"\x1b" not in text if text.isascii() else not text.translate(None, _OTHERS)
