"""What a server publishes: it comes back as it was, and nothing else does."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fakes import describe
from hotenv.errors import ArtifactError
from hotenv.session.statusrecord import (
    DEADLINE_OFFSET,
    StatusRecord,
    decode_record,
    encode_deadline,
    encode_record,
)

SECONDS = st.floats(min_value=0, allow_infinity=False)
PATHS = st.text(max_size=50) | st.just("/a\nb\udcff")


def fields(record: StatusRecord) -> dict[str, object]:
    """What ``record`` says."""
    return {name: getattr(record, name) for name in record.__slots__}


@given(
    st.builds(
        StatusRecord,
        marker=PATHS,
        started=SECONDS,
        timeout=SECONDS,
        deadline=SECONDS,
        end=st.none() | SECONDS,
        variables=st.integers(0),
        log=st.none() | PATHS,
        standalone=st.booleans(),
    ),
    SECONDS,
)
def test_round_trip(record: StatusRecord, deadline: float) -> None:
    """It is one line, comes back as it was, and takes a new deadline in place."""
    line = encode_record(record)
    assert line.count(b"\n") == 1
    assert fields(decode_record(line)) == fields(record)
    changed = bytearray(line)
    at = len(line) + DEADLINE_OFFSET
    new = encode_deadline(deadline)
    changed[at : at + len(new)] = new
    assert len(changed) == len(line)
    assert fields(decode_record(bytes(changed))) == {**fields(record), "deadline": deadline}


@pytest.mark.parametrize("deadline", [5e-324, 0.1 + 0.2, 5e16, 1e18, 1.7976931348623157e308])
def test_every_deadline_takes_the_same_room(deadline: float) -> None:
    """However long a session may last: it takes the place of another one, and is exact."""
    new = encode_deadline(deadline)
    assert len(new) == len(encode_deadline(0.0))
    assert json.loads(new) == deadline


GOOD = json.loads(encode_record(describe("/a/.hotenv")))


@pytest.mark.parametrize("line", [b"", b"\xff\n", b"[]\n", b"1\n", b"[" * 100_000, b"{}\n"])
def test_anything_else(line: bytes) -> None:
    """What is no such record is refused as such."""
    with pytest.raises(ArtifactError):
        decode_record(line)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("marker", None),
        ("started", "now"),
        ("timeout", 300),
        ("deadline", float("nan")),
        ("end", float("inf")),
        ("variables", True),
        ("variables", 1.5),
        ("log", 1),
        ("standalone", 1),
    ],
)
def test_bad_field(name: str, value: object) -> None:
    """A field of another kind is named."""
    with pytest.raises(ArtifactError, match=name):
        decode_record(json.dumps({**GOOD, name: value}).encode())
