"""``hotenv stop``: stop sessions."""

from __future__ import annotations

from hotenv.cli.options import add_above
from hotenv.cli.session import nearest
from hotenv.errors import ExpiredError, SystemFailureError, UsageError, attempt
from hotenv.stdio import say

TYPE_CHECKING = False
if TYPE_CHECKING:
    import argparse

    from hotenv.cli.parser import Parser


def add_options(parser: Parser) -> None:
    """Add the options of the command."""
    parser.description = (
        "Stop the session that 'hotenv run' would use, and wait until its server has exited. If "
        "the session has expired, forget it: commands then use that of a parent directory."
    )
    parser.epilog = "example: hotenv stop --all"
    add_above(parser)
    parser.add_argument(
        "--all",
        action="store_true",
        help="stop all sessions that 'hotenv status --all' lists as alive or unresponsive",
    )


def run(args: argparse.Namespace) -> None:
    """Run the command."""
    if args.above and args.all:
        raise UsageError("--above cannot be used with --all (see 'hotenv stop --help')")
    if args.all:
        _stop_all()
    else:
        _stop_nearest(above=args.above)


def _stop_nearest(*, above: bool) -> None:
    from hotenv.upkeep.stop import stop

    try:
        session = nearest(above=above)
    except ExpiredError as error:
        _forget(error.directory)
        return
    stop(session)
    say(f"stopped the session of {session.path}")


def _forget(directory: str) -> None:
    """Remove the note of a session that expired, and say what that changes."""
    from hotenv.session.find import live_session_above
    from hotenv.session.note import Notes

    with attempt(f"access {directory}"):
        Notes().forget(directory)
    instead = live_session_above(directory)
    then = f": commands there use the session of {instead} now" if instead else ""
    say(f"forgot the expired session of {directory}{then}")


def _stop_all() -> None:
    """Stop all sessions of this user and report each one.

    After trying all of them, raises SystemFailureError if any is still running.
    """
    from hotenv.session.runtime import note_missing_directory
    from hotenv.upkeep.sessions import no_sessions
    from hotenv.upkeep.stop import stop_all

    note_missing_directory()
    outcomes = list(stop_all())
    if not outcomes:
        say(no_sessions())
    for session, error in outcomes:
        say(f"stopped the session of {session.path}" if error is None else str(error))
    if running := sum(error is not None for _, error in outcomes):
        raise SystemFailureError(f"cannot stop all sessions: {running} still running")
