"""``hotenv desk``: answer what agents ask for."""

from __future__ import annotations

import os
import sys
from functools import partial

from hotenv.errors import UsageError
from hotenv.stdio import say, write_table

TYPE_CHECKING = False
if TYPE_CHECKING:
    import argparse

    from hotenv.cli.parser import Parser
    from hotenv.desk.place import Place

_ALLOW, _DENY, _RELOAD = "allow", "deny", "reload"


def add_options(parser: Parser) -> None:
    """Add the options of the command."""
    parser.usage = "hotenv desk [OPTIONS] [allow ID | deny ID | reload]"
    parser.description = (
        "Show each command that the agent of this project asks to run, and allow it once, allow it "
        "until the agent ends, or deny it, with one key. 'allow ID' and 'deny ID' answer one "
        "question; 'reload' makes the desk use the project's file as it is now."
    )
    parser.epilog = "example: hotenv desk allow 3"
    parser.add_argument(
        "answer",
        nargs="?",
        choices=[_ALLOW, _DENY, _RELOAD],
        metavar="ORDER",
        help="allow, deny or reload",
    )
    parser.add_argument(
        "number", nargs="?", type=partial(_number, "ID"), metavar="ID", help="number of a question"
    )
    parser.add_argument(
        "--agent",
        type=partial(_number, "PID"),
        default=None,
        metavar="PID",
        help="if several agents run, use the one whose 'hotenv agent' has the process ID PID",
    )
    parser.add_argument("--list", action="store_true", help="list the open questions and exit")
    parser.add_argument(
        "--session",
        action="store_true",
        help="with allow: allow the same command until the agent ends",
    )


def _number(what: str, word: str) -> int:
    if not (word.isascii() and word.isdigit()):
        raise UsageError(f"{what} must be a number")
    return int(word)


def _check(args: argparse.Namespace) -> None:
    """Raise UsageError for what does not go together."""
    needs_number = args.answer in (_ALLOW, _DENY)
    if args.list and args.answer is not None:
        raise UsageError(f"--list cannot be used with {args.answer}")
    if args.session and args.answer != _ALLOW:
        raise UsageError("--session requires allow")
    if needs_number and args.number is None:
        raise UsageError(f"missing ID: use 'hotenv desk {args.answer} ID'")
    if args.number is not None and not needs_number:
        raise UsageError(f"unexpected argument '{args.number}'")


def run(args: argparse.Namespace) -> None:
    """Answer one question, or all that come."""
    from hotenv.desk.human import RELOADED, answer, reload
    from hotenv.desk.place import find_place
    from hotenv.desk.questions import NO, ONCE, SESSION

    _check(args)
    place = find_place(os.getcwd(), args.agent)
    if args.answer == _RELOAD:
        reload(place)
        say(RELOADED)
    elif args.answer is not None:
        said = NO if args.answer == _DENY else SESSION if args.session else ONCE
        answer(place, args.number, said)
    elif args.list:
        _list(place)
    elif not all(each is not None and each.isatty() for each in (sys.stdin, sys.stdout)):
        raise UsageError(
            "'hotenv desk' needs a terminal: without one, use 'hotenv desk --list', then 'hotenv "
            "desk allow ID' or 'hotenv desk deny ID'"
        )
    else:
        from hotenv.desk.interview import Interview

        Interview(place).conduct()


def _list(place: Place) -> None:
    from hotenv.desk.human import Watch
    from hotenv.desk.questions import legible, shown

    watch = Watch(place)
    try:
        watch.read_first()
    finally:
        watch.close()
    rows = [
        [str(each["number"]), shown(each["argv"]), legible(each["folder"])]
        for each in watch.questions
    ]
    write_table(rows, ("ID", "COMMAND", "DIRECTORY"))
