"""The one {} of a command."""

from __future__ import annotations

import pytest

from hotenv.errors import UsageError
from hotenv.handover.placeholder import fill_placeholder


@pytest.mark.parametrize(
    ("words", "filled"),
    [
        (["cmd", "{}"], ["cmd", "/p"]),
        (["cmd", "--env-file={}", "x"], ["cmd", "--env-file=/p", "x"]),
        (["{}"], ["/p"]),
        (["cmd", "a{}b", "{", "}", "{ }"], ["cmd", "a/pb", "{", "}", "{ }"]),
    ],
    ids=str,
)
def test_filled(words: list[str], filled: list[str]) -> None:
    """A word or a part of one; what only looks like it stays."""
    assert fill_placeholder(words, "/p") == filled


@pytest.mark.parametrize("words", [[], ["cmd"], ["cmd", "{}", "{}"], ["cmd", "{}{}"]], ids=str)
def test_none_or_two(words: list[str]) -> None:
    """A usage error, before anything is asked for or made."""
    with pytest.raises(UsageError, match="exactly one"):
        fill_placeholder(words, "/p")
