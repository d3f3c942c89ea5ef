"""Patterns for the words of one command: ``terraform plan``, ``psql -c *``, ``npm run **``. Pure.

A pattern is quoted as in a POSIX shell, but no shell runs the command. So what a shell would take
for more than itself is an error unless it is quoted: ``make && rm x`` means two commands, and would
stand for one with odd arguments, which nobody runs.
"""

from __future__ import annotations

from hotenv.errors import FieldError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

ONE, REST = "*", "**"
"""Words that stand for any one word, and for all that are left, which may be none."""

_BLANKS = frozenset(" \t")
_OF_SHELLS = frozenset("$`;|&<>()?[\n\r")
_OF_SHELLS_IN_QUOTES = frozenset("$`")
_OF_SHELLS_IN_FRONT = frozenset("~#")
_ESCAPED_IN_QUOTES = frozenset('$`"\\')


class Pattern:
    """One command, or those that differ in some of their words. ``str`` gives its text.

    ``words``: each is compared exactly, that of the program too; None is any word. ``has_rest``:
    any number of others may follow.
    """

    __slots__ = ("_text", "has_rest", "words")

    def __init__(self, text: str) -> None:
        """``text``: words with blanks between them, quoted as in a shell.

        Error handling: raises FieldError for an invalid one.
        """
        try:
            words = [*_words(text)]
            if (REST, True) in words[:-1]:
                raise ValueError(f"'{REST}' must be the last word, or in single quotes")
        except ValueError as error:
            raise FieldError("pattern", str(error), text) from None
        if not words:
            raise FieldError("pattern", "must have a word", repr(text))
        self._text: str = text
        self.has_rest: bool = words[-1] == (REST, True)
        named = words[:-1] if self.has_rest else words
        self.words: tuple[str | None, ...] = tuple(None if is_any else w for w, is_any in named)

    def __str__(self) -> str:
        return self._text

    def __repr__(self) -> str:
        return f"Pattern({self._text!r})"

    @property
    def is_all(self) -> bool:
        """Whether it is ``**`` alone."""
        return not self.words

    def matches(self, argv: Sequence[str]) -> bool:
        """Whether it stands for the command with the words ``argv``, the program's among them."""
        if len(argv) < len(self.words) or (len(argv) > len(self.words) and not self.has_rest):
            return False
        return all(
            word is None or word == given
            for word, given in zip(self.words, argv, strict=False)  # the rest may be anything
        )


def _words(text: str) -> Iterator[tuple[str, bool]]:
    """Each word, and whether it stands for any."""
    word: list[tuple[str, bool]] = []
    for character, is_quoted in _characters(text):
        if is_quoted or character not in _BLANKS:
            word.append((character, is_quoted))
        elif word:
            yield _word(word)
            word = []
    if word:
        yield _word(word)


def _word(characters: list[tuple[str, bool]]) -> tuple[str, bool]:
    word = "".join(character for character, _ in characters)
    bare = "".join(character for character, is_quoted in characters if not is_quoted)
    for character in bare:
        if character in _OF_SHELLS:
            raise _of_shells(character)
    first, is_quoted = characters[0]
    if first in _OF_SHELLS_IN_FRONT and not is_quoted:
        raise _of_shells(first)
    if ONE not in bare:
        return word, False
    if bare not in (ONE, REST) or len(bare) != len(characters):
        raise ValueError(f"'{ONE}' matches only a whole word: put a literal star in single quotes")
    return word, True


def _characters(text: str) -> Iterator[tuple[str, bool]]:
    """Each character, and whether it is quoted; for the start of quotes, an empty one that is."""
    quote = ""
    rest = iter(text)
    for character in rest:
        if character == "\0":
            raise ValueError("must not contain NUL")
        if character == quote:
            quote = ""
        elif character == "\\" and quote != "'":
            yield from _escaped(next(rest, ""), quote)
        elif quote:
            if quote == '"' and character in _OF_SHELLS_IN_QUOTES:
                raise _of_shells(character)
            yield character, True
        else:
            quote = character if character in "'\"" else ""
            yield ("", True) if quote else (character, False)
    if quote:
        raise ValueError(f"unclosed quote: {quote}")


def _escaped(character: str, quote: str) -> Iterator[tuple[str, bool]]:
    """What a backslash with ``character`` after it is."""
    if character in ("", "\n", "\0"):
        raise ValueError("a backslash must have a character of its line after it")
    if quote and character not in _ESCAPED_IN_QUOTES:
        yield "\\", True
    yield character, True


def _of_shells(character: str) -> ValueError:
    return ValueError(
        f"{character!r} means something to a shell, and no shell runs the command: write a pattern "
        "for each command, or put what is literal in single quotes"
    )
