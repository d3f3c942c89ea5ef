"""The pumps of a session: one, and another one as long as that waits for late output."""

from __future__ import annotations

import math

import trio

from hotenv.remote.scripts import script
from hotenv.shell.remote.pump import BROKEN, Pump

TYPE_CHECKING = False
if TYPE_CHECKING:
    from hotenv.remote.connection import Connection
    from hotenv.remote.keeper import Keeper


class Pumps:
    """Pumps over ``connection``. ``grace``: seconds that a command's processes get to end."""

    def __init__(
        self, connection: Connection, keeper: Keeper, nursery: trio.Nursery, grace: float
    ) -> None:
        self._connection = connection
        self._keeper = keeper
        self._nursery = nursery
        self._grace = grace
        self._pumps: dict[bytes, Pump] = {}
        self._current: Pump | None = None

    def take_record(self, what: bytes, number: bytes, rest: bytes) -> None:
        """Take what a pump has reported."""
        self._pumps[number].take_record(what, rest)

    async def ready(self) -> Pump:
        """One that is ready for another command.

        Error handling: raises SystemFailureError if there can be none, and DisconnectedError if the
        one that there was is broken.
        """
        while True:
            if self._current is None or self._current.is_late:
                self._current = await self._another()
            await self._keeper.until(self._current.knows)
            if self._current.is_broken:
                await self._keeper.fail(BROKEN)
            if self._current.is_ready:
                return self._current

    async def _another(self) -> Pump:
        """One that has been late, or a new one."""
        for pump in self._pumps.values():
            if pump.is_ready:  # what it takes for processes of earlier commands is out of date
                with trio.CancelScope(shield=True):  # else it would never be ready again
                    await self._keeper.order("release", pump.take_name())
                return pump
        return await self._new()

    async def _new(self) -> Pump:
        number = str(len(self._pumps) + 1)
        pump = Pump(await self._connection.open(), self._keeper.notify)
        # Not to be left half-way: it would seem to be ready.
        with trio.CancelScope(shield=bool(self._pumps)):
            self._pumps[number.encode()] = pump
            await self._start(pump, number)
        return pump

    async def _start(self, pump: Pump, number: str) -> None:
        text = script(
            "processes",
            "pump",
            folder=self._keeper.folder,
            cookie=self._connection.cookie,
            number=number,
            grace=str(math.ceil(self._grace * 1000)),
        )
        await pump.start(text, self._nursery, self._connection.host)
