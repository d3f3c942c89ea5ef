"""The options of ``hotenv serve`` that say where the variables come from."""

from __future__ import annotations

import argparse
import os
import signal
import sys

from hotenv.cli.commandline import TAKEN_OPTION
from hotenv.cli.options import pattern
from hotenv.cli.parser import without_value
from hotenv.errors import UsageError, attempt
from hotenv.handover.files import has_memory_files
from hotenv.intake.command import CommandOutput
from hotenv.intake.environment import Inherited, take
from hotenv.intake.rules import FORMATS
from hotenv.intake.sources import File, StandardInput
from hotenv.program import own_command

TYPE_CHECKING = False
if TYPE_CHECKING:
    from hotenv.cli.parser import Parser
    from hotenv.intake.sources import Source

_STDIN = "-"


class _InOrder(argparse.Action):
    """Appends the name of the option and its argument to a list that several options share."""

    def __call__(
        self,
        _parser: argparse.ArgumentParser,
        namespace: argparse.Namespace,
        value: object,
        _option: str | None = None,
    ) -> None:
        earlier = getattr(namespace, self.dest) or []
        setattr(namespace, self.dest, [*earlier, (self.option_strings[-1], value)])


def add_sources(parser: Parser) -> None:
    """Add the options, and the command after them."""
    parser.add_argument(
        "--from",
        action=_InOrder,
        dest="sources",
        metavar="FILE",
        help="read FILE instead of standard input (-); may be repeated (the last value of a name "
        "wins)",
    )
    parser.add_argument(
        "--env",
        action=_InOrder,
        type=pattern,
        dest="sources",
        metavar="PATTERN",
        help="take the variables that match PATTERN (NAME, 'DB_*') from the environment, instead "
        "of reading standard input; may be repeated",
    )
    parser.add_argument(
        "--format",
        action=_InOrder,
        choices=FORMATS,
        dest="sources",
        metavar="FORMAT",
        help=f"format of the sources that follow: {', '.join(FORMATS)} (default: dotenv)",
    )
    parser.add_argument("argv", nargs=argparse.REMAINDER, help=argparse.SUPPRESS)


def sources_of(args: argparse.Namespace) -> list[Source]:
    """The sources, in order: of a name that several set, the last one's value counts.

    Error handling: raises UsageError.
    """
    found: list[Source] = []
    form, unused = FORMATS[0], False
    taken = iter(args.taken)
    for option, value in args.sources or ():
        if option == "--format":
            form, unused = value, True
        elif option == "--env":
            found.append(Inherited(value, next(taken, None)))
        else:
            found.append(StandardInput(form) if value == _STDIN else File(value, form))
            unused = False
    if argv := _command(args.argv):
        return [*found, CommandOutput(argv, form)]
    if not found:
        return [StandardInput(form)]
    if unused:
        raise UsageError("--format must come before the --from that it applies to")
    return found


def take_environment(args: argparse.Namespace) -> None:
    """Start hotenv anew, in the same process, without the variables of ``--env``.

    Returns if there are none, or in the process that was started, where no command inherits the
    files of the variables; also where it cannot be done: without in-memory files (macOS), and as a
    function of another program.

    Error handling: raises UsageError if a pattern matches nothing, SystemFailureError if it fails.
    """
    for number in args.taken:
        _keep_to_this_process(number)
    patterns = [value for option, value in args.sources or () if option == "--env"]
    is_possible = has_memory_files() and sys.orig_argv[-len(args.words) :] == args.words
    if not patterns or args.taken or not is_possible:
        return
    files, environment = take(patterns)
    mask = signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGINT])
    program = own_command(args.words, held=signal.SIGINT not in mask)
    options = [word for file in files for word in (TAKEN_OPTION, str(file))]
    try:
        with attempt("start hotenv anew"):
            if args.start is not None:
                os.fchdir(args.start)
            os.execve(program[0], [*program, *options, *args.words], environment)  # noqa: S606 - ourselves
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, mask)


def _keep_to_this_process(descriptor: int) -> None:
    try:
        os.set_inheritable(descriptor, False)
    except (OSError, OverflowError):
        raise UsageError(f"{TAKEN_OPTION} {descriptor}: no such file descriptor") from None


def _command(words: list[str]) -> list[str]:
    if not words:
        return []
    if words[0] != "--":
        raise UsageError(
            f"unexpected argument '{without_value(words[0])}': put '--' before a command to read "
            "its output"
        )
    if not words[1:]:
        raise UsageError("missing command after '--'")
    return words[1:]
