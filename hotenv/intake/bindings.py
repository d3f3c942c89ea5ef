"""What a text sets, line by line: the same for every format. Pure."""

from __future__ import annotations

import re

from attrs import field, frozen

_NEWLINE = re.compile(r"\r\n|\n|\r")  # as python-dotenv counts


class CostError(Exception):
    """A text takes more time or memory than it may. The message says which."""


class TextError(Exception):
    """A text cannot be read any further. The message says why, without a word of the text."""

    def __init__(self, line: int | None, what: str) -> None:
        """``line``: where, if that is known."""
        super().__init__(what if line is None else f"line {line}: {what}")


def too_expensive(line: int | None, error: CostError | MemoryError) -> TextError:
    """The error for a text that runs into a limit at ``line``, if that is known."""
    return TextError(line, str(error) if isinstance(error, CostError) else "needs too much memory")


@frozen
class Binding:
    """What begins on ``line``: a ``name`` and its ``value``.

    No ``name``: a line that cannot be read. No ``value``: one that sets nothing. Either has a
    ``problem``. A ``literal`` value is exactly that; others may be questions or refer to variables.
    """

    line: int
    name: str | None = field(repr=False)
    value: str | None = field(repr=False)
    literal: bool = False
    problem: str = ""


def count_lines(text: str) -> int:
    """How many lines end in ``text``."""
    return len(_NEWLINE.findall(text))
