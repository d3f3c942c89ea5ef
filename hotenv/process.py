"""The server as a process of its own: its name, its signals and its words."""

from __future__ import annotations

from contextlib import suppress
from datetime import datetime

import trio

from hotenv import protocol
from hotenv.durations import format_duration
from hotenv.linewriter import LineWriter
from hotenv.printable import printable
from hotenv.requestlog import log_line
from hotenv.server import Ending, hold, listen_on
from hotenv.session import claim
from hotenv.signals import termination_signals
from hotenv.snapshot import Snapshot
from hotenv.watchdog import Watchdog

_STDERR = 2


def serve_in_foreground(
    snapshot: Snapshot, folder: str, *, timeout: float, force: bool, quiet: bool, verbose: bool
) -> None:
    """Serve ``snapshot`` in ``folder`` until idle for ``timeout`` seconds or ended by a signal.

    Says on standard error when it is ready, who asked (``verbose``: with all words) and why it
    ended; nothing of it if ``quiet``. Raises every HotenvError of claiming and releasing.
    """
    words = LineWriter(_STDERR)

    def tell(text: str) -> None:
        if not quiet:
            words.write(f"hotenv: {printable(text)}")

    def log(request: protocol.Request) -> None:
        if not quiet:
            words.write(log_line(datetime.now(), request, verbose=verbose))

    async def main() -> Ending:
        watchdog = Watchdog(timeout)  # the time runs from before anybody can ask
        with termination_signals() as signals, claim(folder, force=force) as session:
            tell(
                f"serving {_count(len(snapshot))} in {folder} until nobody asks for "
                f"{format_duration(timeout)}"
            )
            return await hold(
                listen_on(session),
                protocol.encode_response(snapshot),
                watchdog,
                signals=signals,
                on_request=log,
            )

    _name_process()
    if trio.run(main) is Ending.IDLE:
        tell(f"nobody asked for {format_duration(timeout)}: the session is over")


def _count(variables: int) -> str:
    return "1 variable" if variables == 1 else f"{variables} variables"


def _name_process() -> None:
    """Let ``pkill hotenv`` find it, also as ``python -m hotenv``. Only Linux has this file."""
    with suppress(OSError), open("/proc/self/comm", "w") as file:
        file.write("hotenv")
