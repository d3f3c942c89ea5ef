"""Rows for people and for programs."""

from __future__ import annotations

import pytest

from hotenv.table import aligned, tabbed

ROWS = [("/a", "alive", "1"), ("/long name", "dead", "")]
HEADER = ("DIRECTORY", "STATE", "N")


def test_tabbed() -> None:
    """One line a row, whatever is in the cells."""
    assert tabbed(ROWS) == "/a\talive\t1\n/long name\tdead\t\n"
    assert tabbed([("a\tb\n", "\x1b[0m")]) == "a\\tb\\n\t\\x1b[0m\n"
    assert tabbed([]) == ""


def test_aligned() -> None:
    """Columns below a header, no spaces at the end; nothing without rows."""
    assert aligned(ROWS, HEADER).splitlines() == [
        "DIRECTORY   STATE  N",
        "/a          alive  1",
        "/long name  dead",
    ]
    assert aligned([("a",), ("b", "c")]) == "a\nb  c\n"
    assert aligned(ROWS[:1]) == "/a  alive  1\n"
    assert aligned([], HEADER) == ""


@pytest.mark.parametrize(
    ("cell", "code"), [("dead", "\x1b[31m"), ("unresponsive", "\x1b[31m"), ("absent", "\x1b[2m")]
)
def test_words_with_a_colour(cell: str, code: str) -> None:
    """States that need attention are red, what is not there is dim, and the rest is plain."""
    assert aligned([(cell, "alive")], colour=True) == f"{code}{cell}\x1b[0m  alive\n"
    assert aligned([(cell, "alive")]) == f"{cell}  alive\n"


def test_colour() -> None:
    """Colour changes nothing but the colour, and is not taken from a cell."""
    painted = aligned([*ROWS, ("\x1b[31m", "x", "")], HEADER, colour=True)
    assert "\x1b[1mDIRECTORY" in painted
    assert "\x1b[31mdead \x1b[0m" in painted
    assert "\\x1b[31m" in painted
    for code in ("\x1b[1m", "\x1b[31m", "\x1b[0m"):
        painted = painted.replace(code, "")
    assert [line.rstrip() for line in painted.splitlines()] == aligned(
        [*ROWS, ("\x1b[31m", "x", "")], HEADER
    ).splitlines()
