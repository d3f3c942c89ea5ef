"""``hotenv serve``: read variables from a source and serve them."""

from __future__ import annotations

from hotenv.cli.parser import SUPPRESS
from hotenv.durations import DEFAULT_TIMEOUT, format_duration, parse_duration
from hotenv.errors import UsageError
from hotenv.intake.rules import Rules

TYPE_CHECKING = False
if TYPE_CHECKING:
    import argparse

    from hotenv.cli.parser import Parser

_STDERR = 2
_MOST_DIGITS = 9  # of the number of a file descriptor


def add_options(parser: Parser) -> None:
    """Add the options of the command."""
    from hotenv.cli.auditing import add_audit
    from hotenv.cli.sources import add_sources

    parser.usage = "hotenv serve [OPTIONS] [-- COMMAND [ARG ...]]"
    parser.description = (
        "Read variables from standard input, or from the output of COMMAND, then serve them to "
        "'hotenv run' in this directory and below until the session expires (see --timeout and "
        "--max-age). If COMMAND fails, nothing is served. On a terminal, the source that an "
        "allowed hotenv.toml names is read instead (see 'hotenv help project')."
    )
    parser.epilog = "example: hotenv serve -t 10m -- sops decrypt secrets.env"
    add_sources(parser)
    _add_session(parser)
    _add_rules(parser)
    _add_check(parser)
    _add_protection(parser)
    _add_background(parser)
    add_audit(parser, "each request that is answered or refused")
    _add_amount(parser)


def _add_session(parser: Parser) -> None:
    parser.add_argument(
        "-t",
        "--timeout",
        type=parse_duration,
        default=None,
        metavar="DURATION",
        help="expire after DURATION idle, such as 90, 90s, 5m or 1h30m "
        f"(default: {format_duration(DEFAULT_TIMEOUT)})",
    )
    parser.add_argument(
        "--max-age",
        type=parse_duration,
        default=None,
        metavar="DURATION",
        help="expire after DURATION even if in use (default: no limit)",
    )
    parser.add_argument(
        "-f",
        "--force",
        action="store_true",
        help="replace the existing session of this directory, or a link; any other file .hotenv is "
        "kept",
    )
    parser.add_argument(
        "--if-needed",
        action="store_true",
        help="exit with status 0 if a live session answers in this directory; replace a dead one",
    )
    parser.add_argument("--on-demand", action="store_true", help=SUPPRESS)  # see cli.ondemand


def _add_rules(parser: Parser) -> None:
    parser.add_argument(
        "-p",
        "--prompt",
        action="store_true",
        help="prompt on the terminal, without echo, for each value given as ? or ?QUESTION",
    )
    parser.add_argument(
        "--no-interpolate",
        action="store_false",
        dest="interpolate",
        help="do not expand ${NAME} in values",
    )
    parser.add_argument(
        "--strict",
        action="store_true",
        help="reject whatever causes a warning, such as an unset ${NAME} or a name without '='; a "
        "name that is set twice; and an empty answer",
    )


def _add_check(parser: Parser) -> None:
    parser.add_argument(
        "--check",
        action="store_true",
        help="check the input without serving it or prompting: list the source of each variable's "
        "value, and report problems (?QUESTION counts as a question only with -p)",
    )
    parser.add_argument("--json", action="store_true", help="with --check, print JSON")


def _add_protection(parser: Parser) -> None:
    parser.add_argument(
        "--require-locked-memory",
        action="store_true",
        help="fail, instead of warning, if memory cannot be locked and values might be swapped to "
        "disk",
    )
    parser.add_argument(
        "--require-hardening",
        action="store_true",
        help="fail, instead of warning, if memory cannot be locked, or debuggers or core dumps "
        "cannot be blocked",
    )
    parser.add_argument(
        "--allow-confined",
        action="store_true",
        help="answer processes with NoNewPrivs too, as in a sandbox, and those that the server "
        "cannot see, as in another container",
    )


def _add_background(parser: Parser) -> None:
    parser.add_argument(
        "--detach",
        action="store_true",
        help="move to the background once the session is ready; without --log, the log is "
        "discarded",
    )
    parser.add_argument(
        "--log",
        metavar="FILE",
        help="append the log to FILE, and set its mode to 0600; not a link or a session's file",
    )
    parser.add_argument(
        "--ready-fd",
        type=_descriptor,
        metavar="N",
        help="write a newline to file descriptor N, and close it, once the session is ready",
    )


def _add_amount(parser: Parser) -> None:
    amount = parser.add_mutually_exclusive_group()
    amount.add_argument(
        "-q", "--quiet", action="store_true", help="print and log only warnings and errors"
    )
    amount.add_argument(
        "-v",
        "--verbose",
        action="store_true",
        help="log commands with all their arguments, not only their names",
    )


def _descriptor(word: str) -> int:
    if word.isascii() and word.isdigit() and len(word) <= _MOST_DIGITS and int(word) > _STDERR:
        return int(word)
    raise UsageError("--ready-fd must be a file descriptor number, 3 or higher")


def run(args: argparse.Namespace) -> None:
    """Run the command."""
    from hotenv.cli.auditing import check_audit
    from hotenv.cli.project import use_project
    from hotenv.cli.sources import sources_of, take_environment
    from hotenv.cli.start import start, start_or_wait

    check_audit(args)
    if args.json and not args.check:
        raise UsageError("--json requires --check (see 'hotenv serve --help')")
    use_project(args)
    sources = sources_of(args)
    take_environment(args)
    rules = Rules(
        interpolate=args.interpolate, prompt=args.prompt, strict=args.strict, survey=args.check
    )
    if args.check:
        from hotenv.intake.check import check
        from hotenv.intake.hardening import harden

        harden()
        check(sources, rules, as_json=args.json)
    elif args.is_of_project and args.if_needed and args.detach:
        start_or_wait(args, sources, rules)
    else:
        start(args, sources, rules)
