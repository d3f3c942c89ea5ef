"""The client against servers that are slow, full, silent, foreign or gone."""

from __future__ import annotations

import errno
import os
import socket
import struct
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from types import SimpleNamespace

import pytest
import trio
import trio.testing

from hotenv import lightweight
from hotenv.errors import (
    ArtifactError,
    FieldError,
    NoSessionError,
    RefusedError,
    SystemFailureError,
    UnreachableError,
    UnresponsiveError,
    UsageError,
)
from hotenv.exchange import answer, client, direct, peer, protocol
from hotenv.exchange.client import exchange, exchange_sync, fetch, fetch_sync
from hotenv.session.marker import Marker
from processes import LIMIT

DUMP = protocol.Request("dump")
RESPONSE = protocol.encode_response({"A": "1"})


@pytest.fixture
def listener(runtime: Path) -> Iterator[socket.socket]:
    """A bound socket that does not listen yet."""
    with socket.socket(socket.AF_UNIX) as sock:
        sock.bind(str(runtime / "s"))
        yield sock


@pytest.fixture
def marker(runtime: Path) -> Marker:
    """A trusted marker for it."""
    return Marker("/somewhere/.hotenv", str(runtime / "s"), os.geteuid())


Exchange = Callable[[Marker, protocol.Request, float], dict[str, str] | None]

clients = pytest.mark.parametrize(
    "ask", [pytest.param(exchange_sync, id="Trio"), pytest.param(direct.exchange, id="direct")]
)
"""Both ways of asking, which have to tell the same."""


@contextmanager
def answering(
    listener: socket.socket, reply: bytes, *, reads: int | None = None, stays: bool = False
) -> Iterator[list[bytes]]:
    """A server for one connection: reads a request (or ``reads`` bytes of it), then replies.

    It closes the connection then, or with ``stays`` when the block ends. The list has what it read.
    """
    listener.listen()
    listener.settimeout(LIMIT)
    over = threading.Event()
    received: list[bytes] = []

    def serve() -> None:
        connection, _ = listener.accept()
        with connection:
            connection.settimeout(LIMIT)
            request = b""
            while not request.endswith(b"\n") if reads is None else len(request) < reads:
                request += connection.recv(65536)
            received.append(request)
            with suppress(OSError):
                connection.sendall(reply)
            if stays:
                over.wait(LIMIT)

    thread = threading.Thread(target=serve)
    thread.start()
    try:
        yield received
    finally:
        over.set()
        thread.join()


FORBIDDEN = "connecting is not permitted (a guard or sandbox): run the command outside of it"


@pytest.mark.parametrize(
    ("number", "place", "words"),
    [
        pytest.param(errno.EPERM, "none/socket", FORBIDDEN, id="a filter"),
        pytest.param(errno.EACCES, "socket", FORBIDDEN, id="Landlock"),
        pytest.param(errno.EACCES, "none/socket", "alive in another container", id="its folder"),
    ],
)
def test_permission(tmp_path: Path, number: int, place: str, words: str) -> None:
    """What a sandbox forbids is told from what the permissions of files do."""
    (tmp_path / "socket").touch()
    marker = Marker(f"{tmp_path}/.hotenv", f"{tmp_path}/{place}", os.geteuid())
    error = answer.cannot_connect(marker, OSError(number, os.strerror(number)))
    assert words in str(error)
    assert ("--force" in str(error)) == (words != FORBIDDEN)


NOT_LISTENING = ["nothing", "file", "directory", "dead socket"]


def occupy(path: Path, kind: str) -> None:
    """Put a thing of this kind where the socket of a server should be."""
    if kind == "file":
        path.write_text("")
    elif kind == "directory":
        path.mkdir()
    elif kind == "dead socket":
        with socket.socket(socket.AF_UNIX) as sock:
            sock.bind(str(path))


def reader_of(data: bytes) -> protocol.LineReader:
    """A reader that has received ``data``."""
    reader = protocol.LineReader(protocol.RESPONSE_LIMIT)
    reader.feed(data)
    return reader


def fill_backlog(listener: socket.socket, path: str) -> list[socket.socket]:
    """Let ``listener`` listen with connections that leave no room for another one."""
    listener.listen(0)
    crowd = []
    while True:
        sock = socket.socket(socket.AF_UNIX)
        sock.setblocking(False)
        crowd.append(sock)
        try:
            sock.connect(path)
        except BlockingIOError:
            return crowd


