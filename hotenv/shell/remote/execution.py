"""One command in a shell on another machine, from its lines to its last byte of output."""

from __future__ import annotations

from functools import partial

import trio

from hotenv.errors import SystemFailureError
from hotenv.remote.destination import PATIENCE
from hotenv.remote.settlement import Settlement
from hotenv.shell import framing
from hotenv.shell.executor import TIMED_OUT
from hotenv.shell.remote.pump import BROKEN

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from hotenv.remote.keeper import Keeper
    from hotenv.shell.passage import Passage
    from hotenv.shell.remote.pump import Pump, Stream
    from hotenv.shell.remote.shells import RemoteShell
    from hotenv.shell.task import Task

_ROUNDS = 4  # of the grace period, in which a command is ended (see pump.bash)


class RemoteExecution:
    """A command that ``shell`` runs, with outputs through ``pump`` to ``passages``.

    ``name``: that of its directory there. ``settlement``: what is reported of it. ``timed_out``:
    whether it had to be ended.
    """

    def __init__(
        self, keeper: Keeper, shell: RemoteShell, pump: Pump, passages: Sequence[Passage]
    ) -> None:
        self.name: str = pump.take_name()
        self.settlement: Settlement = Settlement()
        self.streams: list[Stream] = pump.streams
        self.timed_out: bool = False
        self._keeper = keeper
        self._shell = shell
        self._pump = pump
        for stream, passage in zip(pump.streams, passages, strict=True):
            stream.begin(passage)

    async def settle(self, task: Task, *, status: int, grace: float) -> None:
        """Do ``task`` until it is settled.

        ``status``: that of the command before, which is in ``$?``. ``grace``: seconds that its
        processes get to end. Cancelled, it is ended.
        """
        place = f"{self._keeper.folder}/{self.name}".encode()
        lines = framing.remote_command_lines(
            task.text, place, stdin=bool(task.stdin), status=status
        )
        try:
            with trio.move_on_after(task.timeout):
                with trio.CancelScope(shield=True):  # a part of them would end the shell
                    await self._shell.channel.send(lines)
                await self._await_settlement()
        finally:
            self.timed_out = not self.settlement.code
            if self.timed_out:
                with trio.CancelScope(shield=True):
                    await self._stop(grace)

    async def _await_settlement(self) -> None:
        """If the shell has ended, the pump is told so."""
        settlement, pump, keeper = self.settlement, self._pump, self._keeper
        await keeper.until(
            lambda: settlement.code or pump.is_broken or self._shell.code is not None
        )
        if not (settlement.code or pump.is_broken):
            await keeper.order("release", self.name)
            await keeper.until(lambda: settlement.code or pump.is_broken)
        if not settlement.code:
            await keeper.fail(BROKEN)

    async def _stop(self, grace: float) -> None:
        await self._keeper.order("stop", self.name)
        with trio.move_on_after(_ROUNDS * grace + PATIENCE):
            await self._await_settlement()
            return
        await self._keeper.give_up()  # nothing else can end the command

    async def finish(self) -> None:
        """Wait until all output has come that it wrote before its end."""
        for stream, count in zip(self.streams, self.settlement.counts, strict=True):
            await self._keeper.until(partial(stream.has, count))
            if stream.is_broken:
                await self._keeper.fail(BROKEN)
            await stream.finish()

    def abandon(self) -> None:
        """Nobody takes any more of its output."""
        for stream in self.streams:
            stream.abandon()

    def has_begun(self) -> bool:
        """Whether there was a shell that could begin."""
        return self.settlement.has_begun

    async def exit_code(self) -> int:
        """That of the command, or of the shell if it has ended.

        Error handling: raises SystemFailureError if it is not known.
        """
        if self.timed_out:
            return TIMED_OUT
        code = self.settlement.code
        if code.isdigit():
            return int(code)
        if code != "-":
            raise SystemFailureError(
                f"the shell could not write the exit code to {self._keeper.folder} on "
                f"{self._keeper.host}: make room there"
            )
        await self._keeper.until(lambda: self._shell.code is not None)
        assert self._shell.code is not None  # noqa: S101 - for types
        return self._shell.code
