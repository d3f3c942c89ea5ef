"""The requester's terminal and signals, while a command runs for it elsewhere."""

from __future__ import annotations

import os
import select
import termios
from contextlib import suppress

from hotenv.handover.keyboard import raw
from hotenv.lightweight import signal

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Self

_CAUGHT = (
    *(signal.SIGHUP, signal.SIGINT, signal.SIGQUIT, signal.SIGTERM, signal.SIGUSR1),
    *(signal.SIGUSR2, signal.SIGTSTP, signal.SIGWINCH),
)


class Screen:
    """``streams``: those of the standard streams that are the terminal.

    Inside the block signals are noted: ``wakeup`` can be read then.
    """

    def __init__(self) -> None:
        self.streams: tuple[int, ...] = tuple(each for each in range(3) if _is_terminal(each))
        if not {1, 2} & {*self.streams}:  # a pipeline that is typed into: its end is a terminal
            self.streams = ()
        self._modes: list[Any] | None = None
        wakeup, self._end = os.pipe()
        self.wakeup: int = wakeup
        for each in (self.wakeup, self._end):
            os.set_blocking(each, False)

    def __enter__(self) -> Self:
        signal.set_wakeup_fd(self._end, warn_on_full_buffer=False)
        for signum in _CAUGHT:
            if signal.getsignal(signum) != signal.SIG_IGN:
                signal.signal(signum, lambda *_: None)
        return self

    def __exit__(self, *_: object) -> None:
        self._restore()
        signal.set_wakeup_fd(-1)
        for signum in _CAUGHT:
            if signal.getsignal(signum) != signal.SIG_IGN:
                signal.signal(signum, signal.SIG_DFL)

    def signals(self) -> bytes:
        """Those that have come."""
        with suppress(BlockingIOError):
            return os.read(self.wakeup, select.PIPE_BUF)
        return b""

    @property
    def size(self) -> tuple[int, int]:
        """Rows and columns; 0 if they are not known."""
        for stream in self.streams:
            with suppress(OSError):
                columns, rows = os.get_terminal_size(stream)
                return rows, columns
        return 0, 0

    def stop(self, signum: int) -> None:
        """Stop as the command has, until this is continued."""
        was_taken = self._modes is not None
        self._restore()
        if signum != signal.SIGSTOP:
            signal.signal(signum, signal.SIG_DFL)
        os.kill(os.getpid(), signum)
        if signum != signal.SIGSTOP:
            signal.signal(signum, lambda *_: None)
        if was_taken:
            self.take()

    def take(self) -> None:
        """Let keys pass through as they are, until the end of the block."""
        if 0 not in self.streams:
            return
        with suppress(termios.error):
            self._modes = termios.tcgetattr(0)
            termios.tcsetattr(0, termios.TCSADRAIN, raw(self._modes))

    def _restore(self) -> None:
        if self._modes is not None:
            with suppress(termios.error):
                termios.tcsetattr(0, termios.TCSADRAIN, self._modes)
            self._modes = None


def _is_terminal(stream: int) -> bool:
    try:
        return os.get_inheritable(stream) and os.isatty(stream)
    except OSError:
        return False
