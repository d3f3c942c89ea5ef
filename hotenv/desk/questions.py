"""Requests that wait for a human: what is asked, and what was answered."""

from __future__ import annotations

import shlex

import trio
from attrs import field, frozen

from hotenv.printable import printable

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

ONCE, SESSION, NO = "once", "session", "no"
ANSWERS = (ONCE, SESSION, NO)
"""What a human can say: allow this, allow the same from now on, or not."""

WITHDRAWN = "withdrawn"
"""In place of an answer: the question has to be put anew, or is none any more."""


LONGEST = 1200
"""Characters of a command and its folder, if it is asked about: a human has to see them at once."""


def shown(argv: Sequence[str]) -> str:
    """The command with the words ``argv``, as a human is shown it."""
    return legible(shlex.join(argv))


def legible(text: str) -> str:
    r"""``text``, which an agent has made up, as a human is shown it: with characters of ASCII.

    Of several blanks one is shown as it is, and the others as ``\\x20``. With them, and with
    characters that take no room, it could draw on the screen what looks like another question.
    """
    plain = printable(text).encode("ascii", "backslashreplace").decode()
    return plain.replace("  ", " \\x20").replace("\\x20 ", "\\x20\\x20")


@frozen
class Subject:
    """What an approval is for: the words of a command, its folder, and the program.

    ``identity``, ``program``: what they are, and not only where (see :class:`Program`).
    """

    argv: tuple[str, ...]
    folder: str
    identity: tuple[int, int]
    program: tuple[object, ...] = field(repr=False)


@frozen
class Question:
    """What is asked. ``pid``: who asks. ``guard``: what the command may not do, in words."""

    number: int
    subject: Subject
    program: str
    pid: int
    guard: Sequence[str]
    asked: float


class Questions:
    """Those that are open.

    ``can_ask``: whether they could be answered. ``watchers``: how many look at them.
    ``generation``: how often they were withdrawn.
    """

    def __init__(self, *, can_ask: bool) -> None:
        self._can_ask = can_ask
        self.watchers: int = 0
        self.generation: int = 0
        self._open: dict[int, tuple[Question, trio.Event, list[str]]] = {}
        self._approved: set[Subject] = set()
        self._last = 0
        self._changed = trio.Event()

    def __iter__(self) -> Iterator[Question]:
        return iter([question for question, _, _ in self._open.values()])

    @property
    def can_ask(self) -> bool:
        """Whether a question could be answered."""
        return self._can_ask or self.watchers > 0

    def is_settled(self, question: Question) -> bool:
        """Whether the same was allowed for as long as the desk is there."""
        return question.subject in self._approved

    async def ask(
        self,
        question: Question,
        timeout: float,  # noqa: ASYNC109 - a policy's
        generation: int = 0,
    ) -> str:
        """What a human answers to ``question``; empty after ``timeout`` seconds without one.

        WITHDRAWN if :meth:`withdraw` was called meanwhile, or since ``generation``.
        """
        if generation != self.generation:
            return WITHDRAWN
        if self.is_settled(question):
            return SESSION
        answered = trio.Event()
        said: list[str] = []
        self._open[question.number] = question, answered, said
        self._tell()
        try:
            with trio.move_on_after(timeout):
                await answered.wait()
        finally:
            del self._open[question.number]
            self._tell()
        return said[0] if said else ""

    def next_number(self) -> int:
        """For a new question."""
        self._last += 1
        return self._last

    def answer(self, number: int, said: str) -> Question | None:
        """Answer the question ``number``. None if it is not open."""
        if number not in self._open or said not in ANSWERS:
            return None
        question, answered, kept = self._open[number]
        if not kept:  # else another answer was faster
            kept.append(said)
            answered.set()
            if said == SESSION:
                self._approved.add(question.subject)
        return question

    def withdraw(self) -> None:
        """All that are open, as far as they are not answered; and what was allowed from now on."""
        self.generation += 1
        self._approved.clear()
        for _, answered, kept in self._open.values():
            if not kept:
                kept.append(WITHDRAWN)
                answered.set()

    def _tell(self) -> None:
        self._changed.set()
        self._changed = trio.Event()

    @property
    def change(self) -> trio.Event:
        """The next one: another question, or one less."""
        return self._changed
