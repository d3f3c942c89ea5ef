"""The signals that end a server in order, from the first to the last one."""

from __future__ import annotations

import signal
from collections.abc import Awaitable, Callable

import trio

from hotenv.errors import attempt
from hotenv.termination import NEVER_IGNORED, TERMINATION_SIGNALS


def block_termination_signals() -> Callable[[], Awaitable[None]]:
    """Block the signals that end a process, for good. Returns a function that waits for one.

    To be called in the main thread, before there are others and before there is anything to clean
    up: from here to the end of the process none of these signals does anything else. What was
    ignored when the process started (as by nohup) stays ignored, but for SIGINT and SIGTERM. They
    are not handled in Python, because handlers would be interrupted by each other until the stack
    is full, if signals come fast enough.

    Error handling: raises SystemFailureError if the system refuses to wait for them.
    """
    wanted = [
        each
        for each in TERMINATION_SIGNALS
        if each in NEVER_IGNORED or signal.getsignal(each) is not signal.SIG_IGN
    ]
    with attempt("wait for signals"):
        signal.pthread_sigmask(signal.SIG_BLOCK, wanted)
        if hasattr(signal, "sigtimedwait"):  # a filter may refuse it: better known now than later
            signal.sigtimedwait([], 0)

    async def wait() -> None:
        await trio.to_thread.run_sync(signal.sigwait, wanted, abandon_on_cancel=True)

    return wait
