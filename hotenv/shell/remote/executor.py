"""Commands in a shell on another machine."""

from __future__ import annotations

import math
from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager, nullcontext
from shlex import quote

import trio

from hotenv.errors import SystemFailureError
from hotenv.remote.connection import new_connection
from hotenv.remote.keeper import Keeper
from hotenv.shell.executor import Outcome
from hotenv.shell.late import LateOutput
from hotenv.shell.nursery import open_helpers
from hotenv.shell.outputs import STREAMS
from hotenv.shell.passage import Passage
from hotenv.shell.remote.execution import RemoteExecution
from hotenv.shell.remote.feeder import feeding
from hotenv.shell.remote.pumps import Pumps
from hotenv.shell.remote.shells import RemoteShells
from hotenv.shell.task import Task

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from hotenv.remote.connection import Connection
    from hotenv.remote.settlement import Settlement
    from hotenv.shell.remote.pump import Pump
    from hotenv.shell.remote.shells import RemoteShell
    from hotenv.shell.setup import Setup

_NOT_EXECUTED = 126  # what bash says of a program that it cannot execute
_NOT_ENTERED = 3  # our own, of a directory


@asynccontextmanager
async def open_remote(setup: Setup, host: str) -> AsyncIterator[RemoteExecutor]:
    """What runs commands on ``host``. Errors are those of :func:`hotenv.open_shell`."""
    async with new_connection(host) as connection, open_helpers() as nursery:
        executor = RemoteExecutor(connection, setup, nursery)
        try:
            await executor.start()
            yield executor
        finally:
            with trio.CancelScope(shield=True):
                await executor.aclose()


class RemoteExecutor:
    """Runs commands over ``connection``, in shells as ``setup`` says."""

    def __init__(self, connection: Connection, setup: Setup, nursery: trio.Nursery) -> None:
        self._connection = connection
        self._environment = setup.environment
        self._cwd = setup.cwd
        self._grace = setup.limits.grace
        self._nursery = nursery
        self._keeper = Keeper(connection, self._take_record)
        self._pumps = Pumps(connection, self._keeper, nursery, self._grace)
        self._shells = RemoteShells(connection, self._keeper, nursery, setup.environment)
        self._settlements: dict[str, Settlement] = {}

    async def start(self) -> None:
        """Make the connection, and start the first shell.

        Error handling: raises what :meth:`Keeper.start` does, and SystemFailureError if the
        environment is too large for the other machine, or the working directory is not there.
        """
        await self._keeper.start(self._nursery)
        await self._pumps.ready()
        await self._check()

    async def _check(self) -> None:
        """Raise the error for what the shell cannot have there."""
        host = self._connection.host
        steps = ["/bin/sh -c :"] if self._environment else []
        if self._cwd is not None:
            steps.insert(0, f"\\builtin cd -- {quote(self._cwd)} || \\exit {_NOT_ENTERED}")
        nowhere = [Passage(lambda _: None) for _ in STREAMS]
        task = Task("; ".join(steps) or ":", b"", math.inf)
        outcome = await self.attempt(task, nowhere, [LateOutput(0) for _ in STREAMS])
        self._shells.status = 0
        if outcome is None or outcome.exit_code == _NOT_EXECUTED:
            raise SystemFailureError(
                f"the environment is larger than {host} allows: leave variables out"
            )
        if outcome.exit_code == _NOT_ENTERED:
            raise SystemFailureError(f"cannot start a shell in {self._cwd} on {host}")

    async def attempt(
        self, task: Task, passages: Sequence[Passage], late: Sequence[LateOutput]
    ) -> Outcome | None:
        """See :class:`hotenv.shell.executor.Executor`.

        Error handling: raises DisconnectedError too.
        """
        shell = await self._shells.current()
        pump = await self._pumps.ready()
        async with self._input(pump, task.stdin):
            execution = RemoteExecution(self._keeper, shell, pump, passages)
            return await self._follow(execution, task, shell, late)

    def _input(self, pump: Pump, stdin: bytes) -> AbstractAsyncContextManager[None]:
        if not stdin:
            return nullcontext()
        return feeding(self._connection, f"{self._keeper.folder}/{pump.name}", stdin)

    async def _follow(
        self,
        execution: RemoteExecution,
        task: Task,
        shell: RemoteShell,
        late: Sequence[LateOutput],
    ) -> Outcome | None:
        shells, settlement = self._shells, execution.settlement
        self._settlements[execution.name] = settlement
        began = trio.current_time()
        try:
            try:
                await execution.settle(task, status=shells.status, grace=self._grace)
            finally:
                if settlement.code:
                    await shells.remember(shell, settlement)  # noqa: ASYNC102 - it is bounded
            await execution.finish()
        except BaseException:
            execution.abandon()
            raise
        finally:
            del self._settlements[execution.name]
        if not (execution.has_begun() or execution.timed_out):
            return None
        for each, stream in zip(late, execution.streams, strict=True):
            each.expect(stream, self._nursery)
        shells.status = await execution.exit_code()
        return Outcome(
            exit_code=shells.status,
            timed_out=execution.timed_out,
            cwd=shells.cwd,
            duration=trio.current_time() - began,
            shells=shells.count,
        )

    def _take_record(self, words: Sequence[bytes]) -> None:
        match words:
            case [b"started" | b"ended" as what, number, rest]:
                self._shells.take_record(what, number, rest)
            case [b"ready" | b"late" | b"closed" as what, number, rest]:
                self._pumps.take_record(what, number, rest)
            case [b"cwd" | b"state" | b"settled" as what, name, rest]:
                self._settlements[name.decode()].take_record(what, rest)

    async def aclose(self) -> None:
        """End the shell, which gets the grace period, and all that it has left."""
        await self._shells.hang_up()
        await self._keeper.aclose(self._grace)
        await self._connection.aclose()
