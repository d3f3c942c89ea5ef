"""The standard streams of a command whose output is redacted.

What is a terminal becomes a pseudo-terminal, so that the command still has one; everything else
becomes a pipe. What is the same file for two streams is one for them again, so that what they write
stays in its order. /dev/null has no reader, and standard input is nobody's output.
"""

from __future__ import annotations

import os
import stat

from hotenv.handover.streams import Streams
from hotenv.redaction.pump import Pump
from hotenv.stdio import unwritable

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from hotenv.errors import SystemFailureError
    from hotenv.handover.innerterminal import InnerTerminal
    from hotenv.handover.streams import Server
    from hotenv.redaction.redactor import Redactor

_STDIN, _STDOUT, _STDERR = 0, 1, 2


class RedactedStreams(Streams):
    """Those of hotenv itself, but that what is written passes through ``redactor``."""

    def __init__(self, redactor: Redactor) -> None:
        self._redactor = redactor
        self._terminal, on_terminal = _inner_terminal()
        self.own_session: bool = self._terminal is not None
        self._on_terminal = on_terminal
        self._pipes: dict[int, tuple[int, int]] = {}  # for a stream, the two ends
        self._pumps: list[tuple[int, Pump]] = []

    def open(self, keeper: Server) -> None:
        """See :class:`Streams`."""
        self._keeper = keeper
        if self._terminal is not None:
            self._terminal.open(keeper)
        for stream in (_STDOUT, _STDERR):
            if stream not in self._on_terminal and _has_reader(stream):
                same = stream == _STDERR and _is_same(_STDOUT, _STDERR)
                known = self._pipes.get(_STDOUT) if same else None
                self._pipes[stream] = known or os.pipe()

    def connect(self) -> None:
        """See :class:`Streams`."""
        if self._terminal is not None:
            self._terminal.connect()
        for stream, (_, inner) in self._pipes.items():
            os.dup2(inner, stream)

    def start(self, command: int) -> None:
        """See :class:`Streams`."""
        for source, inner in set(self._pipes.values()):
            stream = min(each for each, ends in self._pipes.items() if ends == (source, inner))
            os.close(inner)
            self._pump(source, stream)
        if self._terminal is not None:
            stream = max(self._on_terminal)
            self._pump(self._terminal.screen, stream, self._terminal.hang_up)
            self._terminal.start(command)

    def _pump(self, source: int, stream: int, lose: Callable[[], None] = lambda: None) -> None:
        redactor = self._redactor.another()
        pump = Pump(self._keeper, source, os.dup(stream), redactor, lose)
        self._pumps.append((stream, pump))

    def let_go(self) -> None:
        """See :class:`Streams`."""
        if self._terminal is not None:
            self._terminal.let_go()

    @property
    def settled(self) -> bool:
        """See :class:`Streams`."""
        return all(pump.settled for _, pump in self._pumps)

    @property
    def failure(self) -> SystemFailureError | None:
        """See :class:`Streams`."""
        failures = ((stream, pump.failure) for stream, pump in self._pumps)
        return next((unwritable(error, stream) for stream, error in failures if error), None)

    def hand_on(self, command: int) -> bool:
        """See :class:`Streams`."""
        if self._terminal is None:
            return super().hand_on(command)
        return self._terminal.hand_on(command)

    def take_back(self, command: int) -> None:
        """See :class:`Streams`."""
        if self._terminal is not None:
            self._terminal.take_back(command)

    def resize(self) -> None:
        """See :class:`Streams`."""
        if self._terminal is not None:
            self._terminal.resize()

    def restore(self) -> None:
        """See :class:`Streams`."""
        if self._terminal is not None:
            self._terminal.restore()


def _inner_terminal() -> tuple[InnerTerminal | None, list[int]]:
    """A pseudo-terminal, if the command writes to a terminal, and the streams that are to be it."""
    outer = next((each for each in (_STDERR, _STDOUT) if _is_terminal(each)), None)
    if outer is None:
        return None, []
    streams = [
        each
        for each in (_STDIN, _STDOUT, _STDERR)
        if _is_terminal(each) and os.fstat(each).st_rdev == os.fstat(outer).st_rdev
    ]
    from hotenv.handover.innerterminal import InnerTerminal

    return InnerTerminal(outer, streams), streams


def _is_terminal(stream: int) -> bool:
    return os.get_inheritable(stream) and os.isatty(stream)


def _has_reader(stream: int) -> bool:
    """Whether anybody gets what is written: it is neither closed nor /dev/null."""
    status = os.fstat(stream)
    is_null = stat.S_ISCHR(status.st_mode) and status.st_rdev == os.stat(os.devnull).st_rdev
    return os.get_inheritable(stream) and not is_null


def _is_same(stream: int, other: int) -> bool:
    return os.path.sameopenfile(stream, other)
