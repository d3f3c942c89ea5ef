"""The server, with connections in memory and simulated time; and as a function with a folder."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable
from contextlib import suppress
from functools import partial
from pathlib import Path

import pytest
import trio
from trio.testing import MockClock, wait_all_tasks_blocked

import hotenv
from fakes import MemoryListener, receive_all
from hotenv.exchange import protocol
from hotenv.exchange.protocol import Request
from hotenv.serving.server import EXCHANGE_LIMIT, GRACE, Ending, hold
from hotenv.serving.watchdog import Watchdog
from processes import is_clean

RESPONSE = protocol.encode_response({"A": "1"})
DUMP = b'{"command":"dump"}\n'
RUN = b'{"command":"run","args":["x","y"]}\n'


class Holding:
    """A server in a nursery: its listener, its watchdog, its log and, at the end, its ending."""

    def __init__(self, timeout: float = 300, response: bytes = RESPONSE) -> None:
        self.listener = MemoryListener()
        self.watchdog = Watchdog(timeout)
        self.log: list[Request] = []
        self.ending: Ending | None = None
        self.response = response
        self.stop, self._signals = trio.open_memory_channel[int](10)
        self.on_request: Callable[[Request], None] = self.log.append
        self.places: int | None = None

    async def __call__(self) -> None:
        self.ending = await hold(
            self.listener,
            self.response,
            self.watchdog,
            signals=self._signals,
            on_request=self.on_request,
            places=self.places,
        )

    async def ask(self, line: bytes) -> bytes:
        client = self.listener.connect()
        await client.send_all(line)
        return await receive_all(client)


async def during(server: Holding, test: Callable[[], Awaitable[None]]) -> None:
    """Run ``test`` while ``server`` serves, then end it with a signal."""
    async with trio.open_nursery() as nursery:
        nursery.start_soon(server)
        await test()
        server.stop.send_nowait(15)


@pytest.mark.parametrize("line", [DUMP, RUN])
async def test_answers_and_logs(line: bytes) -> None:
    """Each request gets the one prepared response, then the connection ends; it is logged."""
    server = Holding()

    async def test() -> None:
        assert await server.ask(line) == RESPONSE

    await during(server, test)
    assert server.log == [protocol.decode_request(line[:-1])]
    assert server.ending is Ending.SIGNAL
    assert server.listener.closed


async def test_request_byte_by_byte() -> None:
    """However it is cut into pieces."""
    server = Holding()

    async def test() -> None:
        client = server.listener.connect()
        for i in range(len(RUN)):
            await client.send_all(RUN[i : i + 1])
            await wait_all_tasks_blocked()
        assert await receive_all(client) == RESPONSE

    await during(server, test)


@pytest.mark.parametrize(
    "line",
    [
        b"\n",
        b"junk\n",
        b"\xff\n",
        b"[]\n",
        b'{"command":"stop"}\n',
        b'{"command":"run"}\n',
        b'{"command":"run","args":[]}\n',
        b'{"command":"run","args":[1]}\n',
        b'{"command":"run","args":"x"}\n',
        DUMP + DUMP,
        DUMP + b"x",
        b"[" * 50_000 + b"\n",
    ],
    ids=lambda line: repr(line)[:30],
)
async def test_bad_request(line: bytes, mock_clock: MockClock) -> None:
    """BAD_REQUEST with a message that quotes nothing; not logged, and no more time for it."""
    server = Holding(timeout=10)

    async def test() -> None:
        mock_clock.jump(9)
        answer = json.loads(await server.ask(line))
        assert answer["error"] == "BAD_REQUEST"
        assert "junk" not in answer["message"]
        mock_clock.jump(1)
        assert server.watchdog.expired

    await during(server, test)
    assert server.log == []


async def test_half_a_request() -> None:
    """A client that ends its side too early is told; one that just goes disturbs nobody."""
    server = Holding()

    async def test() -> None:
        client = server.listener.connect()
        await client.send_all(b'{"command"')
        await client.send_eof()
        assert b"BAD_REQUEST" in await receive_all(client)
        for _ in range(3):
            client = server.listener.connect()
            await client.send_all(DUMP)
            await client.aclose()
        assert await server.ask(DUMP) == RESPONSE

    await during(server, test)


async def test_oversized_request(mock_clock: MockClock) -> None:
    """Over the limit without a newline: refused, and not kept in memory."""
    server = Holding()

    async def test() -> None:
        client = server.listener.connect()
        async with trio.open_nursery() as nursery:

            async def send() -> None:
                with suppress(trio.BrokenResourceError):
                    while True:
                        await client.send_all(bytes(1024 * 1024))

            nursery.start_soon(send)
            assert b"BAD_REQUEST" in await receive_all(client)

    await during(server, test)


async def test_silent_client_is_dropped(autojump_clock: MockClock) -> None:
    """After EXCHANGE_LIMIT a connection without a request ends, answered or not."""
    server = Holding()

    async def test() -> None:
        start = trio.current_time()
        client = server.listener.connect()
        await client.send_all(b'{"comm')
        assert await receive_all(client) == b""
        assert trio.current_time() - start == EXCHANGE_LIMIT

    await during(server, test)


async def test_a_mistake_of_ours_is_internal(monkeypatch: pytest.MonkeyPatch) -> None:
    """INTERNAL for that client, without details of the data; the session goes on."""

    def broken(_line: bytes) -> Request:
        raise RuntimeError("secret text")

    server = Holding()

    async def test() -> None:
        with monkeypatch.context() as patch:
            patch.setattr(protocol, "decode_request", broken)
            answer = json.loads(await server.ask(DUMP))
        assert answer == {"error": "INTERNAL", "message": "unexpected RuntimeError"}
        assert await server.ask(DUMP) == RESPONSE

    await during(server, test)


async def test_success_extends_and_idleness_ends(autojump_clock: MockClock) -> None:
    """The time runs from the last success."""
    server = Holding(timeout=100)
    start = trio.current_time()
    async with trio.open_nursery() as nursery:
        nursery.start_soon(server)
        for _ in range(3):
            await trio.sleep(99)
            assert await server.ask(DUMP) == RESPONSE
            await trio.lowlevel.checkpoint()
    assert trio.current_time() - start == 3 * 99 + 100
    assert server.ending is Ending.EXPIRED


async def test_connection_without_success_does_not_extend(autojump_clock: MockClock) -> None:
    """Neither connecting nor junk is a success."""
    server = Holding(timeout=20)
    start = trio.current_time()
    async with trio.open_nursery() as nursery:
        nursery.start_soon(server)
        await trio.sleep(10)
        server.listener.connect()
        await server.ask(b"junk\n")
    assert trio.current_time() - start == 20


async def test_expiry_wins_against_a_waiting_request(mock_clock: MockClock) -> None:
    """The time ran out while the request waited, as after SIGSTOP: nothing is sent."""
    server = Holding(timeout=10)
    async with trio.open_nursery() as nursery:
        nursery.start_soon(server)
        await wait_all_tasks_blocked()
        client = server.listener.connect()
        await client.send_all(DUMP)
        mock_clock.jump(10)
        assert await receive_all(client) == b""
    assert server.ending is Ending.EXPIRED
    assert server.log == []


async def test_expiry_cuts_a_response_that_is_on_its_way(mock_clock: MockClock) -> None:
    """A client that reads slowly does not get the rest after the deadline."""
    large = protocol.encode_response({"A": "x" * 1_000_000})
    server = Holding(timeout=3, response=large)
    received = b""
    async with trio.open_nursery() as nursery:
        nursery.start_soon(server)
        client = server.listener.connect()
        await client.send_all(DUMP)
        received += await client.receive_some(1000)
        mock_clock.jump(3)
        received += await receive_all(client)
    assert 0 < len(received) < len(large)
    assert server.log == []


async def test_request_in_flight_at_a_signal_is_answered(mock_clock: MockClock) -> None:
    """After a signal nobody new is let in; who is half way gets the answer."""
    server = Holding()
    async with trio.open_nursery() as nursery:
        nursery.start_soon(server)
        client = server.listener.connect()
        await client.send_all(DUMP[:5])
        await wait_all_tasks_blocked()
        server.stop.send_nowait(15)
        await wait_all_tasks_blocked()
        assert server.listener.closed
        server.stop.send_nowait(2)
        mock_clock.jump(GRACE / 2)
        await client.send_all(DUMP[5:])
        assert await receive_all(client) == RESPONSE
    assert server.ending is Ending.SIGNAL


async def test_grace_is_limited(autojump_clock: MockClock) -> None:
    """Who does not finish within GRACE after a signal is dropped."""
    server = Holding()
    start = trio.current_time()
    async with trio.open_nursery() as nursery:
        nursery.start_soon(server)
        server.listener.connect()
        await wait_all_tasks_blocked()
        server.stop.send_nowait(15)
    assert trio.current_time() - start == GRACE


async def test_silent_crowd_keeps_nobody_out(mock_clock: MockClock) -> None:
    """More silent connections than places: somebody with a request is answered at once."""
    server = Holding()
    server.places = 4

    async def test() -> None:
        silent = [server.listener.connect() for _ in range(50)]
        assert await server.ask(DUMP) == RESPONSE
        for client in silent[:46]:
            assert await receive_all(client) == b""  # at once: no time passes on this clock
        for client in silent[46:]:
            await client.aclose()

    await during(server, test)


async def test_client_that_never_reads(autojump_clock: MockClock) -> None:
    """It is dropped in the end, and it is no success."""
    server = Holding()

    async def test() -> None:
        client = server.listener.connect_without_buffer()
        await client.send_all(DUMP)
        await trio.sleep(EXCHANGE_LIMIT + 1)
        assert server.log == []

    await during(server, test)


async def test_folder_session(folder: Path, runtime: Path) -> None:
    """In a program: started with nursery.start, found through its folder, ended by cancelling."""
    snapshot = hotenv.Snapshot({"A": "1", "B": ""})
    async with trio.open_nursery() as nursery:
        session = await nursery.start(hotenv.serve, snapshot, folder)
        assert Path(session.marker_path) == folder / ".hotenv"
        below = folder / "below"
        below.mkdir()
        assert await hotenv.fetch(folder=below) == snapshot
        assert await hotenv.fetch(["make", "all"]) == snapshot
        with pytest.raises(hotenv.SessionExistsError):
            await hotenv.serve(snapshot, folder)
        nursery.cancel_scope.cancel()
    assert is_clean(folder, runtime)
    with pytest.raises(hotenv.NoSessionError):
        await hotenv.fetch()


async def test_listener_of_the_callers(folder: Path) -> None:
    """A listener instead of a folder: no marker, the listener is closed at the end."""
    listener = MemoryListener()
    async with trio.open_nursery() as nursery:
        serve = partial(hotenv.serve, listener=listener)
        assert await nursery.start(serve, hotenv.Snapshot({"A": "1"})) is None
        client = listener.connect()
        await client.send_all(DUMP)
        assert await receive_all(client) == RESPONSE
        nursery.cancel_scope.cancel()
    assert listener.closed
    assert list(folder.iterdir()) == []


async def test_serve_returns_when_idle(autojump_clock: MockClock) -> None:
    """serve() returns why it ended."""
    ending = await hotenv.serve(hotenv.Snapshot(), listener=MemoryListener(), timeout=7)
    assert ending is Ending.EXPIRED


async def test_arguments_that_do_not_fit(folder: Path, runtime: Path) -> None:
    """Neither or both of folder and listener, and no sensible timeout, are refused."""
    snapshot = hotenv.Snapshot()
    for arguments in (
        {},
        {"folder": folder, "listener": MemoryListener()},
        {"folder": folder, "timeout": 0},
        {"folder": folder, "timeout": float("inf")},
        {"folder": folder, "timeout": float("nan")},
    ):
        with pytest.raises(hotenv.UsageError):
            await hotenv.serve(snapshot, **arguments)
    assert is_clean(folder, runtime)
