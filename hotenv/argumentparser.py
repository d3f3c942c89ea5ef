"""argparse as hotenv uses it: whole option names, errors as one line, and "did you mean"."""

from __future__ import annotations

import argparse
import difflib
from typing import NoReturn

from hotenv.errors import UsageError
from hotenv.stdio import write_output

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

_TAKES_NONE = "ignored explicit argument"  # argparse's words, before it quotes the value
_CLOSE = 0.7  # of 1: below that the guess is a bad one


class Parser(argparse.ArgumentParser):
    """A parser for hotenv or for one of its commands.

    Error handling: raises UsageError for what it does not understand. It never quotes what comes
    after a ``=``: somebody may have tried to pass a secret that way.
    """

    def __init__(self, **options: object) -> None:
        super().__init__(allow_abbrev=False, **options)  # type: ignore[arg-type]

    def error(self, message: str) -> NoReturn:
        option, takes_none, _ = message.partition(_TAKES_NONE)
        if takes_none:
            message = f"{option}takes no value"
        raise UsageError(f"{message} (see '{self.prog} --help')")

    def _print_message(self, message: str, file: object = None) -> None:
        """Help and version are data, and a disk may be full."""
        write_output(message.encode())

    def parse_known_args(  # type: ignore[override]
        self, args: Sequence[str] | None = None, namespace: argparse.Namespace | None = None
    ) -> tuple[argparse.Namespace, list[str]]:
        """Refuse what is unknown here, where it is known which options there are."""
        parsed, unknown = super().parse_known_args(args, namespace)
        if unknown:
            word = unknown[0]
            known = self._option_string_actions if word.startswith("-") else ()
            self.error(f"unrecognized: {_shown(word)}{_did_you_mean(word, known)}")
        return parsed, unknown

    def _check_value(self, action: argparse.Action, value: object) -> None:
        if action.choices is not None and value not in action.choices:
            choices = [str(choice) for choice in action.choices]
            hint = _did_you_mean(str(value), choices) or f": choose from {', '.join(choices)}"
            raise argparse.ArgumentError(action, f"there is no '{_shown(str(value))}'{hint}")


def _shown(word: str) -> str:
    name, equals, _ = word.partition("=")
    return f"{name}=..." if equals else name


def _did_you_mean(word: str, known: Iterable[str]) -> str:
    word = word.partition("=")[0]
    longer = [each for each in known if len(word) > len("--") and each.startswith(word)]
    close = longer or difflib.get_close_matches(word, known, n=1, cutoff=_CLOSE)
    return f", did you mean {close[0]}?" if close else ""
