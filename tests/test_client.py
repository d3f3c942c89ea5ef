"""The client against servers that are slow, full, silent, foreign or gone."""

from __future__ import annotations

import os
import socket
import struct
from collections.abc import Iterator
from pathlib import Path

import pytest
import trio
import trio.testing

from hotenv.errors import ArtifactError, SystemFailureError, UnreachableError, UsageError
from hotenv.exchange import client, peer, protocol
from hotenv.exchange.client import exchange, fetch, fetch_sync
from hotenv.session.marker import Marker

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


@pytest.mark.parametrize("kind", ["nothing", "file", "folder", "socket nobody listens on"])
async def test_nobody_there(marker: Marker, kind: str) -> None:
    """Whatever is in the socket's place: unreachable, with the marker and what to do."""
    path = Path(marker.socket)
    if kind == "file":
        path.write_text("")
    elif kind == "folder":
        path.mkdir()
    elif kind != "nothing":
        with socket.socket(socket.AF_UNIX) as sock:
            sock.bind(str(path))
    with pytest.raises(UnreachableError, match=r"/somewhere/.hotenv.*--force"):
        await exchange(marker, DUMP)


async def test_full_backlog_is_waited_out(listener: socket.socket, marker: Marker) -> None:
    """Connections that the kernel cannot queue are tried again until there is room."""
    listener.listen(0)
    crowd = []
    while True:
        sock = socket.socket(socket.AF_UNIX)
        sock.setblocking(False)
        crowd.append(sock)
        try:
            sock.connect(marker.socket)
        except BlockingIOError:
            break
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


async def test_full_backlog_for_too_long(
    listener: socket.socket, marker: Marker, monkeypatch: pytest.MonkeyPatch
) -> None:
    """But not for ever."""
    monkeypatch.setattr(client, "PATIENCE", 0.05)
    listener.listen(0)
    crowd = [socket.socket(socket.AF_UNIX) for _ in range(3)]
    for sock in crowd:
        sock.setblocking(False)
        sock.connect_ex(marker.socket)
    with pytest.raises(UnreachableError, match="no answer within"):
        await exchange(marker, DUMP)
    for sock in crowd:
        sock.close()


async def test_half_an_answer_and_silence(
    listener: socket.socket, marker: Marker, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An answer that began and does not end is malformed, not unreachable."""
    monkeypatch.setattr(client, "PATIENCE", 0.5)
    listener.listen()
    async with trio.open_nursery() as nursery:

        async def answer(stream: trio.SocketStream) -> None:
            await stream.send_all(RESPONSE[:5])
            await trio.sleep_forever()

        served = [trio.SocketListener(trio.socket.from_stdlib_socket(listener.dup()))]
        nursery.start_soon(trio.serve_listeners, answer, served)
        with pytest.raises(ArtifactError, match="no end"):
            await exchange(marker, DUMP)
        nursery.cancel_scope.cancel()


async def test_refusal_is_read_although_the_request_was_not(
    listener: socket.socket, marker: Marker
) -> None:
    """A server may refuse before it has read everything: its reason is what is shown."""
    listener.listen()
    async with trio.open_nursery() as nursery:

        async def refuse(stream: trio.SocketStream) -> None:
            await stream.send_all(protocol.encode_error("BAD_REQUEST", "too long"))

        served = [trio.SocketListener(trio.socket.from_stdlib_socket(listener.dup()))]
        nursery.start_soon(trio.serve_listeners, refuse, served)
        with pytest.raises(ArtifactError, match="too long"):
            await exchange(marker, protocol.Request("run", ["x" * 3_000_000]))
        nursery.cancel_scope.cancel()


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


def test_peer_without_the_kernels_word(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without SO_PEERCRED, as on macOS, the check is left to the private folder."""
    monkeypatch.delattr(socket, "SO_PEERCRED", raising=False)
    left, right = socket.socketpair()
    with left, right:
        peer.check_peer(left, Marker("/m", "/s", os.geteuid() + 1))


def test_peer_layout() -> None:
    """struct ucred is three C ints."""
    assert peer._UCRED.size == 3 * struct.calcsize("i")


async def test_request_too_large(marker: Marker) -> None:
    """It is refused here, before anybody is asked."""
    with pytest.raises(SystemFailureError, match="too long"):
        await exchange(marker, protocol.Request("run", ["x" * protocol.REQUEST_LIMIT]))


async def test_fetch_wants_words_and_not_one_word(folder: Path) -> None:
    """A string is a sequence of characters, and never what was meant."""
    with pytest.raises(UsageError):
        await fetch("make")


def test_sync_wrapper_raises_the_same(folder: Path) -> None:
    """Errors leave trio.run bare."""
    (folder / ".hotenv").write_text("socket=/nonexistent/socket\n")
    (folder / ".hotenv").chmod(0o600)
    with pytest.raises(UnreachableError):
        fetch_sync()
