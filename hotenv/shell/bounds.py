"""The head and the tail of an output of any length, in bounded memory. Pure."""

from __future__ import annotations

from collections import deque

from attrs import frozen

_CONTINUES = range(0x80, 0xC0)
"""Bytes of UTF-8 that are not the first of a character."""

_LONGEST = 4  # bytes of a character


@frozen
class Omitted:
    """What was left out of an output: how many ``bytes`` and newlines (``lines``), and where.

    ``at``: the offset in what was kept.
    """

    bytes: int = 0
    lines: int = 0
    at: int = 0


class Bounds:
    """Takes output piece by piece, and keeps up to ``limit`` bytes of it: all if that is None.

    Half of them are of the head and half of the tail. No character of UTF-8 is cut: of one at an
    edge, nothing is kept.
    """

    def __init__(self, limit: int | None) -> None:
        self._limit = limit
        self._head = bytearray()
        self._tail: deque[bytes] = deque()
        self._tail_size = 0
        self._dropped = 0
        self._dropped_lines = 0

    def feed(self, piece: bytes) -> None:
        """Take the next ``piece``."""
        if self._limit is None:
            self._head += piece
            return
        room = self._limit - self._limit // 2 - len(self._head)
        if room > 0:
            self._head += piece[:room]
            piece = piece[room:]
        if piece:
            self._tail.append(piece)
            self._tail_size += len(piece)
            self._drop(whole=True)

    def kept(self) -> tuple[bytes, Omitted]:
        """What was kept, and what was left out. Nothing can be fed after this."""
        if self._limit is None:
            return bytes(self._head), Omitted()
        head = bytes(self._head)
        self._drop(whole=False)
        tail = b"".join(self._tail)
        if not self._dropped:
            return head + tail, Omitted()
        end, start = _complete(head), _first_start(tail)
        lost = head[end:] + tail[:start]
        omitted = Omitted(
            bytes=self._dropped + len(lost),
            lines=self._dropped_lines + lost.count(b"\n"),
            at=end,
        )
        return head[:end] + tail[start:], omitted

    def _drop(self, *, whole: bool) -> None:
        """Let go of the oldest of the tail: of ``whole`` pieces, or of all that is too much."""
        surplus = self._tail_size - (self._limit or 0) // 2
        while surplus > 0 and self._tail and (len(self._tail[0]) <= surplus or not whole):
            piece = self._tail.popleft()
            gone, rest = piece[:surplus], piece[surplus:]
            if rest:
                self._tail.appendleft(rest)
            self._tail_size -= len(gone)
            self._dropped += len(gone)
            self._dropped_lines += gone.count(b"\n")
            surplus -= len(gone)


def _complete(text: bytes) -> int:
    """The length of ``text`` without a character that is cut off at its end."""
    for length in range(1, min(_LONGEST, len(text) + 1)):
        byte = text[-length]
        if byte not in _CONTINUES:
            return len(text) - length if _length(byte) > length else len(text)
    return len(text)


def _length(first: int) -> int:
    """How many bytes the character has that begins with this byte."""
    return 1 + (first >= 0xC0) + (first >= 0xE0) + (first >= 0xF0)


def _first_start(text: bytes) -> int:
    """Where the first character in ``text`` begins, unless it is no UTF-8."""
    start = 0
    while start < min(_LONGEST - 1, len(text)) and text[start] in _CONTINUES:
        start += 1
    return start
