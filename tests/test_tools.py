"""tools: what an agent may say, and what it is told."""

from __future__ import annotations

import json
import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hotenv.desk.tools import (
    LONGEST_TIMEOUT,
    TIMEOUT,
    TOOLS,
    VARIABLES,
    Wanted,
    check_names,
    malformed,
    shown,
    told,
)
from hotenv.desk.tools import wanted as wanted_in
from hotenv.errors import NoSessionError, UnreachableError, UsageError
from hotenv.shell.bounds import Bounds, Omitted


def wanted(**arguments: object) -> Wanted:
    """What these arguments say to a server in /shop."""
    return wanted_in(arguments, "/shop")


def test_a_command() -> None:
    """What is not said has a default, and a directory starts at that of the server."""
    plain = wanted(argv=["ls"])
    assert (plain.argv, plain.folder) == (("ls",), "/shop")
    assert (plain.stdin, plain.timeout) == (b"", TIMEOUT)
    full = wanted(argv=["ls", "", "é"], cwd="a/b", stdin="ü\0", timeout=3)
    assert (full.argv, full.folder) == (("ls", "", "é"), "/shop/a/b")
    assert (full.stdin, full.timeout) == ("ü\0".encode(), 3.0)
    assert wanted(argv=["ls"], cwd="/else").folder == "/else"
    assert wanted(argv=["ls"], cwd=None, stdin=None, timeout=None) == plain


WRONG: list[tuple[dict[str, object], str]] = [
    ({}, "argv: must be a list of strings"),
    ({"argv": "ls"}, "argv: must be a list of strings"),
    ({"argv": ["ls", 1]}, "argv: must be a list of strings"),
    ({"argv": []}, "argv: is empty"),
    ({"argv": [""]}, "argv: is empty"),
    ({"argv": ["a\0b"]}, "argv: must not contain a NUL"),
    ({"argv": ["\ud800"]}, "argv: contains a lone surrogate"),
    ({"argv": ["ls"], "cwd": 1}, "cwd: must be a string"),
    ({"argv": ["ls"], "cwd": "a\0"}, "cwd: must not contain a NUL"),
    ({"argv": ["ls"], "stdin": b""}, "stdin: must be a string"),
    ({"argv": ["ls"], "stdin": "\udcff"}, "stdin: contains a lone surrogate"),
    ({"argv": ["ls"], "env": {}}, "env: no such argument of run: there is argv, cwd"),
    ({"argv": ["ls"], "a\n" * 99: 1}, r"a\na\na\n"),
]


@pytest.mark.parametrize(("arguments", "why"), WRONG)
def test_what_is_no_command(arguments: dict[str, object], why: str) -> None:
    """One line says which argument is wrong."""
    with pytest.raises(UsageError) as caught:
        wanted(**arguments)
    assert str(caught.value).startswith(why)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    "timeout", ["1", True, 0, -1, math.nan, math.inf, LONGEST_TIMEOUT + 1, 10**400, []]
)
def test_timeouts(timeout: object) -> None:
    """Are positive, and no command runs for ever."""
    with pytest.raises(UsageError, match=r"^timeout: must be a number of seconds"):
        wanted(argv=["ls"], timeout=timeout)
    assert wanted(argv=["ls"], timeout=LONGEST_TIMEOUT).timeout == LONGEST_TIMEOUT


def test_a_tool_without_arguments() -> None:
    """Has none."""
    check_names(VARIABLES, {})
    with pytest.raises(UsageError, match=r"^x: no such argument of variables: it has none$"):
        check_names(VARIABLES, {"x": 1})


ANYTHING = st.recursive(
    st.none() | st.booleans() | st.floats() | st.integers() | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
)
NAMES = st.sampled_from(["argv", "cwd", "stdin", "timeout"]) | st.text()


@given(st.dictionaries(NAMES, ANYTHING | st.lists(st.text())))
def test_anything(arguments: dict[str, Any]) -> None:
    """Whatever an agent says is a command, or an error in one line."""
    why = ""
    try:
        assert wanted_in(arguments, "/shop").argv
    except UsageError as error:
        why = str(error)
    assert "\n" not in why


def test_schemas() -> None:
    """They are JSON, and describe every argument."""
    for tool in TOOLS.values():
        for schema in (tool.arguments, tool.returns):
            assert json.loads(json.dumps(schema)) == schema
            assert set(schema["required"]) <= set(schema["properties"])
            assert all(each["description"] for each in schema["properties"].values())


def test_what_a_human_can_do() -> None:
    """An agent cannot start a session, and is told so, once and in one line."""
    assert told(NoSessionError("no session: start one\n")) == (
        r"no session: start one\n (only the user can do that: ask)"
    )
    assert told(UnreachableError("gone: ask the user")) == "gone: ask the user"
    assert told(UsageError("not allowed")) == "not allowed"


@given(st.binary(max_size=64), st.integers(0, 32))
def test_shown(output: bytes, limit: int) -> None:
    """An output is text whatever it is, and says where how much of it is missing."""
    bounds = Bounds(limit)
    bounds.feed(output)
    kept, omitted = bounds.kept()
    text = shown(kept, omitted)
    assert ("bytes were left out here" in text) == (len(kept) < len(output))
    assert omitted.bytes or text == output.decode(errors="replace")


def test_shown_in_the_middle() -> None:
    """Between the head and the tail."""
    assert shown(b"ab", Omitted(7, 1, 1)) == "a\n[7 bytes were left out here]\nb"


@pytest.mark.parametrize(
    ("line", "ident"),
    [
        ('{"id": 1, "x": "\\ud800"}', 1),
        ('{"id": "a"}', "a"),
        ('{"id": true}', None),
        ('{"id": null}', None),
        ("{}", None),
        ("[1]", None),
        ("junk", None),
        ("[" * 100_000, None),
    ],
)
def test_malformed(line: str, ident: object) -> None:
    """What has an ID is answered, in one line."""
    answer = malformed(line)
    assert bool(answer) == (ident is not None)
    if answer:
        assert answer.index("\n") == len(answer) - 1
        assert json.loads(answer)["id"] == ident
