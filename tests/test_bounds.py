"""bounds: what is kept of an output, and what is said of the rest."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hotenv.shell.bounds import Bounds, Omitted


def bounded(text: bytes, limit: int | None, *cuts: int) -> tuple[bytes, Omitted]:
    """What is kept of ``text``, which comes in pieces that end at ``cuts``."""
    bounds = Bounds(limit)
    for start, end in zip([0, *cuts], [*cuts, len(text)], strict=True):
        bounds.feed(text[start:end])
    return bounds.kept()


@pytest.mark.parametrize(
    ("text", "limit", "kept", "omitted"),
    [
        (b"", 0, b"", Omitted()),
        (b"abc", None, b"abc", Omitted()),
        (b"abc", 3, b"abc", Omitted()),
        (b"a\nb\n", 0, b"", Omitted(4, 2, 0)),
        (b"a\nb", 1, b"a", Omitted(2, 1, 1)),
        (b"abcdefgh", 5, b"abcgh", Omitted(3, 0, 3)),
        (b"1\n2\n3\n4\n5\n", 4, b"1\n5\n", Omitted(6, 3, 2)),
        pytest.param("aé-é-éb".encode(), 4, b"ab", Omitted(8, 0, 1), id="two bytes, cut"),
        pytest.param("é-----é".encode(), 4, "éé".encode(), Omitted(5, 0, 2), id="whole"),
        pytest.param("€----€".encode(), 4, b"", Omitted(10, 0, 0), id="three bytes, cut"),
        pytest.param("a😀-😀b".encode(), 8, b"ab", Omitted(9, 0, 1), id="four bytes, cut"),
        pytest.param(b"\x80" * 10, 8, b"\x80" * 5, Omitted(5, 0, 4), id="not UTF-8"),
        pytest.param(b"ab\xff\xfe-\xffcd", 6, b"ab\xffcd", Omitted(3, 0, 2), id="nor this"),
    ],
)
def test_kept(text: bytes, limit: int | None, kept: bytes, omitted: Omitted) -> None:
    """The head and the tail, in whole characters, with exact counts of the rest."""
    assert bounded(text, limit) == (kept, omitted)


@given(st.text("a\né€😀").map(str.encode), st.integers(0, 30), st.data())
def test_pieces(text: bytes, limit: int, data: st.DataObject) -> None:
    """However it comes, the same is kept: a head and a tail of UTF-8, as much as is allowed."""
    cuts = sorted(data.draw(st.lists(st.integers(0, len(text)), max_size=4)))
    kept, omitted = bounded(text, limit, *cuts)
    assert (kept, omitted) == bounded(text, limit)
    head, tail = kept[: omitted.at], kept[omitted.at :]
    assert text.startswith(head)
    assert text.endswith(tail)
    assert head.decode() + tail.decode() == kept.decode()
    assert len(kept) + omitted.bytes == len(text)
    assert kept.count(b"\n") + omitted.lines == text.count(b"\n")
    assert min(len(text), limit - 6) <= len(kept) <= limit
    assert len(text) > limit or kept == text


def test_memory() -> None:
    """What is dropped is not held: no more than a piece beside what is kept."""
    bounds = Bounds(10)
    piece = bytes(1000)
    for _ in range(1000):
        bounds.feed(piece)
        assert sum(map(len, bounds._tail)) <= 1000 + 5
    assert bounds.kept() == (bytes(10), Omitted(999_990, 0, 5))
