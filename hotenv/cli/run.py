"""``hotenv run``: execute a command with the session's variables."""

from __future__ import annotations

from hotenv.cli.session import ask_or_start, composition_of, session_for
from hotenv.errors import HotenvError, UsageError
from hotenv.exchange.protocol import Request
from hotenv.handover.childenv import overlay
from hotenv.handover.launch import Launch, inherited_environment

TYPE_CHECKING = False
if TYPE_CHECKING:
    import argparse
    from collections.abc import Mapping, Sequence
    from contextlib import AbstractContextManager
    from typing import Any, NoReturn

    from hotenv.audit.commands import CommandAudit
    from hotenv.cli.guarding import RunGuarded
    from hotenv.cli.parser import Parser
    from hotenv.handover.streams import Streams

_HIGHEST = 255  # exit status of a process


def run_plain(argv: Sequence[str]) -> None:
    """Become the command ``argv``, with the session's variables. Does not return."""
    session, variables = ask_or_start(Request("run", argv), ["run", "--", *argv])
    _launch(argv, inherited_environment(), variables, composition_of(session)).execute()


def _launch(
    argv: Sequence[str],
    own: Mapping[bytes, bytes],
    variables: Mapping[str, str],
    options: Mapping[str, Any] | None,
) -> Launch:
    """The command ``argv`` in its environment, which is composed if there are ``options``.

    ``own``: what is below all variables.
    """
    if options:
        from hotenv.cli.layers import composed

        return composed(argv, own, variables, options)
    return Launch(argv, overlay(own, variables.items()))


def add_options(parser: Parser) -> None:
    """Add the options of the command."""
    from hotenv.cli.auditing import add_audit, add_audit_names
    from hotenv.cli.guards import add_guards, add_project_guards
    from hotenv.cli.layers import add_files, add_layers
    from hotenv.cli.options import add_selection
    from hotenv.cli.parser import REMAINDER, SUPPRESS
    from hotenv.cli.redaction import add_redaction
    from hotenv.cli.session import add_session

    parser.usage = "hotenv run [OPTIONS] [--] COMMAND [ARG ...]"
    parser.description = (
        "Execute COMMAND in place of hotenv, with the session's variables added to the environment."
    )
    parser.epilog = (
        "example: hotenv run -- sh -c 'echo \"$NAME\"'  (without sh -c, your shell would expand "
        "$NAME before hotenv runs)"
    )
    parser.argument_default = SUPPRESS  # without a layer among them nothing is composed
    add_selection(parser)
    add_layers(parser)
    add_files(parser, env_file="replace the {} in the command with its path")
    add_guards(parser)
    add_project_guards(parser)
    add_redaction(parser)
    add_audit(parser, "COMMAND and its outcome")
    add_audit_names(parser)
    add_session(parser)
    parser.add_argument(
        "--host",
        default=None,
        metavar="HOST",
        help="run COMMAND on another machine, a destination of ssh such as user@box, in the home "
        "directory there (see 'hotenv help remote')",
    )
    parser.add_argument(
        "--failure-status",
        type=_failure_status,
        default=None,
        metavar="N",
        help="exit with status N if hotenv fails and COMMAND does not start; with 125, 'git bisect "
        "run' skips the commit",
    )
    parser.add_argument(
        "--explain",
        action="store_true",
        default=False,
        help="do not run COMMAND: list the variables it would get, the layer each comes from, and "
        "why a requested variable is absent (queries the session as 'hotenv dump' does)",
    )
    parser.add_argument("argv", nargs=REMAINDER, help=SUPPRESS)


def _failure_status(word: str) -> int:
    from hotenv.program import set_failure_status

    if not (word.isascii() and word.isdigit() and len(word) <= 3 and 0 < int(word) <= _HIGHEST):
        raise UsageError(f"--failure-status must be a number from 1 to {_HIGHEST}")
    set_failure_status(int(word))  # at once: what comes after this option may be wrong
    return int(word)


def run(args: argparse.Namespace) -> None:
    """Run the command; does not return, but with ``--explain``."""
    from hotenv.cli.auditing import audit_of, check_audit
    from hotenv.cli.guards import given_guards, guarded_command
    from hotenv.cli.layers import explain, given_layers, with_composition

    argv = args.argv[1:] if args.argv[:1] == ["--"] else args.argv
    run_guarded: RunGuarded | None = None
    guards = given_guards(args)
    if args.host is not None:
        from hotenv.cli.elsewhere import check_options

        check_options(args.host, [*guards, *given_layers(args, None)])
    if guards or args.redact:
        argv = guarded_command(args.argv)
    if guards:
        from hotenv.cli.guarding import guarding

        run_guarded = guarding(guards)
    if not argv:
        raise UsageError("missing command: use 'hotenv run -- COMMAND [ARG ...]'")
    check_audit(args)
    options = given_layers(args, argv)
    # To explain is a dump: no command gets the variables.
    request = Request("dump") if args.explain else Request("run", argv)
    session, variables = session_for(args, request)
    options = with_composition(session, options, argv)
    own, options = _below(args.host, options)
    if args.explain:
        explain(own, variables, options)
        return
    launch = _launch(argv, own, variables, options)
    streams = _redacted_streams(args, variables) if args.redact else None
    audit = audit_of(args, "run", argv, variables, args.host and f"{args.host}:")
    if run_guarded is not None:
        run_guarded(launch, variables, streams, audit)
    elif streams is not None or audit is not None or args.host is not None:
        _supervise(launch, args.host, streams, audit)
    launch.execute()


def _below(
    host: str | None, options: dict[str, Any]
) -> tuple[Mapping[bytes, bytes], dict[str, Any]]:
    """The environment that ``options`` add to, as far as it is known here, and what counts of them.

    Errors are those of :func:`hotenv.cli.elsewhere.without_own`.
    """
    if host is None:
        return inherited_environment(), options
    from hotenv.cli.elsewhere import without_own

    return {}, without_own(options)


def _redacted_streams(args: argparse.Namespace, variables: Mapping[str, str]) -> Streams:
    from hotenv.cli.redaction import make_redactor
    from hotenv.redaction.streams import RedactedStreams

    patterns = [each for each in args.redact if each != "*"]
    return RedactedStreams(make_redactor(variables, "redact", patterns, short=args.redact_short))


def _supervise(
    launch: Launch, host: str | None, streams: Streams | None, audit: CommandAudit | None
) -> NoReturn:
    from hotenv.handover.standin import end_like
    from hotenv.handover.supervised import Supervised

    finish = audit.ended if audit is not None else lambda status: status
    try:
        with _launch_here(launch, host) as here:
            status = Supervised(here, finish=finish, streams=streams).run()
    except HotenvError:
        if audit is not None:
            audit.not_started()
        raise
    end_like(status)


def _launch_here(launch: Launch, host: str | None) -> AbstractContextManager[Launch]:
    """What is to be executed on this machine for ``launch``."""
    if host is None:
        from contextlib import nullcontext

        return nullcontext(launch)
    from hotenv.cli.elsewhere import launch_on

    return launch_on(host, launch)
