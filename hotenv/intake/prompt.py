"""Questions on the terminal, without echo, whatever standard input is.

Two processes share the work. The child asks, and has the answers. The parent, which never has one,
sees to it that echo is on again when anything ends or stops the two: a shell looks at nothing but
the parent, so the parent comes last. Only the child switches echo off; a byte of shared memory
tells that it did, and another one that it must not.
"""

from __future__ import annotations

import mmap
import os
import signal
import termios
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from types import FrameType
from typing import Any

from hotenv.errors import SystemFailureError, because
from hotenv.printable import printable
from hotenv.variables import why_unfit

_LONGEST = 4095  # bytes that a line on a terminal can have: the kernel drops the rest (termios(3))
_DEADLY = (signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT)
_ASK_AGAIN = signal.SIGURG  # the parent's word to the child, which ignores it while it does not ask
_SILENCED, _PAUSED = 0, 1  # bytes of the shared memory: echo is off; do not ask now


class _Ended(BaseException):
    """A signal that ends the process came."""


class Terminal:
    """The terminal that controls this process, if there is one. Make it before the fork."""

    def __init__(self) -> None:
        self._descriptor: int | None = None
        self._shared = mmap.mmap(-1, 2)
        self._echoes = False
        with suppress(OSError):
            self._descriptor = os.open("/dev/tty", os.O_RDWR | os.O_NOCTTY)

    # In the child

    def ask(self, questions: Mapping[str, str]) -> dict[str, str]:
        """Ask each of the ``questions``, in order; names and answers, which are UTF-8.

        Leaves echo off: the parent restores it.

        Error handling: raises SystemFailureError, with the name of the variable, if there is no
        terminal, no answer, or one that no environment can hold.
        """
        return {name: self._ask(name, question) for name, question in questions.items()}

    def _ask(self, name: str, question: str) -> str:
        if self._descriptor is None:
            raise SystemFailureError(f"cannot ask for {name}: there is no terminal")
        try:
            answer = self._line(self._descriptor, f"{name} ({question})" if question else name)
        except (OSError, termios.error) as error:
            reason = because(OSError(*error.args))
            raise SystemFailureError(f"cannot ask for {name} on the terminal: {reason}") from error
        if answer is None:
            raise SystemFailureError(f"there was no answer for {name}")
        if len(answer) >= _LONGEST:
            raise SystemFailureError(f"the answer for {name} is too long to be typed or pasted")
        try:
            text = answer.decode()
        except UnicodeDecodeError:
            raise SystemFailureError(f"the answer for {name} is not UTF-8") from None
        if unfit := why_unfit(name, text):
            raise SystemFailureError(f"the answer for {name} has {unfit}")
        return text

    def _line(self, descriptor: int, question: str) -> bytes | None:
        """What is typed, without the end of its line; None if Ctrl-D ends it."""
        typed = bytearray()

        def show(*_signal: object) -> None:
            typed.clear()
            if self._shared[_PAUSED]:  # a shell let us go on, and the parent is not that far yet
                return
            self._silence(descriptor)
            os.write(descriptor, f"hotenv: {printable(question)}: ".encode())

        signal.signal(_ASK_AGAIN, show)
        try:
            show()
            while not typed.endswith(b"\n"):
                piece = os.read(descriptor, _LONGEST + 1)
                if not piece:
                    return None
                typed += piece
            return bytes(typed[:-1])
        finally:
            signal.signal(_ASK_AGAIN, signal.SIG_IGN)
            os.write(descriptor, b"\n")

    def _silence(self, descriptor: int) -> None:
        """Switch echo off, if it was on at the first question.

        The parent may have stopped us anywhere in here, and then have us do it once more.
        """
        self._echoes = self._echoes or _has_echo(termios.tcgetattr(descriptor))
        if self._echoes:
            self._shared[_SILENCED] = 1
            _set_echo(descriptor, on=False)

    # In the parent

    @contextmanager
    def guard(self, child: int) -> Iterator[None]:
        """While the block runs the process ``child`` may ask; it is dead when the block is over.

        What ends or stops this process (Ctrl-C, Ctrl-Z, SIGTERM, ...) does so, but not before echo
        is on again. After a stop the child asks again.
        """

        def end(signum: int, _frame: FrameType | None) -> None:
            for each in ours:
                signal.signal(each, signal.SIG_IGN)  # the first one is enough
            raise _Ended(signum)

        def stop(signum: int, _frame: FrameType | None) -> None:
            signal.signal(signum, signal.SIG_IGN)  # one at a time
            os.kill(child, signal.SIGSTOP)  # the terminal's Ctrl-Z may not have reached it yet
            os.waitid(os.P_PID, child, os.WSTOPPED | os.WEXITED | os.WNOWAIT)
            self._shared[_PAUSED] = 1
            self._restore()
            signal.signal(signum, signal.SIG_DFL)
            os.kill(os.getpid(), signum)  # until SIGCONT; not at all where no shell could send it
            signal.signal(signum, stop)
            self._shared[_PAUSED] = 0
            os.kill(child, _ASK_AGAIN)
            os.kill(child, signal.SIGCONT)

        handlers = {signal.SIGTSTP: stop, **dict.fromkeys(_DEADLY, end)}
        ours = [each for each in handlers if signal.getsignal(each) is signal.SIG_DFL]
        try:
            for each in ours:
                signal.signal(each, handlers[each])
            try:
                yield
            finally:
                os.kill(child, signal.SIGKILL)
                os.waitid(os.P_PID, child, os.WEXITED | os.WNOWAIT)
                self._restore()
                self._close()
                for each in ours:
                    signal.signal(each, signal.SIG_DFL)
        except _Ended as ended:
            os.kill(os.getpid(), ended.args[0])

    def _close(self) -> None:
        if self._descriptor is not None:
            os.close(self._descriptor)
            self._descriptor = None

    def _restore(self) -> None:
        """Switch echo on if the child switched it off and the terminal is ours to change.

        While we are in the background a shell has it, with modes of its own.
        """
        descriptor = self._descriptor
        if descriptor is None or not self._shared[_SILENCED]:
            return
        with suppress(OSError, termios.error):
            if os.tcgetpgrp(descriptor) == os.getpgrp():
                self._shared[_SILENCED] = 0
                _set_echo(descriptor, on=True)


def _has_echo(modes: list[Any]) -> bool:
    return bool(modes[3] & termios.ECHO)


def _set_echo(descriptor: int, *, on: bool) -> None:
    """Switch echo on or off; if it was not, drop what was typed and not yet read.

    What was typed before a question is no answer to it, and the rest of a paste is not meant for
    the shell. Does not wait for output, which Ctrl-S may have stopped.
    """
    modes = termios.tcgetattr(descriptor)
    if _has_echo(modes) != on:
        modes[3] ^= termios.ECHO
        termios.tcsetattr(descriptor, termios.TCSANOW, modes)
        termios.tcflush(descriptor, termios.TCIFLUSH)
