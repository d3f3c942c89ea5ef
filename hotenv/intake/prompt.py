"""Questions on the terminal, without echo, whatever standard input is.

What nobody can have typed as the answer to a question is not taken for it: what came before the
question was shown, or so soon after that nobody had read it. So the lines of a paste do not become
the answers to several questions. A paste in brackets is one answer, and an Enter after it is part
of it.
"""

from __future__ import annotations

import termios
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress

from hotenv.errors import HotenvError, InputError, SystemFailureError, because
from hotenv.exchange.protocol import RESPONSE_LIMIT
from hotenv.intake.answer import ENTER, Answer, may_be_pasted
from hotenv.intake.terminal import Resumed, Terminal
from hotenv.printable import printable
from hotenv.variables import invalid_reason

TOO_SOON = 0.05
"""Seconds after a question, or an answer, in which nobody has read it. The colon comes then."""


class Prompter:
    """Asks on ``terminal``, and leaves it taken: the parent restores it. For the child.

    ``strict``: an empty answer is an error, else it is asked for again once.
    """

    def __init__(self, terminal: Terminal, *, strict: bool) -> None:
        self._terminal = terminal
        self._strict = strict
        self._after_paste = False

    def ask(self, questions: Mapping[str, str]) -> dict[str, str]:
        """Ask each of the ``questions``, in order; names and answers, which are UTF-8.

        Error handling: raises SystemFailureError, with the name of the variable, if there is no
        terminal, no answer, an invalid one, or something is typed ahead of a question; InputError
        if an answer is empty and must not be.
        """
        return {name: self._ask(name, question) for name, question in questions.items()}

    def _ask(self, name: str, question: str) -> str:
        if not self._terminal:
            raise SystemFailureError(f"cannot prompt for {name}: no terminal")
        with self._dropping_the_rest(name):
            shown = printable(f"{name} ({question})" if question else name)
            text = self._valid(name, shown)
            if not text and self._strict:
                raise InputError(f"empty answer for {name}: --strict rejects it")
            if not text:
                self._terminal.write(
                    b"hotenv: nothing typed: press Enter again to leave it empty\n"
                )
                text = self._valid(name, shown)
            return text

    @contextmanager
    def _dropping_the_rest(self, name: str) -> Iterator[None]:
        """If that fails, what is still being pasted is not left to the shell."""
        try:
            yield
        except (OSError, termios.error) as error:
            reason = because(OSError(*error.args))
            raise SystemFailureError(f"cannot prompt for {name}: {reason}") from error
        except HotenvError:
            with suppress(OSError, Resumed):
                while self._terminal.read(TOO_SOON):
                    pass
            raise

    def _valid(self, name: str, shown: str) -> str:
        try:
            answer = self._answer(name, shown)
        finally:
            self._terminal.write(b"\n")
        if answer is None:
            raise SystemFailureError(f"no answer for {name}")
        try:
            text = answer.decode()
        except UnicodeDecodeError:
            raise SystemFailureError(f"invalid answer for {name}: not valid UTF-8") from None
        if invalid := invalid_reason(name, text):
            raise SystemFailureError(f"invalid answer for {name}: {invalid}")
        return text

    def _answer(self, name: str, shown: str) -> bytes | None:
        """The answer; None if Ctrl-D ends it. Asked from the start each time it is resumed."""
        while True:
            with suppress(Resumed):
                self._terminal.take()
                return self._answer_once(name, shown)

    def _answer_once(self, name: str, shown: str) -> bytes | None:
        answer = Answer(self._terminal.keys)
        self._refuse(name, self._read(0))
        self._terminal.write(f"hotenv: {shown}".encode())
        early = self._read(TOO_SOON)
        if not may_be_pasted(early):
            self._refuse(name, early)
        self._terminal.write(b": ")
        answer.feed(early)
        while not answer.ended:
            answer.feed(self._read())
            if answer.size > RESPONSE_LIMIT:
                raise SystemFailureError(
                    f"answer for {name} too long (limit {RESPONSE_LIMIT} bytes)"
                )
        if answer.text is None:
            return None
        self._after_paste = answer.pasted
        self._refuse(name, self._without_enter(answer.rest) or self._read(TOO_SOON))
        return answer.text

    def _read(self, seconds: float | None = None) -> bytes:
        return self._without_enter(self._terminal.read(seconds))

    def _without_enter(self, typed: bytes) -> bytes:
        """What was ``typed``, without the Enter that belongs to the paste before."""
        if typed and self._after_paste:
            self._after_paste = False
            return typed.removeprefix(typed[:1] if typed[:1] in ENTER else b"")
        return typed

    def _refuse(self, name: str, typed: bytes) -> None:
        if typed:
            raise SystemFailureError(
                f"cannot prompt for {name}: input typed before the question, or several lines "
                "pasted where the terminal does not mark a paste: answer each question once it is "
                "shown"
            )
