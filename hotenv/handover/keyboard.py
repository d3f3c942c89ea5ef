"""What is typed on hotenv's terminal, on its way to a pseudo-terminal of the command's."""

from __future__ import annotations

import os
import select
import termios

from hotenv.descriptors import reopen_nonblocking
from hotenv.handover.signalling import send
from hotenv.lightweight import signal

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from hotenv.handover.streams import Server

_KEYS = ((termios.VINTR, signal.SIGINT), (termios.VQUIT, signal.SIGQUIT))
_INPUT, _OUTPUT, _LOCAL, _CHARACTERS = 0, 1, 3, 6  # in what tcgetattr returns
_ANY_INPUT = (
    *(termios.IGNBRK, termios.BRKINT, termios.PARMRK, termios.INPCK, termios.ISTRIP),
    *(termios.INLCR, termios.IGNCR, termios.ICRNL, termios.IXON),
)
_ANY_MEANING = (termios.ECHO, termios.ECHONL, termios.ICANON, termios.IEXTEN, termios.ISIG)
_NO_KEY = b"\0"  # _POSIX_VDISABLE
_NONE = -1  # no descriptor
_PIECE = 4096  # bytes that are typed at once


class Keyboard:
    """That of a terminal. Made in hotenv's process group; then all is called in the keeper."""

    def __init__(self, terminal: int) -> None:
        """``terminal``: a descriptor of it."""
        self._terminal = terminal
        self._group = os.getpgrp()
        self.modes: list[Any] = termios.tcgetattr(terminal)
        """Those of the terminal while keys have a meaning in it."""
        self._typed = b""
        self._keys = _NONE  # what is typed, while that is passed on

    def pass_on(self, keeper: Server, entry: int) -> None:
        """Let what is typed pass through to ``entry``, without any meaning before."""
        if self._keys != _NONE:
            return
        self._keeper, self._entry = keeper, entry
        try:
            self.modes = termios.tcgetattr(self._terminal)
            termios.tcsetattr(self._terminal, termios.TCSANOW, raw(self.modes))
        except termios.error:  # it is gone
            return
        self._keys = reopen_nonblocking(self._terminal, os.O_RDONLY)
        self._keeper.watch(self._keys, self._read_keys)

    def stop(self) -> None:
        """Do so no more."""
        if self._keys != _NONE:
            self.let_go()
            if self._keys != self._terminal:
                os.close(self._keys)
            self._keys = _NONE
        self.restore()

    def let_go(self) -> None:
        """What is typed from now on is for others. The terminal stays as it is."""
        if self._keys != _NONE:
            self._keeper.unwatch(self._keys)
            self._keeper.unwatch(self._entry)

    def _read_keys(self) -> None:
        try:
            keys = os.read(self._keys, _PIECE)
        except BlockingIOError:
            return
        except OSError:
            keys = b""
        if keys:
            self._tell_group(keys)
            self._typed += keys
            self._type()
        else:  # it is gone
            self._keeper.unwatch(self._keys)

    def _type(self) -> None:
        """Pass on what was typed, as far as it goes; then the rest, and then what comes next."""
        while self._typed:
            try:
                self._typed = self._typed[os.write(self._entry, self._typed) :]
            except BlockingIOError:
                self._keeper.unwatch(self._keys)
                self._keeper.watch(self._entry, self._type, select.POLLOUT)
                return
            except OSError:  # nobody has it open
                self._typed = b""
        self._keeper.unwatch(self._entry)
        self._keeper.watch(self._keys, self._read_keys)

    def _tell_group(self, keys: bytes) -> None:
        """Signal hotenv's process group as ``keys`` would: a shell script may wait in it.

        The stand-in does not pass that on, as they reach the command as keys.
        """
        modes = termios.tcgetattr(self._entry)
        characters = modes[_CHARACTERS] if modes[_LOCAL] & termios.ISIG else []
        typed = [
            signum
            for key, signum in _KEYS
            if characters and characters[key] != _NO_KEY and characters[key] in keys
        ]
        command = self._keeper.command
        if typed and command and os.tcgetpgrp(self._entry) == os.getpgid(command):
            for signum in typed:
                send(-self._group, signum)  # it may be gone

    def restore(self) -> None:
        """Undo what :meth:`pass_on` did to the terminal, also in the stand-in."""
        try:
            if termios.tcgetattr(self._terminal) == raw(self.modes):
                termios.tcsetattr(self._terminal, termios.TCSANOW, self.modes)
        except termios.error:  # it is gone
            pass


def raw(modes: list[Any]) -> list[Any]:
    """``modes`` of a terminal in which no byte has a meaning, in or out."""
    raw = [*modes[:_CHARACTERS], list(modes[_CHARACTERS])]
    raw[_INPUT] &= ~sum(_ANY_INPUT)
    raw[_OUTPUT] &= ~termios.OPOST
    raw[_LOCAL] &= ~sum(_ANY_MEANING)
    raw[_CHARACTERS][termios.VMIN], raw[_CHARACTERS][termios.VTIME] = 1, 0
    return raw
