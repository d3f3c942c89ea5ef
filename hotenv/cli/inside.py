"""hotenv inside ``hotenv agent``: the desk runs commands, and no value gets here."""

from __future__ import annotations

import os

from hotenv.errors import UsageError, attempt

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import NoReturn

HARMLESS = ("help", "completion", "guard", "audit", "mcp")
"""Commands that have nothing to do with a session."""

_RUN = "'hotenv run -- COMMAND [ARG ...]'"
_USAGE = f"an agent cannot use options of 'run', as the project's file decides: use {_RUN}"


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
        with attempt(f"change to directory {words[1]}"):
            os.chdir(words[1])
        words = words[2:]
    if words == ["status"]:
        _status(path)
        return
    if words[:1] != ["run"]:
        name = " ".join(["hotenv", *words[:1]])
        raise UsageError(
            f"'{name}' is not for an agent: to run a command with the session's variables, use "
            f"{_RUN}"
        )
    command = words[2:] if words[1:2] == ["--"] else words[1:]
    if not command:
        raise UsageError(f"missing command: use {_RUN}")
    if words[1:2] != ["--"] and command[0].startswith("-"):
        raise UsageError(_USAGE)
    _run(path, command)


def _status(path: str) -> None:
    """Say where commands run, and which variables they get: never a value."""
    from hotenv.desk.client import ask_desk
    from hotenv.desk.frames import STATUS, VARIABLES
    from hotenv.stdio import write_table

    status = ask_desk(path, STATUS)
    names = ask_desk(path, VARIABLES)
    write_table([["directory", status["directory"]], *(["variable", name] for name in names)])


def _run(path: str, argv: Sequence[str]) -> NoReturn:
    from hotenv.desk.client import run_at_desk
    from hotenv.handover.standin import end_like

    end_like(run_at_desk(path, argv))
