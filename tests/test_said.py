"""What tables say, as they stand there."""

from __future__ import annotations

from typing import Any

import pytest

from hotenv.project.said import flattened, words_for_files, words_of_source


def test_flattened() -> None:
    """Values as they stand there, by dotted path."""
    said = {"session": {"timeout": "1m", "source": ["a"]}, "run": {}, "x": 1}
    assert flattened(said) == {"session.timeout": "1m", "session.source": ["a"], "x": 1}


@pytest.mark.parametrize(
    ("said", "words", "files"),
    [
        ({}, [], []),
        ({"session": 3}, [], []),
        ({"session": {"source": "op"}}, [], []),
        ({"session": {"source": ["a", 1, "b"]}}, ["a", "b"], ["a", "b"]),
        ({"session": {"input": "c"}}, [], ["c"]),
        ({"session": {"input": 1}}, [], []),
    ],
)
def test_words(said: dict[str, Any], words: list[str], files: list[str]) -> None:
    """The words that can name files are found in what was not checked, too."""
    assert words_of_source(said) == words
    assert words_for_files(said) == files
