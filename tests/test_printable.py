"""printable: what hotenv shows is one line that no terminal obeys."""

from __future__ import annotations

import os

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hotenv.printable import printable


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        pytest.param("", "", id="nothing"),
        pytest.param("/home/zoë/日本 ok!", "/home/zoë/日本 ok!", id="letters of any script"),
        pytest.param(r"C:\new", r"C:\new", id="a backslash"),
        pytest.param("a\nb\rc\td", r"a\nb\rc\td", id="newline, return, tab"),
        pytest.param("\x1b[2J\x07\x7f\0", r"\x1b[2J\x07\x7f\x00", id="control characters"),
        pytest.param("\x9b2J", r"\x9b2J", id="a C1 control character"),
        pytest.param("a\u2028b\u202ec", r"a\u2028b\u202ec", id="line separator and reversal"),
        pytest.param(os.fsdecode(b"\xff\x80"), r"\xff\x80", id="bytes that are no text"),
        pytest.param("\ud800", r"\ud800", id="half a surrogate pair"),
        pytest.param("\U000e0001", r"\U000e0001", id="an invisible character"),
    ],
)
def test_what_is_shown(text: str, shown: str) -> None:
    """Printable text is shown as it is, any other character as an escape."""
    assert printable(text) == shown


@given(st.text(st.characters(exclude_categories=[])))
def test_anything_is_printable_afterwards(text: str) -> None:
    """Whatever goes in, what comes out is printable, can be encoded and stays as it is."""
    shown = printable(text)
    assert shown.isprintable()
    assert printable(shown) == shown.encode().decode()
