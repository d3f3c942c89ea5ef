"""hotenv inside ``hotenv agent``: the desk runs commands, and no value gets here."""

from __future__ import annotations

import os

from hotenv.errors import UsageError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import NoReturn

HARMLESS = ("help", "completion", "guard", "audit", "mcp")
"""Commands that have nothing to do with a session."""

_RUN = "'hotenv run -- COMMAND [ARG ...]'"
_USAGE = f"inside 'hotenv agent' the project's file says how commands are run: use {_RUN}"


def is_for_desk(argv: Sequence[str]) -> bool:
    """Whether the command line ``argv`` is for the desk, or for nobody inside."""
    words = _without_directories(argv)
    first = words[0] if words else ""
    return not (
        first in HARMLESS or first in ("--version", "--help", "-h") or "--help" in words[:2]
    )


def _without_directories(argv: Sequence[str]) -> list[str]:
    words = list(argv)
    while words[:1] == ["-C"] and len(words) > 1:
        words = words[2:]
    return words


def run(path: str, argv: Sequence[str]) -> None:
    """Run the command line ``argv`` at the desk whose socket is at ``path``.

    Error handling: raises UsageError for what is not for an agent.
    """
    words = list(argv)
    while words[:1] == ["-C"] and len(words) > 1:
        os.chdir(words[1])
        words = words[2:]
    if words[:1] != ["run"]:
        name = words[0] if words else ""
        raise UsageError(
            f"'hotenv {name}' is not available to an agent, which gets no values: run a command "
            f"that uses them with {_RUN}"
        )
    command = words[2:] if words[1:2] == ["--"] else words[1:]
    if not command:
        raise UsageError(f"missing command: use {_RUN}")
    if words[1:2] != ["--"] and command[0].startswith("-"):
        raise UsageError(_USAGE)
    _run(path, command)


def _run(path: str, argv: Sequence[str]) -> NoReturn:
    from hotenv.desk.client import run_at_desk
    from hotenv.handover.standin import end_like

    end_like(run_at_desk(path, argv))
