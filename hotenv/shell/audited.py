"""What an audit log says of the commands of a shell."""

from __future__ import annotations

import os

import trio

from hotenv.errors import HotenvError
from hotenv.shell.policy import DeniedError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from hotenv.audit.commands import CommandAudit, CommandLog
    from hotenv.shell.result import Result

_PROGRAM = "bash"


class ShellLog:
    """Writes to ``log`` that each command begins, and how it has ended. ``host``: where it runs."""

    def __init__(self, log: CommandLog, host: str | None) -> None:
        self._log = log
        self._place = "" if host is None else f"{host}:"
        self._folder = os.getcwd() if host is None else ""

    async def record(self, command: str, run: Callable[[], Awaitable[Result]]) -> Result:
        """Run ``command``, which ``run`` does, and return its result.

        Error handling: raises what ``run`` does, and SystemFailureError if a line is required and
        cannot be written; without the first line, nothing is run.
        """
        audit = await trio.to_thread.run_sync(
            self._log.begin, "shell", _PROGRAM, [command], self._place + self._folder
        )
        outcome: dict[str, object] = {"failed": "cancelled"}
        try:
            result = await run()
            self._folder = os.fsdecode(result.cwd)
            outcome = {
                "status": result.exit_code,
                "failed": "timed out" if result.timed_out else None,
            }
            return result
        except HotenvError as error:
            outcome = {"failed": "denied" if isinstance(error, DeniedError) else "error"}
            raise
        finally:
            await _end(audit, outcome)  # noqa: ASYNC102 - it is shielded, and bounded


async def _end(audit: CommandAudit, outcome: dict[str, object]) -> None:
    with trio.CancelScope(shield=True):
        await trio.to_thread.run_sync(lambda: audit.end(**outcome))