@pytest.mark.parametrize("kind", NOT_LISTENING)
async def test_no_server_there(marker: Marker, kind: str) -> None:
    """Whatever is in the socket's place: unreachable, with the marker and what to do."""
    occupy(Path(marker.socket), kind)
    with pytest.raises(UnreachableError, match=r"/somewhere/.hotenv.*--force"):
        await exchange(marker, DUMP)


async def test_full_backlog_is_waited_out(listener: socket.socket, marker: Marker) -> None:
    """Connections that the kernel cannot queue are tried again until there is room."""
    crowd = fill_backlog(listener, marker.socket)
    answers = []
    async with trio.open_nursery() as nursery:

        async def ask() -> None:
            answers.append(await exchange(marker, DUMP))
            nursery.cancel_scope.cancel()

        nursery.start_soon(ask)
        await trio.testing.wait_all_tasks_blocked()
        assert answers == []
        trio_listener = trio.SocketListener(trio.socket.from_stdlib_socket(listener.dup()))

        async def answer(stream: trio.SocketStream) -> None:
            if await stream.receive_some():
                await stream.send_all(RESPONSE)

        for sock in crowd:
            sock.close()
        nursery.start_soon(trio.serve_listeners, answer, [trio_listener])
    assert answers == [{"A": "1"}]


async def test_full_backlog_for_too_long(listener: socket.socket, marker: Marker) -> None:
    """But not for ever, and not longer than the caller wants."""
    crowd = fill_backlog(listener, marker.socket)
    with pytest.raises(UnresponsiveError, match=r"no answer within 0.1 seconds"):
        await exchange(marker, DUMP, 0.1)
    for sock in crowd:
        sock.close()


def test_full_backlog_is_not_for_the_direct_client(listener: socket.socket, marker: Marker) -> None:
    """It waits for nothing unusual: that is the other client's."""
    crowd = fill_backlog(listener, marker.socket)
    assert direct.exchange(marker, DUMP) is None
    for sock in crowd:
        sock.close()


@clients
def test_answer(ask: Exchange, listener: socket.socket, marker: Marker) -> None:
    """One request, and the variables of its answer."""
    with answering(listener, RESPONSE) as received:
        assert ask(marker, DUMP, 5.0) == {"A": "1"}
    assert received == [b'{"command":"dump"}\n']


@clients
def test_long_request(ask: Exchange, listener: socket.socket, marker: Marker) -> None:
    """All of a request arrives that is larger than what the kernel keeps for the server."""
    request = protocol.Request("run", ["x" * 3_000_000])
    with answering(listener, RESPONSE) as received:
        assert ask(marker, request, 5.0) == {"A": "1"}
    assert received == [protocol.encode_request(request)]


@clients
def test_a_server_that_drops_the_request(
    ask: Exchange, listener: socket.socket, marker: Marker
) -> None:
    """A connection that is reset has ended, and was not waited for in vain."""
    with answering(listener, b"", reads=1), pytest.raises(UnreachableError) as caught:
        ask(marker, protocol.Request("run", ["x" * 3_000_000]), 5.0)
    assert "the server exited before answering" in str(caught.value)
    assert not isinstance(caught.value, UnresponsiveError)


@clients
@pytest.mark.parametrize("timeout", [0.1, 0.25])
def test_silence(ask: Exchange, timeout: float, listener: socket.socket, marker: Marker) -> None:
    """A server that says nothing is given up after the time that the caller has for it."""
    with answering(listener, b"", stays=True), pytest.raises(UnresponsiveError) as caught:
        ask(marker, DUMP, timeout)
    assert str(caught.value) == (
        "cannot reach the server of /somewhere/.hotenv (no answer within "
        f"{timeout:.1f} seconds): resume it with 'fg' if it was suspended (Ctrl-Z), or run "
        "'hotenv stop' to end it"
    )


@clients
def test_a_server_that_reads_nothing(
    ask: Exchange, listener: socket.socket, marker: Marker
) -> None:
    """The time counts for sending a long request too."""
    listener.listen()
    with pytest.raises(UnresponsiveError):
        ask(marker, protocol.Request("run", ["x" * 3_000_000]), 0.1)


@clients
def test_an_answer_that_trickles(ask: Exchange, listener: socket.socket, marker: Marker) -> None:
    """The time is for the whole answer, however often something of it comes."""
    listener.listen()
    listener.settimeout(LIMIT)
    sent = threading.Event()

    def serve() -> None:
        connection, _ = listener.accept()
        with connection, suppress(OSError):
            while True:  # until the client goes away
                connection.sendall(b" ")
                sent.set()

    thread = threading.Thread(target=serve)
    thread.start()
    with pytest.raises(ArtifactError, match="incomplete"):
        ask(marker, DUMP, 0.5)
    thread.join()
    assert sent.is_set()


