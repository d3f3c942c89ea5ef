"""Small inputs and the right outcome: of each a value, a warning, or an error. Never a wrong value.

The warnings are errors with --strict; each names its line and shows nothing of the text.
"""

from __future__ import annotations

import json
from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hotenv.errors import InputError
from hotenv.intake import parsing
from hotenv.intake.contract import Contents
from hotenv.intake.formats import FORMATS
from hotenv.intake.parsing import Input
from hotenv.intake.rules import FORMATS as NAMES
from hotenv.intake.rules import Rules

TITLE = "standard input"


def look(data: bytes, form: str = "dotenv", *, strict: bool = False) -> Contents:
    """What is seen in ``data`` without --prompt."""
    return parsing.survey([Input(TITLE, form, data)], {"HOME": "/h"}, Rules(strict=strict))


def values(data: bytes, form: str = "dotenv") -> dict[str, str]:
    """What ``data`` sets without any warning."""
    contents = look(data, form)
    assert contents.problems == ()
    return dict(contents.snapshot)


def refusal(data: bytes, form: str = "dotenv") -> str:
    """Why ``data`` is not served, without the title."""
    try:
        contents = look(data, form)
    except InputError as error:
        message = str(error)
    else:
        message = contents.refusal
    assert message.startswith(f"{TITLE}: ")
    return message.removeprefix(f"{TITLE}: ")


@pytest.mark.parametrize(
    ("form", "data", "expected"),
    [
        pytest.param("dotenv", b"A\xc2\xa0=1", {"A": "1"}, id="a no-break space is white space"),
        pytest.param("dotenv", b'A="a\r\nb"\r\nB=2\r\n', {"A": "a\nb", "B": "2"}, id="CRLF"),
        pytest.param("dotenv", b"A='a\rb'\n", {"A": "a\rb"}, id="a carriage return is a character"),
        pytest.param("dotenv", b"{A=1", {"{A": "1"}, id="no JSON"),
        pytest.param(
            "docker",
            b"A='q' \"w\" #x ${HOME} \\n\n",
            {"A": "'q' \"w\" #x ${HOME} \\n"},
            id="docker: all to the end of the line",
        ),
        pytest.param(
            "docker",
            b"# c\n  # d\nA=1\n\n \tB= x \r\nC=?",
            {"A": "1", "B": " x ", "C": "?"},
            id="docker",
        ),
        pytest.param("docker", b"\xef\xbb\xbfA==1", {"A": "=1"}, id="docker: byte order mark"),
        pytest.param("null", b"A=x\ny\0B=\0", {"A": "x\ny", "B": ""}, id="null"),
        pytest.param(
            "null", b"A=${HOME}\0B=?\0A='\r\n'\0", {"A": "'\r\n'", "B": "?"}, id="as it is"
        ),
        pytest.param(
            "json",
            b'{"A": "a #b", "B": 5432, "C": true, "D": 1.10, "E": false, "F": -1e5}',
            {"A": "a #b", "B": "5432", "C": "true", "D": "1.10", "E": "false", "F": "-1e5"},
            id="JSON: numbers as they are written",
        ),
        pytest.param(
            "json",
            b'\n { "A" : "\\u00e9\\r\\n" ,\n"?" :"?" } \n',
            {"A": "é\r\n", "?": "?"},
            id="JSON",
        ),
    ],
)
def test_values(form: str, data: bytes, expected: dict[str, str]) -> None:
    """What is meant is what comes out."""
    assert values(data, form) == expected


