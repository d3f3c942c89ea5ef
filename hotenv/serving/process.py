"""The server as a process of its own: its clock, its signals and its words."""

from __future__ import annotations

import math
import os
from collections.abc import Awaitable, Callable
from functools import partial

import trio

from hotenv.durations import format_duration
from hotenv.errors import attempt
from hotenv.exchange import protocol
from hotenv.intake.reader import Intake
from hotenv.serving.clock import BootClock
from hotenv.serving.options import ServeOptions
from hotenv.serving.output import Output
from hotenv.serving.readiness import tell_ready
from hotenv.serving.server import Ending, describe, hold, listen_on
from hotenv.serving.signals import termination_signals
from hotenv.serving.watchdog import Watchdog
from hotenv.session.boottime import boot_time
from hotenv.session.claim import claim

_ENDINGS = {
    Ending.EXPIRED: "its time is over: the session has ended",
    Ending.LOST: "its marker or socket was removed or replaced: the session has ended",
}


def serve_intake(
    intake: Intake,
    folder: str,
    options: ServeOptions,
    output: Output,
    announce: Callable[[str], Awaitable[None]] | None = None,
) -> None:
    """Serve what came in, in ``folder``, until its time is over or a signal comes; then wipe it.

    When it is ready it says so in one sentence, to ``announce`` before all others, and at the end
    why it ended. Raises every HotenvError of claiming and releasing, after logging it.
    """

    async def main() -> Ending:
        watchdog = Watchdog(options.timeout, options.max_age)  # before anybody can ask
        description = partial(
            describe,
            watchdog=watchdog,
            variables=intake.variables,
            log=_log_path(options),
            standalone=True,
        )
        with (
            termination_signals() as signals,
            claim(folder, describe=description, force=options.force) as session,
        ):

            def on_request(request: protocol.Request) -> None:
                session.postpone(boot_time() + watchdog.left)
                output.log(request)

            ready = _ready(os.path.dirname(session.marker_path), intake.variables, options)
            if announce is not None:
                await announce(ready)
            output.tell(ready)
            if options.ready_fd is not None:
                tell_ready(options.ready_fd)
            return await hold(
                listen_on(session),
                intake.response.view,
                watchdog,
                signals=signals,
                can_be_found=session.can_be_found,
                on_request=on_request,
            )

    try:
        ending = trio.run(main, clock=BootClock())
    except Exception as error:
        output.log_failure(error)
        raise
    finally:
        intake.response.wipe()
    if ending is Ending.SIGNAL:
        output.note("it was told to end: the session has ended")
    else:
        output.tell(_ENDINGS[ending])


def _log_path(options: ServeOptions) -> str | None:
    with attempt("tell the current folder"):
        return options.log and os.path.abspath(options.log)


def _ready(folder: str, variables: int, options: ServeOptions) -> str:
    count = "1 variable" if variables == 1 else f"{variables} variables"
    limit = "" if options.max_age == math.inf else f", {format_duration(options.max_age)} at most"
    return (
        f"serving {count} in {folder} until nobody asks for "
        f"{format_duration(options.timeout)}{limit}"
    )