def test_each_piece_gets_the_time_that_is_left(monkeypatch: pytest.MonkeyPatch) -> None:
    """The direct client waits for the next piece no longer than for the whole."""
    now = 100.0
    waits: list[float] = []

    class Slow:
        """A connection on which a blank comes every 2.5 seconds."""

        def settimeout(self, seconds: float) -> None:
            waits.append(seconds)

        def recv(self, _size: int) -> bytes:
            nonlocal now
            now += 2.5
            return b" "

        def ignore(self, *_args: object) -> None:
            pass

        setblocking = connect = sendall = close = ignore

    fake = SimpleNamespace(AF_UNIX=1, SOCK_STREAM=1, socket=lambda *_: Slow())
    monkeypatch.setattr(direct, "socket", fake)
    monkeypatch.setattr(direct, "time", SimpleNamespace(monotonic=lambda: now))
    monkeypatch.setattr(direct, "check_peer", lambda *_: None)
    with pytest.raises(ArtifactError, match="incomplete"):
        direct.exchange(Marker("/m", "/s", 0), DUMP, 5.0)
    assert waits == [5.0, 5.0, 2.5]


@clients
def test_half_an_answer_and_silence(ask: Exchange, listener: socket.socket, marker: Marker) -> None:
    """An answer that began and does not end is malformed, not unreachable."""
    with (
        answering(listener, RESPONSE[:5], stays=True),
        pytest.raises(
            ArtifactError, match=r"^invalid response from the server of /somewhere.*: lin"
        ),
    ):
        ask(marker, DUMP, 0.5)


@clients
@pytest.mark.parametrize(
    ("reply", "error", "words"),
    [
        (b"", UnreachableError, r"\(the server exited before answering\): run 'hotenv serve --for"),
        (RESPONSE[:-1], ArtifactError, "of /somewhere/.hotenv: line is incomplete"),
        (RESPONSE + b"x", ArtifactError, "of /somewhere/.hotenv: more than one line"),
        (b"{}\n", ArtifactError, 'of /somewhere/.hotenv: response must have exactly one of "env"'),
        (protocol.encode_error("INTERNAL", "why"), SystemFailureError, "returned INTERNAL: why$"),
        (protocol.encode_error("BAD_REQUEST", "why"), ArtifactError, "returned BAD_REQUEST: why$"),
        (protocol.encode_refusal("why"), RefusedError, "^the session of /somewhere is why$"),
    ],
    ids=["gone", "no end", "more", "no response", "INTERNAL", "BAD_REQUEST", "REFUSED"],
)
def test_answers_that_are_none(
    ask: Exchange,
    reply: bytes,
    error: type[Exception],
    words: str,
    listener: socket.socket,
    marker: Marker,
) -> None:
    """Each has its error, which says whose answer it was."""
    with answering(listener, reply), pytest.raises(error, match=words) as caught:
        ask(marker, DUMP, 5.0)
    assert not isinstance(caught.value, UnresponsiveError)


@clients
def test_refusal_is_read_although_the_request_was_not(
    ask: Exchange, listener: socket.socket, marker: Marker
) -> None:
    """A server may refuse before it has read everything: its reason is what is shown."""
    refusal = protocol.encode_error("BAD_REQUEST", "too long")
    with answering(listener, refusal, reads=1), pytest.raises(ArtifactError, match="too long"):
        ask(marker, protocol.Request("run", ["x" * 3_000_000]), 5.0)


