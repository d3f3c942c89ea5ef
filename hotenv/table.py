"""Rows of cells as text: aligned for people at a terminal, with tabs for programs. Pure."""

from __future__ import annotations

from itertools import zip_longest

from hotenv.printable import printable

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

_BOLD = "\x1b[1m"
_RED = "\x1b[31m"
_DIM = "\x1b[2m"
_OFF = "\x1b[0m"
_COLOURS = {"dead": _RED, "unresponsive": _RED, "absent": _DIM}
"""Cells that are shown in a colour, whatever the column."""


def tabbed(rows: Sequence[Sequence[str]]) -> str:
    """A line for each row, with a tab between two cells."""
    return "".join("\t".join(map(printable, row)) + "\n" for row in rows)


def aligned(
    rows: Sequence[Sequence[str]], header: Sequence[str] = (), *, colour: bool = False
) -> str:
    """A line for each row below ``header``, in columns; nothing if there is no row.

    What a row has no cells for is left empty.
    """
    if not rows:
        return ""
    cells = [[printable(cell) for cell in row] for row in ([header] if header else []) + [*rows]]
    widths = [max(map(len, column)) for column in zip_longest(*cells, fillvalue="")]
    lines = []
    for number, row in enumerate(cells):
        title = _BOLD if header and not number else ""
        colours = [(title or _COLOURS.get(cell, "")) if colour else "" for cell in row]
        lines.append("  ".join(map(_padded, row, widths, colours)).rstrip() + "\n")
    return "".join(lines)


def _padded(cell: str, width: int, colour: str) -> str:
    return f"{colour}{cell:{width}}{_OFF}" if colour else f"{cell:{width}}"
