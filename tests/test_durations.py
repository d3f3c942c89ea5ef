"""durations: text as people write it <-> seconds (decision 26)."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hotenv.durations import (
    DEFAULT_TIMEOUT,
    format_duration,
    format_whole_seconds,
    parse_duration,
)
from hotenv.errors import UsageError


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("90", 90),
        ("90s", 90),
        ("5m", 300),
        ("2h", 7200),
        ("1h30m", 5400),
        ("1h1s", 3601),
        ("1m90s", 150),
        ("0h0m7s", 7),
        ("0.5", 0.5),
        ("1.5h", 5400),
        ("007", 7),
    ],
)
def test_durations(text: str, seconds: float) -> None:
    """A duration is a number of seconds, or numbers with units from the largest to the smallest."""
    assert parse_duration(text) == seconds


@pytest.mark.parametrize(
    "text",
    [
        *("", " ", "s", "h", ".", "1.", ".5", "1e3", "0x10", "1_000", "1,5", "+5", "- 5"),
        *("0", "0s", "0h0m", "0.0", "-5", "-5m", "nan", "inf", "infinity", "-inf", "9" * 400),
        *("9" * 400 + "h", "5 m", " 5", "5 ", "5\n", "5M", "5d", "5ms", "30m1h", "1m1m", "1h30"),
        *("٣", "²"),  # digits elsewhere
    ],
    ids=ascii,
)
def test_no_durations(text: str) -> None:
    """Anything else is an error of usage, and so is a duration that is not finite and positive."""
    with pytest.raises(UsageError) as caught:
        parse_duration(text)
    shown = text if len(text) <= 30 else f"{text[:30]}..."
    assert str(caught.value) == (
        f"invalid duration '{shown}': must be greater than zero, such as 90, 90s, 5m or 1h30m"
    )


@pytest.mark.parametrize(
    "text", ["9" * 5000, "9" * 5000 + "s", "0." + "0" * 5000 + "1", "x" * 5000]
)
def test_absurd_length(text: str) -> None:
    """A text far too long to be a duration is refused without the whole of it."""
    with pytest.raises(UsageError) as caught:
        parse_duration(text)
    assert text[:30] in str(caught.value)
    assert len(str(caught.value)) < 150


@pytest.mark.parametrize(("length", "shown"), [(30, "x" * 30), (31, "x" * 30 + "...")])
def test_shown_as_far_as_it_is_short(length: int, shown: str) -> None:
    """A text of 30 characters is shown whole, and of a longer one the first 30."""
    with pytest.raises(UsageError, match=f"^invalid duration '{re.escape(shown)}': "):
        parse_duration("x" * length)


def test_longest() -> None:
    """Every number of seconds that means something is short enough, with a fraction too."""
    assert parse_duration("9" * 20 + "." + "9" * 19) == pytest.approx(1e20)
    assert parse_duration("0" * 39 + "1") == 1
    with pytest.raises(UsageError):
        parse_duration("0" * 40 + "1")


def test_default() -> None:
    """A session lasts for 5 minutes by default (specification, section 10)."""
    assert parse_duration("5m") == DEFAULT_TIMEOUT


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (0, "0s"),
        (0.5, "0.5s"),
        (59.9999, "1m"),
        (90, "1m30s"),
        (300.0, "5m"),
        (3599.9999, "1h"),
        (5400, "1h30m"),
        (3600.25, "1h0.25s"),
        (360000, "100h"),
    ],
)
def test_format(seconds: float, text: str) -> None:
    """A duration is shown in the fewest words, to the millisecond."""
    assert format_duration(seconds) == text


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(0.0, "0s"), (0.999, "0s"), (59.9999, "59s"), (300.0, "5m"), (61.5, "1m1s")],
)
def test_format_whole_seconds(seconds: float, text: str) -> None:
    """A remaining time is never shown longer than it is."""
    assert format_whole_seconds(seconds) == text


@given(st.integers(min_value=1, max_value=10**12))
def test_round_trip(milliseconds: int) -> None:
    """What is shown can be typed again, and means the same to the millisecond."""
    seconds = milliseconds / 1000
    assert parse_duration(format_duration(seconds)) == pytest.approx(seconds, rel=0, abs=0.0005)
