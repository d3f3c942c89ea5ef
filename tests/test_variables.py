"""variables: what an environment can hold (decision 11)."""

from __future__ import annotations

import pytest

from hotenv.variables import why_unfit


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
def test_fit(name: str, value: str) -> None:
    """What execve takes is fit, however odd it looks."""
    assert why_unfit(name, value) is None


@pytest.mark.parametrize(
    ("name", "value", "reason"),
    [
        pytest.param("", "s3cret", "an empty name", id="no name"),
        pytest.param("s3cret=", "s3cret", "a name that contains '='", id="equals sign"),
        pytest.param("s3\0cret", "s3cret", "a NUL character", id="NUL in the name"),
        pytest.param("NAME", "s3cret\0", "a NUL character", id="NUL in the value"),
        pytest.param("s3cret\udcff", "s3cret", "not UTF-8", id="name that is no text"),
        pytest.param("NAME", "s3cret\udcff", "not UTF-8", id="value that is no text"),
    ],
)
def test_unfit(name: str, value: str, reason: str) -> None:
    """The reason says what is wrong, and neither the name nor the value."""
    why = why_unfit(name, value)
    assert why is not None
    assert reason in why
    assert "cret" not in why
