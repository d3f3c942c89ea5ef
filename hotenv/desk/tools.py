"""The tools that an agent is offered: what it may say, and what it is told. Pure."""

from __future__ import annotations

import json
import posixpath
from collections.abc import Mapping

from attrs import field, frozen

from hotenv.errors import NoSessionError, UnreachableError, UsageError
from hotenv.printable import printable

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from hotenv.errors import HotenvError
    from hotenv.shell.bounds import Omitted

TIMEOUT = 120.0
LONGEST_TIMEOUT = 3600.0
"""Seconds for a command: without being told, and at most."""

MAX_OUTPUT = 32 * 1024
"""Bytes of each output that an agent gets: it has to read them all."""

INSTRUCTIONS = (
    "Runs commands that need secrets. The command gets them in its environment; you see [NAME] in "
    "their place. The user has said which commands may run, and may be asked. Run commands that "
    "need no secrets yourself."
)

_INVALID_REQUEST = -32600
"""See JSON-RPC 2.0, section 5.1."""

_SHOWN = 40  # characters of a name that is not known


@frozen
class Tool:
    """A tool: its ``arguments`` and what it ``returns`` as JSON Schema."""

    name: str
    description: str
    arguments: Mapping[str, Any]
    returns: Mapping[str, Any]
    only_reads: bool = True


def _object(properties: Mapping[str, Any], required: list[str]) -> dict[str, Any]:
    return {
        "type": "object",
        "properties": dict(properties),
        "required": required,
        "additionalProperties": False,
    }


def _is(kind: str, description: str, **more: object) -> dict[str, Any]:
    return {"type": kind, "description": description, **more}


_ARGUMENTS = {
    "argv": _is(
        "array",
        "A program on PATH and its arguments. No shell is involved.",
        items={"type": "string"},
        minItems=1,
    ),
    "cwd": _is("string", "The directory, which is in the project. Default: that of this server."),
    "stdin": _is("string", "Text for standard input. Default: empty."),
    "timeout": _is(
        "number",
        f"Seconds after which the command is ended. Default: {TIMEOUT:.0f}.",
        exclusiveMinimum=0,
        maximum=LONGEST_TIMEOUT,
    ),
}

_RESULT = {
    "exit_code": _is("integer", "128 plus the signal number if a signal ended it; 124 on timeout."),
    "stdout": _is("string", "What it wrote, with [NAME] in the place of a secret's value."),
    "stderr": _is("string", "The same for standard error."),
    "truncated": _is("boolean", "Whether the middle of an output was left out."),
    "stdout_missing_bytes": _is("integer", "How much was left out of stdout."),
    "stderr_missing_bytes": _is("integer", "How much was left out of stderr."),
    "timed_out": _is("boolean", "Whether it was ended because of the timeout."),
    "duration": _is("number", "Seconds."),
}

_NAMES = {"names": _is("array", "The names, sorted.", items={"type": "string"})}

_STATUS = {
    "directory": _is("string", "The project: commands run in it."),
    "open_questions": _is("integer", "How many commands wait for the user's permission."),
}

RUN = Tool(
    "run",
    "Run a command with the secrets of the project in its environment. It is checked against the "
    "user's rules and may have to wait for the user's permission. Returns its exit code and "
    "output; values of secrets in that are replaced by [NAME].",
    _object(_ARGUMENTS, ["argv"]),
    _object(_RESULT, [*_RESULT]),
    only_reads=False,
)

VARIABLES = Tool(
    "variables",
    "The names of the environment variables that a command gets from the user's session. Values "
    "cannot be seen.",
    _object({}, []),
    _object(_NAMES, [*_NAMES]),
)

STATUS = Tool(
    "status",
    "Where commands can be run, and whether some wait for the user's permission.",
    _object({}, []),
    {**_object(_STATUS, [*_STATUS]), "additionalProperties": True},
)

TOOLS: dict[str, Tool] = {each.name: each for each in (RUN, VARIABLES, STATUS)}
"""By name."""


@frozen
class Wanted:
    """What an agent wants to be run."""

    argv: tuple[str, ...]
    folder: str
    stdin: bytes = field(repr=False)
    timeout: float


def wanted(arguments: Mapping[str, Any], folder: str) -> Wanted:
    """What the ``arguments`` of RUN say. ``folder``: where a relative directory starts.

    Error handling: raises UsageError.
    """
    check_names(RUN, arguments)
    argv = arguments.get("argv")
    if not isinstance(argv, list) or not all(isinstance(word, str) for word in argv):
        raise UsageError("argv: must be a list of strings: the program, and each of its arguments")
    if not argv or not argv[0]:
        raise UsageError("argv: is empty")
    cwd = arguments.get("cwd")
    stdin = arguments.get("stdin")
    return Wanted(
        argv=tuple(_text("argv", word) for word in argv),
        folder=folder if cwd is None else posixpath.join(folder, _text("cwd", cwd)),
        stdin=b"" if stdin is None else _text("stdin", stdin, nul=True).encode(),
        timeout=_seconds(arguments.get("timeout")),
    )


def check_names(tool: Tool, arguments: Mapping[str, Any]) -> None:
    """Raise UsageError for an argument that ``tool`` does not have."""
    known = tool.arguments["properties"]
    for name in arguments:
        if name not in known:
            there = f"there is {', '.join(known)}" if known else "it has none"
            raise UsageError(
                f"{printable(name[:_SHOWN])}: no such argument of {tool.name}: {there}"
            )


def _text(name: str, value: object, *, nul: bool = False) -> str:
    if not isinstance(value, str):
        raise UsageError(f"{name}: must be a string")
    if "\0" in value and not nul:
        raise UsageError(f"{name}: must not contain a NUL character")
    try:
        value.encode()
    except UnicodeEncodeError:
        raise UsageError(f"{name}: contains a lone surrogate, which is no character") from None
    return value


def _seconds(value: object) -> float:
    if value is None:
        return TIMEOUT
    fits = isinstance(value, int | float) and not isinstance(value, bool)
    if not fits or not 0 < value <= LONGEST_TIMEOUT:  # type: ignore[operator]
        raise UsageError(
            f"timeout: must be a number of seconds, more than 0 and up to {LONGEST_TIMEOUT:.0f}"
        )
    return float(value)  # type: ignore[arg-type]


def told(error: HotenvError) -> str:
    """``error`` for an agent, in one line: what happened, and what it can do."""
    message = printable(str(error))
    if isinstance(error, NoSessionError | UnreachableError) and "ask the user" not in message:
        return f"{message} (only the user can do that: ask)"
    return message


def malformed(line: str) -> str:
    """The answer to ``line``, an invalid message; empty if it has no ID."""
    try:
        sender = json.loads(line)["id"]
        is_id = isinstance(sender, str | int) and not isinstance(sender, bool)
    except (ValueError, KeyError, TypeError, RecursionError):
        return ""
    error = {"code": _INVALID_REQUEST, "message": "not a valid message of JSON-RPC 2.0, in UTF-8"}
    answer = {"jsonrpc": "2.0", "id": sender, "error": error}
    return json.dumps(answer) + "\n" if is_id else ""


def shown(output: bytes, omitted: Omitted) -> str:
    """``output`` as text, which says where something was left out."""
    if not omitted.bytes:
        return output.decode(errors="replace")
    head, tail = output[: omitted.at], output[omitted.at :]
    gap = f"\n[{omitted.bytes} bytes were left out here]\n"
    return head.decode(errors="replace") + gap + tail.decode(errors="replace")
