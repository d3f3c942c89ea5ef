"""The command line: one add/run pair per command, and the only place where errors become codes.

Nothing here imports trio or attrs before a command needs them.
"""

from __future__ import annotations

import argparse
import os
from collections.abc import Sequence
from typing import NoReturn

from hotenv import __version__
from hotenv.durations import DEFAULT_TIMEOUT, format_duration, parse_duration
from hotenv.errors import HotenvError, SystemFailureError, UsageError, attempt
from hotenv.marker import find_marker, read_marker
from hotenv.protocol import Request
from hotenv.stdio import reserve_standard_streams, say, write_output

_INTERRUPTED = 130  # as shells report SIGINT
_BROKEN_PIPE = 141  # as shells report SIGPIPE

TYPE_CHECKING = False
if TYPE_CHECKING:
    _Commands = argparse._SubParsersAction["_Parser"]


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command; ``argv`` is the command line without the program's name.

    Returns the exit code (specification, section 12). ``run`` returns only if it fails.
    """
    reserve_standard_streams()
    try:
        args = build_parser().parse_args(argv)
        args.run(args)
    except HotenvError as error:
        say(str(error))
        return error.exit_code
    except KeyboardInterrupt:
        return _INTERRUPTED
    except BrokenPipeError:
        return _BROKEN_PIPE
    except Exception as error:
        say(f"internal error: {_whereabouts(error)}: please report it")
        return SystemFailureError.exit_code
    return 0


def _whereabouts(error: BaseException) -> str:
    """What kind of error and where, but not its text: that, or a traceback, could show a value."""
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    trace = error.__traceback__
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    where = (
        f"{os.path.basename(trace.tb_frame.f_code.co_filename)}:{trace.tb_lineno}" if trace else ""
    )
    return f"{type(error).__name__} at {where}"


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
    commands = parser.add_subparsers(metavar="COMMAND", required=True, title="commands")
    _add_serve(commands)
    _add_run(commands)
    _add_dump(commands)
    return parser


def _add_serve(commands: _Commands) -> None:
    parser = commands.add_parser(
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
        "-f", "--force", action="store_true", help="replace the session that this folder has"
    )
    parser.add_argument(
        "--no-interpolate",
        action="store_true",
        help="take ${NAME} in a value as it stands",
    )
    words = parser.add_mutually_exclusive_group()
    words.add_argument("-q", "--quiet", action="store_true", help="print warnings and errors only")
    words.add_argument(
        "-v", "--verbose", action="store_true", help="log all the words of a command"
    )
    parser.set_defaults(run=_run_serve)


def _run_serve(args: argparse.Namespace) -> None:
    from hotenv.intake import read_snapshot
    from hotenv.session import refuse_existing

    with attempt("tell the current folder"):
        folder = os.getcwd()
    if not args.force:
        refuse_existing(folder)  # before anybody types secrets for nothing
    snapshot = read_snapshot(interpolate=not args.no_interpolate)
    from hotenv.process import serve_in_foreground

    serve_in_foreground(
        snapshot,
        folder,
        timeout=args.timeout,
        force=args.force,
        quiet=args.quiet,
        verbose=args.verbose,
    )


def _add_run(commands: _Commands) -> None:
    parser = commands.add_parser(
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
    from hotenv import childenv, launch

    variables = _ask(Request("run", words))
    launch.become(words, childenv.overlay(launch.inherited_environment(), variables.items()))


def _add_dump(commands: _Commands) -> None:
    parser = commands.add_parser(
        "dump",
        help="print the environment",
        description="Print the session's variables as NAME=value lines, sorted by name.",
        epilog="example: hotenv dump | cut -d= -f1",
    )
    parser.set_defaults(run=_run_dump)


def _run_dump(_args: argparse.Namespace) -> None:
    lines = (f"{name}={value}\n" for name, value in sorted(_ask(Request("dump")).items()))
    write_output("".join(lines).encode())


def _ask(request: Request) -> dict[str, str]:
    """The variables of the session here, or above. No import before there is somebody to ask."""
    marker = read_marker(find_marker())
    from hotenv.client import exchange_sync

    return exchange_sync(marker, request)
