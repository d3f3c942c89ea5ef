"""Which known word was meant by a misspelt one. Pure."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

_CLOSE = 0.7  # of 1: below that the guess is a bad one


def did_you_mean(word: str, known: Iterable[str]) -> str:
    """The end of a message: ``: did you mean 'prompt'?``, or nothing if no word is close."""
    from difflib import get_close_matches

    longer = [each for each in known if len(word) > len("--") and each.startswith(word)]
    close = longer or get_close_matches(word, known, n=1, cutoff=_CLOSE)
    return f": did you mean '{close[0]}'?" if close else ""