@clients
def test_an_answer_over_the_limit(
    ask: Exchange, listener: socket.socket, marker: Marker, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What is too long is not read to its end."""
    monkeypatch.setattr(protocol, "RESPONSE_LIMIT", 10)
    with (
        answering(listener, RESPONSE * 100, stays=True),
        pytest.raises(ArtifactError, match=r"of /somewhere/.hotenv: line is longer than 10 bytes"),
    ):
        ask(marker, DUMP, 5.0)


@pytest.mark.parametrize("kind", NOT_LISTENING)
def test_no_server_there_for_the_direct_client(marker: Marker, kind: str) -> None:
    """It leaves the words to the other one."""
    occupy(Path(marker.socket), kind)
    assert direct.exchange(marker, DUMP) is None


def test_another_users_server_for_the_direct_client(listener: socket.socket, runtime: Path) -> None:
    """Nor does it ask a server that does not run as the marker's owner."""
    listener.listen()
    assert direct.exchange(Marker("/m", str(runtime / "s"), os.geteuid() + 12345), DUMP) is None
    connection, _ = listener.accept()
    with connection:
        assert connection.recv(1) == b""


REFUSAL = protocol.encode_error(protocol.BAD_REQUEST, "incomplete")


@pytest.mark.parametrize("timed_out", [None, 5.0])
def test_probe_is_refused(timed_out: float | None) -> None:
    """A whole refusal is the answer to a probe, whenever the connection ends."""
    answer.conclude_probe(Marker("/m", "/s", 0), reader_of(REFUSAL), timed_out)


@pytest.mark.parametrize(
    ("data", "timed_out", "error", "words"),
    [
        (b"", None, UnreachableError, "the server exited before answering"),
        (b"", 0.3, UnresponsiveError, "no answer within 0.3 seconds"),
        (REFUSAL[:-1], None, ArtifactError, "server of /m: line is incomplete"),
        (REFUSAL[:-1], 0.3, ArtifactError, "server of /m: line is incomplete"),
        (b"{}\n", None, ArtifactError, "server of /m: server did not reject an empty request"),
        (RESPONSE, None, ArtifactError, "server of /m: server did not reject an empty request"),
        (b"HTTP\n", None, ArtifactError, "server of /m: line is not valid UTF-8 JSON"),
    ],
    ids=["gone", "silent", "half", "half and silent", "empty", "variables", "another protocol"],
)
def test_probe_is_not_refused(
    data: bytes, timed_out: float | None, error: type[Exception], words: str
) -> None:
    """Anything else is an error, and says whose answer it was."""
    with pytest.raises(error, match=words):
        answer.conclude_probe(Marker("/m", "/s", 0), reader_of(data), timed_out)


@pytest.mark.parametrize(
    ("timeout", "words"),
    [(5.0, "5 seconds"), (1.0, "1 second"), (0.3, "0.3 seconds"), (0.04, "0 seconds")],
)
def test_seconds(timeout: float, words: str) -> None:
    """The time that was waited is said as one says it."""
    error = answer.too_slow(Marker("/m", "/s", 0), timeout)
    assert f"(no answer within {words})" in str(error)


async def test_another_users_server(listener: socket.socket, runtime: Path) -> None:
    """A server that does not run as the marker's owner is not asked; both users are named."""
    listener.listen()
    mine, stranger = os.geteuid(), os.geteuid() + 12345
    with pytest.raises(UnreachableError) as caught:
        await exchange(Marker("/m", str(runtime / "s"), stranger), DUMP)
    for uid in (mine, stranger):
        assert f"uid {uid}" in str(caught.value)
    connection, _ = listener.accept()
    with connection:
        assert connection.recv(1) == b""  # not a byte of the request was sent


@pytest.fixture
def connection(listener: socket.socket, marker: Marker) -> Iterator[socket.socket]:
    """One to a server of this process."""
    listener.listen()
    with socket.socket(socket.AF_UNIX) as sock:
        sock.connect(marker.socket)
        yield sock


def test_peer(connection: socket.socket, marker: Marker) -> None:
    """The kernel's word for who is there, and its process ID for those whom that satisfies."""
    assert peer.identify(connection) == (os.getpid(), os.geteuid())
    assert peer.check_peer(connection, marker) == os.getpid()
    with pytest.raises(UnreachableError, match=r"the server of /m runs as .* but the marker is"):
        peer.check_peer(connection, Marker("/m", marker.socket, os.geteuid() + 1))


@clients
def test_another_socket_in_its_place(runtime: Path, ask: Exchange) -> None:
    """A program that may not bind the name of a session's socket can move its own there."""
    with socket.socket(socket.AF_UNIX) as other:
        other.bind(str(runtime / "other"))
        other.listen()
        os.rename(runtime / "other", runtime / "s")
        marker = Marker("/m", str(runtime / "s"), os.geteuid())
        with suppress(UnreachableError):
            assert ask(marker, DUMP, LIMIT) is None  # and asks by way of Trio, which says why
        connection, _ = other.accept()
        with connection:
            assert connection.recv(1) == b""  # not a byte of the request was sent
        with pytest.raises(UnreachableError, match=r"another socket has taken the place of .*/s: "):
            exchange_sync(marker, DUMP)


def test_peer_that_is_gone_already() -> None:
    """Where the kernel has nothing to tell of a closed connection, its server has gone."""

    class Closed:
        def getpeername(self) -> str:
            return "/s"

        def getsockopt(self, _level: int, _option: int, _size: int, /) -> bytes:
            raise OSError(errno.ENOTCONN, "not connected")

    with pytest.raises(UnreachableError, match="the server exited before answering"):
        peer.check_peer(Closed(), Marker("/m", "/s", os.geteuid()))


class FakeConnection:
    """Answers getsockopt with what it is given for each level and option. Connected to /s."""

    def __init__(self, options: dict[tuple[int, int], bytes]) -> None:
        self._options = options

    def getpeername(self) -> str:
        return "/s"

    def getsockopt(self, level: int, option: int, size: int, /) -> bytes:
        data = self._options[level, option]
        assert len(data) == size
        return data


def test_peer_on_macos(monkeypatch: pytest.MonkeyPatch) -> None:
    """struct xucred has version, user and groups; the process ID comes by another option."""
    monkeypatch.setattr(sys, "platform", "darwin")
    xucred = struct.pack("=IIhxx16I", 0, 501, 1, *[20] * 16)
    connection = FakeConnection({(0, 1): xucred, (0, 2): struct.pack("=i", 4242)})
    assert peer.identify(connection) == (4242, 501)
    assert peer.check_peer(connection, Marker("/m", "/s", 501)) == 4242
    with pytest.raises(UnreachableError, match="uid 501"):
        peer.check_peer(connection, Marker("/m", "/s", 502))


def test_peer_without_the_kernels_word(
    connection: socket.socket, marker: Marker, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where the kernel does not tell, the check is left to the private directory."""
    monkeypatch.setattr(sys, "platform", "another")
    monkeypatch.delattr(lightweight.socket, "SO_PEERCRED", raising=False)
    assert peer.identify(connection) is None
    assert peer.check_peer(connection, Marker("/m", marker.socket, os.geteuid() + 1)) is None


def test_peer_layout() -> None:
    """struct ucred is three C ints."""
    assert 3 * struct.calcsize("i") == peer._UCRED_SIZE


async def test_request_too_large(marker: Marker) -> None:
    """It is refused here, before a server is asked."""
    with pytest.raises(SystemFailureError, match="too long"):
        await exchange(marker, protocol.Request("run", ["x" * protocol.REQUEST_LIMIT]))


async def test_fetch_wants_words_and_not_one_word(directory: Path) -> None:
    """A string is a sequence of characters, and never what was meant."""
    with pytest.raises(FieldError, match=r"^argv: must be a list of strings, not a string$"):
        await fetch("make")


@pytest.mark.parametrize(
    ("place", "reason"),
    [
        ("a\0b", "contains a NUL character"),
        (Path("/a\0"), "contains a NUL character"),
        ("\ud800", "cannot be encoded as a path"),
    ],
    ids=ascii,
)
def test_directories_that_cannot_be(place: str | Path, reason: str, directory: Path) -> None:
    """It is an error of usage, and no ValueError."""

    async def ask() -> None:
        await fetch(directory=place)

    for function in (lambda: trio.run(ask), lambda: fetch_sync(directory=place)):
        with pytest.raises(FieldError) as caught:
            function()
        assert str(caught.value) == f"directory: {reason}"


async def test_sync_inside_trio(directory: Path) -> None:
    """It says what to do instead, and not how Trio sees it."""
    with pytest.raises(UsageError) as caught:
        fetch_sync()
    assert str(caught.value) == (
        "fetch_sync cannot be called within Trio: use 'await hotenv.fetch()'"
    )
    with pytest.raises(NoSessionError):  # a thread beside it is not within Trio
        await trio.to_thread.run_sync(fetch_sync)


def test_sync_wrapper_raises_the_same(directory: Path) -> None:
    """Errors leave trio.run bare."""
    (directory / ".hotenv").write_text("socket=/nonexistent/0123abcd.sock\n")
    (directory / ".hotenv").chmod(0o600)
    with pytest.raises(UnreachableError):
        fetch_sync()


@pytest.mark.parametrize("args", [[], ["make", "all"]])
async def test_fetch(
    args: list[str],
    listener: socket.socket,
    marker: Marker,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The words of a command go to the server's log; without any it is a dump."""
    asked: list[object] = []

    def find(*args: object, **options: object) -> Marker:
        asked.append((args, options))
        return marker

    monkeypatch.setattr(client, "find_session", find)
    with answering(listener, RESPONSE) as received:
        snapshot = await fetch(args, directory=Path("/somewhere"), above=True)
    assert asked == [(("/somewhere",), {"above": True, "option": "above=True"})]
    assert snapshot == {"A": "1"}
    request = protocol.Request("run", args) if args else DUMP
    assert received == [protocol.encode_request(request)]
