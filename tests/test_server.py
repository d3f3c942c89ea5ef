"""The server, with connections in memory and simulated time; and as a function with a directory."""

from __future__ import annotations

import errno
import fcntl
import itertools
import json
import os
import socket
import sys
import threading
import time
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path

import pytest
import trio
from trio.testing import MockClock, wait_all_tasks_blocked

import hotenv
from fakes import MemoryListener, awake, claim, receive_all, until
from hotenv.exchange import protocol
from hotenv.exchange.protocol import Request
from hotenv.serving import watchdog
from hotenv.serving.events import Event, Outcome
from hotenv.serving.server import (
    EXCHANGE_TIMEOUT,
    GRACE_PERIOD,
    PUBLISH_EVERY,
    Ending,
    hold,
    hold_session,
    open_session,
)
from hotenv.serving.watchdog import Watchdog
from hotenv.session import claim as claims
from hotenv.session import clock, lock, markerfile
from hotenv.session.marker import format_marker
from hotenv.session.status import StatusFile, read_status
from processes import LIMIT, is_clean

RESPONSE = protocol.encode_response({"A": "1"})
LARGE = protocol.encode_response({"A": "x" * 1_000_000})
DUMP = b'{"command":"dump"}\n'
RUN = b'{"command":"run","args":["x","y"]}\n'


class Holding:
    """A server in a nursery: its listener, its watchdog, its events and, at the end, its ending."""

    def __init__(self, timeout: float = 300, response: bytes = RESPONSE) -> None:
        self.listener = MemoryListener()
        self.watchdog = Watchdog(timeout, asleep=awake)
        self.events: list[Event] = []
        self.ending: Ending | None = None
        self.response = response
        self.stop, self._signals = trio.open_memory_channel[int](10)
        self.capacity: int | None = None
        self.session: hotenv.Session | None = None

    @property
    def log(self) -> list[Request]:
        """The requests that were answered."""
        return [event.answered for event in self.events if event.answered is not None]

    @property
    def outcomes(self) -> list[Outcome]:
        """What became of each request."""
        return [event.outcome for event in self.events]

    async def __call__(self) -> None:
        self.ending = await hold(
            self.listener,
            self.response,
            self.watchdog,
            wait_for_signal=self._wait_for_signal,
            on_event=self.events.append,
            capacity=self.capacity,
            session=self.session,
        )

    async def _wait_for_signal(self) -> None:
        await self._signals.receive()

    async def ask(self, line: bytes) -> bytes:
        client = self.listener.connect()
        await client.send_all(line)
        return await receive_all(client)


async def during(server: Holding, test: Callable[[], Awaitable[object]]) -> None:
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
    assert [(event.outcome, event.request) for event in server.events] == [(Outcome.REJECTED, None)]


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
    """After EXCHANGE_TIMEOUT a connection without a request ends, answered or not."""
    server = Holding()

    async def test() -> None:
        start = trio.current_time()
        client = server.listener.connect()
        await client.send_all(b'{"comm')
        assert await receive_all(client) == b""
        assert trio.current_time() - start == EXCHANGE_TIMEOUT

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
    server = Holding(timeout=3, response=LARGE)
    received = b""
    async with trio.open_nursery() as nursery:
        nursery.start_soon(server)
        client = server.listener.connect()
        await client.send_all(DUMP)
        received += await client.receive_some(1000)
        mock_clock.jump(3)
        received += await receive_all(client)
    assert 0 < len(received) < len(LARGE)
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
        mock_clock.jump(GRACE_PERIOD / 2)
        await client.send_all(DUMP[5:])
        assert await receive_all(client) == RESPONSE
    assert server.ending is Ending.SIGNAL


async def test_grace_is_limited(autojump_clock: MockClock) -> None:
    """Who does not finish within GRACE_PERIOD after a signal is dropped."""
    server = Holding()
    start = trio.current_time()
    async with trio.open_nursery() as nursery:
        nursery.start_soon(server)
        server.listener.connect()
        await wait_all_tasks_blocked()
        server.stop.send_nowait(15)
    assert trio.current_time() - start == GRACE_PERIOD


