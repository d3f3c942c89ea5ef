"""A human at a terminal is shown the open questions, one by one, and answers with a key."""

from __future__ import annotations

import os
import select
import termios
import tty

from hotenv.desk.human import RELOADED, Watch, answer, reload
from hotenv.desk.questions import NO, ONCE, SESSION, legible, shown
from hotenv.errors import UsageError
from hotenv.printable import printable
from hotenv.stdio import say, write_output

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from hotenv.desk.place import Place

_STDIN = 0
_BELL = b"\a"
_ANSWERS = {
    b"y": (ONCE, "allowed once"),
    b"s": (SESSION, "allowed until the agent ends"),
    b"n": (NO, "denied"),
}
_RELOAD, _QUIT = b"r", (b"q", b"")
_KEYS = {*_ANSWERS, _RELOAD}


class Interview:
    """With the user at standard input and output, about the questions of the desk at ``place``.

    Error handling: raises UnreachableError when the desk has ended.
    """

    def __init__(self, place: Place) -> None:
        self._place = place
        self._watch = Watch(place)
        self._shown: int | None = None
        self._withdrawn = False

    def conduct(self) -> None:
        """Ask until there is nobody to answer."""
        modes = termios.tcgetattr(_STDIN)
        self._greet()
        try:
            tty.setcbreak(_STDIN, termios.TCSAFLUSH)
            going_on = True
            while going_on:
                ready, _, _ = select.select([self._watch.fileno(), _STDIN], [], [])
                if self._watch.fileno() in ready and self._watch.read():
                    write_output(_BELL)
                if _STDIN in ready:
                    going_on = self._press(os.read(_STDIN, 1))
                self._show()
        finally:
            termios.tcsetattr(_STDIN, termios.TCSADRAIN, modes)
            self._watch.close()

    def _greet(self) -> None:
        self._watch.read_first()
        directory = printable(self._watch.directory)
        write_output(f"waiting for the agent of {directory} to ask (q: quit)\n".encode())
        self._show()

    def _press(self, key: bytes) -> bool:
        """Do what ``key`` says; whether there may be another one."""
        if self._shown is not None and (key in _KEYS or key in _QUIT):
            write_output(b"\n")  # the line of the keys ends there
        if key in _QUIT:
            return False
        if self._withdrawn and key in _ANSWERS:
            # Whoever pressed it may have read what was there before.
            self._withdrawn = False
            write_output(b"(not taken: the question had just changed; press it again)\n")
        elif key == _RELOAD:
            _reload(self._place)
        elif key in _ANSWERS and self._shown is not None and self._shown in self._open():
            said, told = _ANSWERS[key]
            number, self._shown = self._shown, None
            self._watch.questions = [
                each for each in self._watch.questions if each["number"] != number
            ]
            try:
                answer(self._place, number, said)
            except UsageError as error:  # it has just been given up
                told = str(error)
            write_output(f"{printable(told)}\n".encode())
        return True

    def _open(self) -> list[int]:
        return [each["number"] for each in self._watch.questions]

    def _show(self) -> None:
        """Show the oldest question, unless it is shown."""
        if self._shown is not None and self._shown not in self._open():
            self._shown, self._withdrawn = None, True
            write_output(b"\n(answered elsewhere, or no longer waiting)\n")
        if self._shown is None and self._watch.questions:
            # What was typed before it was shown is no answer to it.
            termios.tcflush(_STDIN, termios.TCIFLUSH)
            question = self._watch.questions[0]
            self._shown = question["number"]
            write_output(_text(question).encode())


def _reload(place: Place) -> None:
    try:
        reload(place)
    except UsageError as error:
        say(str(error))
    else:
        say(RELOADED)


def _text(question: dict[str, Any]) -> str:
    guard = ", ".join(map(legible, question["guard"]))
    return (
        f"\n{question['number']}: {shown(question['argv'])}\n"
        f"   in {legible(question['folder'])}, asked by process {question['pid']}\n"
        f"   runs {legible(question['program'])} ({guard})\n"
        "   y: allow once, s: allow until the agent ends, n: deny, r: reload, q: quit "
    )
