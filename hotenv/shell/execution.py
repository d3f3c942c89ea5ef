"""One command in a shell, from its first byte of input to its last of output."""

from __future__ import annotations

import os
from contextlib import suppress

import trio

from hotenv.errors import SystemFailureError
from hotenv.shell.capture import Capture
from hotenv.shell.ending import Processes, end_command
from hotenv.shell.executor import TIMED_OUT
from hotenv.shell.pipes import open_fifo

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from hotenv.shell.bash import Bash
    from hotenv.shell.passage import Passage
    from hotenv.shell.place import Place
    from hotenv.shell.task import Task

_KNOCK_EVERY = 0.001  # seconds between looks whether the shell has opened the command's input
_KILLED = 128  # and the signal


class Execution:
    """A command that ``bash`` runs, with streams in ``place``.

    ``passages``: take its standard output and its standard error.
    ``timed_out``: whether it had to be ended.
    """

    def __init__(
        self, bash: Bash, place: Place, processes: Processes, passages: Sequence[Passage]
    ) -> None:
        self._bash = bash
        self._place = place
        self._processes = processes
        place.fifo("done")
        fifos = [place.fifo(name) for name in ("out", "err")]
        self.captures: list[Capture] = [*map(Capture, fifos, passages)]
        self.timed_out: bool = False

    async def run(self, task: Task, *, status: int, grace: float) -> None:
        """Do ``task`` to its end.

        ``status``: that of the command before, which is in ``$?``. ``grace``: see
        :func:`end_command`.
        """
        async with trio.open_nursery() as nursery:
            for capture in self.captures:
                nursery.start_soon(capture.follow)
            if task.stdin:
                path = self._place.path_of("in")
                os.mkfifo(path, 0o600)
                nursery.start_soon(_feed, path, task.stdin)
            try:
                with trio.move_on_after(task.timeout):
                    await self._bash.begin(
                        task.text, self._place, stdin=bool(task.stdin), status=status
                    )
                    await self._bash.finish(self._place)
            finally:
                self.timed_out = not self._is_finished()
                if self.timed_out:
                    with trio.CancelScope(shield=True):
                        await end_command(self._processes, self._bash, self._is_finished, grace)
            nursery.cancel_scope.cancel()
        for capture in self.captures:
            await capture.finish()

    def _is_finished(self) -> bool:
        return self._bash.has_ended() or self._place.is_used("done")

    def has_begun(self) -> bool:
        """Whether there was a shell that could begin."""
        return self.captures[0].was_opened()

    def exit_code(self) -> int:
        """That of the command, or of the shell if it has ended.

        Error handling: raises SystemFailureError if it is not known.
        """
        if self.timed_out:
            return TIMED_OUT
        if report := self._place.report():
            return int(report)
        if self._bash.status is None:
            raise SystemFailureError(
                f"the shell could not write the exit code to {self._place.path}: make room there"
            )
        code = os.waitstatus_to_exitcode(self._bash.status)
        return code if code >= 0 else _KILLED - code


async def _feed(path: str, data: bytes) -> None:
    """Write ``data`` to the FIFO once the shell has opened it, as far as it is read."""
    while (descriptor := _try_open(path)) is None:  # noqa: ASYNC110 - no event tells of it
        await trio.sleep(_KNOCK_EVERY)
    async with trio.lowlevel.FdStream(descriptor) as stream:
        with suppress(trio.BrokenResourceError):  # nobody reads on
            await stream.send_all(data)


def _try_open(path: str) -> int | None:
    try:
        return open_fifo(path, os.O_WRONLY)
    except OSError:  # it has no reader yet, or there are too many files: that may change
        return None
