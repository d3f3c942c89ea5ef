"""A program inside, under Trio: the desk runs commands for it and answers what it asks.

Its commands have no terminal. Who gives up closes the connection, and the desk ends the command.
"""

from __future__ import annotations

import math
import os

import trio
from attrs import field, frozen

from hotenv.desk import frames
from hotenv.desk.client import parse_answer
from hotenv.desk.request import Request, passed
from hotenv.errors import (
    ArtifactError,
    UnreachableError,
    UnresponsiveError,
    attempt,
    because,
)
from hotenv.handover.standin import decode_error
from hotenv.shell.bounds import Bounds, Omitted

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

TIMED_OUT = 124
"""The exit code of a command that was, as for ``timeout(1)``."""

_PATIENCE = 15.0  # seconds for an answer, for which the desk may have to ask a session
_LAST_WORDS = 5.0  # seconds until a command that was ended is gone
_RESTART = "ask the user to start 'hotenv agent' again"


@frozen
class Command:
    """What is to be run: its words, the directory, and all of its standard input.

    ``timeout``: seconds after which it is ended, without those in which a human is asked.
    ``max_output``: bytes of each output that are kept.
    """

    argv: tuple[str, ...]
    folder: str
    stdin: bytes = field(default=b"", repr=False)
    timeout: float = math.inf
    max_output: int | None = None


@frozen
class Result:
    """What has come of a command. Its ``repr`` shows no output.

    ``exit_code``: as shells have it, with 128 and the signal for a command that was killed, and
    TIMED_OUT for one that was ended. ``omitted_stdout``, ``omitted_stderr``: what was left out of
    each. ``duration``: seconds, without those in which a human was asked.
    """

    exit_code: int
    stdout: bytes = field(repr=False)
    stderr: bytes = field(repr=False)
    omitted_stdout: Omitted = field(factory=Omitted)
    omitted_stderr: Omitted = field(factory=Omitted)
    timed_out: bool = False
    duration: float = 0.0


class Visitor:
    """``path``: of the desk's socket. ``restart``: what helps, for a person, when it has ended."""

    def __init__(self, path: str, restart: str = _RESTART) -> None:
        self._path = path
        self._restart = restart

    async def run(self, command: Command, asked: Callable[[], Awaitable[object]]) -> Result:
        """Have ``command`` run. ``asked`` is awaited when a human is, about whether it may be.

        Error handling: raises UnreachableError if the desk has ended, and the HotenvError because
        of which the command was not run.
        """
        frame = _request(command)
        stream = await self._connect()
        async with stream:
            return await _Visit(stream, command, self.gone).follow(frame, asked)

    async def ask(self, what: bytes) -> object:
        """What the desk says to the query ``what``: frames.VARIABLES or frames.STATUS.

        Error handling: as :meth:`run`; UnresponsiveError if there is no answer in 15 seconds.
        """
        with trio.move_on_after(_PATIENCE):
            stream = await self._connect()
            async with stream:
                return await self._answer(stream, what)
        raise UnresponsiveError(f"the desk does not answer in {_PATIENCE:.0f} s: try again")

    async def _answer(self, stream: trio.SocketStream, what: bytes) -> object:
        reader = frames.FrameReader()
        try:
            await stream.send_all(frames.encode(frames.QUERY, what))
            while data := await stream.receive_some(frames.PIECE):
                for kind, payload in reader.feed(data):
                    answer: object = parse_answer(kind, payload)
                    return answer
        except trio.BrokenResourceError:
            pass
        raise self.gone()

    async def _connect(self) -> trio.SocketStream:
        try:
            return await trio.open_unix_socket(self._path)
        except OSError as error:
            raise UnreachableError(
                f"cannot connect to the desk: {because(error)}: {self._restart}"
            ) from error

    def gone(self) -> UnreachableError:
        """The error for a desk that has ended meanwhile."""
        return UnreachableError(f"the desk has ended, and the command with it: {self._restart}")


