"""dialogue: requests and answers of ``hotenv shell``."""

from __future__ import annotations

import base64
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hotenv.shell.bounds import Omitted
from hotenv.shell.dialogue import (
    LONGEST_LINE,
    BadRequestError,
    Lines,
    Request,
    encode_error,
    encode_result,
    parse_request,
)
from hotenv.shell.result import OmittedOutput, Result


@given(st.binary(max_size=50).map(lambda data: data.replace(b"x", b"\n")), st.data())
def test_lines(text: bytes, data: st.DataObject) -> None:
    """The lines are the same however they come."""
    cuts = sorted(data.draw(st.lists(st.integers(0, len(text)), max_size=4)))
    lines, read = Lines(), list[bytes]()
    for start, end in zip([0, *cuts], [*cuts, len(text)], strict=True):
        read += lines.feed(text[start:end])
    read += lines.end()
    whole = text.split(b"\n")
    assert read == (whole if whole[-1] else whole[:-1])


def test_a_line_that_is_too_long() -> None:
    """It is not kept, and the next one is whole. It may end in any piece."""
    lines = Lines(longest=3)
    assert lines.feed(b"abcd") == []
    assert lines.feed(b"efgh") == []
    (line, after) = lines.feed(b"i\nabc\n")
    assert len(line) > 3
    assert line.startswith(b"abcd")
    assert after == b"abc"


@pytest.mark.parametrize(
    ("fields", "request_"),
    [
        ({"command": "a"}, Request(None, "a", ..., b"")),
        ({"command": "", "id": 1.5}, Request(1.5, "", ..., b"")),
        ({"command": "", "id": "a"}, Request("a", "", ..., b"")),
        ({"command": "é\n", "timeout": 1.5}, Request(None, "é\n", 1.5, b"")),
        ({"command": "a", "timeout": 10**300}, Request(None, "a", 1e300, b"")),
        ({"command": "a", "timeout": None}, Request(None, "a", None, b"")),
        ({"command": "a", "stdin": "é"}, Request(None, "a", ..., "é".encode())),
        ({"command": "a", "stdin_base64": "AP8="}, Request(None, "a", ..., b"\0\xff")),
        ({"command": "a", "stderr_file": "b"}, Request(None, "a", ..., b"", None, "b")),
    ],
)
def test_request(fields: dict[str, Any], request_: Request) -> None:
    """What is not given has a default."""
    assert parse_request(json.dumps(fields).encode()) == request_


@pytest.mark.parametrize(
    ("line", "message"),
    [
        (b"", "one JSON value"),
        (b"secret", "one JSON value"),
        (b"\xff", "one JSON value"),
        (b"{} {}", "one JSON value"),
        (b'{"command": NaN}', "one JSON value"),
        (b'{"command": "a", "timeout": 1e999}', "one JSON value"),
        (b"[" * 100_000, "one JSON value"),
        (b'"secret"', "a JSON object"),
        (b'{"id": 7}', "command must be a string"),
        (b'{"id": 7, "command": ["secret"]}', "command must be a string"),
        (b'{"id": 7, "command": "a", "secret": 1}', r"unknown fields \(1\)"),
        (b'{"id": 7, "command": "a", "timeout": "secret"}', "timeout must be"),
        (b'{"id": 7, "command": "a", "timeout": true}', "timeout must be"),
        (b'{"id": 7, "command": "a", "timeout": 1%b}' % (b"0" * 400), "timeout is too large"),
        (b'{"id": ["secret"], "command": "a"}', "id must be a string or a number"),
        (b'{"id": 7, "command": "a", "stdin": 1}', "stdin"),
        (b'{"id": 7, "command": "a", "stdin": "\\ud800"}', "stdin must be Unicode text"),
        (b'{"id": 7, "command": "a", "stdin": "a", "stdin_base64": "YQ=="}', "one of stdin and"),
        (b'{"id": 7, "command": "a", "stdin_base64": "secret"}', "Base64"),
        (b'{"id": 7, "command": "a", "stdout_file": 1}', "stdout_file must be"),
        (b'{"id": 7, "command": "a", "stderr_file": "secret\\u0000"}', "stderr_file must be"),
        (b" " * (LONGEST_LINE + 1), "must not be longer"),
    ],
    ids=range(22),
)
def test_bad_request(line: bytes, message: str) -> None:
    """The error says what is wrong, and nothing of what was written but the ID."""
    with pytest.raises(BadRequestError, match=message) as caught:
        parse_request(line)
    assert caught.value.id == (7 if b'"id": 7' in line else None)
    assert "secret" not in str(caught.value)


def test_a_request_shows_nothing() -> None:
    """A failed assert or a log could show it, and a command or its input may hold a secret."""
    request = Request(id=1, command="echo s3cret", timeout=None, stdin=b"s3cret")
    assert "s3cret" not in repr(request)


def test_result() -> None:
    """What is not UTF-8 is in Base64; what is seldom there is left out."""
    result = Result(
        command="secret", stdout=b"\xffa", stderr=b"\xc3\xa9\n", exit_code=3, cwd=b"/", duration=0.5
    )
    answer = encode_result("x", result)
    assert answer.endswith(b"}\n")
    assert json.loads(answer) == {
        "id": "x",
        "exit_code": 3,
        "stdout_base64": base64.b64encode(b"\xffa").decode(),
        "stderr": "é\n",
        "cwd": "/",
        "duration": 0.5,
        "timed_out": False,
        "restarted": False,
    }


def test_what_is_seldom_there() -> None:
    """Late output, and what was left out of any output."""
    omitted = OmittedOutput(late_stdout=Omitted(2, 1, 0))
    result = Result(
        command="",
        stdout=b"",
        stderr=b"",
        exit_code=0,
        cwd=b"/\xff",
        duration=0,
        omitted=omitted,
        late_stderr=b"a",
    )
    fields = json.loads(encode_result(None, result))
    assert fields["late_stderr"] == "a"
    assert fields["cwd_base64"] == "L/8="
    assert fields["omitted"] == {"late_stdout": {"bytes": 2, "lines": 1, "at": 0}}
    assert "late_stdout" not in fields


def test_error() -> None:
    """An answer without a result."""
    assert json.loads(encode_error(7, "é")) == {"id": 7, "error": "é"}
