"""The server as a process of its own: its signals, its secrets and its log."""

from __future__ import annotations

import math
import os
from collections.abc import Awaitable, Callable

import trio

from hotenv.durations import format_duration
from hotenv.errors import attempt
from hotenv.intake.reader import Intake
from hotenv.serving.deadman import DeadManSwitch
from hotenv.serving.events import Event
from hotenv.serving.log import Log
from hotenv.serving.readiness import tell_ready
from hotenv.serving.server import Ending, hold_session, open_session
from hotenv.serving.signals import block_termination_signals
from hotenv.serving.watchdog import Watchdog
from hotenv.session.markerfile import MayReplace

TYPE_CHECKING = False
if TYPE_CHECKING:
    from hotenv.serving.handovers import HandOverAudit

_ENDINGS = {
    Ending.EXPIRED: "session expired",
    Ending.LOST: "session ended: its marker or socket was removed or replaced",
}


class ServerProcess:
    """What makes the server of ``hotenv serve``: where it serves, how long, and whom it tells."""

    def __init__(
        self,
        *,
        directory: str,
        timeout: float,
        max_age: float,
        may_replace: MayReplace | None,
        log: Log,
        log_path: str | None = None,
        ready_fd: int | None = None,
        allow_confined: bool = False,
        audit: HandOverAudit | None = None,
        composition: dict[str, object] | None = None,
    ) -> None:
        """``timeout`` (idle) and ``max_age`` are in seconds.

        ``ready_fd``: the number of a file descriptor that is told when the session is ready.
        ``composition``: see Status.
        """
        self.log_path = log_path
        self.directory = directory
        self.timeout = timeout
        self.max_age = max_age
        self.may_replace = may_replace
        self.log = log
        self.ready_fd = ready_fd
        self.allow_confined = allow_confined
        self.audit = audit
        self.composition = composition

    def serve(
        self, intake: Intake, announce: Callable[[str], Awaitable[None]] | None = None
    ) -> None:
        """Serve what came in until it expires or a signal comes; then wipe it.

        When it is ready it says so in one sentence, to ``announce`` before all others, and at the
        end why it ended. Raises every HotenvError of claiming and releasing, after logging it.
        """
        try:
            with attempt("determine the current directory"):
                self.log_path = self.log_path and os.path.abspath(self.log_path)
            ending = trio.run(self._serve, intake, announce)
        except Exception as error:
            self.log.failure(error)
            raise
        finally:
            intake.response.wipe()
            if self.audit is not None:
                self.audit.close()
        if ending is Ending.SIGNAL:
            self.log.note("session stopped by a signal")
        else:
            self.log.tell(_ENDINGS[ending])

    async def _serve(
        self, intake: Intake, announce: Callable[[str], Awaitable[None]] | None
    ) -> Ending:
        wait_for_signal = block_termination_signals()
        switch = DeadManSwitch()
        watchdog = Watchdog(self.timeout, self.max_age, on_move=switch.set)  # before any client
        async with open_session(
            self.directory,
            watchdog,
            variables=intake.variables,
            may_replace=self.may_replace,
            log=self.log_path,
            standalone=True,
            composition=self.composition,
        ) as session:
            await self._tell_ready(os.path.dirname(session.marker_path), intake, announce)
            try:
                return await hold_session(
                    session,
                    intake.response.view,
                    watchdog,
                    wait_for_signal=wait_for_signal,
                    on_event=self._on_event,
                    allow_confined=self.allow_confined,
                )
            finally:
                intake.response.wipe()  # and then the files, which may be on a disk that hangs

    def _on_event(self, event: Event) -> None:
        self.log.event(event)
        if self.audit is not None:
            self.audit.event(event)

    async def _tell_ready(
        self,
        directory: str,
        intake: Intake,
        announce: Callable[[str], Awaitable[None]] | None,
    ) -> None:
        ready = self._ready(directory, intake.variables)
        if announce is not None:
            await announce(ready)
        self.log.tell(ready)
        if self.ready_fd is not None:
            tell_ready(self.ready_fd)

    def _ready(self, directory: str, variables: int) -> str:
        count = "1 variable" if variables == 1 else f"{variables} variables"
        limit = "" if self.max_age == math.inf else f" or {format_duration(self.max_age)} in total"
        idle = format_duration(self.timeout)
        return f"serving {count} in {directory} (expires after {idle} idle{limit})"
