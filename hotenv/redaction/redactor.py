"""Replaces values in a stream of bytes, however that is cut into pieces. Pure.

What may be the beginning of a value is held back until more has come. Two numbers say how far a
stream is: ``_data`` begins with what is still needed to decide, and ``_told`` bytes of it have come
out by now, as they are or as a name. So bytes that were let go early, because nothing came for a
while, are known when the rest comes after all.
"""

from __future__ import annotations

from hotenv.handover.selection import select
from hotenv.redaction.escapes import instructions, view
from hotenv.redaction.finder import Finder
from hotenv.redaction.forms import encoded, spelled
from hotenv.redaction.needle import Needle
from hotenv.redaction.values import SHORTEST_KEPT, hidden_and_shown, telling_lines

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from hotenv.redaction.escapes import View
    from hotenv.snapshot import Snapshot

PATIENCE = 0.03
"""Seconds after which a stream that is silent lets go of what it may (see Redactor.release)."""

LET_GO = 3
"""Bytes of a possible value that may be shown, so that a prompt appears."""

_PIECE = 64 * 1024  # bytes that are looked at together


class Redactor:
    """Puts ``[NAME]`` in place of the value of each variable in a snapshot.

    ``only`` and ``except_`` are patterns for names, as for ``hotenv run --only``. Values that are
    too short or too common are left alone, unless ``short``; ``unredacted`` has the names of these
    variables. Beside the values as they are, forms of them are found (see :mod:`forms`), line
    breaks in base64 and hexadecimal, and terminal escape sequences inside. All other bytes stay.

    Error handling: raises FieldError if one of ``only`` matches no name.
    """

    def __init__(
        self,
        snapshot: Snapshot | Mapping[str, str],
        only: Sequence[str] = (),
        except_: Sequence[str] = (),
        *,
        short: bool = False,
    ) -> None:
        variables = select(dict(snapshot), only, except_)
        hidden, unredacted = hidden_and_shown(variables, short=short)
        self.unredacted: list[str] = unredacted
        self._finder = Finder(_needles(hidden))
        self._longest = self._finder.longest
        self._start()

    def _start(self) -> None:
        self._data = b""
        self._told = 0
        self._spans: list[_Span] = []
        self._beginnings: list[tuple[int, int, str]] = []

    def another(self) -> Redactor:
        """One for another stream, with the same values."""
        twin = object.__new__(Redactor)
        twin.unredacted = self.unredacted
        twin._finder, twin._longest = self._finder, self._longest
        twin._start()
        return twin

    def feed(self, data: bytes) -> bytes:
        """What can come out now that ``data`` has come in."""
        pieces = (data[at : at + _PIECE] for at in range(0, len(data), _PIECE))
        return b"".join(map(self._feed, pieces))

    def finish(self) -> bytes:
        """What is left when nothing more comes. The next input begins another stream."""
        rest = self._tell(len(self._data))
        self._start()
        return rest

    @property
    def waiting(self) -> bool:
        """Whether something is held back that :meth:`release` lets go of."""
        return self._told < self._held(LET_GO)

    def release(self) -> bytes:
        """What comes out when nothing has come in for PATIENCE seconds.

        Of what may be the beginning of a value, at most LET_GO bytes ever come out: let go of one
        byte each time, and a value would be shown that is written slowly.
        """
        return self._tell(self._held(LET_GO))

    def redact(self, text: bytes, *, cut: bool = False) -> bytes:
        """All of ``text`` without values. Has nothing to do with the stream.

        ``cut``: there was more of it, so what may be the beginning of a value at its end is one.
        """
        stream = self.another()
        return stream.feed(text) + (stream._give_up() if cut else stream.finish())

    def _give_up(self) -> bytes:
        """What is left when it is never known how this goes on."""
        shown = self.release()
        held = [(start, name) for start, length, name in self._beginnings if length > LET_GO]
        return shown + (f"[{min(held)[1]}]".encode() if held else b"")

    def _feed(self, data: bytes) -> bytes:
        self._data += data
        seen = view(self._data)
        self._spans = _united(self._found(seen), self._longest)
        earliest = len(self._data) - self._longest
        self._beginnings = [each for each in self._begun(seen) if each[0] > earliest]
        held = self._held(0)
        output = self._tell(held)
        needed = min(held, len(self._data) if seen is None else seen.unfinished)
        if self._data[-1:] >= b"\x80":  # decides what the next byte is
            needed = min(needed, len(self._data) - 1)
        self._forget(needed)
        return output

    def _found(self, seen: View | None) -> Iterator[_Span]:
        for start, end, name in self._finder.find(self._data):
            yield _Span(start, end, name)
        if seen is not None:
            for start, end, name in self._finder.find(seen.text):
                yield _Span(seen.place(start), seen.place(end - 1) + 1, name)

    def _begun(self, seen: View | None) -> Iterator[tuple[int, int, str]]:
        yield from self._finder.beginnings(self._data)
        if seen is not None:
            for start, length, name in self._finder.beginnings(seen.text):
                yield seen.place(start), length, name

    def _held(self, shown: int) -> int:
        """Up to where all is decided, or may be let go: what begins with ``shown`` bytes is."""
        held = min(
            (start for start, length, _ in self._beginnings if length > shown),
            default=len(self._data),
        )
        for span in reversed(self._spans):
            if span.start < held < span.end and len(self._data) - span.start < self._longest:
                held = span.start
        return held

    def _tell(self, end: int) -> bytes:
        """What comes out of the data up to ``end``."""
        output = []
        for span in self._spans:
            if self._told < span.end and span.start < end:
                output.append(self._data[self._told : span.start])
                output.append(span.replacement(self._data))
                self._told = span.end
        output.append(self._data[self._told : end])
        self._told = max(self._told, end)
        return b"".join(output)

    def _forget(self, end: int) -> None:
        """Of the data, ``end`` bytes have told what they can."""
        self._data = self._data[end:]
        self._told -= end
        self._spans = [span.moved(-end) for span in self._spans if span.end > end]
        self._beginnings = [(start - end, length, name) for start, length, name in self._beginnings]


