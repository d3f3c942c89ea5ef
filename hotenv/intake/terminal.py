"""The terminal that controls this process, while questions are asked on it.

Two processes have it. The child takes it: no echo, each byte as it is typed, bracketed paste. The
parent gives it back as it was, before anything ends or stops it (see ``echoguard``).
"""

from __future__ import annotations

import errno
import os
import select
import signal
import termios
from contextlib import suppress
from typing import Any

from hotenv.intake.answer import Keys

_BRACKETS_ON = b"\x1b[?2004h"
_BRACKETS_OFF = b"\x1b[?2004l"

_INPUT = termios.ICRNL | termios.INLCR | termios.IGNCR
_LOCAL = termios.ICANON | termios.ECHO
_OWN = {0: _INPUT, 1: termios.OPOST, 3: _LOCAL | termios.ISIG}
"""The modes that are taken and given back. A command that is a source may have left others."""
_DISABLED = (b"\0", b"\xff")  # no key, on Linux and on macOS

_PIECE = 64 * 1024


class Resumed(Exception):  # noqa: N818 - no error
    """Somebody else had the terminal meanwhile, and this process may have it again."""


class Terminal:
    """The terminal of this process, if it has one. Make it before the fork."""

    def __init__(self) -> None:
        """Error handling: raises OSError if there is no pipe to be had."""
        self._wake, self._waker = os.pipe()
        os.set_blocking(self._wake, False)
        os.set_blocking(self._waker, False)
        self._descriptor = -1
        with suppress(OSError, termios.error):
            # Never waits for output, which Ctrl-S may have stopped.
            flags = os.O_RDWR | os.O_NOCTTY | os.O_CLOEXEC | os.O_NONBLOCK
            descriptor = os.open("/dev/tty", flags)
            self._modes = termios.tcgetattr(descriptor)
            by_line = bool(self._modes[3] & termios.ICANON)  # else some program's, not a person's
            self._brackets = by_line and os.environ.get("TERM") != "dumb"
            self._descriptor = descriptor

    def __bool__(self) -> bool:
        """Whether there is one."""
        return self._descriptor >= 0

    # For the child

    @property
    def keys(self) -> Keys:
        """The keys to edit a line."""
        characters = self._modes[6]
        codes = (termios.VERASE, termios.VWERASE, termios.VKILL, termios.VEOF)
        return Keys(*(b"" if characters[c] in _DISABLED else characters[c] for c in codes))

    def take(self) -> None:
        """Have it for questions. What was typed before can be read then.

        In the background this stops the process, as it should. From here on a signal that Python
        handles ends a wait, also one that comes just before it.
        """
        self._forget_wake()
        signal.set_wakeup_fd(self._waker, warn_on_full_buffer=False)
        modes = termios.tcgetattr(self._descriptor)
        self._copy_own(modes)
        modes[0] &= ~_INPUT
        modes[3] &= ~_LOCAL
        modes[6][termios.VMIN], modes[6][termios.VTIME] = 1, 0
        termios.tcsetattr(self._descriptor, termios.TCSANOW, modes)
        if self._brackets:
            self.write(_BRACKETS_ON)

    def read(self, seconds: float | None = None) -> bytes:
        """What is typed, as soon as something is; nothing if it was not for so many ``seconds``.

        Error handling: raises Resumed if it has to be taken again, OSError if it is gone.
        """
        while True:
            ready, _, _ = select.select([self._descriptor, self._wake], [], [], seconds)
            if self._wake in ready:
                self._forget_wake()
                modes = termios.tcgetattr(self._descriptor)
                if modes[0] & _INPUT or modes[3] & _LOCAL:
                    raise Resumed
            elif not ready:
                return b""
            else:
                with suppress(BlockingIOError):  # a signal's key dropped what was there
                    piece = os.read(self._descriptor, _PIECE)
                    if not piece:
                        raise OSError(errno.EIO, os.strerror(errno.EIO))
                    return piece

    def write(self, data: bytes) -> None:
        """Show ``data``, once Ctrl-Q lets it."""
        while data:
            select.select([], [self._descriptor], [])
            with suppress(BlockingIOError):
                data = data[os.write(self._descriptor, data) :]

    def _forget_wake(self) -> None:
        with suppress(BlockingIOError):
            os.read(self._wake, _PIECE)

    # For the parent

    def wake(self) -> None:
        """Have the child ask again, now or as soon as it waits: this cannot get lost."""
        with suppress(BlockingIOError):  # it is full of that already
            os.write(self._waker, b"\n")

    def restore(self) -> None:
        """Give it back as it was, if it was taken and is ours to change.

        While we are in the background a shell has it, with modes of its own. The rest of a paste is
        not meant for the shell, and dropped.
        """
        with suppress(OSError, termios.error):
            if not self or os.tcgetpgrp(self._descriptor) != os.getpgrp():
                return
            modes = termios.tcgetattr(self._descriptor)
            if _own(modes) == _own(self._modes):
                return
            self._copy_own(modes)
            for code in (termios.VMIN, termios.VTIME):
                modes[6][code] = self._modes[6][code]
            termios.tcsetattr(self._descriptor, termios.TCSANOW, modes)
            termios.tcflush(self._descriptor, termios.TCIFLUSH)
            if self._brackets:
                os.write(self._descriptor, _BRACKETS_OFF)

    def _copy_own(self, modes: list[Any]) -> None:
        """Set in ``modes`` what they were at first."""
        for field, bits in _OWN.items():
            modes[field] = modes[field] & ~bits | self._modes[field] & bits

    def close(self) -> None:
        """Let go of it."""
        for each in (self._wake, self._waker, self._descriptor):
            if each >= 0:
                os.close(each)
        self._descriptor = -1


def _own(modes: list[Any]) -> list[int]:
    """Those of ``modes`` that are taken and given back."""
    return [modes[field] & bits for field, bits in _OWN.items()]
