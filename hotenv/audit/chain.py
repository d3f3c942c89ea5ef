"""The lines of an audit log, each of which proves the one before. Pure.

Rules of the game:

1. A line is a JSON object in the form of RFC 8785, of strings and integers only: so its bytes, and
   with them its hash, follow from its content. ``seq`` counts from 1, ``previous`` is the SHA-256
   of the line before, in hexadecimal.
2. A log may go on in another file. That one begins with a line whose ``what`` is ``continued``.
3. A line that a crash left incomplete is not part of the chain. The next writer ends it with a
   newline, and the next line is ``torn``: it has the hash of what is there.
4. A line has less than LONGEST_LINE bytes: texts and lists that are too long are cut off, and end
   with how much is missing and the SHA-256 of the whole.
5. The head, how many lines there are and the hash of the last, is kept elsewhere. It is written
   after the line, so it may be one behind, and no more.
"""

from __future__ import annotations

import json
from hashlib import sha256

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping
    from typing import Final

LONGEST_LINE: Final = 1024 * 1024
"""Bytes, its newline included."""

_LONGEST_TEXT = 4096  # characters, of up to 6 bytes each
_LONGEST_LIST = 32768  # characters, and one more for each text

CONTINUED = "continued"
TORN = "torn"
START = "0" * 64
"""In place of the hash of a line before the first."""


class Head:
    """How many lines there are, and the hash of the last one."""

    __slots__ = ("count", "hash")

    def __init__(self, count: int = 0, hash: str = START) -> None:  # noqa: A002 - it is one
        self.count: int = count
        self.hash: str = hash

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Head) and (self.count, self.hash) == (other.count, other.hash)

    def __hash__(self) -> int:
        return hash((self.count, self.hash))

    def after(self, line: bytes) -> Head:
        """The head when ``line`` is the last one."""
        return Head(self.count + 1, digest(line))

    def encode(self) -> bytes:
        """One line of text."""
        return f"{self.count} {self.hash}\n".encode()

    @classmethod
    def decode(cls, data: bytes) -> Head | None:
        """What :meth:`encode` made of it, or None."""
        count, _, text = data.decode("ascii", "replace").strip().partition(" ")
        return cls(int(count), text) if count.isdecimal() and is_hash(text) else None


def digest(line: bytes) -> str:
    """The SHA-256 of ``line``, without its newline."""
    return sha256(line).hexdigest()


def is_hash(text: str) -> bool:
    """Whether ``text`` could be what :func:`digest` returns."""
    return len(text) == len(START) and set(text) <= set("0123456789abcdef")


def encode(fields: Mapping[str, object], head: Head) -> bytes:
    """The line that follows ``head``, without a newline. Fields that are None are left out."""
    known = {name: _clean(value) for name, value in fields.items() if value is not None}
    return _canonical({**known, "seq": head.count + 1, "previous": head.hash})


def decode(line: bytes) -> dict[str, object] | None:
    """The fields of ``line``, or None if it is not a line of an audit log."""
    try:
        fields = json.loads(line)
    except (ValueError, RecursionError):
        return None
    kinds = {"seq": int, "previous": str, "what": str}
    valid = isinstance(fields, dict) and all(type(fields.get(n)) is k for n, k in kinds.items())
    return fields if valid and _canonical(fields) == line else None


def torn_hash(torn: list[bytes]) -> str:
    """What stands for ``torn``, lines that are none of a log, in the next one that is."""
    return digest(b"\n".join(torn))


def _clean(value: object) -> object:
    """``value`` as it can be in a line. Texts that were not decodable have no form in UTF-8."""
    if isinstance(value, str):
        text = value.encode("utf-8", "backslashreplace").decode()
        missing = len(text) - _LONGEST_TEXT
        return text if missing <= 0 else text[:_LONGEST_TEXT] + _rest(missing, text)
    return [*_beginning(value)] if isinstance(value, (list, tuple)) else value


def _beginning(texts: Iterable[str]) -> Iterator[str]:
    """As many of ``texts`` as there may be."""
    clean = [text.encode("utf-8", "backslashreplace").decode() for text in texts]
    whole = "\0".join(clean)
    missing = len(whole) - _LONGEST_LIST
    room = _LONGEST_LIST
    for text in clean:
        if room < 0:
            break
        yield text[:room]
        room -= len(text) + 1
    if missing > 0:
        yield _rest(missing, whole)


def _rest(missing: int, whole: str) -> str:
    """What stands for the last ``missing`` characters of ``whole``."""
    return f"... {missing} more characters, SHA-256 of all {digest(whole.encode())}"


def _canonical(fields: Mapping[str, object]) -> bytes:
    # What RFC 8785 asks for, as all names are ASCII and there are no other numbers than integers.
    text = json.dumps(fields, ensure_ascii=False, sort_keys=True, separators=(",", ":"))
    return text.encode("utf-8", "backslashreplace")