@pytest.mark.parametrize(
    ("form", "data", "line", "problem", "variables"),
    [
        pytest.param(
            "dotenv", b"\nA=?Password", 2, "a question", {"A": "?Password"}, id="question"
        ),
        pytest.param("dotenv", b"A=${X:?s}", 1, "is left as it is", {"A": "${X:?s}"}, id=":?"),
        pytest.param("dotenv", b"A=${X:+y}", 1, "is left as it is", {"A": "${X:+y}"}, id=":+"),
        pytest.param("dotenv", b"A=${X:=y}", 1, "is left as it is", {"A": "${X:=y}"}, id=":="),
        pytest.param("dotenv", b"A='a ${b'", 1, "is left as it is", {"A": "a ${b"}, id="open"),
        pytest.param(
            "dotenv",
            b"A=1\nB=${NO:-${A}}",
            2,
            "is left as it is",
            {"A": "1", "B": "${A}"},
            id="a default with a reference",
        ),
        pytest.param(
            "docker", b"# c\nA=1\n\nB", 4, "sets nothing", {"A": "1"}, id="docker: a name"
        ),
        pytest.param("null", b"A=1\0B\0", 2, "sets nothing", {"A": "1"}, id="null: a name"),
        pytest.param(
            "json", b'{"A": "1",\n"E": null}', 2, "null sets nothing", {"A": "1"}, id="JSON: null"
        ),
    ],
)
def test_warnings(
    form: str, data: bytes, line: int, problem: str, variables: dict[str, str]
) -> None:
    """What was hardly meant is said with its line, and is an error with --strict."""
    contents = look(data, form)
    (warning,) = contents.warnings
    assert warning.startswith(f"{TITLE}: line {line}: ")
    assert problem in warning
    assert dict(contents.snapshot) == variables
    assert look(data, form, strict=True).refusal == warning


def test_no_warning_without_interpolation() -> None:
    """Then a ``${`` is two characters."""
    inputs = [Input(TITLE, "dotenv", b"A=${X:?s}")]
    assert parsing.survey(inputs, {}, Rules(interpolate=False)).warnings == ()


@pytest.mark.parametrize(
    ("form", "data", "line", "problem"),
    [
        ("dotenv", b"A=1\n\xef\xbb\xbfB=2", 2, "invisible character in the name"),
        ("dotenv", b"\xe2\x80\x8bA=1", 1, "invisible character in the name"),
        ("dotenv", b"\xe2\x80\xaeA=1", 1, "invisible character in the name"),
        ("dotenv", b"A\x1b=1", 1, "invisible character in the name"),
        ("json", b'{"A\\u200b": "1"}', 1, "invisible character in the name"),
        ("null", b"A\n=1\0", 1, "invisible character in the name"),
        ("dotenv", b"A=1\nB='\n\0'", 3, "contains a NUL character: did you mean '--format null'?"),
        ("docker", b"A=1\0", 1, "contains a NUL character: did you mean '--format null'?"),
        ("docker", b"A=1\nB C=2", 2, "white space in the name"),
        ("docker", b"A=1\n=2", 2, "invalid variable: empty name"),
        ("null", b"A=1\0=2\0", 2, "invalid variable: empty name"),
        ("null", b"A=x\ny\0B=", 2, "no NUL character at the end: was the text cut short?"),
        ("json", b'{"A": {"x": 1}}', 1, "the value is an object or an array"),
        ("json", b'{"A": 1,\n"B": [], "C": {}}', 2, "the value is an object or an array"),
        ("json", b'{"A": ' + b"[" * 100_000, 1, "the value is an object or an array"),
        ("json", b'["A"]', 1, "must be a JSON object"),
        ("json", b"\n\nA=1", 3, "must be a JSON object"),
        ("json", b"", 1, "must be a JSON object"),
        ("json", b'{"A": "1",\n "A": "2"}', 2, "duplicate name"),
        ("json", b'{"A": "\\ud800"}', 1, "invalid variable: not valid UTF-8"),
        ("json", b'{"A": "\\u0000"}', 1, "invalid variable: contains a NUL character"),
        ("json", b'{"A": NaN}', 1, "not valid JSON"),
        ("json", b'{"A": -Infinity}', 1, "not valid JSON"),
        ("json", b'{"A": "1"\n', 2, "not valid JSON"),
        ("json", b'{"A": "1",}', 1, "not valid JSON"),
        ("json", b'{"A" "1"}', 1, "not valid JSON"),
        ("json", b'{"A": 1 "B": 2}', 1, "not valid JSON"),
        ("json", b'{A: "1"}', 1, "not valid JSON"),
        ("json", b'{"A": "x\ny"}', 1, "not valid JSON"),
        ("json", b'{"A": "1"}\n{"B": "1"}', 2, "text after the object"),
        *((form, b"A=1\nB=\xff", 2, "not valid UTF-8") for form in ("dotenv", "docker", "json")),
    ],
)
def test_errors(form: str, data: bytes, line: int, problem: str) -> None:
    """What cannot be meant is refused, with the line of an editor."""
    assert refusal(data, form).startswith(f"line {line}: {problem}")


