"""``hotenv shell``: run commands that a program sends, in one shell."""

from __future__ import annotations

import os
import sys

from hotenv.cli.layers import add_files, add_layers, given_layers, with_composition
from hotenv.cli.session import add_session, session_for
from hotenv.errors import FieldError, UsageError
from hotenv.exchange.protocol import Request
from hotenv.handover.childenv import overlay
from hotenv.handover.launch import inherited_environment
from hotenv.stdio import say

TYPE_CHECKING = False
if TYPE_CHECKING:
    import argparse
    from collections.abc import Mapping
    from typing import Any

    from hotenv.cli.parser import Parser
    from hotenv.redaction.redactor import Redactor
    from hotenv.session.marker import Marker
    from hotenv.shell.hiding import Unredacted
    from hotenv.shell.policy import Policy
    from hotenv.shell.setup import Guarding

_TIMEOUT = 30.0  # seconds
_MAX_OUTPUT = 100_000  # bytes
_GRACE = 2.0  # seconds
_ENV_FILE = b"HOTENV_ENV_FILE"


def add_options(parser: Parser) -> None:
    """Add the options of the command."""
    from hotenv.cli.auditing import add_audit, add_audit_names
    from hotenv.cli.guards import add_guards, add_project_guards
    from hotenv.cli.options import add_selection
    from hotenv.cli.parser import SUPPRESS
    from hotenv.cli.redaction import add_short

    parser.usage = "hotenv shell [OPTIONS]"
    parser.description = (
        "Run commands that a program sends, in one bash that keeps its state between them: each "
        "line of JSON on standard input is a command, and standard output has a line of JSON for "
        "each result. The shell gets the session's variables as a command of 'hotenv run' does. "
        "Below, COMMAND is the shell and everything that it starts."
    )
    parser.epilog = """example: echo '{"command": "git status"}' | hotenv shell"""
    parser.argument_default = SUPPRESS  # without a layer among them nothing is composed
    add_selection(parser)
    add_layers(parser)
    add_files(parser, env_file=f"set {_ENV_FILE.decode()} to its path")
    add_guards(parser, of_one_command=False)
    add_project_guards(parser)
    add_session(parser)
    parser.add_argument(
        "--no-session",
        action="store_true",
        default=False,
        help="use no session: only your environment",
    )
    parser.add_argument(
        "--no-redact",
        action="store_false",
        dest="redact",
        default=True,
        help="leave the session's values in output, instead of putting [NAME] in their place",
    )
    add_short(parser)
    add_audit(parser, "each command and its outcome")
    add_audit_names(parser)
    parser.add_argument(
        "--host",
        default=None,
        metavar="HOST",
        help="run the shell on another machine, a destination of ssh such as user@box (see 'hotenv "
        "help remote')",
    )
    _add_limits(parser)


def _add_limits(parser: Parser) -> None:
    from hotenv.durations import format_duration, parse_duration

    parser.add_argument(
        "-t",
        "--timeout",
        type=parse_duration,
        default=_TIMEOUT,
        metavar="DURATION",
        help=f"end a command after DURATION (default: {format_duration(_TIMEOUT)})",
    )
    parser.add_argument(
        "--grace",
        type=parse_duration,
        default=_GRACE,
        metavar="DURATION",
        help="give a command DURATION to end after each signal, and after the end of input "
        f"(default: {format_duration(_GRACE)})",
    )
    parser.add_argument(
        "--max-output",
        type=_bytes,
        default=_MAX_OUTPUT,
        metavar="BYTES",
        help="keep up to BYTES of each output of a command: its beginning and its end (default: "
        f"{_MAX_OUTPUT})",
    )
    parser.add_argument(
        "--policy",
        metavar="FILE",
        default=None,
        help="run only commands that the policy in FILE allows; this prevents mistakes, and is no "
        "guard",
    )


def _bytes(word: str) -> int:
    if not (word.isascii() and word.isdigit()):
        raise UsageError("--max-output must be a number of bytes")
    return int(word)


