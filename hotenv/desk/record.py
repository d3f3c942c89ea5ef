"""What the audit log says of one request: who asked, what was decided, and how it ended."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager

import trio
from attrs import evolve

from hotenv.audit.commands import CommandAudit, CommandLog, outcome_of
from hotenv.errors import HotenvError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from hotenv.desk.request import Request
    from hotenv.desk.settings import Settings

_WHAT = "agent"


class Record:
    """Of ``request``, which the process ``pid`` has sent."""

    def __init__(self, settings: Settings, request: Request, pid: int, turn: trio.Lock) -> None:
        """``turn``: whose it is to write, as a log that is locked for long cannot be written."""
        self._turn = turn
        self._path = settings.audit
        self._request = request
        self._fields: dict[str, object] = {"requester": pid}
        self._variables: Mapping[str, str] = {}
        self._outcome: Mapping[str, object] = {"failed": "cancelled"}

    def found(self, folder: str) -> None:
        """Where it would run is ``folder``."""
        self._request = evolve(self._request, folder=folder)

    def hide(self, variables: Mapping[str, str]) -> None:
        """Take the values of ``variables`` out of it."""
        self._variables = variables

    def decided(self, verdict: str, pattern: str | None) -> None:
        """What the policy says, and which pattern of it."""
        self._fields |= {"verdict": verdict, "pattern": pattern}

    def answered(self, said: str) -> None:
        """What a human said; empty for nothing."""
        self._fields["answer"] = said or None

    @asynccontextmanager
    async def deciding(self) -> AsyncIterator[None]:
        """Whether it is run is decided in the block.

        If that raises, it is not: nobody allows it, it cannot be, or the requester has gone.
        """
        failed: str | None = "cancelled"
        try:
            yield
            failed = None
        except HotenvError:
            failed = "refused"
            raise
        except Exception:
            failed = "error"
            raise
        finally:
            if failed is not None:
                with trio.CancelScope(shield=True):
                    await self._not_run(failed)

    async def _not_run(self, why: str) -> None:
        async with self._turn:
            audit = await trio.to_thread.run_sync(self._begin)
            await trio.to_thread.run_sync(lambda: audit.end(failed=why))

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """It runs as long as the block. Nothing runs that is not in the log.

        Error handling: raises SystemFailureError if the log cannot be written.
        """
        with trio.CancelScope(shield=True):
            async with self._turn:
                audit = await trio.to_thread.run_sync(self._begin)
        try:
            yield
        except HotenvError:
            self._outcome = {"failed": "not started"}
            raise
        except Exception:
            self._outcome = {"failed": "error"}
            raise
        finally:
            with trio.CancelScope(shield=True):
                async with self._turn:
                    await trio.to_thread.run_sync(lambda: audit.end(**self._outcome))

    def ended(self, status: int) -> int:
        """It has ended with the wait status ``status``, which is returned."""
        self._outcome = outcome_of(status)
        return status

    def _begin(self) -> CommandAudit:
        from hotenv.redaction.redactor import for_records

        redactor = for_records(self._variables)

        def hide(text: str) -> str:
            return os.fsdecode(redactor.redact(os.fsencode(text)))

        log = CommandLog(
            self._path,
            hide=hide,
            names=sorted(self._variables),
            verbose=True,
            required=True,
        )
        words = self._request.argv
        return log.begin(_WHAT, words[0], words, self._request.folder, **self._fields)
