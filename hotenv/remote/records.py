"""Records that end with NUL, as the other side sends them. Pure."""

from __future__ import annotations

LONGEST_GREETING = 64 * 1024
"""Bytes that a login may print before the first record."""

LONGEST_RECORD = 64 * 1024
"""Bytes of a record: many more than one has."""


class Records:
    """Makes records of what is read, piece by piece. What is too long for one is cut off."""

    def __init__(self) -> None:
        self._rest = b""

    def feed(self, data: bytes) -> list[bytes]:
        """The records that end in ``data``."""
        *records, rest = (self._rest + data).split(b"\0")
        self._rest = rest[:LONGEST_RECORD]
        return records


class Greeting:
    """What a login prints before the first record, which begins with NUL and ``nonce``.

    ``record``: that record without the nonce, once it has come; ``rest``: what came after it.
    """

    def __init__(self, nonce: bytes) -> None:
        self._mark = b"\0" + nonce
        self._received = b""
        self.record: bytes | None = None
        self.rest: bytes = b""

    def feed(self, data: bytes) -> None:
        """Take what comes. Raises ValueError if it becomes too much."""
        self._received += data
        before, mark, after = self._received.partition(self._mark)
        record, end, rest = after.partition(b"\0")
        if len(before) > LONGEST_GREETING:
            raise ValueError
        if mark and end:
            self.record, self.rest = record, rest
