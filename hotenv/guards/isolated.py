"""Python programs that load nothing of ours, by an option: nobody keeps them from importing."""

from __future__ import annotations

import os

from hotenv.errors import UsageError
from hotenv.guards.shebang import find_program, interpreter

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from hotenv.handover.launch import Launch

_PYTHONS = (b"python", b"pypy")
_ISOLATING = ("E", "I", "S")
_LAST = ("c", "m")  # what follows is for the program
_TELLING = (*_ISOLATING, *_LAST, "W", "X")
_WITH_ARGUMENT = "--check-hash-based-pycs"


def check_launch(launch: Launch) -> None:
    """Raise UsageError if the command is Python that loads nothing of ours, by an option."""
    words = [os.fsencode(word) for word in launch.argv]
    path = find_program(words[0], launch.env)
    option = "" if path is None else isolating_option(path, words[1:])
    if option:
        raise UsageError(f"with {option}, Python ignores --strict-imports: leave {option} out")


def isolating_option(path: bytes, arguments: Sequence[bytes]) -> str:
    """The option that isolates the program ``path``, or its interpreter; empty if none does.

    ``arguments``: those that it is executed with.
    """
    if words := interpreter(path):
        path, arguments = words[0], words[1:]
    names = (os.path.basename(path), os.path.basename(os.path.realpath(path)))
    return _isolating(arguments) if any(name.startswith(_PYTHONS) for name in names) else ""


def _isolating(arguments: Iterable[bytes]) -> str:
    """The first option of its kind in a command line of Python."""
    rest = iter(arguments)
    for word in rest:
        option = word.decode("ascii", "replace")
        if not option.startswith("-") or option in ("-", "--"):
            break
        letter = _telling_letter(option)
        if letter in _ISOLATING:
            return f"-{letter}"
        if letter in _LAST:
            break
        if option == _WITH_ARGUMENT or (letter and option.endswith(letter)):
            next(rest, b"")
    return ""


def _telling_letter(option: str) -> str:
    """Of several letters, as in ``-sE``, the first that says what the others are, if any does."""
    letters = "" if option.startswith("--") else option
    return next((each for each in letters if each in _TELLING), "")
