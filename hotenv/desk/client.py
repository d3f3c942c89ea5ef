"""A command inside: the desk runs it, and this process stands for it.

It passes on what comes from its standard input, its terminal's size and its signals, and writes
what comes back. It ends as the command has ended.
"""

from __future__ import annotations

import json
import os
import select
import struct
from contextlib import suppress

from hotenv.desk import frames
from hotenv.desk.request import Request, passed
from hotenv.desk.screen import Screen
from hotenv.errors import ArtifactError, UnreachableError, UnresponsiveError, attempt, because
from hotenv.handover.standin import decode_error
from hotenv.lightweight import signal, socket
from hotenv.stdio import is_gone, say, unwritable

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from hotenv.errors import SystemFailureError

VARIABLE = "HOTENV_DESK"
"""Names the socket of the desk, for what runs inside."""

_STDIN, _STDOUT, _STDERR = range(3)
_ENDING = (signal.SIGHUP, signal.SIGINT, signal.SIGQUIT, signal.SIGTERM)
_STREAMS = {frames.STDOUT: _STDOUT, frames.STDERR: _STDERR}
_SIZE = struct.Struct("!ii")
_NEXT_LOOK = 200  # milliseconds
_PATIENCE = 15.0  # seconds for an answer, for which the desk may have to ask a session


def run_at_desk(path: str, argv: Sequence[str]) -> int:
    """Have the desk whose socket is at ``path`` run ``argv``; its wait status.

    Error handling: raises UnreachableError if the desk has ended, the HotenvError because of which
    the command was not run, and SystemFailureError if its output could not be written.
    """
    connection = _connect(path)
    try:
        with Screen() as screen:
            visit = _Visit(connection, screen)
            visit.ask(argv)
            return visit.follow()
    finally:
        connection.close()


def ask_desk(path: str, query: bytes) -> Any:  # noqa: ANN401 - it is JSON
    """What the desk answers to ``query``: see :mod:`frames`. Errors are those of run_at_desk."""
    connection = _connect(path)
    connection.settimeout(_PATIENCE)
    reader = frames.FrameReader()
    try:
        connection.send(frames.encode(frames.QUERY, query))
        while data := connection.recv(frames.PIECE):
            for kind, payload in reader.feed(data):
                return parse_answer(kind, payload)
    except TimeoutError as error:
        raise UnresponsiveError(f"the desk does not answer in {_PATIENCE:.0f} s") from error
    except OSError as error:
        raise _gone() from error
    finally:
        connection.close()
    raise _gone()


def parse_answer(kind: bytes, payload: bytes) -> Any:  # noqa: ANN401 - it is JSON
    """What a frame says that is the answer to a query.

    Error handling: raises the HotenvError that it is, ArtifactError if it is no answer.
    """
    if kind == frames.FAILED:
        raise decode_error(payload)
    try:
        if kind == frames.ANSWER:
            return json.loads(payload)
    except ValueError:
        pass
    raise ArtifactError("the desk has sent an invalid answer")


def _connect(path: str) -> socket.socket:
    connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        connection.connect(path)
    except OSError as error:
        connection.close()
        raise UnreachableError(
            f"cannot connect to the desk of this agent: {because(error)}: ask the user to start "
            "'hotenv agent' again"
        ) from error
    return connection