async def test_silent_crowd_keeps_nobody_out(mock_clock: MockClock) -> None:
    """More silent connections than capacity: a client with a request is answered at once."""
    server = Holding()
    server.capacity = 4

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
        await trio.sleep(EXCHANGE_TIMEOUT + 1)
        assert server.log == []

    await during(server, test)


async def test_directory_session(directory: Path, runtime: Path) -> None:
    """In a program: started with nursery.start, found by its directory, ended by cancelling."""
    snapshot = hotenv.Snapshot({"A": "1", "B": ""})
    async with trio.open_nursery() as nursery:
        session = await nursery.start(hotenv.serve, snapshot, directory)
        assert Path(session.marker_path) == directory / ".hotenv"
        below = directory / "below"
        below.mkdir()
        assert await hotenv.fetch(directory=below) == snapshot
        assert await hotenv.fetch(["make", "all"]) == snapshot
        with pytest.raises(hotenv.SessionExistsError):
            await hotenv.serve(snapshot, directory)
        nursery.cancel_scope.cancel()
    assert is_clean(directory, runtime)
    with pytest.raises(hotenv.NoSessionError):
        await hotenv.fetch()


async def test_listener_of_the_callers(directory: Path) -> None:
    """A listener instead of a directory: no marker, the listener is closed at the end."""
    listener = MemoryListener()
    async with trio.open_nursery() as nursery:
        serve = partial(hotenv.serve, listener=listener)
        assert await nursery.start(serve, hotenv.Snapshot({"A": "1"})) is None
        client = listener.connect()
        await client.send_all(DUMP)
        assert await receive_all(client) == RESPONSE
        nursery.cancel_scope.cancel()
    assert listener.closed
    assert list(directory.iterdir()) == []


async def test_serve_returns_when_idle(autojump_clock: MockClock) -> None:
    """serve() returns why it ended."""
    ending = await hotenv.serve(hotenv.Snapshot(), listener=MemoryListener(), timeout=7)
    assert ending is Ending.EXPIRED


async def test_arguments_that_do_not_fit(directory: Path, runtime: Path) -> None:
    """Neither or both of directory and listener, and no sensible timeout, are refused."""
    snapshot = hotenv.Snapshot()
    for arguments in (
        {},
        {"directory": directory, "listener": MemoryListener()},
        {"directory": directory, "timeout": 0},
        {"directory": directory, "timeout": float("inf")},
        {"directory": directory, "timeout": float("nan")},
    ):
        with pytest.raises(hotenv.UsageError):
            await hotenv.serve(snapshot, **arguments)
    assert is_clean(directory, runtime)


# Events


@pytest.mark.parametrize("response", [RESPONSE, LARGE], ids=["small", "large"])
async def test_event_of_a_client_that_goes_away(response: bytes) -> None:
    """A request whose response could not be sent was abandoned, and extends nothing."""
    server = Holding(response=response)

    async def test() -> None:
        client = server.listener.connect_without_buffer()
        await client.send_all(DUMP)
        await wait_all_tasks_blocked()
        await client.aclose()
        await wait_all_tasks_blocked()
        assert not server.watchdog.touched.is_set()

    await during(server, test)
    assert server.outcomes == [Outcome.ABANDONED]
    assert server.events[0].request == protocol.decode_request(DUMP[:-1])
    assert server.log == []


async def test_event_of_a_request_in_memory() -> None:
    """It has its time; the client's process is not known where there is none."""
    server = Holding()
    before = time.time()
    await during(server, lambda: server.ask(DUMP))
    (event,) = server.events
    assert before <= event.time <= time.time()
    assert (event.outcome, event.pid, event.uid) == (Outcome.ANSWERED, None, None)


