"""``hotenv dump``: print the session's variables."""

from __future__ import annotations

import sys

from hotenv.cli.options import add_above, add_selection
from hotenv.cli.session import ask
from hotenv.exchange.protocol import Request
from hotenv.handover.formats import FORMATS
from hotenv.printable import printable
from hotenv.stdio import write_output

TYPE_CHECKING = False
if TYPE_CHECKING:
    import argparse
    from collections.abc import Mapping

    from hotenv.cli.parser import Parser


def add_options(parser: Parser) -> None:
    """Add the options of the command."""
    parser.description = (
        "Print the session's variables, sorted by name, as NAME=value lines for people, or in a "
        "format that another program can read (see --format)."
    )
    parser.epilog = 'example: eval "$(hotenv dump --format shell)"'
    parser.add_argument(
        "--format",
        choices=FORMATS,
        default="env",
        metavar="FORMAT",
        help=f"output format: {', '.join(FORMATS)} (default: env)",
    )
    add_selection(parser)
    add_above(parser)


def run(args: argparse.Namespace) -> None:
    """Run the command."""
    _, variables = ask(Request("dump"), above=args.above)
    if args.only or args.excluded:
        from hotenv.handover.selection import select

        variables = select(variables, args.only or (), args.excluded or ())
    if args.format == "env" and sys.stdout is not None and sys.stdout.isatty():
        write_output("".join(_shown(variables)).encode())
    else:
        write_output(FORMATS[args.format](variables))


def _shown(variables: Mapping[str, str]) -> list[str]:
    """The lines of the format env for a terminal, which must not obey what a value says."""
    return [f"{printable(f'{name}={value}')}\n" for name, value in sorted(variables.items())]
