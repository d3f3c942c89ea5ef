"""``hotenv desk``: answer what agents ask for."""

from __future__ import annotations

import os
import select
import sys

from hotenv.errors import UsageError
from hotenv.printable import printable
from hotenv.stdio import write_output, write_table

TYPE_CHECKING = False
if TYPE_CHECKING:
    import argparse
    from typing import Any

    from hotenv.cli.parser import Parser
    from hotenv.desk.place import Place

_BELL = b"\a"
_ALLOW, _DENY = "allow", "deny"


def add_options(parser: Parser) -> None:
    """Add the options of the command."""
    parser.usage = "hotenv desk [OPTIONS] [allow ID | deny ID]"
    parser.description = (
        "Show what the agent of this project asks for, and take answers: a key allows a command "
        "once, or until the agent ends, or not. With allow or deny, answer one question."
    )
    parser.epilog = "example: hotenv desk allow 3"
    parser.add_argument("--list", action="store_true", help="list the open questions and exit")
    parser.add_argument(
        "--session",
        action="store_true",
        help="with allow, allow the same command until the agent ends",
    )
    parser.add_argument("answer", nargs="?", choices=[_ALLOW, _DENY], metavar="ANSWER")
    parser.add_argument("number", nargs="?", type=_number, metavar="ID")


def _number(word: str) -> int:
    if not (word.isascii() and word.isdigit()):
        raise UsageError("ID must be the number of a question: see 'hotenv desk --list'")
    return int(word)


def run(args: argparse.Namespace) -> None:
    """Answer one question, or all that come."""
    from hotenv.desk.human import answer
    from hotenv.desk.place import find_place
    from hotenv.desk.questions import NO, ONCE, SESSION

    place = find_place(os.getcwd())
    if args.answer is not None:
        if args.number is None:
            raise UsageError(f"missing id: use 'hotenv desk {args.answer} ID'")
        said = NO if args.answer == _DENY else SESSION if args.session else ONCE
        answer(place, args.number, said)
    elif args.list:
        _list(place)
    elif sys.stdin is None or not (sys.stdin.isatty() and sys.stdout.isatty()):
        raise UsageError("'hotenv desk' needs a terminal: use --list, and allow ID or deny ID")
    else:
        _converse(place)


def _list(place: Place) -> None:
    from hotenv.desk.human import Watch

    watch = Watch(place)
    select.select([watch.fileno()], [], [])
    watch.read()
    watch.close()
    rows = [[str(each["number"]), _words(each), each["folder"]] for each in watch.questions]
    write_table(rows, ("ID", "COMMAND", "DIRECTORY"))


def _words(question: dict[str, Any]) -> str:
    import shlex

    return printable(shlex.join(question["argv"]))


def _converse(place: Place) -> None:
    """Show the oldest question, and take a key for it, until the desk ends or q is typed."""
    import termios
    import tty

    from hotenv.desk.human import Watch, answer
    from hotenv.desk.questions import NO, ONCE, SESSION

    keys = {b"y": ONCE, b"s": SESSION, b"n": NO}
    watch = Watch(place)
    modes = termios.tcgetattr(0)
    shown: int | None = None
    try:
        tty.setcbreak(0, termios.TCSAFLUSH)
        while True:
            ready, _, _ = select.select([watch.fileno(), 0], [], [])
            if watch.fileno() in ready and watch.read():
                write_output(_BELL)
            current = watch.questions[0] if watch.questions else None
            if 0 in ready:
                key = os.read(0, 1)
                if key in (b"q", b""):
                    return
                if current is not None and current["number"] == shown and key in keys:
                    answer(place, current["number"], keys[key])
                    write_output(f"{keys[key]}\n".encode())
                    shown = None
                    continue
            if current is None and shown is not None:
                shown = None
                write_output(b"(no longer asked)\n")
            elif current is not None and current["number"] != shown:
                # What was typed before it was shown is no answer to it.
                termios.tcflush(0, termios.TCIFLUSH)
                shown = current["number"]
                write_output(_text(current).encode())
    finally:
        termios.tcsetattr(0, termios.TCSADRAIN, modes)
        watch.close()


def _text(question: dict[str, Any]) -> str:
    guard = ", ".join(map(printable, question["guard"]))
    return (
        f"\n{question['number']}: {_words(question)}\n"
        f"   in {printable(question['folder'])}, asked by process {question['pid']}\n"
        f"   runs {printable(question['program'])} ({guard})\n"
        "   y: allow once, s: until the agent ends, n: deny, q: quit "
    )
