"""The standard input of a command on another machine."""

from __future__ import annotations

import secrets
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from shlex import quote

from hotenv.remote.connection import greet
from hotenv.remote.welcome import no_session
from hotenv.shell.nursery import open_helpers

TYPE_CHECKING = False
if TYPE_CHECKING:
    from hotenv.remote.connection import Channel, Connection

# What it is, is not a process of the command.
_FEED = 'mkfifo "$1/own.$$" && printf "\\0%s\\0" "$2" && exec cat >"$1/in"'
_NONCE = 8  # bytes


def feeding_command(place: str, nonce: str) -> str:
    """The command for the other machine, which says ``nonce`` once it is there."""
    return f"bash -c {quote(_FEED)} hotenv {quote(place)} {nonce}"


@asynccontextmanager
async def feeding(connection: Connection, place: str, data: bytes) -> AsyncIterator[None]:
    """Write ``data`` to the FIFO of the command in ``place``, as far as it is read.

    Error handling: raises SystemFailureError if there is no session for it, before the block.
    """
    nonce = secrets.token_hex(_NONCE)
    channel = await connection.open(feeding_command(place, nonce))
    try:
        if await greet(channel.stdout, nonce.encode()) is None:
            raise no_session(connection.host, await channel.end())
        async with open_helpers() as nursery:
            nursery.start_soon(_feed, channel, data)
            yield
    finally:
        await channel.aclose(0)  # noqa: ASYNC102 - it is shielded, and bounded


async def _feed(channel: Channel, data: bytes) -> None:
    await channel.send(data)
    await channel.stdin.aclose()
    await channel.drain()
