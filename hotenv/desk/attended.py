"""One command that an attendant runs, as the desk sees it."""

from __future__ import annotations

import json
import os
import sys
from contextlib import ExitStack, suppress

import trio
from attrs import field, frozen

from hotenv.desk import attendant
from hotenv.desk.ends import STDERR, STDIN, STDOUT, Ends
from hotenv.desk.frames import PIECE
from hotenv.errors import HotenvError, SystemFailureError, attempt
from hotenv.guards.policy import Guard
from hotenv.shell.kept import Reports, pipe

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping, Sequence
    from typing import Self

    from hotenv.desk.request import Request

_COMMAND = (sys.executable, "-I", "-m", attendant.__name__)
_PATIENCE = 10.0  # seconds
_REPORT = 4096  # bytes


@frozen
class Job:
    """What is run: words, the environment and in-memory files, under ``guard``.

    ``write``: what it may change, without links. ``variables``: those of the session, whose values
    are hidden in what the command writes.
    """

    argv: Sequence[str]
    guard: Guard
    write: Sequence[str]
    environment: Mapping[bytes, bytes] = field(repr=False)
    files: Mapping[bytes, bytes] = field(repr=False)
    variables: Mapping[str, str] = field(repr=False)

    def settings(self, terminal: Sequence[int]) -> bytes:
        """For an attendant: secret."""
        fields = {
            "argv": list(self.argv),
            "environment": _text(self.environment),
            "files": _text(self.files),
            "variables": dict(self.variables),
            "guard": {name: getattr(self.guard, name) for name in Guard.__slots__},
            "write": list(self.write),
            "terminal": list(terminal),
        }
        text = json.dumps(fields).encode()
        return len(text).to_bytes(attendant.SIZE, sys.byteorder) + text


class Attended:
    """A command that is running, with streams of the desk's own. To be closed."""

    def __init__(self, process: trio.Process, orders: int, reports: int, ends: Ends) -> None:
        self._process = process
        self._orders = trio.lowlevel.FdStream(orders)
        self._reports = trio.lowlevel.FdStream(reports)
        self._ends = ends

    @classmethod
    async def start(cls, job: Job, request: Request, folder: int) -> Self:
        """Start ``job`` in ``folder``, with streams such as the requester's.

        Error handling: raises SystemFailureError if that is not possible.
        """
        with attempt("start the command"):
            ends = Ends(request)
            try:
                self = await cls._start(ends, folder)
            except BaseException:
                ends.close()
                raise
            finally:
                ends.let_go()
        try:
            with suppress(trio.BrokenResourceError):  # it was killed: there is no report
                await self._orders.send_all(job.settings(request.terminal))
        except BaseException:
            await self.aclose()  # noqa: ASYNC102 - it is shielded, and bounded
            raise
        return self

    @classmethod
    async def _start(cls, ends: Ends, folder: int) -> Self:
        with ExitStack() as ours, ExitStack() as theirs:
            reading, orders = pipe(theirs, ours)
            reports, writing = pipe(ours, theirs)
            process = await trio.lowlevel.open_process(
                [*_COMMAND, str(reading), str(writing), str(folder)],
                stdin=ends.given[STDIN],
                stdout=ends.given[STDOUT],
                stderr=ends.given[STDERR],
                start_new_session=True,
                pass_fds=[reading, writing, folder],
            )
            ours.pop_all()
        return cls(process, orders, reports, ends)

    async def write(self, data: bytes) -> None:
        """Give ``data`` to the command's standard input, if it still has one."""
        with suppress(trio.BrokenResourceError, trio.ClosedResourceError):
            await self._ends.streams[STDIN].send_all(data)

    async def end(self, stream: int) -> None:
        """There is no more input, or ``stream`` has no reader any more."""
        await self._ends.end(stream)

    def resize(self, rows: int, columns: int) -> None:
        """Its terminal has another size."""
        self._ends.resize(rows, columns)

    async def follow(self, stream: int, deliver: Callable[[bytes], Awaitable[None]]) -> None:
        """Deliver what the command writes to ``stream``, until there is no more."""
        source = self._ends.streams.get(stream)
        with suppress(trio.ClosedResourceError, trio.BrokenResourceError):  # the latter: EIO
            while source is not None and (data := await source.receive_some(PIECE)):
                await deliver(data)

    async def send_signal(self, signum: int) -> None:
        """Send the command ``signum``."""
        with suppress(trio.BrokenResourceError, trio.ClosedResourceError):
            await self._orders.send_all(bytes([signum]))

    async def ended(self, stopped: Callable[[int], Awaitable[None]]) -> int:
        """The wait status of the command, when it and all that it started has ended.

        ``stopped``: told each wait status of one that has stopped.

        Error handling: raises the HotenvError because of which it was not executed.
        """
        reports = Reports()
        while data := await self._reports.receive_some(_REPORT):
            for report in reports.feed(data):
                if isinstance(report, HotenvError):
                    raise report
                if not os.WIFSTOPPED(report):
                    return report
                await stopped(report)
        raise SystemFailureError("the process that ran the command was killed: try again")

    async def aclose(self) -> None:
        """End it, and all that it has started. Waits 10 seconds at most."""
        with trio.CancelScope(shield=True):
            await self._orders.aclose()
            self._ends.close()
            with trio.move_on_after(_PATIENCE):
                await self._process.wait()
            await self._reports.aclose()


def _text(variables: Mapping[bytes, bytes]) -> dict[str, str]:
    """``variables`` with a character for each byte."""
    return {n.decode("latin-1"): value.decode("latin-1") for n, value in variables.items()}