async def test_events_of_real_clients(runtime: Path) -> None:
    """The kernel says which process asked, and as which user it runs."""
    path = str(runtime / "s")
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(path)
        listener.listen()
        events: list[Event] = []
        stop = trio.Event()

        def seen(number: int) -> bool:
            return len(events) == number

        async with trio.open_nursery() as nursery:
            server = partial(
                hold,
                trio.SocketListener(trio.socket.from_stdlib_socket(listener)),
                LARGE,
                Watchdog(300),
                wait_for_signal=stop.wait,
                on_event=events.append,
            )
            nursery.start_soon(server)
            for number, line in enumerate((DUMP, b"junk\n", RUN), 1):
                client = await trio.open_unix_socket(path)
                async with client:
                    await client.send_all(line)
                    await client.receive_some(1)
                    if line != RUN:
                        await receive_all(client)
                await until(partial(seen, number), "the event")
            stop.set()
    known = (os.getpid(), os.geteuid()) if sys.platform in ("linux", "darwin") else (None, None)
    assert [(event.outcome, event.request) for event in events] == [
        (Outcome.ANSWERED, Request("dump")),
        (Outcome.REJECTED, None),
        (Outcome.ABANDONED, Request("run", ["x", "y"])),
    ]
    assert [(event.pid, event.uid) for event in events] == [known] * 3


# What may hang or fail


@pytest.mark.parametrize("accepted", [0, 1])
async def test_failed_listener_is_one_error(accepted: int) -> None:
    """It is no group, with and without a request in flight."""
    count = itertools.count()

    def accept() -> None:
        if next(count) >= accepted:
            raise OSError(errno.EBADF, "Bad file descriptor")

    listener = MemoryListener(accept)
    listener.connect()
    with pytest.raises(hotenv.SystemFailureError, match=r"^cannot accept connections: bad file"):
        await hotenv.serve(hotenv.Snapshot(), listener=listener)
    assert listener.closed


@pytest.mark.parametrize("path", ["a\0b", "\ud800"], ids=["NUL", "lone surrogate"])
async def test_directory_that_is_no_path(directory: Path, runtime: Path, path: str) -> None:
    """It is an error of usage that names the argument."""
    with pytest.raises(hotenv.UsageError, match=r"^directory: "):
        await hotenv.serve(hotenv.Snapshot(), path)
    assert is_clean(directory, runtime)


