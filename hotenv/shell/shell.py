"""A shell that keeps its state from one command to the next."""

from __future__ import annotations

import math
import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import partial
from types import EllipsisType

import trio

from hotenv.errors import DisconnectedError, SystemFailureError
from hotenv.shell.hiding import hiding_in_errors
from hotenv.shell.late import LateOutput
from hotenv.shell.limits import check_timeout
from hotenv.shell.nursery import open_helpers
from hotenv.shell.outputs import Outputs
from hotenv.shell.passage import Passage
from hotenv.shell.result import OmittedOutput, Result
from hotenv.shell.running import Running
from hotenv.shell.task import Task

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from hotenv.redaction.redactor import Redactor
    from hotenv.shell.approval import Approval
    from hotenv.shell.executor import Executor
    from hotenv.shell.hiding import Unredacted
    from hotenv.shell.limits import Limits
    from hotenv.shell.passage import Deliver

_ATTEMPTS = 3  # with a new shell each
_OUTPUTS = ("stdout", "stderr", "late_stdout", "late_stderr")  # as a result has them


class Shell:
    """Runs commands, one at a time. Made by :func:`hotenv.open_shell`, which says more."""

    def __init__(
        self,
        executor: Executor,
        limits: Limits,
        approval: Approval | None,
        redactor: Redactor | Unredacted,
    ) -> None:
        self._executor = executor
        self._limits = limits
        self._approval = approval
        self._redactor = redactor
        self._shells = 1  # that have run a command, the first one counted in any case
        self._late = [LateOutput(limits.max_output), LateOutput(limits.max_output)]
        self._turn = trio.Lock()

    async def run(
        self,
        command: str,
        *,
        timeout: float | EllipsisType | None = ...,  # noqa: ASYNC109 - it is part of the result
        stdin: bytes = b"",
        stdout_file: str | None = None,
        stderr_file: str | None = None,
    ) -> Result:
        """Run ``command``, text for bash, to its end.

        ``timeout``: seconds, None for no limit; that of the shell if not given. ``stdin``: its
        standard input. ``stdout_file``, ``stderr_file``: paths of files for complete outputs, which
        only their owner can read. A second call at the same time waits until the first has
        returned. Cancelled, it ends the command as a timeout does, and the shell can still be used.

        Error handling: raises UsageError if ``command`` is no text for bash or a file cannot be
        opened, and DeniedError, which is one, if the policy denies it; SystemFailureError if there
        can be no shell, or a file cannot be written.
        """
        task = Task(command, stdin, self._seconds(timeout), (stdout_file, stderr_file))
        return await self._run(task, (None, None))

    @asynccontextmanager
    async def stream(
        self,
        command: str,
        *,
        timeout: float | EllipsisType | None = ...,  # noqa: ASYNC109 - it is part of the result
        stdin: bytes = b"",
        stdout_file: str | None = None,
        stderr_file: str | None = None,
    ) -> AsyncIterator[Running]:
        """Run ``command`` as :meth:`run` does, while the block reads its output as it comes.

        The command waits until its output is read. It is ended with the block, if it still runs.

        Error handling: reading raises what :meth:`run` does.
        """
        task = Task(command, stdin, self._seconds(timeout), (stdout_file, stderr_file))
        running = Running()
        async with open_helpers() as helpers:
            helpers.start_soon(running.follow, partial(self._run, task))
            yield running

    def _seconds(self, timeout: float | EllipsisType | None) -> float:
        seconds = self._limits.timeout if isinstance(timeout, EllipsisType) else timeout
        check_timeout(seconds)
        return math.inf if seconds is None else seconds

    async def _run(self, task: Task, delivers: Sequence[Deliver | None]) -> Result:
        with hiding_in_errors(self._redactor):
            if self._approval is not None:
                await self._approval.check(task.text)
            async with self._turn:
                for _ in range(_ATTEMPTS):
                    if (result := await self._attempt(task, delivers)) is not None:
                        return result
                raise SystemFailureError("the shell cannot open its files: check 'ulimit -n'")

    async def _attempt(self, task: Task, delivers: Sequence[Deliver | None]) -> Result | None:
        """What has come of the command; None if the shell could not even begin, and has ended."""
        with Outputs(self._limits.max_output, task.files) as outputs:
            passages = [
                Passage(feed, deliver, self._redactor.another())
                for feed, deliver in zip(outputs.feeds(), delivers, strict=True)
            ]
            try:
                outcome = await self._executor.attempt(task, passages, self._late)
            except DisconnectedError as error:
                (error.stdout, _), (error.stderr, _) = outputs.kept()
                raise
            if outcome is None:
                return None
            restarted, self._shells = outcome.shells > self._shells, outcome.shells
            kept = [*outputs.kept(), *(late.collect() for late in self._late)]
            texts, omitted = zip(*kept, strict=True)
            return Result(
                command=os.fsdecode(self._redactor.redact(task.text)),
                exit_code=outcome.exit_code,
                cwd=self._redactor.redact(outcome.cwd),
                duration=outcome.duration,
                timed_out=outcome.timed_out,
                restarted=restarted,
                omitted=OmittedOutput(*omitted),
                **dict(zip(_OUTPUTS, texts, strict=True)),
            )
