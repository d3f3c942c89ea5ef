"""hotenv inside ``hotenv agent``: the desk runs commands, and no value gets here."""

from __future__ import annotations

import os

from hotenv.errors import NoSessionError, UnreachableError, UsageError, attempt

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import NoReturn

HARMLESS = ("help", "completion", "guard", "audit", "mcp")
"""Commands that this process does itself, inside too."""

_HELP = {"-h", "--help"}
_RUN = "'hotenv run -- COMMAND [ARG ...]'"
_USAGE = f"options of 'run' do not work for an agent, as the project's file decides: use {_RUN}"


def is_for_desk(argv: Sequence[str]) -> bool:
    """Whether the command line ``argv`` is for the desk, or nothing that an agent can use."""
    _, words = _split(argv)
    first = words[0] if words else "--help"
    return not (first in (*HARMLESS, "--version") or _HELP & {first, *words[:2]})


def _split(argv: Sequence[str]) -> tuple[list[str], list[str]]:
    """The directories of -C in front, and the words behind."""
    directories, words = [], list(argv)
    while words[:1] == ["-C"] and len(words) > 1:
        directories.append(words[1])
        words = words[2:]
    return directories, words


def run(path: str, argv: Sequence[str]) -> None:
    """Run the command line ``argv`` at the desk whose socket is at ``path``.

    Error handling: raises UsageError for what agents cannot use.
    """
    directories, words = _split(argv)
    for directory in directories:
        with attempt(f"change to directory {directory}"):
            os.chdir(directory)
    try:
        _run(path, words)
    except (NoSessionError, UnreachableError) as error:
        from hotenv.desk.tools import told

        raise type(error)(told(error)) from error


def _run(path: str, words: Sequence[str]) -> None:
    if words[:1] == ["run"]:
        _execute(path, _command(words[1:]))
    elif words in (["status"], ["status", "--json"]):
        _status(path, as_json=len(words) > 1)
    else:
        from hotenv.cli import commandline

        if words and words[0] not in commandline.COMMANDS:
            commandline.run(words)  # says what it is
        name = " ".join(["hotenv", *words[: 2 if words[:1] == ["status"] else 1]])
        raise UsageError(
            f"an agent cannot use '{name}': to run a command with the session's variables, use "
            f"{_RUN}"
        )


def _command(words: Sequence[str]) -> Sequence[str]:
    """The command behind ``run``."""
    command = words[1:] if words[:1] == ["--"] else words
    if not command:
        raise UsageError(f"missing command: use {_RUN}")
    if words[0] != "--" and words[0].startswith("-"):
        raise UsageError(_USAGE)
    return command


def _status(path: str, *, as_json: bool) -> None:
    """Say where commands run, and which variables they get: never a value."""
    from hotenv.desk.client import ask_desk
    from hotenv.desk.frames import STATUS, VARIABLES
    from hotenv.stdio import write_output, write_table

    directory, names = ask_desk(path, STATUS)["directory"], ask_desk(path, VARIABLES)
    if as_json:
        import json

        write_output(json.dumps({"directory": directory, "variables": names}).encode() + b"\n")
    else:
        write_table([["directory", directory], *(["variable", name] for name in names)])


def _execute(path: str, argv: Sequence[str]) -> NoReturn:
    from hotenv.desk.client import run_at_desk
    from hotenv.handover.standin import end_like

    end_like(run_at_desk(path, argv))
