"""What becomes of a request: it is checked, perhaps asked about, and run.

The rules of the game: nothing of the requester is used but words, the size of its terminal and how
that shows text. What was approved is what is run: the program is looked at again then.
"""

from __future__ import annotations

import json
import os

import trio

from hotenv.desk import frames
from hotenv.desk.attended import Attended
from hotenv.desk.connection import Connection
from hotenv.desk.job import make_job, words_of
from hotenv.desk.programs import Program, find, open_folder
from hotenv.desk.questions import NO, Question, Questions, Subject
from hotenv.desk.record import Record
from hotenv.desk.running import Running
from hotenv.errors import ArtifactError, HotenvError, UsageError
from hotenv.exchange.client import fetch
from hotenv.exchange.peer import identify
from hotenv.handover.selection import select
from hotenv.handover.standin import encode_error
from hotenv.project.agent import Agent
from hotenv.project.agentrules import ALLOW, DENY

TYPE_CHECKING = False
if TYPE_CHECKING:
    from hotenv.desk.request import Request
    from hotenv.desk.settings import Settings

_MOST = 256  # requests at once
_QUERY = "(names for an agent)"  # in the log of the session's server


class Desk:
    """Runs commands as ``settings`` say."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._agent = Agent(settings.agent, settings.directory)
        self._limit = trio.CapacityLimiter(_MOST)
        self.questions: Questions = Questions(can_ask=settings.can_ask)

    async def serve(self, stream: trio.SocketStream) -> None:
        """Serve one connection of a command inside."""
        async with stream:
            peer = identify(stream.socket)
            connection = Connection(stream, peer[0] if peer else 0)
            try:
                request = await connection.request()
                if isinstance(request, bytes):
                    answer = json.dumps(await self._answer(request)).encode()
                    await connection.send(frames.encode(frames.ANSWER, answer))
                elif request is not None:
                    await self._serve(connection, request)
            except HotenvError as error:
                await _fail(connection, error)
            except trio.BrokenResourceError:
                pass  # it has ended

    async def _answer(self, query: bytes) -> object:
        """What ``query`` asks: the names of variables, or where commands run. Never a value."""
        directory = self._settings.directory
        if query == frames.STATUS:
            return {"directory": directory, "open_questions": len([*self.questions])}
        if query == frames.VARIABLES:
            variables = await fetch([_QUERY], directory=directory)
            return sorted(select(dict(variables), self._agent.only, ()))
        raise ArtifactError("the desk does not know what is asked")

    async def _serve(self, connection: Connection, request: Request) -> None:
        """Run ``request`` as long as it is there for whom it is."""
        running = Running()
        async with trio.open_nursery() as nursery:
            nursery.start_soon(running.listen, connection, nursery.cancel_scope)
            async with self._limit:
                try:
                    status = await self._run(connection, request, running)
                    await connection.send(frames.encode_number(frames.ENDED, status))
                except HotenvError as error:
                    await _fail(connection, error)
            nursery.cancel_scope.cancel()

    async def _run(self, connection: Connection, request: Request, running: Running) -> int:
        """Run ``request``; its wait status. Raises the HotenvError because of which it is not."""
        settings = self._settings
        folder = open_folder(request.folder, request.identity, settings.directory)
        try:
            record = Record(settings, request, connection.pid)
            program = await self._approve(connection, request, record)
            variables = dict(await fetch(request.argv, directory=settings.directory))
            record.hide(variables)
            job = make_job(settings, self._agent, request, program, variables)
            async with record.running():
                attended = await Attended.start(job, request, folder)
                try:
                    return record.ended(await running.follow(attended, connection))
                finally:
                    await attended.aclose()  # noqa: ASYNC102 - it is shielded, and bounded
        finally:
            os.close(folder)

    async def _approve(self, connection: Connection, request: Request, record: Record) -> Program:
        """The program of ``request``, which the policy, or a human, allows.

        Error handling: raises UsageError if nobody does, and what :func:`find` raises.
        """
        verdict = self._agent.rules.verdict(request.argv)
        pattern = None if verdict.pattern is None else str(verdict.pattern)
        record.decided(verdict.decision, pattern)
        if verdict.decision == DENY:
            await record.denied("denied")
            raise UsageError(_denied(pattern))
        inherited, writable = self._settings.inherited, self._settings.writable
        program = await trio.to_thread.run_sync(find, request.argv[0], inherited, writable)
        if verdict.decision == ALLOW:
            return program
        said = await self._ask(connection, request, program)
        record.answered(said)
        if said in ("", NO):
            await record.denied("refused" if said else "not answered")
            raise UsageError("the user has not allowed this command" if said else _unanswered())
        again = await trio.to_thread.run_sync(find, request.argv[0], inherited, writable)
        if (again.path, again.identity, again.digest) != _identity(program):
            raise UsageError(f"{program.path} has changed since the user was asked: try again")
        return program

    async def _ask(self, connection: Connection, request: Request, program: Program) -> str:
        question = Question(
            number=self.questions.next_number(),
            subject=Subject(request.argv, request.identity, (*program.identity, program.digest)),
            folder=request.folder,
            program=program.path,
            pid=connection.pid,
            guard=words_of(self._agent),
            asked=trio.current_time(),
        )
        asked = not self.questions.is_settled(question)
        if asked:
            if not self.questions.can_ask:
                raise UsageError(
                    "this command needs the user's permission, and there is no terminal to ask in: "
                    "ask the user to run 'hotenv desk'"
                )
            await connection.send(frames.encode_number(frames.ASKED, question.number))
        said = await self.questions.ask(question, self._agent.ask_timeout)
        if asked and said not in ("", NO):
            await connection.send(frames.encode(frames.PERMITTED))
        return said


def _identity(program: Program) -> tuple[object, ...]:
    return program.path, program.identity, program.digest


def _denied(pattern: str | None) -> str:
    which = "no pattern" if pattern is None else f"the pattern '{pattern}'"
    why = "allows it" if pattern is None else "denies it"
    return f"this command is not for an agent: {which} in [agent] of hotenv.toml {why}"


def _unanswered() -> str:
    return "the user has not answered in time whether this command is allowed: ask the user"


async def _fail(connection: Connection, error: HotenvError) -> None:
    try:
        await connection.send(frames.encode(frames.FAILED, encode_error(error)))
    except trio.BrokenResourceError:
        pass  # it has ended
