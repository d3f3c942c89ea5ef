"""snapshot: an environment that nobody changes and nobody sees by accident."""

from __future__ import annotations

import traceback
from typing import Any

import pytest

from hotenv.errors import UsageError
from hotenv.snapshot import Snapshot


def test_mapping() -> None:
    """A snapshot is a mapping: read, counted, iterated, compared, and laid over another."""
    snapshot = Snapshot({"A": "1", "B": ""})
    assert snapshot["A"] == "1"
    assert snapshot.get("C") is None
    assert "B" in snapshot
    assert list(snapshot) == ["A", "B"]
    assert len(snapshot) == 2
    assert snapshot == {"B": "", "A": "1"}
    assert snapshot == Snapshot({"B": "", "A": "1"})
    assert snapshot != Snapshot({"A": "1"})
    assert {"A": "0", "C": "2", **snapshot} == {"A": "1", "B": "", "C": "2"}
    with pytest.raises(KeyError):
        snapshot["C"]


def test_empty() -> None:
    """A snapshot may hold nothing."""
    assert Snapshot() == Snapshot({}) == {}


def test_copy() -> None:
    """What happens to the mapping that it was made of does not matter."""
    variables = {"A": "1"}
    snapshot = Snapshot(variables)
    variables["A"] = "2"
    variables["B"] = "3"
    assert snapshot == {"A": "1"}


def test_immutable() -> None:
    """Neither its variables nor its attributes can be changed."""
    snapshot: Any = Snapshot({"A": "1"})
    with pytest.raises(TypeError):
        snapshot["A"] = "2"
    with pytest.raises(TypeError):
        del snapshot["A"]
    for name in ("_variables", "new"):
        with pytest.raises(AttributeError):
            setattr(snapshot, name, {})
    with pytest.raises(TypeError):
        snapshot._variables["A"] = "2"
    assert snapshot == {"A": "1"}


@pytest.mark.parametrize(
    "variables",
    [
        pytest.param({"": "s3cret"}, id="empty name"),
        pytest.param({"A": "b", "s3cret=": "s3cret"}, id="equals sign"),
        pytest.param({"A": "s3cret\0"}, id="NUL"),
        pytest.param({"A": "s3cret\udcff"}, id="no text"),
        pytest.param({"A": 1}, id="number"),
        pytest.param({b"A": "s3cret"}, id="bytes"),
    ],
)
def test_unfit(variables: dict[Any, Any]) -> None:
    """What no environment can hold is refused without repeating it."""
    with pytest.raises(UsageError, match=r"cannot hold|holds strings") as caught:
        Snapshot(variables)
    assert "s3cret" not in "".join(traceback.format_exception(caught.value))


def test_silent() -> None:
    """Neither repr nor str, formatting or a failed comparison shows a value."""
    snapshot = Snapshot({"A": "s3cret", "B": "s3cret"})
    assert repr(snapshot) == "<Snapshot, 2 variables>"
    assert "s3cret" not in f"{snapshot} {snapshot!s} {snapshot!r} {[snapshot]}"
    assert "s3cret" not in f"{snapshot.items()} {snapshot.values()}"


@pytest.mark.parametrize("other", [Snapshot({"A": "x"}), {"A": "x"}, {"A": "x", "B": "y"}], ids=str)
@pytest.mark.parametrize("reverse", [False, True])
def test_failed_assert(other: Snapshot | dict[str, str], reverse: bool) -> None:
    """What pytest says of a comparison that fails has no value of a snapshot."""
    snapshot = Snapshot({"A": "s3cret", "B": "s3cret"})
    left, right = (other, snapshot) if reverse else (snapshot, other)
    with pytest.raises(AssertionError) as caught:
        assert left == right
    assert "s3cret" not in str(caught.value)
    assert "2 variables" in str(caught.value)
