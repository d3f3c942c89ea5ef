"""A terminal is as it was again before anything ends or stops the process that prompts.

Two processes share the work. The child prompts, and has the answers. The parent, which never has
one, sees to echo and the other modes: a shell looks at nothing but the parent, so that comes last.

What is not promised: echo after SIGKILL, SIGSTOP or SIGSEGV and the like of the parent; the end of
bracketed paste while Ctrl-S stops the terminal's output.
"""

from __future__ import annotations

import os
import signal
from types import FrameType

from hotenv.intake.terminal import Terminal
from hotenv.termination import TERMINATION_SIGNALS

_STOPPING = (signal.SIGTSTP, signal.SIGTTIN, signal.SIGTTOU)
_ABORTING = (signal.SIGABRT, signal.SIGTRAP, signal.SIGSYS)
"""Others that another process may send. What SIGSEGV and the like say cannot be handled later."""


class EchoGuard:
    """Restores the modes of ``terminal`` before anything ends or stops this process.

    For the parent, while its ``child`` may prompt: for the length of a ``with`` block, at whose end
    the child has ended. After a stop the child asks again. Signals that are ignored or handled
    already stay so.
    """

    def __init__(self, terminal: Terminal, child: Child) -> None:
        self._terminal = terminal
        self._child = child
        self._signals = [
            each
            for each in (*TERMINATION_SIGNALS, *_ABORTING, *_STOPPING)
            if signal.getsignal(each) is signal.SIG_DFL
        ]

    def __enter__(self) -> None:
        for each in self._signals:
            signal.signal(each, self._stop if each in _STOPPING else self._end)

    def __exit__(self, *_error: object) -> None:
        self._terminal.restore()
        for each in self._signals:
            signal.signal(each, signal.SIG_DFL)
        self._terminal.close()

    def _end(self, signum: int, _frame: FrameType | None) -> None:
        self._child.kill()  # first: it must not take it again
        self._terminal.restore()
        signal.signal(signum, signal.SIG_DFL)
        os.kill(os.getpid(), signum)

    def _stop(self, signum: int, _frame: FrameType | None) -> None:
        self._child.stop()  # first: it must not read what is typed for the shell
        self._terminal.restore()
        signal.signal(signum, signal.SIG_DFL)
        os.kill(os.getpid(), signum)  # until SIGCONT; not at all where no shell could send it
        signal.signal(signum, self._stop)
        self._child.send(signal.SIGCONT)  # first: once it asks, the next stop must not be undone
        self._terminal.wake()


class Child:
    """A process that this one started: known by its number only while it was not waited for."""

    def __init__(self, pid: int) -> None:
        self._pid = pid
        self._code: int | None = None

    def send(self, signum: int) -> None:
        """Send a signal, unless it has ended."""
        if not self.has_ended():
            os.kill(self._pid, signum)

    def stop(self) -> None:
        """Stop it, and wait until it has stopped or ended."""
        self.send(signal.SIGSTOP)
        self._waited(os.WUNTRACED)

    def kill(self) -> None:
        """End it, and wait until it has ended."""
        self.send(signal.SIGKILL)
        self.wait()

    def has_ended(self) -> bool:
        """Whether it has ended by now."""
        return self._waited(os.WNOHANG) is not None

    def wait(self) -> int:
        """Wait until it has ended; its exit code, or the negative number of a signal."""
        code = self._waited(0)
        assert code is not None  # noqa: S101 - for type checkers
        return code

    def _waited(self, options: int) -> int | None:
        if self._code is None:
            try:
                pid, status = os.waitpid(self._pid, options)
                if pid and not os.WIFSTOPPED(status):
                    self._code = os.waitstatus_to_exitcode(status)
            except ChildProcessError:  # waited for, by or before the handler of a signal
                self._code = self._code or 0
        return self._code
