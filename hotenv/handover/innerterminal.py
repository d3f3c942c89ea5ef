"""A pseudo-terminal for a command, of which hotenv's own terminal shows all.

The keeper leads a session around it. There the command has a process group of its own, which keys
signal and stop as a shell's job. Only while hotenv is in the foreground of its own terminal is the
command in that of the other, and only then is what is typed passed on (see ``keyboard``). A command
that reads while it is in the background is stopped by the kernel, and so the keeper learns of it.
"""

from __future__ import annotations

import errno
import fcntl
import os
import termios

from hotenv.handover.keyboard import Keyboard
from hotenv.handover.signalling import send
from hotenv.lightweight import signal

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from hotenv.handover.streams import Server

_SIZE = b"\0" * 8  # struct winsize
_NONE = -1  # no descriptor


class InnerTerminal:
    """Made in hotenv's process group; then all is called in the keeper, if nothing else is said."""

    def __init__(self, outer: int, streams: Iterable[int]) -> None:
        """``outer``: a descriptor of hotenv's terminal. ``streams``: which ones are to be this."""
        self._standin = os.getpid()
        self._outer = os.dup(outer)
        self._streams = list(streams)
        self._keyboard = Keyboard(self._outer)
        self._controls = _controls(self._outer)

    def open(self, keeper: Server) -> None:
        """Begin the session."""
        self._keeper = keeper
        os.setsid()
        screen, self._inner = os.openpty()
        self.screen: int = screen
        os.set_blocking(self.screen, False)
        self._entry = os.dup(self.screen)
        termios.tcsetattr(self._inner, termios.TCSANOW, self._keyboard.modes)
        self.resize()
        fcntl.ioctl(self._inner, termios.TIOCSCTTY, 0)

    def connect(self) -> None:
        """In the process that becomes the command: have it for the standard streams."""
        os.setpgid(0, 0)
        if self._at_once():
            os.tcsetpgrp(self._inner, os.getpgrp())
        for stream in self._streams:
            os.dup2(self._inner, stream)

    def start(self, command: int) -> None:
        """The process of ``command`` is there, and what it wrote can be read from ``screen``."""
        try:
            os.setpgid(command, command)
        except PermissionError:  # it has done so, and been executed
            pass
        if self._at_once():
            self.hand_on(command)

    def let_go(self) -> None:
        """The command has ended: what is typed from now on is for who has the terminal next.

        So far ``screen`` had no end, whatever the command closed.
        """
        self._keyboard.let_go()
        if self._inner != _NONE:
            os.close(self._inner)
            self._inner = _NONE

    def _at_once(self) -> bool:
        """Whether the command has the terminal before it asks for it.

        Not in a pipeline: the keys may be for another program in it.
        """
        return len(self._streams) == 3 and self._is_foreground()

    def _is_foreground(self) -> bool:
        """Whether hotenv's process group has its terminal."""
        if not self._controls:
            return True
        try:
            with open(f"/proc/{self._standin}/stat", "rb") as file:
                fields = file.read().rpartition(b")")[2].split()
        except OSError:  # there is no /proc
            return True
        group, foreground = fields[2], fields[5]
        return group == foreground

    def hand_on(self, command: int) -> bool:
        """See :meth:`hotenv.handover.streams.Streams.hand_on`."""
        if not self._is_foreground():
            return False
        self.resize()
        self._keyboard.pass_on(self._keeper, self._entry)
        return self._move_foreground(os.getpgrp(), os.getpgid(command))

    def take_back(self, command: int) -> None:
        """Set hotenv's terminal as it was. A stopped ``command`` has to ask for this one again."""
        self._keyboard.stop()
        if self._keeper.command:
            self._move_foreground(os.getpgid(command), os.getpgrp())

    def hang_up(self) -> None:
        """Nobody sees any more what is written: the session ends as if the line was cut.

        The kernel tells the leader of the session alone, which is the keeper.
        """
        self._keyboard.stop()
        groups = {os.tcgetpgrp(self._entry)}
        if self._keeper.command:
            groups.add(os.getpgid(self._keeper.command))
        for group in groups - {0, os.getpgrp()}:
            for signum in (signal.SIGHUP, signal.SIGCONT):
                send(-group, signum)
        self.let_go()
        os.close(self._entry)
        self._entry = os.open(os.devnull, os.O_RDWR)

    def _move_foreground(self, old: int, new: int) -> bool:
        """Whether the process group ``old`` had this terminal. ``new`` has it then."""
        try:
            if os.tcgetpgrp(self._entry) != old:
                return False
            os.tcsetpgrp(self._entry, new)
        except OSError:
            return False
        return True

    def resize(self) -> None:
        """Have the size of hotenv's terminal."""
        try:
            size = fcntl.ioctl(self._outer, termios.TIOCGWINSZ, _SIZE)
            fcntl.ioctl(self._entry, termios.TIOCSWINSZ, size)
        except OSError:  # one of them is gone
            pass

    def restore(self) -> None:
        """Undo what :meth:`hand_on` did to hotenv's terminal, also in the stand-in."""
        self._keyboard.restore()


def _controls(terminal: int) -> bool:
    """Whether ``terminal`` is the controlling terminal of this process."""
    try:
        os.tcgetpgrp(terminal)
    except OSError as error:
        return error.errno != errno.ENOTTY
    return True
