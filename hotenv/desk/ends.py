"""Both ends of a command's streams: pipes, or a pseudo-terminal. None is the requester's."""

from __future__ import annotations

import fcntl
import os
import struct
import termios
from contextlib import suppress

import trio

TYPE_CHECKING = False
if TYPE_CHECKING:
    from hotenv.desk.request import Request

_SIZE = struct.Struct("@4H")  # struct winsize
STDIN, STDOUT, STDERR = range(3)


class Ends:
    """The ends of one command's streams, as ``request`` has them.

    ``streams``: ours. Standard error has none if it is the same as standard output. ``given``: the
    command's, by number.
    """

    def __init__(self, request: Request) -> None:
        self.streams: dict[int, trio.lowlevel.FdStream] = {}
        self.given: dict[int, int] = {}
        self._theirs: list[int] = []
        self._screen: int | None = None
        self._on_terminal = request.terminal
        try:
            if request.terminal:
                self._open_terminal(request)
            for stream in (STDIN, STDOUT, STDERR):
                if stream not in self.given:
                    self._open_pipe(stream, request)
        except BaseException:
            self.let_go()
            self.close()
            raise

    def _open_terminal(self, request: Request) -> None:
        self._screen, inner = os.openpty()
        self._theirs.append(inner)
        self.resize(*request.size)
        self.given = dict.fromkeys(request.terminal, inner)
        if STDIN in self.given:
            self.streams[STDIN] = trio.lowlevel.FdStream(os.dup(self._screen))
        written = [each for each in (STDOUT, STDERR) if each in self.given]
        if written:
            self.streams[written[0]] = trio.lowlevel.FdStream(os.dup(self._screen))

    def _open_pipe(self, stream: int, request: Request) -> None:
        if stream == STDERR and request.joined:
            self.given[STDERR] = self.given[STDOUT]
            return
        reading, writing = os.pipe()
        ours, theirs = (writing, reading) if stream == STDIN else (reading, writing)
        self._theirs.append(theirs)
        self.given[stream] = theirs
        self.streams[stream] = trio.lowlevel.FdStream(ours)

    def let_go(self) -> None:
        """Close the command's ends: it has them."""
        for descriptor in self._theirs:
            os.close(descriptor)
        self._theirs.clear()

    def resize(self, rows: int, columns: int) -> None:
        """The terminal has another size."""
        if self._screen is not None:
            with suppress(OSError):
                fcntl.ioctl(self._screen, termios.TIOCSWINSZ, _SIZE.pack(rows, columns, 0, 0))

    async def end(self, stream: int) -> None:
        """There is no more input, or no reader any more. A terminal has no such end."""
        if stream in self.streams and stream not in self._on_terminal:
            await self.streams[stream].aclose()

    def close(self) -> None:
        """Close ours."""
        for stream in self.streams.values():
            stream.close()
        if self._screen is not None:
            os.close(self._screen)
            self._screen = None