def run(args: argparse.Namespace) -> None:
    """Run commands until there are no more."""
    from hotenv.cli.auditing import check_audit, command_log
    from hotenv.cli.guards import given_guards

    check_audit(args)
    _check_input(args.host)
    guards = given_guards(args)
    options = given_layers(args, None)
    if args.host is not None:
        from hotenv.cli.elsewhere import check_options

        check_options(args.host, [*guards, *options])
    guarding = _guarding(guards) if guards else None
    policy = None if args.policy is None else _read_policy(args.policy)
    variables: dict[str, str] = {}
    if not args.no_session:
        session, variables = session_for(args, Request("run", ["hotenv", "shell"]))
        options = with_composition(session, options, None)
        _say_what_is_kept(session, variables)
    environment, files = _compose(args.host, variables, options)
    redactor = _redactor(args, variables)

    import trio
    from attrs import evolve

    from hotenv.shell.conversation import converse
    from hotenv.shell.limits import Limits
    from hotenv.shell.setup import Setup

    setup = Setup(
        environment=environment,
        files=files,
        limits=Limits(args.timeout, args.max_output, args.grace),
        guarding=guarding and evolve(guarding, hidden=variables),
        policy=policy,
        redactor=redactor,
        host=args.host,
    )
    trio.run(converse, setup, command_log(args, variables))


def _check_input(host: str | None) -> None:
    """Raise UsageError if no program writes requests."""
    there = "" if host is None else f"--host {host} "
    if sys.stdin is None or sys.stdin.isatty():
        raise UsageError(
            "'hotenv shell' is for a program that writes requests to its standard input: see "
            f"'hotenv help bash', and use 'hotenv run {there}-- bash' for a shell of your own"
        )


def _guarding(given: Mapping[str, Any]) -> Guarding:
    """The guard that all sources make, and how it is applied. Opens the report."""
    from hotenv.cli.guarding import make_guard, other_options, set_in_variable
    from hotenv.guards.reportfile import ReportFile
    from hotenv.shell.setup import Guarding

    in_variable = set_in_variable(given)
    options = other_options(given, in_variable)
    options.pop("keep_status", None)  # the shell ends with its own
    path = options.pop("report", None)
    report = None if path is None else ReportFile(path)
    return Guarding(make_guard(given, in_variable), options, report)


def _redactor(args: argparse.Namespace, variables: Mapping[str, str]) -> Redactor | Unredacted:
    """What hides the values of ``variables``. Says whose it leaves alone."""
    from hotenv.cli.redaction import make_redactor
    from hotenv.shell.hiding import UNREDACTED

    if not (args.redact and variables):
        return UNREDACTED
    return make_redactor(variables, "only", (), short=args.redact_short)


def _read_policy(path: str) -> Policy:
    from hotenv.shell.policyfile import load_policy

    return load_policy(path)


def _say_what_is_kept(session: Marker, variables: Mapping[str, str]) -> None:
    count = f"{len(variables)} variable{'' if len(variables) == 1 else 's'}"
    directory = os.path.dirname(session.path)
    say(f"took {count} from the session of {directory}, to keep until the shell is closed")


def _compose(
    host: str | None, variables: Mapping[str, str], options: dict[str, Any]
) -> tuple[Mapping[bytes, bytes], Mapping[bytes, bytes]]:
    """The environment of the shell, or what is added to it on ``host``; the files that it names."""
    if host is None:
        return _compose_above(inherited_environment(), variables, options)
    from hotenv.cli.elsewhere import check_variables, without_own

    environment, files = _compose_above({}, variables, without_own(options))
    check_variables(environment)
    return environment, files


def _compose_above(
    own: Mapping[bytes, bytes], variables: Mapping[str, str], options: dict[str, Any]
) -> tuple[Mapping[bytes, bytes], Mapping[bytes, bytes]]:
    if not options:
        return overlay(own, variables.items()), {}
    from hotenv.handover.layers import compose_layers

    child = compose_layers(own, variables, **options)
    if child.env_file is None:
        return child.variables, child.files
    if child.layers.get(_ENV_FILE, ("",))[0] in ("define", "file"):
        raise FieldError("env_file", "also defined", _ENV_FILE.decode())
    return {**child.variables, _ENV_FILE: b""}, {**child.files, _ENV_FILE: child.env_file}
