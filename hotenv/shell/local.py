"""Commands in a shell on this machine."""

from __future__ import annotations

import trio

from hotenv.errors import attempt
from hotenv.shell.ending import Processes
from hotenv.shell.execution import Execution
from hotenv.shell.executor import Outcome
from hotenv.shell.place import Place

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from hotenv.shell.late import LateOutput
    from hotenv.shell.passage import Passage
    from hotenv.shell.succession import Succession
    from hotenv.shell.task import Task


class LocalExecutor:
    """Runs commands in ``bashes``, with their files in ``folder``.

    ``nursery``: for what follows late output. ``grace``: see :func:`hotenv.open_shell`.
    """

    def __init__(
        self, bashes: Succession, folder: str, nursery: trio.Nursery, grace: float
    ) -> None:
        self._bashes = bashes
        self._folder = folder
        self._nursery = nursery
        self._grace = grace

    async def attempt(
        self, task: Task, passages: Sequence[Passage], late: Sequence[LateOutput]
    ) -> Outcome | None:
        """See :class:`hotenv.shell.executor.Executor`."""
        bashes = self._bashes
        bash = await bashes.current()
        began = trio.current_time()
        with self._place() as place:
            with attempt("make the files of a command"):
                execution = Execution(bash, place, Processes(bash.chain), passages)
            try:
                await execution.run(task, status=bashes.status, grace=self._grace)
            finally:
                await bashes.remember(bash)  # noqa: ASYNC102 - what it waits for was killed
            bash.check()
            has_begun = execution.has_begun()
            if not (has_begun or execution.timed_out):
                await bashes.drop(bash)
                return None
            if has_begun:
                for each, capture in zip(late, execution.captures, strict=True):
                    each.expect(capture, self._nursery)
            bashes.status = execution.exit_code()
            return Outcome(
                exit_code=bashes.status,
                timed_out=execution.timed_out,
                cwd=bashes.cwd,
                duration=trio.current_time() - began,
                shells=bashes.count,
            )

    def _place(self) -> Place:
        with attempt("make a directory for a command"):
            return Place(self._folder)
