"""Calls that a thread answers (hotenv.guards.later)."""

from __future__ import annotations

import errno
import threading
from typing import cast

import pytest

from hotenv.guards import later
from hotenv.guards.later import Later
from hotenv.guards.listener import Call
from hotenv.guards.verdict import ANSWERED
from processes import LIMIT


class Asked:
    """A call that can be answered once."""

    def __init__(self) -> None:
        self.errors: list[int] = []
        self._answered = threading.Event()

    def finish(self, error: int) -> None:
        """Take the answer."""
        self.errors.append(error)
        self._answered.set()

    def answer(self) -> list[int]:
        """What it was answered with."""
        assert self._answered.wait(LIMIT)
        return self.errors


def as_call(asked: Asked) -> Call:
    """It does what is used here."""
    return cast("Call", asked)


def fail() -> int:
    """Stumble over something."""
    raise ValueError


def test_answers() -> None:
    """What the work has found; if that fails, the call is refused."""
    for work, error in ((lambda: 0, 0), (lambda: errno.EINTR, errno.EINTR), (fail, errno.EPERM)):
        asked = Asked()
        assert Later().answer(as_call(asked), work) is ANSWERED
        assert asked.answer() == [error]


def test_work_that_answers() -> None:
    """It is not answered twice."""
    asked, last = Asked(), Asked()
    waiting = Later()
    waiting.answer(as_call(asked), lambda: asked.finish(7))
    assert asked.answer() == [7]
    waiting.answer(as_call(last), lambda: 0)
    assert last.answer() == [0]
    assert asked.errors == [7]


def test_nobody_waits() -> None:
    """Whoever asks goes on at once, and others are answered meanwhile."""
    waiting, go_on = Later(), threading.Event()
    slow, fast = Asked(), Asked()
    waiting.answer(as_call(slow), lambda: 0 if go_on.wait(LIMIT) else 1)
    waiting.answer(as_call(fast), lambda: 0)
    assert fast.answer() == [0]
    assert slow.errors == []
    go_on.set()
    assert slow.answer() == [0]


def test_too_many(monkeypatch: pytest.MonkeyPatch) -> None:
    """There is an end to threads; whoever is told so may try again."""
    monkeypatch.setattr(later, "_MOST", 1)
    waiting, go_on = Later(), threading.Event()
    first, second = Asked(), Asked()
    waiting.answer(as_call(first), lambda: 0 if go_on.wait(LIMIT) else 1)
    verdict = waiting.answer(as_call(second), lambda: 0)
    assert (verdict.error, verdict.answered) == (errno.EAGAIN, False)
    go_on.set()
    assert first.answer() == [0]
    assert second.errors == []
