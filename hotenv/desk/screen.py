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
_STDIN = 0
_KEYS: dict[int, int] = {signal.SIGINT: termios.VINTR, signal.SIGQUIT: termios.VQUIT}
_CHARACTERS = 6  # in what tcgetattr returns


class Screen:
    """``streams``: those of the standard streams that are the terminal.

    Inside the block signals are noted: ``wakeup`` can be read then.
    """

    def __init__(self) -> None:
        self.streams: tuple[int, ...] = tuple(each for each in range(3) if _is_terminal(each))
        if not {1, 2} & {*self.streams}:  # a pipeline that is typed into: its end is a terminal
            self.streams = ()
        self._modes: list[Any] | None = None
        self._typed = b""
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
        """Stop as the command has, until this is continued.

        A key has reached the command alone: it stops the whole process group, with the shell script
        that may wait in it.
        """
        is_key = self._modes is not None and signum != signal.SIGSTOP
        self._restore()
        if signum != signal.SIGSTOP:
            signal.signal(signum, signal.SIG_DFL)
        os.kill(0 if is_key else os.getpid(), signum)
        if signum != signal.SIGSTOP:
            signal.signal(signum, lambda *_: None)

    @property
    def is_awaited(self) -> bool:
        """Whether keys are for the command, and this process has not taken the terminal."""
        return _STDIN in self.streams and self._modes is None

    def take(self) -> None:
        """Let keys pass through as they are, until the end of the block.

        In the background they are for others, and only trying to would stop this process.
        """
        if _STDIN not in self.streams or not _is_foreground():
            return
        with suppress(termios.error):
            self._modes = termios.tcgetattr(_STDIN)
            termios.tcsetattr(_STDIN, termios.TCSADRAIN, raw(self._modes))

    def read_keys(self, size: int) -> bytes:
        """Up to ``size`` bytes of standard input, as :func:`os.read` has them."""
        data = os.read(_STDIN, size)
        self._typed = data
        return data

    def tell_group(self, status: int) -> None:
        """Send the process group what a key has sent the command, if that has ended it.

        ``status``: the wait status of that. A shell script that waits in the group ends with the
        command then, as it would if the command ran here.
        """
        signum = os.WTERMSIG(status) if os.WIFSIGNALED(status) else 0
        if self._modes is None or signum not in _KEYS:
            return
        if self._modes[_CHARACTERS][_KEYS[signum]] in self._typed:
            signal.signal(signum, signal.SIG_IGN)
            os.kill(0, signum)

    def _restore(self) -> None:
        if self._modes is not None:
            with suppress(termios.error):
                termios.tcsetattr(0, termios.TCSADRAIN, self._modes)
            self._modes = None


def _is_foreground() -> bool:
    try:
        return os.tcgetpgrp(_STDIN) == os.getpgrp()
    except OSError:  # it is not the one that controls this process
        return True


def _is_terminal(stream: int) -> bool:
    try:
        return os.get_inheritable(stream) and os.isatty(stream)
    except OSError:
        return False
