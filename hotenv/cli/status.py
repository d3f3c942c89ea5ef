"""``hotenv status``: show the session and its remaining time."""

from __future__ import annotations

from hotenv.cli.session import nearest
from hotenv.errors import UnresponsiveError, UsageError
from hotenv.stdio import write_output
from hotenv.upkeep.status import time_remaining

TYPE_CHECKING = False
if TYPE_CHECKING:
    import argparse

    from hotenv.cli.parser import Parser


def add_options(parser: Parser) -> None:
    """Add the options of the command."""
    from hotenv.cli.options import add_above

    parser.description = (
        "Show the session that 'hotenv run' would use, without resetting its idle timeout or "
        "showing any variable. Fails with the same exit status as 'hotenv run' if there is no "
        "usable session."
    )
    parser.epilog = "example: PS1='$(hotenv status --short 2>/dev/null) $ '"
    parser.add_argument(
        "--all",
        action="store_true",
        help="list all your sessions, including unresponsive and dead ones",
    )
    add_above(parser)
    parser.add_argument("--json", action="store_true", help="print JSON")
    parser.add_argument(
        "--short",
        action="store_true",
        help="print only the time until the session expires if idle, for a shell prompt (nothing, "
        "and status 4, if the server does not answer within 0.3 seconds)",
    )


def run(args: argparse.Namespace) -> None:
    """Run the command."""
    if args.short and (args.all or args.json):
        raise UsageError("--short cannot be used with --all or --json (see 'hotenv status --help')")
    if args.above and args.all:
        raise UsageError("--above cannot be used with --all (see 'hotenv status --help')")
    if args.short:
        show_short(above=args.above)
    elif args.all:
        _show_all(as_json=args.json)
    else:
        _show(as_json=args.json, above=args.above)


def show_short(*, above: bool = False) -> None:
    """Print the time until the nearest session expires if idle, or ``?`` if it is unknown.

    Prints nothing, and exits with the code of an unreachable session, if the server is there but
    does not answer at once: a prompt has no use for a message.
    """
    from hotenv.durations import format_whole_seconds

    try:
        remaining = time_remaining(nearest(above=above))
    except UnresponsiveError as error:
        raise SystemExit(error.exit_code) from None
    text = "?" if remaining is None else format_whole_seconds(remaining)
    write_output(text.encode() + b"\n")


def _show(*, as_json: bool, above: bool) -> None:
    from hotenv.stdio import write_table
    from hotenv.upkeep.report import to_facts, to_json
    from hotenv.upkeep.status import status

    report = status(nearest(above=above))
    if as_json:
        write_output(to_json(report).encode())
    else:
        write_table(to_facts(report))


def _show_all(*, as_json: bool) -> None:
    from hotenv.session.runtime import note_missing_directory
    from hotenv.stdio import say, write_table
    from hotenv.upkeep.report import HEADER, to_json, to_row
    from hotenv.upkeep.sessions import no_sessions, reports

    note_missing_directory()
    found = reports()
    if as_json:
        write_output(to_json(found).encode())
        return
    write_table([to_row(report) for report in found], HEADER)
    if not found:
        say(no_sessions())
