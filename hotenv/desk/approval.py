"""Whether a request is run: the policy says so, or a human does.

The rules of the game: an approval is for words, a folder and a program, as they are. The program is
looked at again when a human has answered. It is executed by its path, with which a script finds
what is beside it: on the way there is nothing that the agent can change.
"""

from __future__ import annotations

import trio

from hotenv.desk import frames
from hotenv.desk.hardlinks import HardLinks
from hotenv.desk.job import words_of
from hotenv.desk.programs import Program, find
from hotenv.desk.questions import (
    LONGEST,
    NO,
    ONCE,
    SESSION,
    WITHDRAWN,
    Question,
    Questions,
    Subject,
    legible,
    shown,
)
from hotenv.errors import UsageError
from hotenv.project.agentrules import ALLOW, DENY

TYPE_CHECKING = False
if TYPE_CHECKING:
    from hotenv.desk.connection import Connection
    from hotenv.desk.record import Record
    from hotenv.desk.request import Request
    from hotenv.desk.terms import Terms

_NOBODY = "not asked"
_YES = (ONCE, SESSION)
_REFUSED = {
    NO: "the user denied this command",
    "": "the user did not answer in time: ask them, then try again",
    _NOBODY: "the user must allow this command, and there is no terminal to ask on: ask them to "
    "run 'hotenv desk', then try again",
}


class Approver:
    """Approves requests as ``terms`` say, or as ``questions`` are answered."""

    def __init__(self, terms: Terms, questions: Questions) -> None:
        self.terms: Terms = terms
        self._generation = questions.generation
        self._inherited = terms.settings.inherited
        self._questions = questions

    async def approve(
        self, connection: Connection, request: Request, record: Record
    ) -> Program | None:
        """The program that is run for ``request``, which ``connection`` has sent.

        It is None if the question was withdrawn: other rules count now.

        Error handling: raises UsageError if nobody approves, or the agent could have made the
        program; SystemFailureError if there is none.
        """
        verdict = self.terms.agent.rules.verdict(request.argv)
        pattern = None if verdict.pattern is None else str(verdict.pattern)
        record.decided(verdict.decision, pattern)
        if verdict.decision == DENY:
            raise UsageError(_denied(pattern, self.terms.settings.file))
        program = await self._find(request)
        if verdict.decision == ALLOW:
            return program
        said = await self._ask(connection, request, program)
        if said == WITHDRAWN:
            return None
        record.answered(said)
        if said not in _YES:
            raise UsageError(_REFUSED[said])
        if (await self._find(request)).what != program.what:
            raise UsageError(f"{program.path} has changed since the user was asked: try again")
        return program

    async def _find(self, request: Request) -> Program:
        writable = self.terms.writable
        # What is linked to, the user may change at any time.
        links = HardLinks(writable)
        return await trio.to_thread.run_sync(
            find, request.argv[0], self._inherited, writable, links
        )

    async def _ask(self, connection: Connection, request: Request, program: Program) -> str:
        """What a human says; empty if nothing.

        Error handling: raises UsageError for more than a human can read.
        """
        if len(shown(request.argv)) + len(legible(request.folder)) > LONGEST:
            raise UsageError(
                f"the user cannot be asked about a command this long (limit {LONGEST} characters): "
                "shorten it"
            )
        question = Question(
            number=self._questions.next_number(),
            subject=Subject(request.argv, request.folder, request.identity, program.what),
            program=program.path,
            pid=connection.pid,
            guard=words_of(self.terms.agent),
            asked=trio.current_time(),
        )
        if not self._questions.is_settled(question):
            if not self._questions.can_ask:
                return _NOBODY
            await connection.send(frames.encode_number(frames.ASKED, question.number))
        timeout = self.terms.agent.ask_timeout
        return await self._questions.ask(question, timeout, self._generation)


def _denied(pattern: str | None, file: str) -> str:
    if pattern is None:
        return f"this command is not allowed: no pattern in [agent] of {file} matches it"
    return f"this command is denied by the pattern '{pattern}' in [agent] of {file}"