class _Visit:
    """One request on ``connection``."""

    def __init__(self, connection: socket.socket, screen: Screen) -> None:
        self._connection = connection
        self._screen = screen
        self._reader = frames.FrameReader()
        self._window = frames.INPUT_WINDOW
        self._has_started = False
        self._has_input = _is_open(_STDIN)
        self._status: int | None = None
        self._signals = 0  # that end commands
        self._failure: SystemFailureError | None = None

    def ask(self, argv: Sequence[str]) -> None:
        """Send the request."""
        with attempt("use the current directory"):
            folder = os.getcwd()
            status = os.stat(".")
        request = Request(
            argv=tuple(argv),
            folder=folder,
            identity=(status.st_dev, status.st_ino),
            terminal=self._screen.streams,
            size=self._screen.size,
            joined=_is_same(_STDOUT, _STDERR),
            environment=passed(os.environ),
        )
        self._send(request.frame())

    def follow(self) -> int:
        """Pass everything on until the command has ended; its wait status."""
        poll = select.poll()
        poll.register(self._connection.fileno(), select.POLLIN)
        poll.register(self._screen.wakeup, select.POLLIN)
        while self._status is None:
            is_awaited = self._has_started and self._screen.is_awaited
            if is_awaited:
                self._screen.take()
            if self._has_started and self._has_input and self._window and not is_awaited:
                poll.register(_STDIN, select.POLLIN)
            else:
                with suppress(KeyError):
                    poll.unregister(_STDIN)
            # No signal tells a process that a shell has brought it to the foreground.
            for descriptor, _ in poll.poll(_NEXT_LOOK if is_awaited else None):
                if descriptor == self._screen.wakeup:
                    self._pass_on_signals()
                elif descriptor == _STDIN:
                    self._read_input()
                else:
                    self._receive()
        if self._failure:
            raise self._failure
        self._screen.tell_group(self._status)
        return self._status

    def _receive(self) -> None:
        try:
            data = self._connection.recv(frames.PIECE)
        except OSError:
            data = b""
        if not data:
            raise _gone()
        for kind, payload in self._reader.feed(data):
            self._take(kind, payload)

    def _take(self, kind: bytes, payload: bytes) -> None:
        if kind in _STREAMS:
            self._write(_STREAMS[kind], payload)
        elif kind == frames.TAKEN:
            self._window += frames.number(payload)
        elif kind == frames.FAILED:
            raise decode_error(payload)
        elif kind == frames.ENDED:
            self._status = frames.number(payload)
        else:
            self._follow_command(kind, payload)

    def _follow_command(self, kind: bytes, payload: bytes) -> None:
        """It has started, or stopped, or waits for a human."""
        if kind == frames.STARTED:
            self._has_started = True
            self._screen.take()
            if not self._has_input:
                self._end_input()
        elif kind == frames.STOPPED:
            self._screen.stop(os.WSTOPSIG(frames.number(payload)))
            self._send(frames.encode_number(frames.SIGNAL, signal.SIGCONT))
            self._resize()
        elif kind == frames.ASKED:
            number = frames.number(payload)
            say(f"waiting for the user to answer question {number} in 'hotenv desk'")
        else:
            raise ArtifactError("the desk has sent an unknown frame")

    def _write(self, stream: int, data: bytes) -> None:
        rest = memoryview(data)
        poll = select.poll()
        poll.register(stream, select.POLLOUT)
        poll.register(self._screen.wakeup, select.POLLIN)
        try:
            while rest and self._status is None:
                ready = {descriptor for descriptor, _ in poll.poll()}
                if self._screen.wakeup in ready:  # also while nobody reads
                    self._pass_on_signals()
                    if self._signals > 1:
                        break  # who signals again does not wait for a reader
                if stream in ready:
                    rest = rest[self._write_some(stream, rest) :]
        except OSError as error:
            if not is_gone(error):
                self._failure = unwritable(error, stream)
        if rest:
            self._send(frames.encode_number(frames.LOST, stream))

    def _write_some(self, stream: int, data: memoryview) -> int:
        """Write as much as certainly does not wait; how much that was."""
        try:
            return os.write(stream, data[: select.PIPE_BUF])
        except BlockingIOError:
            return 0

    def _read_input(self) -> None:
        try:
            data = self._screen.read_keys(min(self._window, frames.PIECE))
        except BlockingIOError:
            return
        except OSError:
            data = b""
        if data:
            self._window -= len(data)
            self._send(frames.encode(frames.INPUT, data))
        else:
            self._end_input()

    def _end_input(self) -> None:
        self._has_input = False
        self._send(frames.encode(frames.END_OF_INPUT))

    def _pass_on_signals(self) -> None:
        for signum in self._screen.signals():
            if signum == signal.SIGWINCH:
                self._resize()
            elif self._has_started:
                self._send(frames.encode_number(frames.SIGNAL, signum))
                self._signals += signum in _ENDING
            elif signum == signal.SIGTSTP:
                self._screen.stop(signum)
            else:
                self._status = signum  # nothing runs: this process ends by it

    def _resize(self) -> None:
        if self._screen.streams:
            self._send(frames.encode(frames.RESIZED, _SIZE.pack(*self._screen.size)))

    def _send(self, frame: bytes) -> None:
        rest = memoryview(frame)
        try:
            while rest:
                rest = rest[self._connection.send(rest) :]
        except OSError:
            pass  # why it has ended is received


def _gone() -> UnreachableError:
    return UnreachableError(
        "the desk has ended, and the command with it: ask the user to start 'hotenv agent' again"
    )


def _is_open(stream: int) -> bool:
    try:
        os.fstat(stream)
    except OSError:
        return False
    return os.get_inheritable(stream)


def _is_same(one: int, other: int) -> bool:
    return _is_open(one) and _is_open(other) and os.path.sameopenfile(one, other)
