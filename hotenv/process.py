"""The server as a process of its own: its clock, its signals and its words."""

from __future__ import annotations

import math
import os
from datetime import datetime

import trio

from hotenv import protocol
from hotenv.clock import BootClock
from hotenv.durations import format_duration
from hotenv.intake import Intake
from hotenv.linewriter import LineWriter
from hotenv.printable import printable
from hotenv.requestlog import log_line
from hotenv.server import Ending, hold, listen_on
from hotenv.session import claim
from hotenv.signals import termination_signals
from hotenv.watchdog import Watchdog

_STDERR = 2


def serve_in_foreground(
    intake: Intake,
    folder: str,
    *,
    timeout: float,
    max_age: float,
    force: bool,
    quiet: bool,
    verbose: bool,
) -> None:
    """Serve what came in, in ``folder``, until its time is over or a signal comes; then wipe it.

    ``timeout`` (idle) and ``max_age`` are in seconds. Says on standard error when it is ready, who
    asked (``verbose``: with all words) and why it ended; nothing of it if ``quiet``. Raises every
    HotenvError of claiming and releasing.
    """
    words = LineWriter(_STDERR)

    def tell(text: str) -> None:
        if not quiet:
            words.write(f"hotenv: {printable(text)}")

    def log(request: protocol.Request) -> None:
        if not quiet:
            words.write(log_line(datetime.now(), request, verbose=verbose))

    async def main() -> Ending:
        watchdog = Watchdog(timeout, max_age)  # the time runs from before anybody can ask
        with termination_signals() as signals, claim(folder, force=force) as session:
            tell(
                f"serving {_count(intake.variables)} in {os.path.dirname(session.marker_path)} "
                f"until nobody asks for {format_duration(timeout)}{_limit(max_age)}"
            )
            return await hold(
                listen_on(session),
                intake.response.view,
                watchdog,
                signals=signals,
                can_be_found=session.can_be_found,
                on_request=log,
            )

    try:
        ending = trio.run(main, clock=BootClock())
    finally:
        intake.response.wipe()
    if ending is Ending.EXPIRED:
        tell("its time is over: the session has ended")
    elif ending is Ending.LOST:
        tell("its marker or socket was removed or replaced: the session has ended")


def _count(variables: int) -> str:
    return "1 variable" if variables == 1 else f"{variables} variables"


def _limit(max_age: float) -> str:
    return "" if max_age == math.inf else f", {format_duration(max_age)} at most"
