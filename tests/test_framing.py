"""framing: the lines that a shell is given."""

from __future__ import annotations

import pytest

from hotenv.shell import framing


@pytest.mark.parametrize(
    ("stdin", "status", "first"),
    [
        (False, 0, b"\\builtin eval 'it'\\''s' </dev/null >'/p q'/out 2>'/p q'/err\n"),
        (True, 0, b"\\builtin eval 'it'\\''s' <'/p q'/in >'/p q'/out 2>'/p q'/err\n"),
        (False, 3, b"(\\exit 3) && :\n"),
    ],
)
def test_command_lines(stdin: bool, status: int, first: bytes) -> None:
    """The command is one word; the report ends with an empty line."""
    lines = framing.command_lines(b"it's", b"/p q", b"/d", stdin=stdin, status=status)
    assert lines.startswith(first)
    assert lines.endswith(b"\n\\builtin eval '>'\\''/p q'\\''/done' ''\n\n")
    assert b"\n>'/p q'/\"$?\"\n" in lines


def test_restoration() -> None:
    """What the shell was started with is forgotten, and only that: variables and functions."""
    state = framing.State(b"declare -x A=1\n", b"/a b", 5)
    names = [b"A", b"_B2", b"not-a-name", b"BASH_FUNC_f%%"]
    assert framing.restoration(state, names, 7).splitlines() == [
        b"\\builtin unset -v A _B2",
        b"\\builtin unset -f 'f'",
        b"\\builtin cd -- '/a b'",
        b"\\builtin eval 'declare -x A=1",
        b"'",
    ]
    assert framing.restoration(state, [], 7).startswith(b"\\builtin cd")
