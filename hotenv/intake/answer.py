"""An answer, from the bytes that a terminal sends as they are typed. Pure.

With bracketed paste the terminal puts a marker before and after what is pasted. Then the paste is
the whole rest of the answer, and no key: all in it counts, newlines too, but for the last of them.
The terminal sends a carriage return for the Enter key and for each newline of a paste.
"""

from __future__ import annotations

from typing import NamedTuple

PASTE_BEGINS = b"\x1b[200~"
PASTE_ENDS = b"\x1b[201~"
ENTER = (b"\r", b"\n")

_BACKSPACE = b"\x7f\b"  # what that key sends, whatever the terminal is set to


class Keys(NamedTuple):
    """The keys to edit a line, as the terminal is set: the byte of each, or none."""

    erase: bytes
    erase_word: bytes
    kill: bytes
    end: bytes


class Answer:
    """An answer that comes in pieces.

    Once it has ``ended``: ``text``, or None if Ctrl-D ended it; whether it was ``pasted``; and the
    ``rest``, which came after it.
    """

    def __init__(self, keys: Keys) -> None:
        self._keys = keys
        self._typed = bytearray()
        self._paste = bytearray()
        self._held = b""  # may be the beginning of a marker
        self.pasted: bool = False
        self.ended: bool = False
        self.text: bytes | None = None
        self.rest: bytes = b""

    def feed(self, piece: bytes) -> None:
        """Take what has come now."""
        data = self._held + piece
        self._held = b""
        while data and not self.ended:
            if self.pasted:
                data = self._add_to_paste(data)
            elif data.startswith(PASTE_BEGINS):
                self.pasted = True
                data = data[len(PASTE_BEGINS) :]
            elif PASTE_BEGINS.startswith(data):
                self._held, data = data, b""
            else:
                self._press(data[:1])
                data = data[1:]
        self.rest = data

    @property
    def size(self) -> int:
        """Bytes that have come so far."""
        return len(self._typed) + len(self._paste)

    def _add_to_paste(self, data: bytes) -> bytes:
        """What is left of ``data`` after the paste."""
        start = max(0, len(self._paste) - len(PASTE_ENDS))
        self._paste += data
        end = self._paste.find(PASTE_ENDS, start)
        if end < 0:
            return b""
        lines = self._paste[:end].replace(b"\r\n", b"\n").replace(b"\r", b"\n")
        self._end(bytes(self._typed + lines.removesuffix(b"\n")))
        return bytes(self._paste[end + len(PASTE_ENDS) :])

    def _press(self, key: bytes) -> None:
        if key in ENTER:
            self._end(bytes(self._typed))
        elif key == self._keys.end:
            self._end(None)
        elif key == self._keys.kill:
            self._typed.clear()
        elif key == self._keys.erase_word:
            words = self._typed.rstrip()
            del self._typed[words.rfind(b" ") + 1 :]
        elif key == self._keys.erase or key in _BACKSPACE:
            while self._typed and _continues_a_character(self._typed.pop()):
                pass
        else:
            self._typed += key

    def _end(self, text: bytes | None) -> None:
        self.ended = True
        self.text = text


def _continues_a_character(byte: int) -> bool:
    """Whether it is a byte of UTF-8 after the first one of a character."""
    return byte & 0b1100_0000 == 0b1000_0000


def may_be_pasted(piece: bytes) -> bool:
    """Whether ``piece`` begins with a paste in brackets, or with the beginning of its marker."""
    return PASTE_BEGINS.startswith(piece[: len(PASTE_BEGINS)])