@pytest.mark.parametrize("form", FORMATS)
@pytest.mark.parametrize("coding", ["utf-16-le", "utf-16-be"])
def test_utf_16(form: str, coding: str) -> None:
    """Its mark tells it from everything else, and there is a program that converts it."""
    message = refusal("\ufeffA=1\n".encode(coding), form)
    assert message == "this is UTF-16: convert it to UTF-8, as with 'iconv -f UTF-16'"


@pytest.mark.parametrize("form", ["dotenv", "docker"])
@pytest.mark.parametrize(
    "text", ['{"A": "1"}', '\n{\n  "A": "b=c"\n}\n', '{"A":"b=c"}', "{}", '["A"]', '{"A":1}']
)
def test_json_is_told_apart(form: str, text: str) -> None:
    """It is not taken for names without a value, or worse, for a name with a piece of JSON."""
    assert refusal(text.encode(), form) == "this is JSON: read it with '--format json'"


def test_json_that_is_cut_is_told_apart() -> None:
    """If it is no dotenv text either."""
    assert "this is JSON" in refusal(b'{"A": "1", "B": "')


@given(st.dictionaries(st.text("AB"), st.text() | st.integers() | st.booleans() | st.none()))
def test_json_of_any_shape(variables: dict[str, object]) -> None:
    """The library's own reader agrees, but for what is a text here."""
    texts = {
        name: value if isinstance(value, str) else json.dumps(value)
        for name, value in variables.items()
        if value is not None
    }
    for indent in (None, 2):
        contents = look(json.dumps(variables, indent=indent).encode(), "json")
        if "" in texts or any("\0" in text for text in texts.values()):
            assert contents.refusal
        else:
            assert dict(contents.snapshot) == texts


@given(st.binary(max_size=40) | st.text('{}[]":,A1 \n\\', max_size=12).map(str.encode))
def test_anything(data: bytes) -> None:
    """Whatever comes, in whatever format: it is served, or refused in words."""
    for form in FORMATS:
        with suppress(InputError):
            assert {problem.title for problem in look(data, form).problems} <= {TITLE}


def test_several_texts() -> None:
    """The last value of a name counts, references go back, and each problem names its text."""
    inputs = [
        Input("a", "dotenv", b"A=1\nB=${A}\nB=${A}\nN"),
        Input("b", "json", b'{"A": "2", "Q": "?"}'),
        Input("c", "dotenv", b"C=${A}${Q}\nN2"),
    ]
    contents = parsing.survey(inputs, {}, Rules())
    assert contents.snapshot == {"A": "2", "B": "1", "Q": "?", "C": "2?"}
    assert [(origin.name, origin.title) for origin in contents.origins] == [
        ("B", "a"),
        ("A", "b"),
        ("Q", "b"),
        ("C", "c"),
    ]
    assert contents.warnings == (
        "a: line 4: name without '=' sets nothing",
        "c: line 2: name without '=' sets nothing",
    )
    strict = parsing.survey(inputs, {}, Rules(strict=True))
    assert strict.refusal == (
        "a: line 3: duplicate name, already set on line 2; line 4: name without '=' sets nothing; "
        "c: line 2: name without '=' sets nothing"
    )


@pytest.mark.parametrize(
    ("form", "data"),
    [("dotenv", b"B=1\nA"), ("docker", b"B=1\nA"), ("json", b'{"B": 1, "A": null}')],
)
def test_what_sets_nothing(form: str, data: bytes) -> None:
    """It undoes nothing of an earlier text either."""
    inputs = [Input("a", "dotenv", b"A=1"), Input("b", form, data)]
    contents = parsing.survey(inputs, {}, Rules())
    assert contents.snapshot == {"A": "1", "B": "1"}
    assert [origin.title for origin in contents.origins] == ["a", "b"]
    assert len(contents.warnings) == 1


def test_the_same_name_in_texts_of_one_title() -> None:
    """One file that is given twice repeats no name."""
    inputs = [Input("a", "dotenv", b"A=1")] * 2
    assert parsing.survey(inputs, {}, Rules(strict=True)).refusal == ""


def test_formats_of_the_command_line() -> None:
    """--format offers all that can be read, and nothing else."""
    assert tuple(FORMATS) == NAMES


def test_several_empty_texts() -> None:
    """That there is nothing at all is said of all together."""
    inputs = [Input("a", "dotenv", b""), Input("b", "null", b"")]
    assert parsing.survey(inputs, {}, Rules()).warnings == ("no variables found",)
