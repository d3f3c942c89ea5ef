"""desk.frames: what a command inside and the desk say to each other."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hotenv.desk import frames
from hotenv.errors import ArtifactError

FRAMES = st.lists(st.tuples(st.binary(min_size=1, max_size=1), st.binary(max_size=300)))


@given(FRAMES, st.integers(1, 50))
def test_in_pieces(sent: list[tuple[bytes, bytes]], size: int) -> None:
    """However the bytes are cut, the same frames come out."""
    data = b"".join(frames.encode(*frame) for frame in sent)
    reader = frames.FrameReader()
    got = [frame for at in range(0, len(data), size) for frame in reader.feed(data[at : at + size])]
    assert got == sent


def test_too_long() -> None:
    """Before the rest of it has come."""
    header = b"R" + (frames.LONGEST + 1).to_bytes(4, "big")
    with pytest.raises(ArtifactError, match="too long"):
        list(frames.FrameReader().feed(header))


@pytest.mark.parametrize("value", [0, 1, 9, 0x7FFFFFFF, -1])
def test_numbers(value: int) -> None:
    """As they were sent."""
    ((kind, payload),) = frames.FrameReader().feed(frames.encode_number(b"X", value))
    assert (kind, frames.number(payload)) == (b"X", value)


@pytest.mark.parametrize("payload", [b"", b"123", b"12345"])
def test_no_number(payload: bytes) -> None:
    """A payload of another size."""
    with pytest.raises(ArtifactError, match="size"):
        frames.number(payload)
