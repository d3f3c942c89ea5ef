"""Durations as people write them: ``90``, ``90s``, ``5m``, ``1h30m``. Pure, and without ``re``."""

from __future__ import annotations

from hotenv.errors import UsageError

DEFAULT_TIMEOUT = 300.0
"""Seconds without a successful request until a session expires (specification, section 10)."""

_UNITS = {"h": 3600, "m": 60, "s": 1}
_LONGEST = 40  # characters; more digits than a number of seconds can need
_SHOWN = 30


def parse_duration(text: str) -> float:
    """The seconds that ``text`` stands for: a number of seconds, or hours, minutes and seconds.

    Error handling: raises :class:`~hotenv.errors.UsageError` for anything else, and for a
    duration of zero.
    """
    seconds = _seconds(text) if len(text) <= _LONGEST else None
    if not seconds:
        shown = text if len(text) <= _SHOWN else f"{text[:_SHOWN]}..."
        raise UsageError(
            f"invalid duration '{shown}': must be greater than zero, such as 90, 90s, 5m or 1h30m"
        )
    return seconds


def _seconds(text: str) -> float | None:
    if _is_number(text):
        return float(text)
    total = 0.0
    rest = text
    for unit, size in _UNITS.items():
        number, found, after = rest.partition(unit)
        if found:
            if not _is_number(number):
                return None
            total += float(number) * size
            rest = after
    return None if rest else total


def _is_number(text: str) -> bool:
    whole, point, fraction = text.partition(".")
    digits = [whole, fraction] if point else [whole]
    return all(part.isascii() and part.isdigit() for part in digits)


def format_whole_seconds(seconds: float) -> str:
    """Format a remaining time, rounded down to whole seconds: ``4m12s``."""
    return format_duration(int(seconds))


def format_duration(seconds: float) -> str:
    """``seconds`` (0 or more) to the millisecond, as one would write it: ``1h30m``, ``0.5s``."""
    minutes, rest = divmod(round(seconds, 3), 60)
    hours, minutes = divmod(int(minutes), 60)
    parts = [f"{hours}h" if hours else "", f"{minutes}m" if minutes else ""]
    if rest or not any(parts):
        parts.append(f"{round(rest, 3):g}s")
    return "".join(parts)
