"""parsing: dotenv text as python-dotenv reads it, and what it cannot mean (decisions 9 to 12)."""

from __future__ import annotations

import io
import logging
import os
import re
import traceback
from collections.abc import Mapping

import pytest
from dotenv import dotenv_values
from hypothesis import given, settings
from hypothesis import strategies as st

from hotenv.errors import InputError
from hotenv.intake import parsing
from hotenv.intake.contract import Contents
from hotenv.intake.parsing import Input
from hotenv.intake.rules import Rules

ENVIRON = {"OUTER": "from outside", "BOTH": "from outside", "EMPTY": ""}


def ask_nothing(questions: Mapping[str, str]) -> Mapping[str, str]:
    """A text without questions does not get here."""
    raise AssertionError(questions)


def parse(text: str | bytes, *, interpolate: bool = True) -> Contents:
    """What hotenv makes of ``text`` in an environment of ENVIRON."""
    data = text.encode() if isinstance(text, str) else text
    return read(data, ENVIRON, Rules(interpolate=interpolate))


def read(data: bytes, environ: Mapping[str, str], rules: Rules) -> Contents:
    """What hotenv makes of standard input."""
    return parsing.parse([Input("standard input", "dotenv", data)], environ, rules, ask_nothing)


def refusal(text: str | bytes) -> str:
    """The message with which ``text`` is refused."""
    with pytest.raises(InputError) as caught:
        parse(text)
    return str(caught.value)


def line_numbers(message: str) -> list[int]:
    """The numbers of the lines that ``message`` names."""
    return [int(number) for number in re.findall(r"line (\d+)", message)]


def by_python_dotenv(text: str, *, interpolate: bool) -> tuple[dict[str, str], int]:
    """What python-dotenv sets in an environment of ENVIRON, and how many lines it drops."""
    complaints: list[logging.LogRecord] = []

    def complain(record: logging.LogRecord) -> bool:
        complaints.append(record)
        return False

    logger = logging.getLogger("dotenv.main")
    with pytest.MonkeyPatch.context() as patch:
        for name in os.environ:
            patch.delenv(name)
        for name, value in ENVIRON.items():
            patch.setenv(name, value)
        logger.addFilter(complain)
        try:
            stream = io.StringIO(text.replace("\r\n", "\n"), newline="")
            values = dotenv_values(stream=stream, interpolate=interpolate)
        finally:
            logger.removeFilter(complain)
    return {name: value for name, value in values.items() if value is not None}, len(complaints)


@pytest.mark.parametrize(
    ("text", "variables"),
    [
        pytest.param(
            "# comment\nAPI_KEY=abc123\nEMPTY=\nDATABASE_URL=postgres://localhost/db\n",
            {"API_KEY": "abc123", "EMPTY": "", "DATABASE_URL": "postgres://localhost/db"},
            id="the specification's example",
        ),
        pytest.param("\n  \nA=1\n\n\nB=2", {"A": "1", "B": "2"}, id="blank lines"),
        pytest.param("#A=1\n  # B=2\nC=3", {"C": "3"}, id="comments"),
        pytest.param("A=b=c==", {"A": "b=c=="}, id="split on the first equals sign"),
        pytest.param("A=1\nB=2\nA=3", {"A": "3", "B": "2"}, id="the last occurrence wins"),
        pytest.param("export A = 'b c' # d", {"A": "b c"}, id="export, spaces, quotes, comment"),
        pytest.param("A='x\ny'\nB=\"x\\ny\"", {"A": "x\ny", "B": "x\ny"}, id="many lines"),
        pytest.param("A=1\r\nB='x\r\ny'\r\n", {"A": "1", "B": "x\ny"}, id="CRLF"),
        pytest.param("A=1\rB=2\r", {"A": "1", "B": "2"}, id="lone CR"),
        pytest.param("\ufeffA=1", {"A": "1"}, id="byte order mark"),
        pytest.param("ÄÖ='日本'", {"ÄÖ": "日本"}, id="UTF-8"),
        pytest.param("A=1\nB=${A}\nC='${B}2'", {"A": "1", "B": "1", "C": "12"}, id="from the file"),
        pytest.param("A=${OUTER}", {"A": "from outside"}, id="from the environment"),
        pytest.param("BOTH=x\nA=${BOTH}", {"BOTH": "x", "A": "x"}, id="the file first"),
        pytest.param("A=${BOTH}\nBOTH=x", {"A": "from outside", "BOTH": "x"}, id="a later line"),
        pytest.param("A=${NO:-d e}${EMPTY:-f}", {"A": "d e"}, id="defaults"),
        pytest.param("A=$OUTER $${", {"A": "$OUTER $${"}, id="no braces"),
        pytest.param("BOTH\nA=${BOTH}.", {"A": "."}, id="a name alone hides the environment's"),
        pytest.param("A=1\nA", {}, id="a name alone wins as well"),
    ],
)
def test_variables(text: str, variables: dict[str, str]) -> None:
    """The grammar is the conventional one, and python-dotenv agrees."""
    assert dict(parse(text).snapshot) == variables
    assert by_python_dotenv(text, interpolate=True) == (variables, 0)


