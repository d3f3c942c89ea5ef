"""Fakes: a listener in memory, and scripted ways in which accept can fail."""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import AbstractContextManager

import trio
from trio.testing import (
    MemoryReceiveStream,
    MemorySendStream,
    lockstep_stream_pair,
    memory_stream_pair,
)

from hotenv.session import claim as claims
from hotenv.session.boottime import boot_time
from hotenv.session.statusrecord import StatusRecord

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


async def receive_all(stream: trio.abc.ReceiveStream) -> bytes:
    """Everything until the peer ends the connection."""
    received = b""
    try:
        while data := await stream.receive_some(65536):
            received += data
    except trio.BrokenResourceError:
        pass
    return received


def describe(marker: str) -> StatusRecord:
    """What a session of five minutes publishes."""
    return StatusRecord(
        marker=marker,
        started=time.time(),
        timeout=300.0,
        deadline=boot_time() + 300,
        end=None,
        variables=1,
        log=None,
        standalone=False,
    )


def claim(folder: str, *, force: bool = False) -> AbstractContextManager[claims.Session]:
    """A session in ``folder`` of which nothing special is published."""
    return claims.claim(folder, describe=describe, force=force)
