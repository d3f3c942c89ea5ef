"""The client of keeper.bash."""

from __future__ import annotations

import math
from contextlib import suppress

import trio

from hotenv.errors import DisconnectedError
from hotenv.remote.connection import GONE, greet
from hotenv.remote.destination import ALIVE_COUNT, ALIVE_EVERY, GREETING_TIMEOUT, PATIENCE
from hotenv.remote.here import has_terminal
from hotenv.remote.records import Records
from hotenv.remote.scripts import script
from hotenv.remote.welcome import LONGEST_COMPLAINT, directory_in, refusal

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import NoReturn

    from hotenv.remote.connection import Channel, Connection

_FIFOS = "reports nothing"


class Keeper:
    """The first session of ``connection``. ``folder``: the directory there.

    ``on_record``: told what is reported, word by word.
    """

    def __init__(self, connection: Connection, on_record: Callable[[list[bytes]], None]) -> None:
        self.folder: str = ""
        self.host: str = connection.host
        self._connection = connection
        self._on_record = on_record
        self._complaint = b""
        self._channel: Channel | None = None
        self._turn = trio.Lock()
        self._beating = trio.CancelScope(shield=True)
        self._is_lost = False
        self._reason = ""
        self._changed = trio.Event()

    async def start(self, nursery: trio.Nursery) -> None:
        """Make the connection.

        Error handling: raises UnreachableError with the words of ssh if that fails, and what
        :func:`directory_in` does.
        """
        connection = self._connection
        self._channel = channel = await connection.open_first()
        complained = trio.Event()
        nursery.start_soon(self._collect_complaints, channel, complained)
        silence = str(ALIVE_EVERY * ALIVE_COUNT)
        settings = {"cookie": connection.cookie, "patience": silence, "fifos": _FIFOS}
        text = script("folder", "processes", "keeper", **settings)
        patience = math.inf if has_terminal() else GREETING_TIMEOUT
        greeting = await greet(channel.stdout, await channel.begin(text), patience)
        if greeting is None or greeting.record is None:
            code = await channel.end()
            await complained.wait()
            raise refusal(self.host, self._complaint, code)
        self.folder = directory_in(greeting.record, self.host)
        nursery.start_soon(self._follow, channel, greeting.rest)
        nursery.start_soon(self._beat)

    async def _collect_complaints(self, channel: Channel, complained: trio.Event) -> None:
        with trio.CancelScope(shield=True), suppress(*GONE):
            async for data in channel.stderr:
                self._complaint = (self._complaint + data)[-LONGEST_COMPLAINT:]
        complained.set()

    async def _follow(self, channel: Channel, rest: bytes) -> None:
        records = Records()
        try:
            with trio.CancelScope(shield=True), suppress(*GONE):  # to end a command it is needed
                self._take(records.feed(rest))
                async for data in channel.stdout:
                    self._take(records.feed(bytes(data)))
        finally:
            self._is_lost = True
            self._beating.cancel()
            self.notify()

    def _take(self, records: list[bytes]) -> None:
        for record in records:
            with suppress(LookupError, ValueError):  # not ours: anybody there may write such
                self._on_record(record.split(b" ", 2))
        self.notify()

    async def until(self, condition: Callable[[], object]) -> None:
        """Wait until ``condition`` holds. Raises DisconnectedError if the connection is lost."""
        while not condition():
            if self._is_lost:
                raise self._lost()
            await self._changed.wait()

    def _lost(self) -> DisconnectedError:
        return DisconnectedError(
            f"the connection to {self.host} was lost{self._reason}: open a new shell, which will "
            "have nothing of this one"
        )

    def notify(self) -> None:
        """Have all conditions looked at again."""
        self._changed.set()
        self._changed = trio.Event()

    async def _beat(self) -> None:
        with self._beating:
            while True:
                await self.order("beat")
                await trio.sleep(ALIVE_EVERY)

    async def order(self, *words: str) -> None:
        """Send a line to keeper.bash."""
        if self._channel is not None:
            async with self._turn:
                await self._channel.send(" ".join(words).encode() + b"\n")

    async def aclose(self, grace: float) -> None:
        """End everything below the keeper, and the keeper. Waits 5 seconds longer at most.

        ``grace``: seconds that the shell gets to end by itself.
        """
        if self._channel is not None:
            with trio.move_on_after(PATIENCE):
                await self.order("end", str(math.ceil(grace)))
            await self._channel.aclose(grace + PATIENCE)

    async def give_up(self) -> None:
        """End the connection at once."""
        if self._channel is not None:
            await self._channel.aclose(0)

    async def fail(self, reason: str) -> NoReturn:
        """End the connection at once, and raise DisconnectedError for ``reason``."""
        self._reason = f" ({reason})"
        await self.give_up()
        raise self._lost()