@pytest.fixture
def refused(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The inodes whose lock was not to be had; a claim waits for it as long as a test lasts."""
    waiting: list[int] = []

    def watch(name: str) -> None:
        real = getattr(fcntl, name)

        def watched(descriptor: int, *args: object) -> object:
            try:
                return real(descriptor, *args)
            except BlockingIOError:
                waiting.append(os.fstat(descriptor).st_ino)
                raise

        monkeypatch.setattr(fcntl, name, watched)

    watch("flock")
    watch("fcntl")
    monkeypatch.setattr(lock, "LOCK_TIMEOUT", LIMIT)
    return waiting


@contextmanager
def locked(path: Path) -> Iterator[int]:
    """Hold the guard of a marker, or the lock of a directory, as another process; its inode."""
    is_directory = path.is_dir()
    descriptor = os.open(path, os.O_RDONLY if is_directory else os.O_RDWR)
    try:
        with (lock.locked if is_directory else lock.guarded)(descriptor, str(path)):
            yield os.fstat(descriptor).st_ino
    finally:
        os.close(descriptor)


@pytest.fixture(params=["marker", "runtime base"])
def contended(request: pytest.FixtureRequest, directory: Path, runtime: Path) -> Path:
    """Each file that is locked for a claim that replaces a marker."""
    base, marker = runtime / "hotenv", directory / ".hotenv"
    base.mkdir(mode=0o700)
    marker.write_bytes(format_marker("/nowhere/0123abcd.sock"))
    marker.chmod(0o600)
    return marker if request.param == "marker" else base


async def test_claim_waits_for_a_lock_beside_other_tasks(
    directory: Path, runtime: Path, contended: Path, refused: list[int]
) -> None:
    """The loop goes on meanwhile: it is another task that releases the lock."""
    serve = partial(hotenv.serve, force=True)
    async with trio.open_nursery() as nursery:
        with locked(contended) as inode:

            async def start() -> None:
                await nursery.start(serve, hotenv.Snapshot({"A": "1"}), directory)
                started.set()

            started = trio.Event()
            nursery.start_soon(start)
            await until(lambda: inode in refused, "the claim to be refused the lock")
            assert not started.is_set()
        with trio.fail_after(LIMIT):
            await started.wait()
        assert await hotenv.fetch(directory=directory) == {"A": "1"}
        nursery.cancel_scope.cancel()
    assert is_clean(directory, runtime)


async def test_cancelled_while_it_waits_for_a_lock(
    directory: Path, runtime: Path, contended: Path, refused: list[int]
) -> None:
    """It ends at once, although the lock is never released, and leaves what was there."""
    before = (directory / ".hotenv").read_bytes()
    with locked(contended) as inode, trio.fail_after(LIMIT / 2):
        async with trio.open_nursery() as nursery:
            serve = partial(hotenv.serve, force=True)
            nursery.start_soon(serve, hotenv.Snapshot(), directory)
            await until(lambda: inode in refused, "the claim to be refused the lock")
            nursery.cancel_scope.cancel()
    assert (directory / ".hotenv").read_bytes() == before
    assert os.listdir(directory) == [".hotenv"]
    assert os.listdir(runtime / "hotenv") == []


async def test_release_waits_for_the_guard_beside_other_tasks(
    directory: Path, runtime: Path, refused: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The same at the end: the marker goes as soon as another task has released the guard."""
    monkeypatch.setattr(markerfile, "RELEASE_TIMEOUT", LIMIT)
    async with trio.open_nursery() as nursery:
        scope = trio.CancelScope()
        started = trio.Event()

        async def serve() -> None:
            with scope:
                async with trio.open_nursery() as inner:
                    await inner.start(hotenv.serve, hotenv.Snapshot(), directory)
                    started.set()

        nursery.start_soon(serve)
        await started.wait()
        with locked(directory / ".hotenv") as inode:
            scope.cancel()
            await until(lambda: inode in refused, "the release to be refused the guard")
            assert (directory / ".hotenv").exists()
            assert list((runtime / "hotenv").glob("*.sock")) == []
    assert is_clean(directory, runtime)


async def test_release_does_not_wait_for_ever(
    directory: Path, runtime: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The process that holds the guard may be stopped: the end is in time, and is no failure."""
    monkeypatch.setattr(markerfile, "RELEASE_TIMEOUT", 0.01)
    monkeypatch.setattr(lock, "LOCK_TIMEOUT", LIMIT)
    with trio.fail_after(LIMIT / 2):
        async with trio.open_nursery() as nursery:
            await nursery.start(hotenv.serve, hotenv.Snapshot(), directory)
            with locked(directory / ".hotenv"):
                nursery.cancel_scope.cancel()
                with trio.CancelScope(shield=True):
                    await until(lambda: not os.listdir(runtime / "hotenv"), "the end")
    assert os.listdir(directory) == [".hotenv"]


class Hung:
    """A file system that does not answer: calls return only after ``resume``."""

    def __init__(self) -> None:
        self.reached = threading.Event()
        self.resume = threading.Event()

    def __call__(self, *_args: object) -> bool:
        self.reached.set()
        assert self.resume.wait(LIMIT)
        return True


@pytest.mark.parametrize("what", ["the look at the marker", "publishing the deadline"])
async def test_hung_file_system(
    directory: Path, runtime: Path, monkeypatch: pytest.MonkeyPatch, what: str
) -> None:
    """It delays neither the answers nor the expiry."""
    hung = Hung()
    if what == "the look at the marker":
        monkeypatch.setattr(claims, "LOOK_EVERY", 0)
        monkeypatch.setattr(claims.Session, "can_be_found", hung)
    else:
        monkeypatch.setattr(StatusFile, "publish_deadline", hung)
    monkeypatch.setattr(watchdog, "LOOK_EVERY", 0.01)
    asleep = 0.0
    dog = Watchdog(300, asleep=lambda: asleep)
    try:
        async with open_session(str(directory), dog, variables=1) as session:
            endings: list[Ending] = []

            async def serve() -> None:
                endings.append(await hold_session(session, RESPONSE, dog))

            with trio.fail_after(LIMIT):
                async with trio.open_nursery() as nursery:
                    nursery.start_soon(serve)
                    for _ in range(3):
                        assert await hotenv.fetch(directory=directory) == {"A": "1"}
                    await until(hung.reached.is_set, what)
                    assert await hotenv.fetch(directory=directory) == {"A": "1"}
                    asleep = 300.0
            assert endings == [Ending.EXPIRED]
            assert not hung.resume.is_set()
            if what == "the look at the marker":  # its thread is not one of the caller's
                limiter = trio.to_thread.current_default_thread_limiter()
                await until(lambda: limiter.borrowed_tokens == 0, "the end of all others")
            hung.resume.set()
    finally:
        hung.resume.set()
    assert is_clean(directory, runtime, expired=True)


async def test_the_look_at_the_marker_ends_with_the_session(
    directory: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No thread goes on looking."""
    stops: list[threading.Event] = []

    def wait(_session: hotenv.Session, stop: threading.Event) -> bool:
        stops.append(stop)
        return not stop.wait(LIMIT)

    monkeypatch.setattr(claims.Session, "wait_until_lost", wait)
    async with trio.open_nursery() as nursery:
        await nursery.start(hotenv.serve, hotenv.Snapshot(), directory)
        await until(lambda: stops, "the first look")
        nursery.cancel_scope.cancel()
    assert [stop.is_set() for stop in stops] == [True]


async def test_lost(directory: Path, runtime: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A session served from Python ends when its marker is removed."""
    monkeypatch.setattr(claims, "LOOK_EVERY", 0.001)
    endings: list[Ending] = []

    async def serve() -> None:
        endings.append(await hotenv.serve(hotenv.Snapshot(), directory))

    with trio.fail_after(LIMIT):
        async with trio.open_nursery() as nursery:
            nursery.start_soon(serve)
            await until((directory / ".hotenv").exists, "the marker")
            (directory / ".hotenv").unlink()
    assert endings == [Ending.LOST]
    assert is_clean(directory, runtime)


async def test_sleep_of_the_machine_counts(
    monkeypatch: pytest.MonkeyPatch, mock_clock: MockClock
) -> None:
    """A session served from Python is over when the machine wakes, and answers nothing before."""
    asleep = 0.0
    monkeypatch.setattr(clock, "boot_time", lambda: time.monotonic() + asleep)
    listener = MemoryListener()
    endings: list[Ending] = []

    async def serve() -> None:
        serve = partial(hotenv.serve, listener=listener, timeout=60, max_age=120)
        endings.append(await serve(hotenv.Snapshot({"A": "1"})))

    async with trio.open_nursery() as nursery:
        nursery.start_soon(serve)
        await wait_all_tasks_blocked()
        asleep = 8 * 3600.0
        client = listener.connect()
        await client.send_all(DUMP)
        await wait_all_tasks_blocked()
        mock_clock.jump(watchdog.LOOK_EVERY)
        assert await receive_all(client) == b""
    assert endings == [Ending.EXPIRED]


async def test_deadline_is_published_now_and_then(
    directory: Path, monkeypatch: pytest.MonkeyPatch, mock_clock: MockClock
) -> None:
    """Soon after a request; after many of them once, and not before it is time again."""
    published: list[float] = []
    publish = StatusFile.publish_deadline

    def watched(file: StatusFile, deadline: float) -> None:
        publish(file, deadline)
        published.append(deadline)

    monkeypatch.setattr(StatusFile, "publish_deadline", watched)
    server = Holding(timeout=100)
    with claim(str(directory)) as session:
        server.session = session

        async def test() -> None:
            before = clock.boot_time()
            assert await server.ask(DUMP) == RESPONSE
            await until(lambda: len(published) == 1, "the deadline to be published")
            assert before <= published[0] - 100 + 0.001 <= clock.boot_time() + 0.002
            status = read_status(session.socket_path)
            assert status is not None
            assert status.deadline == published[0]
            for _ in range(5):
                assert await server.ask(DUMP) == RESPONSE
            mock_clock.jump(PUBLISH_EVERY * 0.9)
            await wait_all_tasks_blocked()
            assert len(published) == 1
            mock_clock.jump(PUBLISH_EVERY * 0.2)
            await until(lambda: len(published) == 2, "the deadline to be published")
            mock_clock.jump(PUBLISH_EVERY * 2)
            await wait_all_tasks_blocked()
            assert len(published) == 2

        await during(server, test)
    assert server.ending is Ending.SIGNAL
