"""``hotenv deny``: revoke the permission of the project's file."""

from __future__ import annotations

from hotenv.stdio import say

TYPE_CHECKING = False
if TYPE_CHECKING:
    import argparse

    from hotenv.cli.parser import Parser


def add_options(parser: Parser) -> None:
    """Add the options of the command."""
    parser.description = (
        "Revoke 'hotenv allow' for the nearest hotenv.toml, or [tool.hotenv] in pyproject.toml. A "
        "session that it started goes on until it expires, or until 'hotenv stop'."
    )
    parser.epilog = "example: hotenv deny && hotenv stop"


def run(_args: argparse.Namespace) -> None:
    """Run the command."""
    from hotenv.cli.allow import here
    from hotenv.project.trust import deny

    path = here(untrusted=True).path
    say(f"no longer allowed: {path}" if deny(path) else f"{path} was not allowed")
