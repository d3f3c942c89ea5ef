"""The parent of a supervised command: one loop that serves descriptors, children and signals.

A signal that was sent to the process group has reached the command by itself, if that is still in
the group. Only the others are passed on. The keeper tells them apart by what it has got too: all
its signals are blocked, and what the stand-in tells it of is among the pending ones or is not. Two
of a kind are one while they are pending, so of a key's the stand-in says that it is one.
SIGCONT and the signals that stop cancel each other while they are pending: one stands for another.
"""

from __future__ import annotations

import os
import select
import sys
import time

from hotenv import libc
from hotenv.descriptors import redirect_to_null
from hotenv.handover.signalling import send
from hotenv.handover.standin import FROM_TERMINAL, STATUS_SIZE, STILL_STOPPED
from hotenv.lightweight import signal

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from hotenv.handover.streams import Streams

_STDERR = 2
_ANYTHING = os.WNOHANG | os.WUNTRACED | os.WCONTINUED
_ENDING = {signal.SIGHUP, signal.SIGINT, signal.SIGQUIT, signal.SIGTERM}
_STOPPING = {signal.SIGTSTP, signal.SIGTTIN, signal.SIGTTOU}
_NAME = b"supervisor"
"""So that "pkill hotenv" finds the stand-in alone, which passes the signal on."""


