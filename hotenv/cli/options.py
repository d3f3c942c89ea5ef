"""What several commands have in common: options, and words of a command line that become names."""

from __future__ import annotations

import os

from hotenv.errors import UsageError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from hotenv.cli.parser import Parser


def add_selection(parser: Parser) -> None:
    """Add ``--only`` and ``--except``."""
    parser.add_argument(
        "--only",
        action="append",
        type=pattern,
        metavar="PATTERN",
        help="use only the session's variables that match PATTERN (NAME, 'AWS_*'); may be repeated",
    )
    parser.add_argument(
        "--except",
        action="append",
        type=pattern,
        dest="excluded",
        metavar="PATTERN",
        help="omit the session's variables that match PATTERN; may be repeated",
    )


def add_above(parser: Parser) -> None:
    """Add ``--above``."""
    parser.add_argument(
        "--above",
        action="store_true",
        default=False,
        help="use the session of a parent directory even if a nearer one has expired",
    )


def pattern(word: str) -> str:
    """A pattern for names. One with a ``=`` is none, and never shown: it may hold a value."""
    if "=" in word:
        raise UsageError("PATTERN is for names and must not contain '='")
    return text(word)


def text(word: str) -> str:
    """Decode ``word`` as UTF-8 regardless of the locale, because environments consist of bytes."""
    return os.fsencode(word).decode("utf-8", "surrogateescape")
