"""The process that the outside takes for a supervised command.

It is what was started, so a shell or a supervisor waits for it and sends it signals. It passes them
on to the keeper, stops when the command has stopped, and ends as the command has ended. It does
nothing by itself, above all it never stops before the command has: that may have to clean up first.
"""

from __future__ import annotations

import os
import select
import sys

from hotenv import errors
from hotenv.coredump import forbid_core_dumps
from hotenv.errors import HotenvError
from hotenv.lightweight import signal
from hotenv.program import describe

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import NoReturn

STATUS_SIZE = 4
"""Bytes of a wait status (or of FAILED) as the keeper reports it."""

FAILED = (-1).to_bytes(STATUS_SIZE, sys.byteorder, signed=True)
"""In the place of a status: an error follows, and the end of the reports."""

STILL_STOPPED = 0
"""An order that is no signal: to report a stop of the command again, if that is still stopped."""

FROM_TERMINAL = 0x80
"""Added to an order: a key sent the signal, and so to the whole process group."""

LONGEST_ERROR = select.PIPE_BUF - STATUS_SIZE
"""Bytes of an error in a report, so that all of it arrives at once."""


_KEYS = (signal.SIGINT, signal.SIGQUIT, signal.SIGTSTP)
_FROM_KERNEL = 0x80  # si_code of sigaction(2), not by kill(2)


def encode_error(error: BaseException) -> bytes:
    """``error`` for another process, which raises what :func:`decode_error` makes of it."""
    kind, message = "SystemFailureError", describe(error)
    if isinstance(error, HotenvError):
        # The nearest class that others know, and that is made of nothing but a message.
        known = (each for each in type(error).__mro__ if each.__module__ == errors.__name__)
        kind = next(each.__name__ for each in known if "__init__" not in vars(each))
        message = str(error)
    return os.fsencode(f"{kind}\0{message}")[:LONGEST_ERROR]


def decode_error(data: bytes) -> HotenvError:
    """What :func:`encode_error` has been given, or its nearest relative."""
    name, _, message = os.fsdecode(data).partition("\0")
    error: HotenvError = getattr(errors, name)(message)
    return error


def stand_in(keeper: int, orders: int, reports: int, *, stop_group: bool = False) -> int:
    """Act for the command until it has ended; its wait status, or the one of a keeper that died.

    All signals are blocked. ``orders``: takes the numbers of signals for the command; this process
    has the other end of the pipe, too, so that it can always be written to. ``reports``:
    gives its wait statuses; SIGCHLD says that there is one. The last one comes twice if the keeper
    lives on. ``stop_group``: keys reach the command alone; what one of them stops is the whole
    process group, as in a terminal without hotenv.

    Error handling: raises the HotenvError that the keeper reports.
    """
    os.set_blocking(reports, False)
    asked = False
    ended: int | None = None  # how the keeper has
    while True:
        signum, from_terminal = _next_signal(keeper)
        if signum != signal.SIGCHLD:
            os.write(orders, bytes([signum | from_terminal]))
            asked = asked and signum != signal.SIGCONT
            continue
        ended = _end_of(keeper, os.WNOHANG) if ended is None else ended
        while (report := _read(reports)) is not None:
            status = int.from_bytes(report, sys.byteorder)
            if not report or report == FAILED or not os.WIFSTOPPED(status):
                os.set_blocking(reports, True)
                return _last(report, keeper, reports, ended)
            # A stop is believed when all that was passed on before has been taken notice of.
            if asked and signal.SIGCONT not in signal.sigpending():
                _stop(os.WSTOPSIG(status), stop_group)
                # It did not stop if no shell could continue it. Else SIGCONT is passed on, and only
                # once: another could come when the command has stopped again.
                if stop_group and signal.SIGCONT not in signal.sigpending():
                    os.write(orders, bytes([signal.SIGCONT]))
                asked = False
            else:
                os.write(orders, bytes([STILL_STOPPED]))
                asked = True
        if ended is not None:  # its pipe may still be open in what it has just started
            return ended


def _next_signal(keeper: int) -> tuple[int, int]:
    """The next one, and FROM_TERMINAL if a key sent it and the system tells that (Linux).

    Without what ``keeper`` tells the process group of keys that have reached the command.
    """
    if not hasattr(signal, "sigwaitinfo"):
        return signal.sigwait(signal.valid_signals()), 0
    while True:
        info = signal.sigwaitinfo(signal.valid_signals())
        if info.si_signo not in _KEYS:
            return info.si_signo, 0
        if info.si_code == _FROM_KERNEL:
            return info.si_signo, FROM_TERMINAL
        if info.si_pid != keeper:
            return info.si_signo, 0


def _end_of(keeper: int, options: int = 0) -> int | None:
    """The wait status of the keeper, once it has ended."""
    child, status = os.waitpid(keeper, options)
    return status if child else None


def _last(report: bytes, keeper: int, reports: int, ended: int | None) -> int:
    """What ``report`` says of the command's end. A keeper that ends now leaves no zombie."""
    rest = os.read(reports, LONGEST_ERROR) if report else b""
    if ended is None and (not rest or report == FAILED):
        ended = _end_of(keeper)
    if report == FAILED:
        raise decode_error(rest)
    return int.from_bytes(report, sys.byteorder) if report else ended or 0


def _read(reports: int) -> bytes | None:
    try:
        return os.read(reports, STATUS_SIZE)
    except BlockingIOError:
        return None


def _stop(signum: int, whole_group: bool) -> None:
    """Stop this process as the command was, or the process group, until it is continued.

    If ``signum`` comes once more before it is blocked again, this process stops before the command.
    """
    if signum != signal.SIGSTOP:
        signal.signal(signum, signal.SIG_DFL)
    if whole_group and signum != signal.SIGSTOP:
        os.killpg(os.getpgrp(), signum)
    else:
        os.kill(os.getpid(), signum)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, [signum])  # here it stops
    signal.pthread_sigmask(signal.SIG_BLOCK, [signum])


def end_like(status: int) -> NoReturn:
    """End this process with the exit code or by the signal of ``status``, without a core dump.

    It exits with 128 and the signal where a signal cannot end it: in the first process of a
    container. The interpreter is not torn down, as by an exec: a shell waits for that.
    """
    if not os.WIFSIGNALED(status):
        os._exit(os.WEXITSTATUS(status))
    signum = os.WTERMSIG(status)
    forbid_core_dumps()
    if signum != signal.SIGKILL:
        signal.signal(signum, signal.SIG_DFL)
    os.kill(os.getpid(), signum)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, [signum])
    os._exit(128 + signum)
