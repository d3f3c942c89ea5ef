"""The command line as a whole: its commands, and the parser for them."""

from __future__ import annotations

import os
from importlib import import_module

from hotenv import __version__
from hotenv.cli.parser import SUPPRESS, Parser
from hotenv.errors import FieldError, UsageError, attempt

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

COMMANDS = {
    "serve": "read variables and serve them",
    "run": "run a command with the session's variables",
    "dump": "print the session's variables",
    "redact": "copy standard input without the session's values",
    "guard": "run a command under restrictions",
    "shell": "run the commands that a program sends, in one shell",
    "agent": "run an AI agent that cannot read the session's values",
    "desk": "allow or deny what an agent asks to run",
    "mcp": "serve the session's commands to an agent over MCP",
    "audit": "verify an audit log, or print it",
    "status": "show the session and its remaining time",
    "stop": "stop the session",
    "config": "show what the project's file says",
    "allow": "allow the project's file",
    "deny": "revoke the permission of the project's file",
    "prune": "remove files left by dead sessions",
    "completion": "print a shell completion script",
    "help": "print the text on a topic, or the help of a command",
}
"""Each command is a module beside this one, with ``add_options(parser)`` and ``run(args)``."""

TAKEN_OPTION = "--taken-fd"
"""Of hotenv started anew (see ``sources``), for each ``--env``: where its variables are."""


def run(argv: Sequence[str]) -> None:
    """Run the command line ``argv``, given without the program name.

    Error handling: raises UsageError if it is invalid, and any error of the command.
    """
    known = argv[:1] if argv and argv[0] in COMMANDS else COMMANDS
    args = build_parser(known).parse_args(argv)
    directories = [*args.directories, *getattr(args, "directories_of_command", [])]
    args.words, args.start = list(argv), current_directory() if directories else None
    for directory in directories:
        with attempt(f"change to directory {directory}"):
            os.chdir(directory)
    try:
        args.run(args)
    except FieldError as error:
        option = args.parser.option_of(error.field)
        raise UsageError(f"{option}{error.item and ' '}{error.item}: {error.reason}") from None


def current_directory() -> int:
    """A descriptor of it, for a command that starts hotenv anew."""
    with attempt("open the current directory"):
        return os.open(os.curdir, getattr(os, "O_PATH", os.O_RDONLY) | os.O_DIRECTORY)


def build_parser(commands: Iterable[str] = COMMANDS) -> Parser:
    """The parser of the command line, as far as ``commands`` need it."""
    parser = Parser(
        prog="hotenv",
        description="Keep environment variables in memory for a few minutes and run commands with "
        "them.",
        epilog="example: hotenv serve --detach -- gpg -d .env.gpg && hotenv run -- make",
    )
    parser.add_argument(
        "--version",
        action="version",
        version=f"hotenv {__version__}",
        help="show the version of hotenv and exit",
    )
    parser.add_argument(
        TAKEN_OPTION, action="append", type=int, default=[], dest="taken", help=SUPPRESS
    )
    _add_directory(parser, dest="directories", default=[])
    subparsers = parser.add_subparsers(
        metavar="COMMAND", required=True, title="commands", prog="hotenv"
    )
    for name in commands:
        command = subparsers.add_parser(name, help=COMMANDS[name])
        module = import_module(f"hotenv.cli.{name}")
        module.add_options(command)
        command.set_defaults(run=module.run, parser=command)
        _add_directory(command, dest="directories_of_command", default=SUPPRESS)
    return parser


def _add_directory(parser: Parser, *, dest: str, default: object) -> None:
    parser.add_argument(
        "-C",
        action="append",
        dest=dest,
        default=default,
        metavar="DIR",
        help="run as if hotenv had been started in DIR",
    )
