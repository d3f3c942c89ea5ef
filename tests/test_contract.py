"""The contract: questions, references and literals, where each comes from, and what is wrong."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hotenv.errors import InputError
from hotenv.intake import parsing
from hotenv.intake.contract import Contents, Text, questions, resolve
from hotenv.intake.formats import read_bindings
from hotenv.intake.listing import to_json, to_rows
from hotenv.intake.parsing import Input
from hotenv.intake.rules import Rules

ENVIRON = {"OUTER": "from outside", "BOTH": "from outside", "EMPTY": ""}
ASKING = Rules(prompt=True)


def parse(text: str, answers: Mapping[str, str], rules: Rules = ASKING) -> dict[str, str]:
    """The variables of ``text`` if its questions, which are all in ``answers``, are answered so."""

    def ask(asked: Mapping[str, str]) -> Mapping[str, str]:
        assert list(asked) == list(answers)
        return answers

    return dict(parsing.parse([typed(text)], ENVIRON, rules, ask).snapshot)


def typed(text: str) -> Input:
    """What standard input gives."""
    return Input("standard input", "dotenv", text.encode())


def bound(text: str) -> list[Text]:
    """The same, read."""
    return [Text("standard input", read_bindings(text.encode(), "dotenv"))]


def look(text: str, rules: Rules = ASKING) -> Contents:
    """What --check sees in ``text``."""
    return parsing.survey([typed(text)], ENVIRON, rules)


@pytest.mark.parametrize(
    ("text", "asked"),
    [
        pytest.param("A=?", {"A": ""}, id="no text"),
        pytest.param("A=?Your name\nB=1\nC='? #2 '", {"A": "Your name", "C": "#2"}, id="text"),
        pytest.param("A= ?x # comment", {"A": "x"}, id="comment"),
        pytest.param("A=x?\nB=a?b\nC=${NO:-?}\nD=${BOTH}?", {}, id="not at the beginning"),
        pytest.param("A=?one\nB=?\nA=?two", {"A": "two", "B": ""}, id="the last one counts"),
        pytest.param("A=?${OUTER}", {"A": "${OUTER}"}, id="a question is not expanded"),
        pytest.param("two words\nA", {}, id="no values"),
    ],
)
def test_questions(text: str, asked: dict[str, str]) -> None:
    """A value that begins with a question mark is a question, with --prompt only."""
    assert questions(bound(text), ASKING) == asked
    assert questions(bound(text), Rules()) == {}


def test_without_prompt_a_question_mark_is_a_value() -> None:
    """Nothing changes for those who do not ask for it."""
    assert parse("A=?\nB=?x${OUTER}", {}, Rules()) == {"A": "?", "B": "?xfrom outside"}


@pytest.mark.parametrize(
    ("text", "variables"),
    [
        pytest.param("Q=?\nA=${Q}!", {"Q": "a", "A": "a!"}, id="a later line"),
        pytest.param("A=${Q}!\nQ=?", {"Q": "a", "A": "a!"}, id="an earlier line"),
        pytest.param("A=${Q:-x}\nQ=?", {"Q": "a", "A": "a"}, id="before the default"),
        pytest.param("Q=1\nA=${Q}\nQ=?", {"Q": "a", "A": "1"}, id="after an earlier line"),
        pytest.param("Q=?\nA=${Q}\nQ=1", {"Q": "1", "A": "a"}, id="replaced"),
    ],
)
def test_references_to_answers(text: str, variables: dict[str, str]) -> None:
    """An answer is known from the first line on."""
    assert parse(text, {"Q": "a"}) == variables


def test_answers_before_the_environment() -> None:
    """A reference means the answer if the environment has the name too."""
    assert parse("A=${BOTH}\nBOTH=?", {"BOTH": "a"}) == {"A": "a", "BOTH": "a"}


_ANSWERS = st.lists(
    st.sampled_from(["${", "}", "A", "Q", "OUTER", "?", ":-", "'", '"', "#", "\\n", " ", "=", "x"]),
    max_size=12,
).map("".join) | st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]))


@given(_ANSWERS, _ANSWERS, st.booleans())
def test_answers_are_never_expanded(one: str, two: str, strict: bool) -> None:
    """An answer arrives as it was typed, in its variable and in those that refer to it."""
    text = "B='<${R}>'\nQ=?\nR=?What\nA=${Q}\nC=${A}${Q}"
    variables = parse(text, {"Q": one, "R": two}, Rules(prompt=True, strict=strict))
    assert variables == {"B": f"<{two}>", "Q": one, "R": two, "A": one, "C": one + one}


_LINES = [
    "A=1",
    "A=?",
    "B=${A}",
    "B=${NO}",
    "C=?x",
    "C",
    "D E",
    "'D='=1",
    "E=${OUTER}${C:-y}",
    "# A",
]


@given(st.lists(st.sampled_from(_LINES), max_size=8).map("\n".join), _ANSWERS, st.booleans())
def test_problems_depend_on_no_answer(text: str, answer: str, strict: bool) -> None:
    """What is wrong is known before any question is asked."""
    rules = Rules(prompt=True, strict=strict)
    answers = dict.fromkeys(questions(bound(text), rules), answer)
    answered = resolve(bound(text), ENVIRON, answers, rules)
    assert answered.problems == look(text, rules).problems
    assert answered.origins == look(text, rules).origins


@pytest.mark.parametrize("text", ["Q=?\ntwo words", "Q=?\nA=\0", "Q=?\n'A=B'=?"])
def test_no_question_is_asked_in_vain(text: str) -> None:
    """A text that is refused anyway asks nothing."""

    def ask(asked: Mapping[str, str]) -> Mapping[str, str]:
        raise AssertionError(asked)

    with pytest.raises(InputError):
        parsing.parse([typed(text)], ENVIRON, ASKING, ask)


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        pytest.param("A=${NO}", "line 1: reference to an unset variable", id="unset"),
        pytest.param("A=1\n\nA=2", "line 3: duplicate name, already set on line 1", id="twice"),
        pytest.param("A=1\nB", "line 2: name without '=' sets nothing", id="no value"),
        pytest.param("# A=1", "no variables found", id="nothing"),
    ],
)
def test_strict(text: str, problem: str) -> None:
    """What is let through otherwise, with a warning at most, is an error."""
    with pytest.raises(InputError, match=f"^standard input: {re.escape(problem)}$"):
        parse(text, {}, Rules(strict=True))
    contents = look(text, Rules())
    assert "duplicate" in problem or contents.warnings == (f"standard input: {problem}",)
    contents.refuse_errors()


def test_strict_lists_everything() -> None:
    """All the problems in one message, however many there are."""
    text = "".join(f"A{n}=${{NO}}\n" for n in range(25)) + "B=1\nB=2\nC\n"
    with pytest.raises(InputError) as caught:
        parse(text, {}, Rules(strict=True))
    lines = [int(n) for n in re.findall(r"(?:: |; )line (\d+):", str(caught.value))]
    assert lines == [*range(1, 26), 27, 28]


def test_strict_lets_a_good_contract_through() -> None:
    """Questions, defaults and references that are found are no problem."""
    text = "A=${Q}\nQ=?\nB=${OUTER}${EMPTY}\nC=${NO:-x}"
    expected = {"A": "a", "Q": "a", "B": "from outside", "C": "x"}
    assert parse(text, {"Q": "a"}, Rules(prompt=True, strict=True)) == expected


@pytest.mark.parametrize(
    ("line", "source"),
    [
        ("X=v4lue", "literal"),
        ("X=", "literal"),
        ("X=?Why", "question"),
        ("X=${OUTER}", "environment"),
        ("X=http://${OUTER}/", "environment"),
        ("X=${EMPTY:-d}", "environment"),
        ("X=${NO:-d}", "default"),
        ("X=${NO}", "unset"),
        ("X=${OUTER}${Q}${NO:-d}", "default+environment+question"),
        ("X=${L}", "literal"),
        ("X=${R}", "question"),
        ("X=${X}", "unset"),
        ("X=${N:-d}", "unset"),
    ],
)
def test_source(line: str, source: str) -> None:
    """Where a value comes from, also when it comes by way of another variable."""
    contents = look(f"L=1\nR=${{Q}}\nN\n{line}\nQ=?")
    assert [(o.source, o.line) for o in contents.origins if o.name == "X"] == [(source, 4)]


def test_source_without_prompt_and_interpolation() -> None:
    """What is not looked at is a literal."""
    contents = look("A=?\nB=${OUTER}", Rules(interpolate=False))
    assert [origin.source for origin in contents.origins] == ["literal", "literal"]


def test_table() -> None:
    """A row for each variable, with the line that counts, in the order of the text."""
    rows = to_rows(look("A=secret\nLONG_NAME=?\nA=${OUTER}\nN\n'B\x1b'=1"))
    assert rows == [
        ("LONG_NAME", "question", "2", "standard input"),
        ("A", "environment", "3", "standard input"),
        ("B\x1b", "literal", "5", "standard input"),
    ]
    assert to_rows(look("")) == []


def test_json() -> None:
    """Each variable, and each problem: of a variable, of a line, or of the whole."""
    entries = json.loads(to_json(look("A=1\nB\nA=${NO}", Rules(strict=True))))
    unset, twice = "reference to an unset variable", "duplicate name, already set on line 1"
    assert entries == [
        {
            "name": "A",
            "source": "unset",
            "line": 3,
            "input": "standard input",
            "problems": [twice, unset],
        },
        {
            "name": None,
            "source": None,
            "line": 2,
            "input": "standard input",
            "problems": ["name without '=' sets nothing"],
        },
    ]
    (whole,) = json.loads(to_json(look("")))
    assert (whole["line"], whole["problems"]) == (None, ["no variables found"])


@pytest.mark.parametrize(
    "text",
    [
        "KEY=-----BEGIN KEY-----\nSkIEvSk\nSk9yZSk=\n-----END Sk KEY-----\n",
        'KEY="-----BEGIN KEY-----\nSk=\nSkx=Sk',
    ],
)
def test_a_broken_text_shows_no_names(text: str) -> None:
    """Pieces of a key that is not quoted look like names."""
    contents = look(text)
    assert contents.origins == ()
    assert "Sk" not in str(to_rows(contents)) + to_json(contents) + repr(contents)


@given(st.lists(st.sampled_from(_LINES), max_size=8), st.booleans(), st.booleans())
def test_reports_show_no_value(lines: list[str], strict: bool, prompt: bool) -> None:
    """Neither table nor JSON has a value, a default, or what the environment has."""
    text = "\n".join([*lines, "F=s3cret", "G=${NO:-s3cret}", "H=${OUTER}", "I=?s3cret"])
    contents = look(text, Rules(strict=strict, prompt=prompt))
    shown = str(to_rows(contents)) + to_json(contents) + repr(contents)
    assert "s3cret" not in shown
    assert ENVIRON["OUTER"] not in shown