class _Span:
    """Where values are that overlap, with the name of the longest."""

    __slots__ = ("_longest", "end", "name", "start")

    def __init__(self, start: int, end: int, name: str, longest: int = 0) -> None:
        self.start: int = start
        self.end: int = end
        self.name: str = name
        self._longest = longest or end - start

    def united(self, other: _Span) -> _Span:
        """This and ``other``, which does not begin before it."""
        longest = max(self, other, key=lambda span: span._longest)
        return _Span(self.start, max(self.end, other.end), longest.name, longest._longest)

    def moved(self, distance: int) -> _Span:
        """The same elsewhere."""
        return _Span(self.start + distance, self.end + distance, self.name, self._longest)

    def replacement(self, data: bytes) -> bytes:
        """What comes out in its place: colours that change inside it do change."""
        return f"[{self.name}]".encode() + instructions(data[self.start : self.end])


def _united(spans: Iterator[_Span], longest: int) -> list[_Span]:
    """Those of ``spans`` with at most so many bytes, in order. Those that overlap are united."""
    united: list[_Span] = []
    short = [span for span in spans if span.end - span.start <= longest]
    for span in sorted(short, key=lambda span: (span.start, -span.end, span.name)):
        last = united[-1] if united else None
        if last and span.start < last.end and span.end - last.start <= longest:
            united[-1] = united[-1].united(span)
        else:
            united.append(span)
    return united


def _needles(hidden: Mapping[str, str]) -> Iterator[Needle]:
    """All that is looked for, of values each with its name."""
    lines: dict[str, str] = {}
    for value, name in hidden.items():
        yield Needle(name, spelled(value), wraps=False)
        for form in encoded(value.encode()):
            yield Needle(name, form, wraps=True)
        for line in telling_lines(value):
            lines.setdefault(line, name)
    for line, name in lines.items():
        if line not in hidden:
            yield Needle(name, spelled(line), wraps=False)


def for_records(variables: Mapping[str, str]) -> Redactor:
    """The redactor of reports and logs: it hides common values, too, and all but the shortest."""
    long = {n: value for n, value in variables.items() if len(value.encode()) >= SHORTEST_KEPT}
    return Redactor(long, short=True)
