"""``hotenv completion``: print the completion script that was made with the package."""

from __future__ import annotations

from pathlib import Path

from hotenv.errors import attempt
from hotenv.stdio import write_output

TYPE_CHECKING = False
if TYPE_CHECKING:
    import argparse

    from hotenv.cli.parser import Parser

SHELLS = ("bash", "zsh", "fish")
"""Those that can complete the command line."""

_SCRIPTS = Path(__file__).parent.parent / "completions"


def add_options(parser: Parser) -> None:
    """Add the options of the command."""
    parser.description = (
        "Print a completion script for SHELL. It completes the commands and options of hotenv, and "
        "the command after 'hotenv run' and 'hotenv serve --' as SHELL would without hotenv."
    )
    parser.epilog = 'example: eval "$(hotenv completion bash)"  (in ~/.bashrc)'
    parser.add_argument(
        "shell",
        choices=SHELLS,
        metavar="SHELL",
        help=f"shell to complete for: {', '.join(SHELLS)}",
    )


def run(args: argparse.Namespace) -> None:
    """Run the command."""
    path = _SCRIPTS / f"hotenv.{args.shell}"
    hint = "install hotenv to create it, for example with 'pip install .'"
    with attempt(f"read {path}", hint):
        script = path.read_bytes()
    write_output(script)