class Keeper:
    """What a process does for the command that it has started."""

    def __init__(self, standin: int, orders: int, reports: int, streams: Streams) -> None:
        """``orders`` come from the stand-in, the process ``standin``, and ``reports`` go there."""
        self.command: int = 0
        """The command's process ID, until it has ended."""
        self._standin = standin
        self._reports = reports
        self._streams = streams
        self._poll = select.poll()
        self._watched: dict[int, Callable[[], None]] = {}
        self._own: dict[int, Callable[[], None]] = {}
        self._timers: dict[Callable[[], None], float] = {}
        self._status = 0  # the last that is known of the command
        self._hurried = False
        self._serve(orders, lambda: self._take_orders(orders))

    def watch(
        self, descriptor: int, callback: Callable[[], None], events: int = select.POLLIN
    ) -> None:
        """Call ``callback`` whenever one of ``events`` holds, or ``descriptor`` is at its end."""
        self._watched[descriptor] = callback
        self._poll.register(descriptor, events)

    def unwatch(self, descriptor: int) -> None:
        """Do so no more, if at all. To be called before ``descriptor`` is closed."""
        if self._watched.pop(descriptor, None) is not None:
            self._poll.unregister(descriptor)

    def call_in(self, seconds: float, callback: Callable[[], None]) -> None:
        """Call ``callback`` once, then, and not when it would have been called so far."""
        self._timers[callback] = time.monotonic() + seconds

    def _serve(self, descriptor: int, callback: Callable[[], None]) -> None:
        self._own[descriptor] = callback
        self._poll.register(descriptor, select.POLLIN)

    def keep(self, command: int) -> int:
        """Attend ``command``, a child of this process, until it has ended; its wait status.

        All signals are blocked.
        """
        self.command = command
        # What came before the command was there has to be passed on.
        for signum in signal.sigpending():
            signal.sigwait([signum])
        _rename()
        wakeup, end = os.pipe()
        for each in (wakeup, end):
            os.set_blocking(each, False)
        signal.set_wakeup_fd(end, warn_on_full_buffer=False)
        signal.signal(signal.SIGCHLD, lambda *_: None)
        os.write(end, b"\0")  # SIGCHLD may have come by now
        self._serve(wakeup, lambda: self._look_after_children(wakeup))
        while self.command:
            self._turn()
        self._streams.let_go()
        self._turn(0)  # what it has left
        while not (self._hurried or self._streams.settled):
            self._turn()
        self._streams.take_back(command)
        return self._status

    def report_end(self, status: int) -> None:
        """Tell the stand-in to end like ``status``, which it does even if it is stopped."""
        os.kill(self._standin, signal.SIGCONT)
        report = status.to_bytes(STATUS_SIZE, sys.byteorder)
        self.report(report * 2 if self._watched else report)

    def live_on(self) -> None:
        """Serve what is watched until there is nothing more to come."""
        redirect_to_null(_STDERR)
        while self._watched:
            self._turn()

    def report(self, report: bytes) -> None:
        """Tell the stand-in."""
        os.write(self._reports, report)
        os.kill(self._standin, signal.SIGCHLD)

    def _turn(self, timeout: int | None = None) -> None:
        """Serve what is ready; wait for it, or ``timeout`` milliseconds."""
        if self._timers and timeout is None:
            remaining = min(self._timers.values()) - time.monotonic()
            timeout = max(0, int(remaining * 1000) + 1)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, [signal.SIGCHLD])  # interrupts nothing else
        ready = self._poll.poll(timeout)
        signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGCHLD])
        for descriptor, _ in ready:
            callback = self._watched.get(descriptor) or self._own.get(descriptor)
            if callback is not None:  # else another callback has unwatched it
                callback()
        self._call_due()

    def _call_due(self) -> None:
        now = time.monotonic()
        for callback in [each for each, when in self._timers.items() if when <= now]:
            del self._timers[callback]
            callback()

    def _look_after_children(self, wakeup: int) -> None:
        os.read(wakeup, 4096)
        self._reap()

    def _reap(self) -> None:
        """Take notice of all children that have ended, and of what the command has done."""
        try:
            while (child := os.waitpid(-1, _ANYTHING)) != (0, 0):
                if child[0] == self.command:
                    self._follow(child[1])
        except ChildProcessError:  # there is none any more
            pass

    def _follow(self, status: int) -> None:
        self._status = status
        if os.WIFEXITED(status) or os.WIFSIGNALED(status):
            self.command = 0
        elif os.WIFSTOPPED(status):
            waits = os.WSTOPSIG(status) in (signal.SIGTTIN, signal.SIGTTOU)
            if waits and self._streams.hand_on(self.command):
                self._send(signal.SIGCONT)
            else:
                self._report_stop()

    def _report_stop(self) -> None:
        self._streams.take_back(self.command)
        self.report(self._status.to_bytes(STATUS_SIZE, sys.byteorder))

    def _take_orders(self, orders: int) -> None:
        data = os.read(orders, 4096)
        if not data:  # the stand-in has ended
            del self._own[orders]
            self._poll.unregister(orders)
            if self.command:
                os.kill(self.command, signal.SIGKILL)
        for order in data:
            if order != STILL_STOPPED:
                self._pass_on(order & ~FROM_TERMINAL, by_key=bool(order & FROM_TERMINAL))
            else:
                self._reap()
                if os.WIFSTOPPED(self._status):
                    self._report_stop()

    def _pass_on(self, signum: int, *, by_key: bool) -> None:
        sent_to_group = not self._streams.own_session and (_was_sent_here(signum) or by_key)
        if not self.command:
            self._hurried = self._hurried or signum in _ENDING
        elif signum == signal.SIGWINCH and self._streams.own_session:
            self._streams.resize()
        elif not (sent_to_group and os.getpgid(self.command) == os.getpgrp()):
            if signum == signal.SIGCONT:
                self._streams.hand_on(self.command)
            self._send(signum)

    def _send(self, signum: int) -> None:
        """Send the command ``signum``; all of its process group, if that is not hotenv's too."""
        if self._streams.own_session:
            send(-os.getpgid(self.command), signum)
        else:
            send(self.command, signum)


def _was_sent_here(signum: int) -> bool:
    """Whether this process has got ``signum``, which is taken then, or what has cancelled it."""
    # This changes nothing, but waits until the kernel has sent a signal to all of the group.
    os.setpgid(0, os.getpgrp())
    pending = signal.sigpending()
    if signum in pending:
        signal.sigwait([signum])
        return True
    if signum == signal.SIGCONT:
        return not pending.isdisjoint(_STOPPING)
    return signum in _STOPPING and signal.SIGCONT in pending


def _rename() -> None:
    try:
        libc.rename_process(_NAME)
    except OSError:  # macOS
        pass