class _Visit:
    """One ``command``, on the connection ``stream``. ``gone`` makes the error for its loss."""

    def __init__(
        self, stream: trio.SocketStream, command: Command, gone: Callable[[], UnreachableError]
    ) -> None:
        self._stream = stream
        self._timeout = command.timeout
        self._gone = gone
        self._reader = frames.FrameReader()
        self._input = memoryview(command.stdin)
        self._window = frames.INPUT_WINDOW
        self._outputs = {each: Bounds(command.max_output) for each in (1, 2)}
        self._status: int | None = None
        self._scope = trio.CancelScope()
        self._began = trio.current_time()

    async def follow(self, request: bytes, asked: Callable[[], Awaitable[object]]) -> Result:
        """Send ``request`` and take what comes back, until the end or the timeout."""
        self._begin()
        with self._scope:
            await self._send(request)
            await self._give_input()
            while self._status is None:
                for kind, payload in self._reader.feed(await self._receive()):
                    await self._take(kind, payload, asked)
        ended = trio.current_time()
        if self._scope.cancelled_caught:
            await self._end()
        return self._result(ended - self._began)

    def _begin(self) -> None:
        self._began = trio.current_time()
        self._scope.deadline = self._began + self._timeout

    async def _receive(self) -> bytes:
        try:
            data = await self._stream.receive_some(frames.PIECE)
        except trio.BrokenResourceError:
            data = b""
        if not data:
            raise self._gone()
        return bytes(data)

    async def _send(self, frame: bytes) -> None:
        try:
            await self._stream.send_all(frame)
        except trio.BrokenResourceError:
            pass  # why it has ended comes, or that it has

    async def _give_input(self) -> None:
        """Send what the window has room for."""
        while self._input and self._window:
            piece = self._input[: min(self._window, frames.PIECE)]
            self._input = self._input[len(piece) :]
            self._window -= len(piece)
            await self._send(frames.encode(frames.INPUT, bytes(piece)))
            if not self._input:
                await self._send(frames.encode(frames.END_OF_INPUT))

    async def _take(
        self, kind: bytes, payload: bytes, asked: Callable[[], Awaitable[object]]
    ) -> None:
        if kind in (frames.STDOUT, frames.STDERR):
            self._keep(kind, payload)
        elif kind == frames.TAKEN:
            self._window += frames.number(payload)
            await self._give_input()
        elif kind == frames.STOPPED:
            pass  # nobody continues it: the timeout ends it
        elif kind == frames.ASKED:
            self._scope.deadline = math.inf  # the desk has its own for that
            await asked()
        elif kind == frames.STARTED:
            self._begin()
        elif kind == frames.ENDED:
            self._status = frames.number(payload)
        elif kind == frames.FAILED:
            raise decode_error(payload)
        else:
            raise ArtifactError("the desk has sent a frame that is not known")

    def _keep(self, kind: bytes, payload: bytes) -> None:
        self._outputs[1 if kind == frames.STDOUT else 2].feed(payload)

    async def _end(self) -> None:
        """Have the desk end the command, and keep what it has written until then."""
        with trio.move_on_after(_LAST_WORDS):
            try:
                await self._stream.send_eof()
                while data := await self._stream.receive_some(frames.PIECE):
                    for kind, payload in self._reader.feed(data):
                        if kind in (frames.STDOUT, frames.STDERR):
                            self._keep(kind, payload)
            except trio.BrokenResourceError:
                pass

    def _result(self, duration: float) -> Result:
        stdout, omitted_stdout = self._outputs[1].kept()
        stderr, omitted_stderr = self._outputs[2].kept()
        timed_out = self._status is None
        return Result(
            exit_code=TIMED_OUT if self._status is None else exit_code_of(self._status),
            stdout=stdout,
            stderr=stderr,
            omitted_stdout=omitted_stdout,
            omitted_stderr=omitted_stderr,
            timed_out=timed_out,
            duration=duration,
        )


def exit_code_of(status: int) -> int:
    """That of a shell for a command with the wait status ``status``."""
    return 128 + os.WTERMSIG(status) if os.WIFSIGNALED(status) else os.WEXITSTATUS(status)


def _request(command: Command) -> bytes:
    """The frames for ``command`` that come first.

    Error handling: raises UsageError if it is too long, SystemFailureError if its directory is not
    there.
    """
    with attempt(f"use the directory {command.folder}"):
        status = os.stat(command.folder)
    request = Request(
        argv=command.argv,
        folder=os.path.abspath(command.folder),
        identity=(status.st_dev, status.st_ino),
        environment=passed(os.environ),
    )
    frame = request.frame()
    return frame if command.stdin else frame + frames.encode(frames.END_OF_INPUT)
