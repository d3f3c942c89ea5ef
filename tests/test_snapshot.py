"""snapshot: an environment that cannot be changed, or seen by accident."""

from __future__ import annotations

import copy
import os
import pickle
import subprocess
import sys
import traceback
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

import hotenv
from hotenv.errors import UsageError
from hotenv.snapshot import Snapshot
from processes import LIMIT

PACKAGE = Path(hotenv.__file__).parent


def test_mapping() -> None:
    """A snapshot is used like a mapping: read, counted, iterated, compared, laid over another."""
    snapshot = Snapshot({"A": "1", "B": ""})
    assert snapshot["A"] == "1"
    assert snapshot.get("A") == "1"
    assert snapshot.get("C") is None
    assert snapshot.get("C", "3") == "3"
    assert "C" not in snapshot
    assert "B" in snapshot
    assert list(snapshot) == ["A", "B"]
    assert len(snapshot) == 2
    assert snapshot == {"B": "", "A": "1"}
    assert snapshot == Snapshot({"B": "", "A": "1"})
    assert snapshot != Snapshot({"A": "1"})
    assert {"A": "0", "C": "2", **snapshot} == {"A": "1", "B": "", "C": "2"}
    assert snapshot != 1
    with pytest.raises(KeyError):
        snapshot["C"]


def test_views() -> None:
    """Names, values and items are those of a mapping, with what its views can do."""
    snapshot = Snapshot({"A": "1", "B": ""})
    assert list(snapshot.keys()) == ["A", "B"]
    assert snapshot.keys() & {"B", "C"} == {"B"}
    assert list(snapshot.values()) == ["1", ""]
    assert "1" in snapshot.values()
    assert dict(snapshot.items()) == {"A": "1", "B": ""}
    assert ("A", "1") in snapshot.items()
    assert len(snapshot.items()) == 2


def test_no_mapping() -> None:
    """It is no Mapping to ``isinstance`` and ``match``, as it is none to a type checker."""
    snapshot: object = Snapshot({"A": "1"})
    assert not isinstance(snapshot, Mapping)
    match snapshot:
        case {"A": _}:
            raise AssertionError("it matches a pattern of a mapping")
        case Snapshot():
            pass


def test_no_mapping_for_type_checkers(tmp_path: Path) -> None:
    """mypy refuses it where a Mapping is asked for, and knows what it takes from one."""
    pytest.importorskip("mypy")
    source = tmp_path / "client.py"
    source.write_text(
        "from collections.abc import Mapping\n"
        "from hotenv import Snapshot\n"
        "taken: Mapping[str, str] = Snapshot({'A': '1'})\n"
        "copied: dict[str, str] = {**Snapshot({'A': '1'}), 'B': '2'}\n"
        "again: dict[str, str] = dict(Snapshot({'A': '1'}))\n"
        "keys: list[str] = list(Snapshot())\n"
    )
    cache = f"--cache-dir={tmp_path / 'cache'}"
    done = subprocess.run(
        [sys.executable, "-m", "mypy", "--strict", cache, "--config-file=", str(source)],
        cwd=PACKAGE.parent,
        env={**os.environ, "MYPYPATH": str(PACKAGE.parent)},
        capture_output=True,
        text=True,
        timeout=LIMIT,
    )
    errors = [line for line in done.stdout.splitlines() if ": error: " in line]
    assert len(errors) == 1, done
    assert "client.py:3: error: Incompatible types in assignment" in errors[0]


@pytest.mark.parametrize(
    "duplicate",
    [
        pytest.param(copy.copy, id="copy"),
        pytest.param(copy.deepcopy, id="deepcopy"),
        *(
            pytest.param(
                lambda snapshot, protocol=protocol: pickle.loads(  # noqa: S301 - made right here
                    pickle.dumps(snapshot, protocol)
                ),
                id=f"pickle {protocol}",
            )
            for protocol in range(pickle.HIGHEST_PROTOCOL + 1)
        ),
    ],
)
def test_duplicates(duplicate: Callable[[Snapshot], Snapshot]) -> None:
    """It can be copied and pickled, and what comes out is a snapshot as immutable and silent."""
    duplicated = duplicate(Snapshot({"A": "s3cret", "É": ""}))
    assert type(duplicated) is Snapshot
    assert duplicated == Snapshot({"A": "s3cret", "É": ""})
    assert repr(duplicated) == "<Snapshot, 2 variables>"
    untyped: Any = duplicated
    with pytest.raises(TypeError):
        untyped["A"] = "2"
    with pytest.raises(TypeError):
        untyped._variables["A"] = "2"


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
    ("variables", "reason"),
    [
        pytest.param({"": "s3cret"}, "empty name", id="empty name"),
        pytest.param({"A": "b", "s3cret=": "s3cret"}, "name contains '='", id="equals sign"),
        pytest.param({"A": "s3cret\0"}, "contains a NUL character", id="NUL"),
        pytest.param({"A": "s3cret\udcff"}, "not valid UTF-8", id="no text"),
        pytest.param({"A": 1}, None, id="number"),
        pytest.param({b"A": "s3cret"}, None, id="bytes"),
    ],
)
def test_invalid(variables: dict[Any, Any], reason: str | None) -> None:
    """What no environment can hold is refused without repeating it."""
    with pytest.raises(UsageError) as caught:
        Snapshot(variables)
    assert str(caught.value) == (
        f"invalid variable in a snapshot: {reason}"
        if reason
        else "names and values in a snapshot must be strings"
    )
    assert "s3cret" not in "".join(traceback.format_exception(caught.value))


def test_silent() -> None:
    """Neither repr nor str, formatting or a failed comparison shows a value."""
    snapshot = Snapshot({"A": "s3cret", "B": "s3cret"})
    assert repr(snapshot) == "<Snapshot, 2 variables>"
    assert "s3cret" not in f"{snapshot} {snapshot!s} {snapshot!r} {[snapshot]}"
    for view in (snapshot.keys(), snapshot.values(), snapshot.items()):
        assert "<Snapshot, 2 variables>" in repr(view)
        assert "s3cret" not in f"{view} {view!s} {view!r} {[view]}"


@pytest.mark.parametrize(
    ("variables", "shown"),
    [
        ({}, "<Snapshot, 0 variables>"),
        ({"A": "s3cret"}, "<Snapshot, 1 variable>"),
        ({"A": "s3cret", "B": ""}, "<Snapshot, 2 variables>"),
    ],
    ids=len,
)
def test_repr(variables: dict[str, str], shown: str) -> None:
    """The number of variables is said as one says it."""
    assert repr(Snapshot(variables)) == str(Snapshot(variables)) == shown


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
