"""The command line as people type it: one add/run pair per command."""

from __future__ import annotations

import argparse
import math
from typing import NoReturn

from hotenv import __version__, commands
from hotenv.durations import DEFAULT_TIMEOUT, format_duration, parse_duration
from hotenv.errors import UsageError
from hotenv.formats import FORMATS

TYPE_CHECKING = False
if TYPE_CHECKING:
    _Subparsers = argparse._SubParsersAction["_Parser"]


class _Parser(argparse.ArgumentParser):
    """argparse with whole option names only, and its errors as one line."""

    def __init__(self, **options: object) -> None:
        super().__init__(allow_abbrev=False, **options)  # type: ignore[arg-type]

    def error(self, message: str) -> NoReturn:
        raise UsageError(f"{message} (see '{self.prog} --help')")


def build_parser() -> argparse.ArgumentParser:
    """The parser of the whole command line."""
    parser = _Parser(
        prog="hotenv",
        description="Keep an environment hot for a few minutes, and run commands with it.",
    )
    parser.add_argument("--version", action="version", version=f"hotenv {__version__}")
    subparsers = parser.add_subparsers(metavar="COMMAND", required=True, title="commands")
    _add_serve(subparsers)
    _add_run(subparsers)
    _add_dump(subparsers)
    return parser


def _add_serve(subparsers: _Subparsers) -> None:
    parser = subparsers.add_parser(
        "serve",
        help="hold the environment that comes from standard input",
        description="Read dotenv text from standard input until its end, and hand the environment "
        "to 'hotenv run' in this folder and below, until nobody has asked for a while.",
        epilog="example: op inject -i .env.op | hotenv serve -t 10m",
    )
    parser.add_argument(
        "-t",
        "--timeout",
        type=parse_duration,
        default=DEFAULT_TIMEOUT,
        metavar="DURATION",
        help="end when nobody has asked for so long: 90, 90s, 5m, 1h30m "
        f"(default: {format_duration(DEFAULT_TIMEOUT)})",
    )
    parser.add_argument(
        "--max-age",
        type=parse_duration,
        default=math.inf,
        metavar="DURATION",
        help="end after so long however often it is asked (default: no limit)",
    )
    parser.add_argument(
        "-f", "--force", action="store_true", help="replace the session that this folder has"
    )
    parser.add_argument(
        "--no-interpolate",
        action="store_true",
        help="take ${NAME} in a value as it stands",
    )
    parser.add_argument(
        "--require-locked-memory",
        action="store_true",
        help="do not serve if the system could write the secrets to its swap space",
    )
    words = parser.add_mutually_exclusive_group()
    words.add_argument("-q", "--quiet", action="store_true", help="print warnings and errors only")
    words.add_argument(
        "-v", "--verbose", action="store_true", help="log all the words of a command"
    )
    parser.set_defaults(run=_run_serve)


def _run_serve(args: argparse.Namespace) -> None:
    commands.serve(
        timeout=args.timeout,
        max_age=args.max_age,
        force=args.force,
        quiet=args.quiet,
        verbose=args.verbose,
        interpolate=not args.no_interpolate,
        require_locked_memory=args.require_locked_memory,
    )


def _add_run(subparsers: _Subparsers) -> None:
    parser = subparsers.add_parser(
        "run",
        usage="hotenv run [-h] [--] COMMAND [ARG ...]",
        help="run a command with the environment",
        description="Become COMMAND, with the session's variables on top of the environment.",
        epilog="example: hotenv run -- sh -c 'echo \"$NAME\"'  (without sh -c, your shell would "
        "put in $NAME before hotenv runs)",
    )
    parser.add_argument("words", nargs=argparse.REMAINDER, help=argparse.SUPPRESS)
    parser.set_defaults(run=_run_run)


def _run_run(args: argparse.Namespace) -> None:
    words = args.words[1:] if args.words[:1] == ["--"] else args.words
    if not words:
        raise UsageError("run needs a command: hotenv run -- COMMAND [ARG ...]")
    commands.run(words)


def _add_dump(subparsers: _Subparsers) -> None:
    parser = subparsers.add_parser(
        "dump",
        help="print the environment",
        description="Print the session's variables, sorted by name: as NAME=value lines, which are "
        "for people, or as another program reads them.",
        epilog='example: eval "$(hotenv dump --format shell)"',
    )
    parser.add_argument(
        "--format",
        choices=FORMATS,
        default="env",
        metavar="FORMAT",
        help=f"one of {', '.join(FORMATS)} (default: env)",
    )
    parser.set_defaults(run=_run_dump)


def _run_dump(args: argparse.Namespace) -> None:
    commands.dump(args.format)