_TOKENS = [
    *("A", "B", "OUTER", "BOTH", "É", "=", "=", "=", "\n", "\n", "\n", "\r\n", "\r", " ", "\t"),
    *("'", '"', "'", '"', "\\", "\\n", "\\'", "#", " #", "export ", "x", "1", "$", "${", "}", ":-"),
    *("${A}", "${BOTH}", "${NO:-x}", "${EMPTY:-x}", "${}", "\v", "\x85", "\u2028", "\ufeff", "-"),
]


@settings(max_examples=300)
@given(st.lists(st.sampled_from(_TOKENS), max_size=25).map("".join), st.booleans())
def test_same_as_python_dotenv(text: str, interpolate: bool) -> None:
    """What python-dotenv takes whole means the same here; what it drops in part is refused."""
    expected, dropped = by_python_dotenv(text, interpolate=interpolate)
    unfit = re.search("'[^']*[=\\s][^']*'", text) or "\ufeff" in text  # perhaps, as a name
    try:
        contents = parse(text, interpolate=interpolate)
    except InputError:
        assert dropped or unfit
    else:
        assert not dropped
        assert dict(contents.snapshot) == expected


def test_no_interpolation() -> None:
    """Without interpolation a value is what stands there, and nothing is missing."""
    contents = parse("A=${NO}${OUTER:-x}", interpolate=False)
    assert contents.snapshot == {"A": "${NO}${OUTER:-x}"}
    assert contents.warnings == ()


@pytest.mark.parametrize(
    ("text", "lines"),
    [
        pytest.param("two words", [1], id="two words"),
        pytest.param("A=1\nB='x' y\nC=2", [2], id="more after a quote"),
        pytest.param("=x", [1], id="an empty name"),
        pytest.param("''=x", [1], id="an empty quoted name"),
        pytest.param("\n\n  \n\ntwo words", [5], id="blank lines before"),
        pytest.param("# c\n\n# d\ntwo words", [4], id="comments before"),
        pytest.param("A=1\r\n\r\nB C\r\nD E\r\n\r\nF G", [3, 4, 6], id="CRLF, several"),
        pytest.param("A=1\r\rB C\rD E", [3, 4], id="lone CR, several"),
        pytest.param("B C\n\nD E\nF=1\nG H", [1, 3, 5], id="several"),
        pytest.param("A='x\ny\nz'\nB C", [4], id="after a value of several lines"),
        pytest.param("A=1\n\nB='x\nC=1", [3], id="unclosed single quote"),
        pytest.param('A=1\nB="x\nC=1\nD E', [2, 4], id="unclosed double quote"),
        pytest.param('A="x\nB=1\nC="y"\nD E', [1, 4], id="a quote that closes too late"),
        pytest.param("'A=1\nB=2", [1], id="unclosed quote around a name"),
        pytest.param("\ufeffB C", [1], id="after a byte order mark"),
        pytest.param("A=1\nB=x\0", [2], id="NUL in a value"),
        pytest.param("A=1\n\nB='x\n\0'", [4], id="NUL in a value of several lines"),
        pytest.param("A\0=1", [1], id="NUL in a name"),
        pytest.param("A=\0\nA=1", [1], id="NUL in a value that is replaced"),
        pytest.param("A=1\n\n'B=C'=1", [3], id="equals sign in a quoted name"),
        pytest.param("B C\n'D=E'=1\nF\x7f=1", [1, 2, 3], id="of every kind"),
        pytest.param(b"A=1\n\nB=\xff", [3], id="not UTF-8"),
        pytest.param(b"A=1\r\n\r\n\rB=\xe2\x82", [4], id="not UTF-8, any line end"),
        pytest.param("A=1".encode("utf-16-le"), [1], id="UTF-16 without its mark"),
        pytest.param("É=1\nÄ=2\n".encode("latin-1"), [1], id="Latin-1"),
    ],
)
def test_bad_lines(text: str | bytes, lines: list[int]) -> None:
    """Every bad line is named by the number under which an editor shows it."""
    assert line_numbers(refusal(text)) == lines


