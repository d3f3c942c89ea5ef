"""What argparse keeps to itself: the parsers of the commands."""

from __future__ import annotations

import argparse


def subparsers(parser: argparse.ArgumentParser) -> list[argparse.ArgumentParser]:
    """The parser of each command of ``parser``, in the order of --help."""
    (commands,) = (a for a in parser._actions if isinstance(a, argparse._SubParsersAction))
    return list(commands.choices.values())
