"""The one ``{}`` in the words of a command, which becomes the path of a file. Pure."""

from __future__ import annotations

from hotenv.errors import UsageError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

PLACEHOLDER = "{}"


def find_placeholder(words: Sequence[str]) -> int:
    """The index of the word that has it. Raises UsageError if there is none, or more than one."""
    if sum(word.count(PLACEHOLDER) for word in words) != 1:
        raise UsageError("--env-file needs exactly one {} in the command, for the path of the file")
    return next(index for index, word in enumerate(words) if PLACEHOLDER in word)


def fill_placeholder(words: Sequence[str], path: str) -> list[str]:
    """``words`` with ``path`` in its place."""
    filled = list(words)
    index = find_placeholder(words)
    filled[index] = filled[index].replace(PLACEHOLDER, path)
    return filled
