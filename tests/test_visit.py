"""visit: what a program inside and the desk say to each other."""

from __future__ import annotations

import json
import os
import signal
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import aclosing, asynccontextmanager
from functools import partial
from pathlib import Path

import pytest
import trio

from hotenv.desk import frames, visit
from hotenv.desk.connection import Connection
from hotenv.desk.request import Request
from hotenv.desk.visit import TIMED_OUT, Command, Visitor, exit_code_of
from hotenv.errors import ArtifactError, UnreachableError, UnresponsiveError, UsageError
from hotenv.handover.standin import encode_error
from hotenv.shell.bounds import Omitted

Play = Callable[[Connection], Awaitable[object]]


@asynccontextmanager
async def desk(play: Play, directory: Path) -> AsyncIterator[Visitor]:
    """One who visits a desk that does ``play`` with each connection."""
    path = str(directory / "desk")
    listener = trio.socket.socket(trio.socket.AF_UNIX)
    await listener.bind(path)
    listener.listen(1)

    async def serve(stream: trio.SocketStream) -> None:
        async with stream:
            try:
                await play(Connection(stream))
            except trio.BrokenResourceError:
                pass

    async with trio.open_nursery() as nursery:
        nursery.start_soon(partial(trio.serve_listeners, serve, [trio.SocketListener(listener)]))
        yield Visitor(path, "knock again")
        nursery.cancel_scope.cancel()


async def until_end(connection: Connection) -> AsyncIterator[tuple[bytes, bytes]]:
    """What comes from a command, until the end of its input."""
    async with aclosing(connection.frames()) as given:
        async for frame in given:
            yield frame
            if frame[0] == frames.END_OF_INPUT:
                return


def _enlarge() -> None:
    """What is sent with the first frame makes it no large request, and keeps nobody out."""


async def nobody() -> None:
    """No human is asked."""
    raise AssertionError


def command(stdin: bytes = b"", timeout: float = 60.0, limit: int | None = None) -> Command:
    """One that a desk here does not run."""
    return Command(("cmd", "a b"), "/", stdin, timeout, limit)


ENDED = frames.encode_number(frames.ENDED, 3 << 8)


