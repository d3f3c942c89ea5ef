"""childenv: how the environment of a command is composed (decision 23)."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hotenv.handover.childenv import overlay, parse_environ_block


@pytest.mark.parametrize(
    ("block", "variables"),
    [
        pytest.param(b"", {}, id="empty"),
        pytest.param(b"A=1\0B=2\0", {b"A": b"1", b"B": b"2"}, id="two"),
        pytest.param(b"A=1\0B=2", {b"A": b"1", b"B": b"2"}, id="no NUL at the end"),
        pytest.param(b"A=\0", {b"A": b""}, id="an empty value"),
        pytest.param(b"A=b=c\0", {b"A": b"b=c"}, id="split at the first equals sign"),
        pytest.param(b"A=x\ny\0", {b"A": b"x\ny"}, id="a newline"),
        pytest.param(b"\xff=\xfe\0", {b"\xff": b"\xfe"}, id="no text"),
        pytest.param(b"A=1\0A=2\0", {b"A": b"1"}, id="the first of a name counts"),
        pytest.param(b"junk\0=x\0\0A=1\0", {b"A": b"1"}, id="what execve cannot take"),
    ],
)
def test_block(block: bytes, variables: dict[bytes, bytes]) -> None:
    """A block is read byte for byte, as getenv would see it."""
    assert parse_environ_block(block) == variables


_NAMES = st.binary(min_size=1).filter(lambda name: not {0, ord("=")} & set(name))
_VALUES = st.binary().filter(lambda value: 0 not in value)


@given(st.dictionaries(_NAMES, _VALUES))
def test_round_trip(variables: dict[bytes, bytes]) -> None:
    """Every environment that execve can hand over comes out of its block unchanged."""
    block = b"".join(name + b"=" + value + b"\0" for name, value in variables.items())
    assert parse_environ_block(block) == variables


def test_overlay() -> None:
    """The session's variables, in UTF-8, win over inherited ones, which stay byte for byte."""
    inherited = {b"PATH": b"/bin", b"RAW": b"\xff", b"TOKEN": b"old"}
    composed = overlay(inherited, [("TOKEN", "new"), ("NÄME", "välue"), ("EMPTY", "")])
    assert composed == {
        b"PATH": b"/bin",
        b"RAW": b"\xff",
        b"TOKEN": b"new",
        "NÄME".encode(): "välue".encode(),
        b"EMPTY": b"",
    }
    assert inherited[b"TOKEN"] == b"old"
