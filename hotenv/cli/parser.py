"""argparse as hotenv uses it: whole option names, errors as one line, and "did you mean"."""

from __future__ import annotations

import argparse
from functools import partial

from hotenv.errors import UsageError
from hotenv.stdio import write_output
from hotenv.suggestion import did_you_mean

REMAINDER = argparse.REMAINDER
SUPPRESS = argparse.SUPPRESS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from typing import NoReturn

# argparse makes a formatter for every option, and each would ask shutil for the terminal's width.
_ANY_WIDTH = partial(argparse.HelpFormatter, width=80)

# What argparse says, and what hotenv says instead.
_REQUIRED = "the following arguments are required: "
_ARGUMENT = "argument "
_NEEDS_ONE = "expected one argument"
_EXCLUDES = "not allowed with argument "
_TAKES_NONE = "ignored explicit argument"  # and then the argument, which could be a secret
_INVALID = "invalid "  # and then the name of a function, and the argument


class Parser(argparse.ArgumentParser):
    """A parser for hotenv or for one of its commands.

    Error handling: raises UsageError for invalid arguments. The message never quotes text after
    ``=``, which could be a secret.
    """

    def __init__(self, **options: object) -> None:
        options.setdefault("formatter_class", _ANY_WIDTH)
        super().__init__(add_help=False, allow_abbrev=False, **options)  # type: ignore[arg-type]
        self._positionals.title = "arguments"
        self.add_argument("-h", "--help", action="help", help="show this help and exit")

    def format_help(self) -> str:
        """The help, as wide as the terminal."""
        if self.formatter_class is _ANY_WIDTH:
            vars(self)["formatter_class"] = argparse.HelpFormatter
        return super().format_help()

    def option_of(self, dest: str) -> str:
        """The long name of the option that sets ``dest``."""
        return next(each.option_strings[-1] for each in self._actions if each.dest == dest)

    def error(self, message: str) -> NoReturn:
        """Raise UsageError."""
        raise UsageError(f"{self._better(message)} (see '{self.prog} --help')")

    def _better(self, message: str) -> str:
        if message.startswith(_REQUIRED):
            return self._missing(message.removeprefix(_REQUIRED))
        if not message.startswith(_ARGUMENT):
            return message
        option, _, problem = message.removeprefix(_ARGUMENT).partition(": ")
        if problem == _NEEDS_ONE:
            return f"option {option} requires an argument"
        if problem.startswith(_EXCLUDES):
            return f"option {option} cannot be used with {problem.removeprefix(_EXCLUDES)}"
        if problem.startswith(_TAKES_NONE):
            return f"option {option} does not take an argument"
        if problem.startswith(_INVALID):
            return f"invalid argument of option {option}"
        return problem

    def _missing(self, metavar: str) -> str:
        choices: Iterable[object] = ()
        for action in self._actions:
            if action.metavar == metavar and not action.option_strings and action.dest != SUPPRESS:
                choices = action.choices or ()
        hint = f": choose from {', '.join(map(str, choices))}" if choices else ""
        return f"missing {metavar.lower()}{hint}"

    def _print_message(self, message: str, file: object = None) -> None:
        """Help and version are data, and a disk may be full."""
        write_output(message.encode())

    def parse_known_args(  # type: ignore[override]
        self, args: Sequence[str] | None = None, namespace: argparse.Namespace | None = None
    ) -> tuple[argparse.Namespace, list[str]]:
        """Reject unknown words here, where it is known which options there are."""
        parsed, unknown = super().parse_known_args(args, namespace)
        if unknown:
            word = unknown[0]
            if word.startswith("-"):
                hint = did_you_mean(word.partition("=")[0], self._option_string_actions)
                self.error(f"unrecognized option '{without_value(word)}'{hint}")
            self.error(f"unexpected argument '{without_value(word)}'")
        return parsed, unknown

    def _match_argument(self, action: argparse.Action, arg_strings_pattern: str) -> int:
        """An optional argument of an option comes behind ``=``: another word is none."""
        if action.option_strings and action.nargs == argparse.OPTIONAL:
            return int(arg_strings_pattern == "A")
        return super()._match_argument(action, arg_strings_pattern)

    def _check_value(self, action: argparse.Action, value: object) -> None:
        if action.choices is not None and value not in action.choices:
            choices = [str(choice) for choice in action.choices]
            hint = (
                did_you_mean(str(value).partition("=")[0], choices)
                or f", choose from {', '.join(choices)}"
            )
            kind = str(action.metavar).lower()
            message = f"no such {kind} '{without_value(str(value))}'{hint}"
            raise argparse.ArgumentError(action, message)


def without_value(word: str) -> str:
    """``word`` as it may be shown: what stands after a ``=`` could be a secret."""
    name, equals, _ = word.partition("=")
    return f"{name}=..." if equals else name
