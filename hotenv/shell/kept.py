"""The keeper of a session, as the program sees it."""

from __future__ import annotations

import json
import os
import sys
from contextlib import ExitStack, suppress

import trio

from hotenv.errors import SystemFailureError, attempt
from hotenv.handover.standin import FAILED, STATUS_SIZE, decode_error
from hotenv.shell import keeper
from hotenv.shell.starter import ERROR_SIZE

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from typing import Any, Self

    from hotenv.errors import HotenvError

_REPORT = 4096  # bytes
_PATIENCE = 10.0  # seconds
_COMMAND = (sys.executable, "-I", "-m", keeper.__name__)


class Reports:
    """What a keeper reports: the wait status of a shell, or why there is none."""

    def __init__(self) -> None:
        self._received = b""

    def feed(self, data: bytes) -> list[int | HotenvError]:
        """The reports that are complete with ``data``."""
        self._received += data
        reports: list[int | HotenvError] = []
        while report := self._next():
            self._received = self._received[len(report) :]
            if report.startswith(FAILED):
                reports.append(decode_error(report[STATUS_SIZE:].rstrip(b"\0")))
            else:
                reports.append(int.from_bytes(report, sys.byteorder))
        return reports

    def _next(self) -> bytes:
        size = ERROR_SIZE if self._received.startswith(FAILED) else STATUS_SIZE
        return self._received[:size] if len(self._received) >= size else b""


class Kept:
    """A keeper that is running. ``pid``: its process ID."""

    def __init__(self, process: trio.Process, orders: int, reports: int) -> None:
        self._process = process
        self._orders = trio.lowlevel.FdStream(orders)
        self._reports = trio.lowlevel.FdStream(reports)
        self._on_report: Callable[[int | HotenvError], None] = lambda _: None
        self._is_lost = False
        self.pid: int = process.pid

    @classmethod
    async def start(
        cls, folder: str, settings: Mapping[str, Any], cwd: str | None, passed: Sequence[int]
    ) -> Self:
        """Start one for the session whose directory is ``folder``.

        ``settings``: those of :class:`hotenv.shell.setup.Setup`. ``cwd``: the
        working directory of its shells. ``passed``: descriptors that it gets.

        Error handling: raises SystemFailureError if it cannot be started.
        """
        with ExitStack() as ours, ExitStack() as theirs:
            reading, orders = pipe(theirs, ours)
            reports, writing = pipe(ours, theirs)
            with attempt(f"start a shell in {cwd}" if cwd else "start a shell"):
                process = await trio.lowlevel.open_process(
                    [*_COMMAND, folder],
                    stdin=reading,
                    stdout=writing,
                    cwd=cwd,
                    start_new_session=True,
                    pass_fds=passed,
                )
            ours.pop_all()
        self = cls(process, orders, reports)
        text = json.dumps(settings).encode()
        try:
            await self._order(len(text).to_bytes(keeper.SIZE, sys.byteorder) + text)
        except BaseException:
            await self.aclose()  # noqa: ASYNC102 - it is shielded, and bounded
            raise
        return self

    async def start_shell(self, on_report: Callable[[int | HotenvError], None]) -> None:
        """Have a shell started. ``on_report``: told its wait status, or why it did not start."""
        if self._is_lost:  # a keeper that ends may still seem to take orders for a moment
            raise _lost()
        self._on_report = on_report
        await self._order(keeper.START)

    async def _order(self, data: bytes) -> None:
        try:
            await self._orders.send_all(data)
        except trio.BrokenResourceError:
            raise _lost() from None

    async def watch(self) -> None:
        """Pass reports on, until the keeper ends or is closed: to close a shell they are needed."""
        reports = Reports()
        with trio.CancelScope(shield=True), suppress(trio.ClosedResourceError):
            while data := await self._reports.receive_some(_REPORT):
                for report in reports.feed(data):
                    self._on_report(report)
        self._is_lost = True
        self._on_report(_lost())

    async def aclose(self) -> None:
        """End everything below the keeper, and the keeper. Waits 10 seconds at most."""
        with trio.CancelScope(shield=True):
            await self._orders.aclose()
            with trio.move_on_after(_PATIENCE):  # it goes on by itself with what nobody can kill
                await self._process.wait()
            await self._reports.aclose()


def pipe(reading: ExitStack, writing: ExitStack) -> tuple[int, int]:
    """The ends of a new pipe, which are closed with ``reading`` and with ``writing``."""
    read, write = os.pipe()
    reading.callback(os.close, read)
    writing.callback(os.close, write)
    return read, write


def _lost() -> SystemFailureError:
    return SystemFailureError("the processes of the shell were killed: open a new shell")
