"""``hotenv redact``: a filter that hides the session's values."""

from __future__ import annotations

from hotenv.cli.options import add_above, add_selection
from hotenv.cli.redaction import add_short, make_redactor
from hotenv.cli.session import ask
from hotenv.exchange.protocol import Request

TYPE_CHECKING = False
if TYPE_CHECKING:
    import argparse

    from hotenv.cli.parser import Parser

_STDIN = 0


def add_options(parser: Parser) -> None:
    """Add the options of the command."""
    parser.description = (
        "Copy standard input to standard output, with [NAME] in place of each value of the "
        "session. 'hotenv run --redact' does the same for the command that it runs."
    )
    parser.epilog = "example: make 2>&1 | hotenv redact"
    add_selection(parser)
    add_short(parser)
    add_above(parser)


def run(args: argparse.Namespace) -> None:
    """Run the command."""
    _, variables = ask(Request("dump"), above=args.above)
    redactor = make_redactor(
        variables, "only", args.only or (), args.excluded or (), short=args.redact_short
    )
    from hotenv.redaction.filter import copy_redacted

    copy_redacted(_STDIN, redactor)