_ENTRIES = ["", "  ", "# c", "A=1", "A='x\n\ny'", "B", "C D", "E='x' y", "F=${NO}"]


@given(
    st.lists(st.sampled_from(_ENTRIES), max_size=10),
    st.sampled_from(["\n", "\r\n", "\r"]),
    st.sampled_from(["", "\ufeff"]),
)
def test_line_numbers(entries: list[str], end: str, mark: str) -> None:
    """Line numbers are right whatever comes before, and however lines end."""
    bad, doubtful, line = [], [], 1
    for entry in entries:
        if entry in ("C D", "E='x' y"):
            bad.append(line)
        if entry in ("B", "F=${NO}"):
            doubtful.append(line)
        line += 1 + entry.count("\n")
    text = mark + "".join(entry.replace("\n", end) + end for entry in entries)
    if bad:
        assert line_numbers(refusal(text)) == bad
    else:
        assert line_numbers(" ".join(parse(text).warnings)) == doubtful


@pytest.mark.parametrize(
    ("lines", "more"),
    [(10, []), (11, ["and 1 more"]), (1000, ["and 990 more"])],
    ids=["few", "more", "very many"],
)
def test_many_bad_lines(lines: int, more: list[str]) -> None:
    """The message stays one short line, and says how many more there are, if any."""
    message = refusal("two words\n" * lines)
    assert line_numbers(message) == list(range(1, 11))
    assert re.findall(r"and \d+ more$", message) == more
    assert "\n" not in message


def test_environment_that_is_no_text() -> None:
    """What ``${NAME}`` brings in from outside has to fit too."""
    with pytest.raises(InputError, match=r"line 2: invalid variable: not valid UTF-8$"):
        read(b"A=1\nB=${RAW}", {"RAW": "\udcff"}, Rules())
    assert read(b"A=1", {"RAW": "\udcff"}, Rules()).snapshot == {"A": "1"}


@pytest.mark.parametrize(
    ("text", "warnings"),
    [
        pytest.param("A=1", [], id="nothing to warn of"),
        pytest.param(
            "A=1\n\nB\nexport C", ["line 3: name without", "line 4: name without"], id="names"
        ),
        pytest.param("A=1\nB=${NO}${NO}", ["line 2: reference to"], id="set nowhere"),
        pytest.param(
            "A\nB=${A}", ["line 1: name without", "line 2: reference to"], id="name alone"
        ),
        pytest.param("A=${NO:-}${EMPTY}${OUTER}", [], id="empty, and default"),
        pytest.param("", ["no variables found"], id="nothing at all"),
        pytest.param("# A=1\n", ["no variables found"], id="only comments"),
        pytest.param("A", ["line 1: name without", "no variables found"], id="only a name"),
    ],
)
def test_warnings(text: str, warnings: list[str]) -> None:
    """What an author may not have meant is served, with a warning that names the line."""
    given_warnings = parse(text).warnings
    assert len(given_warnings) == len(warnings)
    assert [w for w, part in zip(given_warnings, warnings, strict=True) if part not in w] == []


# Each text has a secret in it somewhere, in pieces that all contain "Sk".
SECRETIVE = [
    pytest.param(
        "KEY=-----BEGIN PRIVATE KEY-----\nMIIEvSkBADANSk\nSk9yZSk=\nSkkg==\n-----END Sk KEY-----\n",
        id="an unquoted PEM key",
    ),
    pytest.param('KEY="-----BEGIN Sk KEY-----\nMIIEvSk\nSk=\n', id="an unclosed quote"),
    pytest.param("Sk words", id="a bad line"),
    pytest.param("'Sk=Sk'=Sk", id="a quoted name"),
    pytest.param("Sk=Sk\0Sk", id="NUL"),
    pytest.param("NO=1\nA=${Sk}\nSk", id="warnings only"),
    pytest.param(b"Sk=Sk\xffSk", id="not UTF-8"),
]


@pytest.mark.parametrize("text", SECRETIVE)
def test_silent(text: str | bytes) -> None:
    """Neither an error, with its traceback, nor a warning repeats a name or any other text."""
    try:
        said = "".join(parse(text).warnings)
    except InputError as error:
        said = "".join(traceback.format_exception(error))
    assert line_numbers(said)
    assert "Sk" not in said


def test_contents_are_silent() -> None:
    """The repr of what was parsed shows no value either."""
    assert "s3cret" not in repr(parse("A=s3cret\nB"))
