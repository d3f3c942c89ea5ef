"""What becomes of a request: it is checked, perhaps asked about, and run.

The rules of the game: nothing of the requester is used but words, the size of its terminal and how
that shows text. What was approved is what is run: the program is looked at again then.
"""

from __future__ import annotations

import json
import os
from contextlib import AsyncExitStack

import trio
from attrs import evolve

from hotenv.desk import frames
from hotenv.desk.approval import Approver
from hotenv.desk.attended import Attended, Job
from hotenv.desk.connection import Connection
from hotenv.desk.job import make_job, names_for
from hotenv.desk.programs import open_folder
from hotenv.desk.questions import Questions
from hotenv.desk.reach import check_reach
from hotenv.desk.record import Record
from hotenv.desk.running import Running
from hotenv.desk.terms import terms_of
from hotenv.errors import (
    ArtifactError,
    HotenvError,
    NoSessionError,
    SystemFailureError,
    UsageError,
)
from hotenv.exchange.client import exchange
from hotenv.exchange.connections import available_capacity
from hotenv.exchange.protocol import Request as SessionRequest
from hotenv.guards.paths import real_path
from hotenv.handover.standin import encode_error
from hotenv.program import describe
from hotenv.project.agent import Agent
from hotenv.project.settings import consult
from hotenv.session.find import find_session
from hotenv.session.marker import NAME

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from hotenv.desk.request import Request
    from hotenv.desk.settings import Settings
    from hotenv.desk.terms import Terms

_MOST = 256  # commands at once
_DESCRIPTORS = 16  # of one, at most
_MOST_LARGE = 32  # that have very many words
_QUERY = "(names for an agent)"  # in the log of the session's server


class Desk:
    """Runs commands as ``settings`` say."""

    def __init__(self, settings: Settings) -> None:
        most = min(_MOST, available_capacity() // _DESCRIPTORS)
        self._limit = trio.CapacityLimiter(max(1, most))
        self._large: set[Connection] = set()
        self._logging = trio.Lock()
        self.questions: Questions = Questions(can_ask=settings.can_ask)
        self._hold(terms_of(Agent(settings.agent, settings.directory), settings))

    def _hold(self, terms: Terms) -> None:
        self._approver = Approver(terms, self.questions)

    @property
    def directory(self) -> str:
        """That of the project."""
        return self._settings.directory

    @property
    def _settings(self) -> Settings:
        return self._approver.terms.settings

    async def reload(self) -> None:
        """Hold what the project's file says now, if that is allowed.

        Error handling: raises UsageError if it is not, and holds what it held.
        """
        directory = self._settings.directory
        project, reason = await trio.to_thread.run_sync(consult, directory)
        if project is None or project.directory != directory:
            raise UsageError(reason or f"{self._settings.file} is gone from {directory}")
        settings = evolve(
            self._settings, agent=project.agent_table, composition=project.composition
        )
        terms = terms_of(project.agent, settings)
        if settings.confined:
            await trio.to_thread.run_sync(check_reach, terms.writable, [], settings.audit)
        self.questions.withdraw()  # the rules so far do not count any more
        self._hold(terms)

    async def serve(self, stream: trio.SocketStream, settle: Callable[[], None]) -> None:
        """Serve one connection of a command inside, whose request is known after ``settle``."""
        connection = Connection(stream)
        try:
            request = await connection.request(lambda: self._enlarge(connection))
            settle()
            if isinstance(request, bytes):
                answer = json.dumps(await self._answer(request)).encode()
                await connection.send(frames.encode(frames.ANSWER, answer))
            elif request is not None:
                await self._serve(connection, request)
        except HotenvError as error:
            await _fail(connection, error)
        except Exception as error:  # such as a limit: others go on
            await _fail(connection, SystemFailureError(describe(error)))
        finally:
            self._large.discard(connection)

    def _enlarge(self, connection: Connection) -> None:
        """Its request takes much memory, as long as it is there."""
        if len(self._large) >= _MOST_LARGE:
            raise SystemFailureError(
                f"the desk has {_MOST_LARGE} commands with very many words by now: try again"
            )
        self._large.add(connection)

    async def _answer(self, query: bytes) -> object:
        """What ``query`` asks: the names of variables, or where commands run. Never a value."""
        directory = self._settings.directory
        if query == frames.STATUS:
            return {"directory": directory, "open_questions": len([*self.questions])}
        if query == frames.VARIABLES:
            return names_for(self._approver.terms, await self._fetch([_QUERY]))
        raise ArtifactError("the desk does not know this query")

    async def _fetch(self, argv: Sequence[str]) -> dict[str, str]:
        """The variables of the session for the command ``argv``.

        The agent could remove the marker, so that another session is the nearest.

        Error handling: raises what :func:`hotenv.fetch` does.
        """
        settings = self._settings
        place = settings.session or settings.directory
        marker = await trio.to_thread.run_sync(find_session, place, abandon_on_cancel=True)
        if settings.session not in ("", os.path.dirname(marker.path)):
            raise NoSessionError(
                f"no {NAME} in {place}: run 'hotenv serve' there to start a session"
            )
        return await exchange(marker, SessionRequest("run", argv))

    async def _serve(self, connection: Connection, request: Request) -> None:
        """Run ``request`` as long as it is there for whom it is."""
        running = Running()
        async with trio.open_nursery() as nursery:
            nursery.start_soon(running.listen, connection, nursery.cancel_scope)
            try:
                status = await self._run(connection, request, running)
                await connection.send(frames.encode_number(frames.ENDED, status))
            except HotenvError as error:
                await _fail(connection, error)
            nursery.cancel_scope.cancel()

    async def _run(self, connection: Connection, request: Request, running: Running) -> int:
        """Run ``request``; its wait status. Raises the HotenvError because of which it is not."""
        record = Record(self._settings, request, connection.pid, self._logging)
        async with AsyncExitStack() as stack:
            async with record.deciding():
                job, folder = await self._decide(connection, request, record, stack)
                await stack.enter_async_context(self._limit)
            async with record.running():
                attended = await Attended.start(job, request, folder)
                try:
                    return record.ended(await running.follow(attended, connection))
                finally:
                    await attended.aclose()  # noqa: ASYNC102 - it is shielded, and bounded

    async def _decide(
        self, connection: Connection, request: Request, record: Record, stack: AsyncExitStack
    ) -> tuple[Job, int]:
        """What is run, and a descriptor of its folder, which ``stack`` closes.

        Error handling: raises the HotenvError because of which nothing is.
        """
        directory = self._settings.directory
        folder = open_folder(request.folder, request.identity, directory)
        stack.callback(os.close, folder)
        request = evolve(request, folder=real_path(folder))  # what a human and the log are shown
        record.found(request.folder)
        while True:
            approver = self._approver
            program = await approver.approve(connection, request, record)
            if program is not None and approver is self._approver:
                break  # else other terms count now
        variables = await self._fetch(request.argv)
        record.hide(variables)
        job = make_job(approver.terms, request, program, variables)
        return job, folder


async def _fail(connection: Connection, error: HotenvError) -> None:
    await connection.send(frames.encode(frames.FAILED, encode_error(error)))
