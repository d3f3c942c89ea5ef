"""The signals that end a server gracefully, from the first to the last one."""

from __future__ import annotations

import signal
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager

import trio

_ALWAYS = (signal.SIGINT, signal.SIGTERM)
_UNLESS_IGNORED = (signal.SIGHUP, signal.SIGQUIT)


@contextmanager
def termination_signals() -> Iterator[AsyncIterator[int]]:
    """The signals that ask the process to end, as they come. Main thread only, once a process.

    SIGHUP and SIGQUIT that were ignored when the process started (nohup) stay ignored. Open it
    outermost, around all that needs cleaning up. When the block has ended the signals do nothing
    any more: a second Ctrl-C neither cuts the cleanup short nor spoils the exit code.
    """
    wanted = [
        *_ALWAYS,
        *(s for s in _UNLESS_IGNORED if signal.getsignal(s) is not signal.SIG_IGN),
    ]
    # Trio's receiver hands what is left over to the handlers that were there before it: these.
    early: list[int] = []
    for each in wanted:
        signal.signal(each, lambda signum, _frame: early.append(signum))
    try:
        with trio.open_signal_receiver(*wanted) as receiver:
            for signum in early:
                signal.raise_signal(signum)
            yield receiver
    finally:
        for each in wanted:
            signal.signal(each, signal.SIG_IGN)
