"""The signals that end a server gracefully, from the first to the last one."""

from __future__ import annotations

import ctypes
import os
import signal
import sys
from collections.abc import AsyncIterator, Iterable, Iterator
from contextlib import contextmanager

import trio

_ALWAYS = (signal.SIGINT, signal.SIGTERM)
_UNLESS_IGNORED = (signal.SIGHUP, signal.SIGQUIT)

_libc = ctypes.CDLL(None, use_errno=True)
_SET_SIZE = 128  # bytes of sigset_t
_INFO_SIZE = 128  # bytes of struct signalfd_siginfo, which begins with the signal's number


@contextmanager
def termination_signals() -> Iterator[AsyncIterator[int]]:
    """The signals that ask this process to end, as they come. Main thread only, once a process.

    SIGHUP and SIGQUIT that were ignored when the process started (nohup) stay ignored. Open it
    outermost, around all that needs cleaning up: from here to the end of the process no other of
    these signals does anything. They are blocked and read from a descriptor (signalfd, Linux):
    handlers in Python would be interrupted by each other until the stack is full, if signals come
    fast enough. Elsewhere it is Trio's receiver, and a signal after the block ends the process.
    """
    wanted = [
        *_ALWAYS,
        *(each for each in _UNLESS_IGNORED if signal.getsignal(each) is not signal.SIG_IGN),
    ]
    if not hasattr(_libc, "signalfd"):
        with trio.open_signal_receiver(*wanted) as receiver:
            yield receiver
        return
    signal.pthread_sigmask(signal.SIG_BLOCK, wanted)
    descriptor = _signalfd(wanted)
    try:
        yield _arrivals(descriptor)
    finally:
        os.close(descriptor)


def _signalfd(wanted: Iterable[int]) -> int:
    mask = ctypes.create_string_buffer(_SET_SIZE)
    _libc.sigemptyset(mask)
    for each in wanted:
        _libc.sigaddset(mask, int(each))
    descriptor = int(_libc.signalfd(-1, mask, os.O_NONBLOCK | os.O_CLOEXEC))
    if descriptor < 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    return descriptor


async def _arrivals(descriptor: int) -> AsyncIterator[int]:
    while True:
        await trio.lowlevel.wait_readable(descriptor)
        yield int.from_bytes(os.read(descriptor, _INFO_SIZE)[:4], sys.byteorder)
