"""``hotenv guard``: execute a command under restrictions."""

from __future__ import annotations

from hotenv.cli.auditing import add_audit, audit_of, check_audit
from hotenv.cli.guarding import guarding
from hotenv.cli.guards import add_guards, given_guards, guarded_command
from hotenv.handover.launch import Launch, inherited_environment

TYPE_CHECKING = False
if TYPE_CHECKING:
    import argparse
    from collections.abc import Sequence
    from typing import NoReturn

    from hotenv.cli.parser import Parser


def add_options(parser: Parser) -> None:
    """Add the options of the command."""
    from hotenv.cli.parser import REMAINDER, SUPPRESS

    parser.usage = "hotenv guard [GUARDS] -- COMMAND [ARG ...]"
    parser.description = (
        "Run COMMAND under the given guards. The kernel enforces them on COMMAND and everything it "
        "starts, and closes other processes and Unix sockets to them. No session is needed. Exits "
        "as COMMAND does, or with 2 if anything was blocked."
    )
    parser.epilog = "example: hotenv guard --no-network -- make test"
    add_guards(parser)
    add_audit(parser, "COMMAND and its outcome")
    parser.add_argument(
        "--explain",
        action="store_true",
        help="do not run COMMAND: list what it may not do, where each part comes from, and how it "
        "is enforced here",
    )
    parser.add_argument("--exactly", action="store_true", default=SUPPRESS, help=SUPPRESS)
    parser.add_argument("argv", nargs=REMAINDER, help=SUPPRESS)


def run(args: argparse.Namespace) -> None:
    """Run the command; does not return, but with ``--explain``."""
    argv, given = guarded_command(args.argv), given_guards(args)
    check_audit(args)
    if args.explain:
        from hotenv.cli.explanation import explain

        explain(given)
        return
    run_guarded = guarding(given)
    run_guarded(_launch(argv), {}, None, audit_of(args, "guard", argv, {}))


def run_plain(flags: Sequence[str], argv: Sequence[str]) -> NoReturn:
    """Run ``argv`` with options that have no arguments."""
    given = {flag[2:].replace("-", "_"): True for flag in flags}
    guarding(given)(_launch(argv), {}, None, None)


def _launch(argv: Sequence[str]) -> Launch:
    return Launch(argv, inherited_environment())
