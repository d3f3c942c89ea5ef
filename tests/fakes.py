"""Fakes: a listener in memory, and scripted ways in which accept can fail."""

from __future__ import annotations

import select
import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from pathlib import Path

import trio
from trio.testing import (
    MemoryReceiveStream,
    MemorySendStream,
    lockstep_stream_pair,
    memory_stream_pair,
)

from hotenv import libc
from hotenv.exchange import protocol
from hotenv.session import claim as claims
from hotenv.session.clock import boot_time
from hotenv.session.markerfile import always
from hotenv.session.status import Status
from processes import LIMIT

MemoryStream = trio.StapledStream[MemorySendStream, MemoryReceiveStream]


class MemoryListener(trio.abc.Listener[trio.abc.Stream]):
    """Hands out the server's ends of the connections that a test makes."""

    def __init__(self, on_accept: Callable[[], None] = lambda: None) -> None:
        self._send, self._receive = trio.open_memory_channel[trio.abc.Stream](10_000)
        self._on_accept = on_accept
        self.closed = False

    def connect(self) -> MemoryStream:
        """A new connection; this is the client's end of it."""
        client, server = memory_stream_pair()
        self._send.send_nowait(server)
        return client

    def connect_without_buffer(
        self,
    ) -> trio.StapledStream[trio.abc.SendStream, trio.abc.ReceiveStream]:
        """The same, but what the server sends has to be read before it can go on."""
        client, server = lockstep_stream_pair()
        self._send.send_nowait(server)
        return client

    @property
    def waiting(self) -> int:
        """How many connections nobody has accepted."""
        return self._receive.statistics().current_buffer_used

    async def accept(self) -> trio.abc.Stream:
        self._on_accept()
        return await self._receive.receive()

    async def aclose(self) -> None:
        self.closed = True
        await trio.lowlevel.checkpoint()


async def until(condition: Callable[[], object], what: str) -> None:
    """Return as soon as ``condition`` holds, while other tasks and threads go on.

    By real time on every clock: threads do not know that of a test.
    """
    deadline = time.monotonic() + LIMIT
    while not condition():
        assert time.monotonic() < deadline, f"waited {LIMIT} s for {what}"
        await trio.lowlevel.checkpoint()
        time.sleep(0.0005)  # noqa: ASYNC251 - lets the threads run


def awake() -> float:
    """The time asleep of a machine that never sleeps."""
    return 0.0


def has_secret_memory() -> bool:
    """Whether this kernel has memfd_secret, and lets this process use it."""
    try:
        libc.secret_memory(1)
    except OSError:
        return False
    return True


async def receive_all(stream: trio.abc.ReceiveStream) -> bytes:
    """Everything until the peer ends the connection."""
    received = b""
    try:
        while data := await stream.receive_some(65536):
            received += data
    except trio.BrokenResourceError:
        pass
    return received


def describe(marker: str, device: int = 1, inode: int = 2) -> Status:
    """What a session of five minutes publishes."""
    return Status(
        marker=marker,
        device=device,
        inode=inode,
        started=time.time(),
        timeout=300.0,
        deadline=boot_time() + 300,
        end=None,
        variables=1,
        log=None,
        standalone=False,
        composition=None,
    )


def claim(directory: str, *, force: bool = False) -> AbstractContextManager[claims.Session]:
    """A session in ``directory`` of which nothing special is published."""
    return claims.claim(directory, describe=describe, may_replace=always if force else None)


@contextmanager
def answering_together(directory: Path, count: int) -> Iterator[None]:
    """Sessions below ``directory`` whose servers answer a probe once all of them were probed.

    If one answer is waited for before the next server is asked, none ever comes.
    """
    refusal = protocol.encode_error(protocol.BAD_REQUEST, "")
    with ExitStack() as stack:
        listeners = []
        for number in range(count):
            (directory / str(number)).mkdir()
            listeners.append(stack.enter_context(claim(str(directory / str(number)))).listener)

        def answer() -> None:
            with ExitStack() as asked:
                for connection in [asked.enter_context(_probed(each)) for each in listeners]:
                    connection.sendall(refusal)

        thread = threading.Thread(target=answer, daemon=True)
        thread.start()
        yield
        thread.join(LIMIT)


def _probed(listener: socket.socket) -> socket.socket:
    """The first connection whose client waits for an answer, and does not only look."""
    while True:
        connection, _ = listener.accept()
        poll = select.poll()
        poll.register(connection, select.POLLIN)
        ((_, event),) = poll.poll(LIMIT * 1000)
        if not event & select.POLLHUP:
            return connection
        connection.close()
