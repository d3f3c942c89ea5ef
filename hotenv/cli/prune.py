"""``hotenv prune``: remove files left by dead sessions."""

from __future__ import annotations

from hotenv.stdio import say

TYPE_CHECKING = False
if TYPE_CHECKING:
    import argparse

    from hotenv.cli.parser import Parser


def add_options(parser: Parser) -> None:
    """Add the options of the command."""
    parser.description = (
        "Remove the sockets of killed servers and the notes of expired sessions from all runtime "
        "directories, and the marker that 'hotenv run' would find if its session is dead. Files "
        "that may still be in use are kept."
    )
    parser.epilog = "example: hotenv prune"


def run(_args: argparse.Namespace) -> None:
    """Run the command."""
    from hotenv.session.runtime import note_missing_directory
    from hotenv.upkeep.prune import prune

    note_missing_directory()
    nothing = True
    for path in prune():
        say(f"removed {path}")
        nothing = False
    if nothing:
        say("nothing to remove")
