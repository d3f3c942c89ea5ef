"""desk.request: what is taken of a requester, and what is not."""

from __future__ import annotations

import json
import os

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hotenv.desk.request import Request, decode, passed
from hotenv.errors import ArtifactError

WORD = st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]))


@given(
    st.lists(WORD, min_size=1).filter(lambda argv: argv[0]),
    WORD,
    st.tuples(st.integers(0, 1 << 40), st.integers(0, 1 << 60)),
    st.sampled_from([(), (0,), (1, 2), (0, 1, 2)]),
    st.tuples(st.integers(0, 10_000), st.integers(0, 10_000)),
    st.booleans(),
)
def test_round_trip(
    argv: list[str],
    folder: str,
    identity: tuple[int, int],
    terminal: tuple[int, ...],
    size: tuple[int, int],
    joined: bool,
) -> None:
    """What is sent arrives."""
    request = Request(tuple(argv), folder, identity, terminal, size, joined, {"TERM": "xterm"})
    assert decode(request.encode()) == request


def test_bytes_that_are_no_text() -> None:
    """Words are bytes."""
    request = Request((os.fsdecode(b"\xff"),), "/", (1, 2))
    assert decode(request.encode()) == request


def test_one_way_to_write_a_word() -> None:
    """The same bytes are the same word, for rules too."""
    request = Request(("prod-\udcc3\udca9",), "/", (1, 2))
    assert decode(request.encode()).argv == ("prod-\u00e9",)


FIELDS = json.loads(Request(("a",), "/", (1, 2)).encode())


@pytest.mark.parametrize(
    "change",
    [
        {"argv": []},
        {"argv": [""]},
        {"argv": "a"},
        {"argv": [1]},
        {"argv": ["a\0"]},
        {"argv": ["\ud800"]},
        {"folder": None},
        {"folder": "/\0"},
        {"identity": [1]},
        {"identity": [1, -1]},
        {"identity": [True, 1]},
        {"size": [1, 10_001]},
        {"size": [1.5, 1]},
        {"terminal": 1},
        {"environment": ["TERM"]},
        {"environment": {"TERM": 1}},
    ],
    ids=str,
)
def test_malformed(change: dict[str, object]) -> None:
    """One line, whatever it is."""
    with pytest.raises(ArtifactError):
        decode(json.dumps({**FIELDS, **change}).encode())


@pytest.mark.parametrize("payload", [b"", b"{", b"[]", b"1", b"\xff", b"[" * 100_000, b"{}"])
def test_no_request(payload: bytes) -> None:
    """Nor what is no object."""
    with pytest.raises(ArtifactError):
        decode(payload)


@pytest.mark.parametrize(
    ("name", "value", "is_passed"),
    [
        ("TERM", "xterm-256color", True),
        ("LC_ALL", "de_DE.UTF-8", True),
        ("NO_COLOR", "", True),
        ("COLUMNS", "80", True),
        ("PATH", "/bin", False),
        ("LD_PRELOAD", "x.so", False),
        ("TERM", "../evil", False),
        ("LANG", "x" * 65, False),
        ("LC_ALL", "a\nb", False),
        ("LC_;x", "C", False),
        ("TERMINFO", "x", False),
        ("COLUMNS", "a[$(id)]", False),
        ("COLUMNS", "x", False),
        ("LINES", "-1", False),
        ("TERM", "x$(id)", False),
        ("LANG", "C;id", False),
        ("NO_COLOR", "a b", False),
    ],
)
def test_what_is_passed(name: str, value: str, is_passed: bool) -> None:
    """How the requester shows text, and nothing that loads anything."""
    assert (name in passed({name: value})) == is_passed
