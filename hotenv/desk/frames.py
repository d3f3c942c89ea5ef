"""Frames between a command inside and the desk outside. Pure.

The rules of the game: a frame is a byte that says what it is, four bytes that say how long it is,
and that many bytes. The command sends one REQUEST first, and then what its streams, its terminal
and its signals say. It may send INPUT_WINDOW bytes of input that the desk has not TAKEN, so that a
signal never waits behind input. The desk ends with one ENDED or one FAILED. Instead of a request,
a QUERY gets one ANSWER or FAILED.
"""

from __future__ import annotations

from hotenv.errors import ArtifactError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

REQUEST, INPUT, END_OF_INPUT = b"R", b"I", b"E"
QUERY = b"Q"
RESIZED, SIGNAL, LOST = b"W", b"S", b"L"
"""What a command sends. QUERY: VARIABLES or STATUS. LOST: a stream that has no reader any more."""

VARIABLES, STATUS = b"variables", b"status"
"""What can be asked."""

ASKED, STARTED, STDOUT, STDERR, TAKEN = b"A", b"B", b"1", b"2", b"T"
STOPPED, ENDED, FAILED, ANSWER = b"Z", b"X", b"F", b"J"
"""What the desk sends. ASKED: a human is asked. STARTED: input is taken from now on. STOPPED and
ENDED: a wait status. ANSWER: JSON."""

INPUT_WINDOW = 256 * 1024
"""Bytes of input on their way."""

PIECE = 64 * 1024
"""Bytes of input or output in a frame, at most."""

LONGEST = 4 * 1024 * 1024
"""Bytes in any frame: a request has all words of a command."""

_SIZE = 4
_HEADER = 1 + _SIZE


def encode(kind: bytes, payload: bytes = b"") -> bytes:
    """One frame."""
    return kind + len(payload).to_bytes(_SIZE, "big") + payload


def number(payload: bytes) -> int:
    """The number that is a whole payload. Raises ArtifactError if it is none."""
    if len(payload) != _SIZE:
        raise ArtifactError("a frame has the wrong size")
    return int.from_bytes(payload, "big", signed=True)


def encode_number(kind: bytes, value: int) -> bytes:
    """A frame that is a number."""
    return encode(kind, value.to_bytes(_SIZE, "big", signed=True))


class FrameReader:
    """Makes frames of the bytes that come.

    ``longest``: bytes in one of those that come next.
    """

    def __init__(self) -> None:
        self.longest: int = LONGEST
        self._data = bytearray()

    def feed(self, data: bytes) -> Iterator[tuple[bytes, bytes]]:
        """Each frame that is complete with ``data``: what it is, and its payload.

        Error handling: raises ArtifactError for one that is too long.
        """
        self._data += data
        while len(self._data) >= _HEADER:
            size = int.from_bytes(self._data[1:_HEADER], "big")
            if size > self.longest:
                raise ArtifactError(f"a frame is too long (limit {self.longest} bytes)")
            end = _HEADER + size
            if len(self._data) < end:
                return
            kind, payload = bytes(self._data[:1]), bytes(self._data[_HEADER:end])
            del self._data[:end]
            yield kind, payload
