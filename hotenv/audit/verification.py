"""Whether an audit log is what was written, and where it is not. Pure."""

from __future__ import annotations

from hotenv.audit.chain import CONTINUED, Head, decode, torn_hash

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from typing import Final

INTACT: Final = 0
CHANGED: Final = 11
CUT: Final = 12
INCOMPLETE: Final = 13
UNKNOWN: Final = 14
"""Verdicts, as exit codes."""


class Verdict:
    """What became of a log: one of the constants above, and why, in words."""

    __slots__ = ("code", "reason")

    def __init__(self, code: int, reason: str) -> None:
        self.code: int = code
        self.reason: str = reason


class _BrokenError(Exception):
    """A line is not what it was."""


def verify(data: bytes, head: Head | None, *, anywhere: str = "") -> Verdict:
    """Whether ``data``, all of a log, is what was written, as far as ``head`` can tell.

    ``anywhere``: instead of a head, the hash of a line that has to be there.
    """
    *lines, rest = data.split(b"\n")
    try:
        heads = list(_follow(lines, rest))
    except _BrokenError as broken:
        return Verdict(CHANGED, str(broken))
    last = heads[-1] if heads else Head()
    if anywhere and anywhere not in {each.hash for each in heads}:
        return Verdict(CUT, "no line has this hash: lines are missing, or this is another log")
    if not anywhere and head is None:
        return Verdict(
            UNKNOWN,
            f"intact up to line {last.count}, but without a head, lines may be missing at the end",
        )
    if head is not None and (verdict := _compare(last, head, {*heads, *_before(lines)})):
        return verdict
    if rest:
        return Verdict(INCOMPLETE, f"the last line is incomplete; intact up to line {last.count}")
    return Verdict(INTACT, f"intact up to its last line, number {last.count}")


def _compare(last: Head, head: Head, known: set[Head]) -> Verdict | None:
    """What is wrong with a log that ends with ``last``, and has all heads in ``known``."""
    if last.count < head.count:
        return Verdict(CUT, f"ends after line {last.count} of {head.count}")
    if last.count > head.count + 1:
        return Verdict(CHANGED, f"there are {last.count} lines, but hotenv wrote only {head.count}")
    if head.count and head not in known:
        return Verdict(CHANGED, f"line {head.count} is not the one that hotenv wrote")
    return None


def _before(lines: list[bytes]) -> Iterator[Head]:
    """The head before the first of ``lines``, when the log goes on in another file."""
    for fields in map(decode, lines[:2]):
        if fields is not None and fields["what"] == CONTINUED:
            yield _previous(fields)


def _previous(fields: Mapping[str, object]) -> Head:
    """The head before a line."""
    return Head(int(str(fields["seq"])) - 1, str(fields["previous"]))


def _follow(lines: list[bytes], rest: bytes) -> Iterator[Head]:
    """The head after each of ``lines``. Raises _BrokenError at the first that does not follow.

    ``rest``: an incomplete line after them.
    """
    head: Head | None = None
    torn: list[bytes] = []
    for number, line in enumerate(lines, 1):
        fields = decode(line)
        if fields is None:
            torn.append(line)
            continue
        if fields.get("torn") != (torn_hash(torn) if torn else None):
            raise _BrokenError(f"line {number - len(torn) if torn else number} was changed")
        torn = []
        previous = _previous(fields)
        if head is None and fields["what"] != CONTINUED:
            head = Head()
        if head is not None and head != previous:
            raise _BrokenError(f"line {number} does not follow the one before it")
        head = previous.after(line)
        yield head
    if torn and not rest:
        raise _BrokenError(f"line {len(lines) - len(torn) + 1} was changed")
