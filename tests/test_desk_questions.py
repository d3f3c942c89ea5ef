"""desk.questions: what waits for a human."""

from __future__ import annotations

import pytest
import trio
from trio.testing import MockClock, wait_all_tasks_blocked

from hotenv.desk.questions import (
    NO,
    ONCE,
    SESSION,
    WITHDRAWN,
    Question,
    Questions,
    Subject,
    shown,
)


def question(
    questions: Questions, *argv: str, program: str = "1", folder: str = "/shop"
) -> Question:
    """A new one about ``argv``."""
    return Question(
        number=questions.next_number(),
        subject=Subject(argv, folder, (1, 2), (program,)),
        program="/bin/a",
        pid=1,
        guard=[],
        asked=0.0,
    )


async def asked(questions: Questions, one: Question, said: str) -> str:
    """What comes of ``one`` if a human says ``said``."""
    outcome = ""
    async with trio.open_nursery() as nursery:

        @nursery.start_soon
        async def _() -> None:
            nonlocal outcome
            outcome = await questions.ask(one, 10)

        await wait_all_tasks_blocked()
        assert [*questions] == [one]
        assert questions.answer(one.number, said) is one
    assert [*questions] == []
    return outcome


async def test_answers() -> None:
    """What is said is what comes out, once."""
    questions = Questions(can_ask=True)
    for said in (ONCE, NO):
        one = question(questions, "a")
        assert await asked(questions, one, said) == said
        assert not questions.is_settled(one)
        assert questions.answer(one.number, ONCE) is None


async def test_for_as_long_as_the_desk() -> None:
    """The same words in the same folder, by the same program, are not asked about again."""
    questions = Questions(can_ask=True)
    assert await asked(questions, question(questions, "a"), SESSION) == SESSION
    again = question(questions, "a")
    assert questions.is_settled(again)
    assert await questions.ask(again, 10) == SESSION
    assert not questions.is_settled(question(questions, "a", "b"))
    assert not questions.is_settled(question(questions, "a", program="2"))
    assert not questions.is_settled(question(questions, "a", folder="/other"))
    questions.withdraw()
    assert not questions.is_settled(again)


async def test_withdrawn() -> None:
    """A question that is put anew has no answer, whoever comes later."""
    questions = Questions(can_ask=True)
    outcomes = []
    async with trio.open_nursery() as nursery:

        @nursery.start_soon
        async def _() -> None:
            outcomes.append(await questions.ask(question(questions, "a"), 10))

        await wait_all_tasks_blocked()
        questions.withdraw()
        assert questions.answer(1, SESSION) is not None
    assert outcomes == [WITHDRAWN]
    assert not questions.is_settled(question(questions, "a"))


@pytest.mark.parametrize(
    ("argv", "text"),
    [
        (["make", "a b"], "make 'a b'"),
        (["a", " " * 5], r"a ' \x20\x20\x20\x20'"),
        (["a", "x   y\n"], r"a 'x \x20\x20y\n'"),
        (["a", "\u2800\u3164"], r"a '\u2800\u3164'"),
        (["a", " \u034f \u034f "], r"a ' \u034f \u034f '"),
        (["\u00e9\udcff"], r"'\xe9\xff'"),
    ],
)
def test_shown(argv: list[str], text: str) -> None:
    """No screen can be drawn with blanks."""
    assert shown(argv) == text


async def test_nobody_answers(autojump_clock: MockClock) -> None:
    """Nothing is said after the time for it."""
    questions = Questions(can_ask=True)
    started = trio.current_time()
    assert await questions.ask(question(questions, "a"), 10) == ""
    assert trio.current_time() - started == 10
    assert [*questions] == []


async def test_the_requester_is_gone() -> None:
    """The question is, too."""
    questions = Questions(can_ask=True)
    async with trio.open_nursery() as nursery:
        nursery.start_soon(questions.ask, question(questions, "a"), 10)
        await wait_all_tasks_blocked()
        nursery.cancel_scope.cancel()
    assert [*questions] == []


async def test_the_first_answer_counts() -> None:
    """Of two humans."""
    questions = Questions(can_ask=True)
    one = question(questions, "a")
    outcome = ""
    async with trio.open_nursery() as nursery:

        @nursery.start_soon
        async def _() -> None:
            nonlocal outcome
            outcome = await questions.ask(one, 10)

        await wait_all_tasks_blocked()
        questions.answer(one.number, NO)
        questions.answer(one.number, SESSION)
    assert outcome == NO
    assert not questions.is_settled(one)


async def test_what_is_no_answer() -> None:
    """It stays open."""
    questions = Questions(can_ask=True)
    one = question(questions, "a")
    async with trio.open_nursery() as nursery:
        nursery.start_soon(questions.ask, one, 10)
        await wait_all_tasks_blocked()
        assert questions.answer(one.number, "yes") is None
        assert questions.answer(one.number + 1, ONCE) is None
        assert [*questions] == [one]
        nursery.cancel_scope.cancel()


async def test_changes_are_told() -> None:
    """When there is one more, and when there is one less."""
    questions = Questions(can_ask=True)
    change = questions.change
    async with trio.open_nursery() as nursery:
        nursery.start_soon(questions.ask, question(questions, "a"), 10)
        await change.wait()
        change = questions.change
        assert not change.is_set()
        nursery.cancel_scope.cancel()
    assert change.is_set()


def test_who_could_answer() -> None:
    """Somebody at the agent's terminal, or who watches."""
    assert Questions(can_ask=True).can_ask
    questions = Questions(can_ask=False)
    assert not questions.can_ask
    questions.watchers += 1
    assert questions.can_ask
