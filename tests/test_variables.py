"""variables: what an environment can hold (decision 11)."""

from __future__ import annotations

import pytest

from hotenv.variables import invalid_reason


@pytest.mark.parametrize(
    ("name", "value"),
    [
        pytest.param("A", "", id="an empty value"),
        pytest.param("A", "b=c", id="an equals sign in the value"),
        pytest.param("a.b-c d", "x", id="a name that no shell takes"),
        pytest.param("A\n", "-----BEGIN\nx\n", id="newlines"),
        pytest.param("NAÏVE", "日本 \U0001f600", id="any script"),
    ],
)
def test_valid(name: str, value: str) -> None:
    """What execve takes is valid, however odd it looks."""
    assert invalid_reason(name, value) is None


@pytest.mark.parametrize(
    ("name", "value", "reason"),
    [
        pytest.param("", "s3cret", "empty name", id="no name"),
        pytest.param("s3cret=", "s3cret", "name contains '='", id="equals sign"),
        pytest.param("s3\0cret", "s3cret", "contains a NUL character", id="NUL in the name"),
        pytest.param("NAME", "s3cret\0", "contains a NUL character", id="NUL in the value"),
        pytest.param("s3cret\udcff", "s3cret", "not valid UTF-8", id="name that is no text"),
        pytest.param("NAME", "s3cret\udcff", "not valid UTF-8", id="value that is no text"),
    ],
)
def test_invalid(name: str, value: str, reason: str) -> None:
    """The reason is these words, and shows neither the name nor the value."""
    assert invalid_reason(name, value) == reason
