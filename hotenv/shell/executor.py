"""What a shell needs of the machine on which it runs."""

from __future__ import annotations

from typing import Protocol

from attrs import frozen

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from hotenv.shell.late import LateOutput
    from hotenv.shell.passage import Passage
    from hotenv.shell.task import Task


TIMED_OUT = 124
"""Exit code of a command that had to be ended, as that of timeout(1)."""


@frozen
class Outcome:
    """What has come of a command.

    ``cwd``: the working directory after it. ``duration``: seconds. ``shells``: how many there were
    so far.
    """

    exit_code: int
    timed_out: bool
    cwd: bytes
    duration: float
    shells: int


class Executor(Protocol):
    """Runs commands in a shell, one at a time, and in a new one if it has ended."""

    async def attempt(
        self, task: Task, passages: Sequence[Passage], late: Sequence[LateOutput]
    ) -> Outcome | None:
        """Do ``task``; None if the shell could not even begin, and has ended.

        ``passages``: take its standard output and its standard error. ``late``: what comes of them
        after its end. Cancelled, the command is ended.

        Error handling: raises what :meth:`hotenv.Shell.run` does.
        """
