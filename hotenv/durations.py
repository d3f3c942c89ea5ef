"""Durations as people write them: ``90``, ``90s``, ``5m``, ``1h30m``. Pure."""

from __future__ import annotations

import math
import re

from hotenv.errors import UsageError

DEFAULT_TIMEOUT = 300.0
"""Seconds without a successful request until a session ends (specification, section 10)."""

_NUMBER = r"\d+(?:\.\d+)?"
_SECONDS = re.compile(_NUMBER, re.ASCII)
_UNITS = re.compile(
    rf"(?:(?P<h>{_NUMBER})h)?(?:(?P<m>{_NUMBER})m)?(?:(?P<s>{_NUMBER})s)?", re.ASCII
)


def parse_duration(text: str) -> float:
    """The seconds that ``text`` stands for: a number of seconds, or hours, minutes and seconds.

    Error handling: raises :class:`~hotenv.errors.UsageError` for anything else, and for a
    duration that is zero or infinite.
    """
    seconds = _seconds(text)
    if seconds is None or not 0 < seconds < math.inf:
        raise UsageError(f"'{text}' is no duration: write 90, 90s, 5m or 1h30m, more than zero")
    return seconds


def _seconds(text: str) -> float | None:
    if _SECONDS.fullmatch(text):
        return float(text)
    match = _UNITS.fullmatch(text)
    if match:
        hours, minutes, seconds = (float(part or 0) for part in match.group("h", "m", "s"))
        return hours * 3600 + minutes * 60 + seconds
    return None


def format_whole_seconds(seconds: float) -> str:
    """How long something lasts, as people want to read it: ``4m12s``, never too much."""
    return format_duration(math.floor(seconds))


def format_duration(seconds: float) -> str:
    """``seconds`` (0 or more) to the millisecond, as one would write it: ``1h30m``, ``0.5s``."""
    minutes, rest = divmod(round(seconds, 3), 60)
    hours, minutes = divmod(int(minutes), 60)
    parts = [f"{hours}h" if hours else "", f"{minutes}m" if minutes else ""]
    if rest or not any(parts):
        parts.append(f"{round(rest, 3):g}s")
    return "".join(parts)