async def test_a_command(runtime: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its words, directory and input go to the desk; what it wrote and its exit code come back."""
    monkeypatch.setenv("LC_ALL", "C")
    monkeypatch.setenv("SECRET", "x")
    asked: list[Request | bytes | None] = []
    given: list[tuple[bytes, bytes]] = []

    async def play(connection: Connection) -> None:
        asked.append(await connection.request(_enlarge))
        given.extend([each async for each in until_end(connection)])
        for kind, payload in ((frames.STDOUT, b"written"), (frames.STDERR, b"err")):
            await connection.send(frames.encode(kind, payload))
        await connection.send(ENDED)

    async with desk(play, runtime) as visitor:
        result = await visitor.run(command(b"in"), nobody)
    (request,) = asked
    assert isinstance(request, Request)
    assert (request.argv, request.folder, request.terminal) == (("cmd", "a b"), "/", ())
    assert request.identity == (os.stat("/").st_dev, os.stat("/").st_ino)
    assert (request.environment["LC_ALL"], "SECRET" in request.environment) == ("C", False)
    assert given == [(frames.INPUT, b"in"), (frames.END_OF_INPUT, b"")]
    assert (result.exit_code, result.stdout, result.stderr) == (3, b"written", b"err")
    assert not result.timed_out
    assert 0 <= result.duration < 60
    assert "written" not in repr(result)


async def test_much_input_and_output(runtime: Path) -> None:
    """Input waits for room, and of the output the head and the tail are kept."""
    size = 3 * frames.INPUT_WINDOW + 1

    async def play(connection: Connection) -> None:
        await connection.request(_enlarge)
        pending = taken = 0
        async for _, payload in until_end(connection):
            pending += len(payload)
            assert pending <= frames.INPUT_WINDOW
            taken += len(payload)
            if pending > frames.PIECE:
                await connection.send(frames.encode_number(frames.TAKEN, pending))
                pending = 0
        assert taken == size
        for _ in range(100):
            await connection.send(frames.encode(frames.STDOUT, b"0123456789"))
        await connection.send(ENDED)

    async with desk(play, runtime) as visitor:
        result = await visitor.run(command(b"i" * size, limit=10), nobody)
    assert result.stdout == b"0123456789"
    assert result.omitted_stdout == Omitted(990, 0, 5)
    assert result.omitted_stderr == Omitted()


@pytest.mark.parametrize(
    ("status", "code"), [(0, 0), (7 << 8, 7), (signal.SIGKILL, 137), (signal.SIGSEGV | 0x80, 139)]
)
def test_exit_codes(status: int, code: int) -> None:
    """As shells have them."""
    assert exit_code_of(status) == code


async def test_too_long(runtime: Path) -> None:
    """A command that takes too long is ended, and what it writes until then is kept."""
    events = []

    async def play(connection: Connection) -> None:
        await connection.request(_enlarge)
        await connection.send(frames.encode(frames.STDOUT, b"first"))
        async for kind, _ in connection.frames():
            events.append(kind)
        await connection.send(frames.encode(frames.STDERR, b"last"))
        events.append(b"gone")

    async with desk(play, runtime) as visitor:
        result = await visitor.run(command(timeout=0.5), nobody)
        events.append(b"told")
    assert (result.exit_code, result.timed_out) == (TIMED_OUT, True)
    assert (result.stdout, result.stderr) == (b"first", b"last")
    assert events == [frames.END_OF_INPUT, b"gone", b"told"]


async def test_a_desk_that_does_not_end_it(runtime: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Is not waited for."""
    monkeypatch.setattr(visit, "_LAST_WORDS", 0.05)

    async def play(_connection: Connection) -> None:
        await trio.sleep_forever()

    async with desk(play, runtime) as visitor:
        assert (await visitor.run(command(timeout=0.01), nobody)).timed_out


@pytest.mark.parametrize("then", [ENDED, b""], ids=["ends", "hangs"])
async def test_a_human_takes_time(runtime: Path, then: bytes) -> None:
    """The timeout is that of the command, and begins when a human has allowed it."""
    asked = trio.Event()

    async def tell() -> None:
        asked.set()

    async def play(connection: Connection) -> None:
        await connection.request(_enlarge)
        await connection.send(frames.encode_number(frames.ASKED, 1))
        await asked.wait()
        await trio.sleep(2 * timeout)
        await connection.send(frames.encode(frames.STARTED) + then)
        async for _ in connection.frames():
            pass

    timeout = 0.5
    async with desk(play, runtime) as visitor:
        result = await visitor.run(command(timeout=timeout), tell)
    assert result.timed_out == (not then)
    assert result.timed_out == (result.duration >= timeout)


async def test_cancelled(runtime: Path) -> None:
    """The connection is closed, and so the command is ended."""
    began, ended = trio.Event(), trio.Event()

    async def play(connection: Connection) -> None:
        await connection.request(_enlarge)
        began.set()
        async for _ in connection.frames():
            pass
        ended.set()

    async with desk(play, runtime) as visitor:
        async with trio.open_nursery() as nursery:
            nursery.start_soon(visitor.run, command(), nobody)
            await began.wait()
            nursery.cancel_scope.cancel()
        with trio.fail_after(60):
            await ended.wait()


async def test_refused(runtime: Path) -> None:
    """Why is what the desk says, also while there is still input to send."""

    async def play(connection: Connection) -> None:
        await connection.request(_enlarge)
        await connection.send(frames.encode(frames.FAILED, encode_error(UsageError("not this"))))

    async with desk(play, runtime) as visitor:
        for stdin in (b"", b"x" * frames.INPUT_WINDOW):
            with pytest.raises(UsageError, match=r"^not this$"):
                await visitor.run(command(stdin), nobody)


async def hang_up(connection: Connection) -> None:
    """A desk that ends."""
    await connection.request(_enlarge)


async def test_a_desk_that_ends(runtime: Path) -> None:
    """So has the command; what helps is said."""
    async with desk(hang_up, runtime) as visitor:
        with pytest.raises(UnreachableError, match=r"has ended.*: knock again$"):
            await visitor.run(command(), nobody)
        with pytest.raises(UnreachableError, match=r"has ended.*: knock again$"):
            await visitor.ask(frames.STATUS)


async def test_no_desk(runtime: Path) -> None:
    """There is nothing to connect to."""
    visitor = Visitor(str(runtime / "none"), "knock again")
    with pytest.raises(UnreachableError, match=r"no such file or directory: knock again$"):
        await visitor.run(command(), nobody)


async def test_nonsense(runtime: Path) -> None:
    """A desk that does not keep to the rules is an error."""

    async def play(connection: Connection) -> None:
        await connection.request(_enlarge)
        await connection.send(frames.encode(b"?"))

    async with desk(play, runtime) as visitor:
        with pytest.raises(ArtifactError):
            await visitor.run(command(), nobody)
        with pytest.raises(ArtifactError):
            await visitor.ask(frames.STATUS)


async def test_what_cannot_be_asked_for(runtime: Path) -> None:
    """Is not sent at all."""
    visitor = Visitor(str(runtime / "none"))
    with pytest.raises(UsageError, match=r"too long"):
        await visitor.run(Command(("x" * frames.LONGEST,), "/"), nobody)


async def test_queries(runtime: Path) -> None:
    """The answer is what the desk says, or its error."""
    answers: list[bytes] = [
        frames.encode(frames.ANSWER, json.dumps(["A"]).encode()),
        frames.encode(frames.FAILED, encode_error(UsageError("no"))),
        frames.encode(frames.ANSWER, b"{"),
    ]

    async def play(connection: Connection) -> None:
        assert await connection.request(_enlarge) == frames.VARIABLES
        await connection.send(answers.pop(0))

    async with desk(play, runtime) as visitor:
        assert await visitor.ask(frames.VARIABLES) == ["A"]
        with pytest.raises(UsageError, match=r"^no$"):
            await visitor.ask(frames.VARIABLES)
        with pytest.raises(ArtifactError):
            await visitor.ask(frames.VARIABLES)


async def test_no_answer(runtime: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nobody waits for ever."""
    monkeypatch.setattr(visit, "_PATIENCE", 0.05)

    async def play(_connection: Connection) -> None:
        await trio.sleep_forever()

    async with desk(play, runtime) as visitor:
        with pytest.raises(UnresponsiveError):
            await visitor.ask(frames.STATUS)
