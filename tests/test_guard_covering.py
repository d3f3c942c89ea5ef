"""Paths that cover all but some (hotenv.guards.covering)."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from hotenv.guards.covering import covering

READ, WRITE = 1, 2


@pytest.fixture
def place(tmp_path: Path) -> Path:
    """With a few directories."""
    for name in ("a/x", "a/y", "b/z"):
        (tmp_path / name).mkdir(parents=True)
    (tmp_path / "link").symlink_to("a/x")
    return tmp_path


def test_rights(place: Path) -> None:
    """Each path has the rights that are not closed in it, and what is not divided is not listed."""
    closed = {READ: [f"{place}/a/x"], WRITE: [f"{place}/a/x", f"{place}/b"]}
    assert {*covering(closed, str(place))} == {(f"{place}/a/y", READ | WRITE), (f"{place}/b", READ)}


def test_nothing_closed(place: Path) -> None:
    """Then it is one path, and what is closed elsewhere does not matter."""
    assert [*covering({READ: ["/nowhere"], WRITE: []}, str(place))] == [(str(place), READ | WRITE)]
    assert [*covering({READ: [str(place)]}, f"{place}/a")] == []


def test_what_is_not_there(place: Path) -> None:
    """It stays closed when it is made: what it would be in is not allowed as a whole."""
    found = {*covering({READ: [f"{place}/a/later/deep"]}, str(place))}
    assert found == {(f"{place}/{name}", READ) for name in ("b", "a/x", "a/y")}


def test_each_directory_is_listed_once(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """And only if something in it is closed."""
    scandir, listed = os.scandir, []

    def scan(path: str) -> object:
        listed.append(path)
        return scandir(path)

    with monkeypatch.context() as patch:
        patch.setattr(os, "scandir", scan)
        list(covering({READ: [f"{place}/a/x"], WRITE: [f"{place}/a/x"]}, str(place)))
    assert listed == [str(place), f"{place}/a"]


def test_homes_that_cannot_be_listed(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The way to what is closed is known all the same; what is beside it stays closed."""
    scandir = os.scandir

    def scan(path: str) -> object:
        if path == str(place):
            raise PermissionError
        return scandir(path)

    with monkeypatch.context() as patch:
        patch.setattr(os, "scandir", scan)
        found = [*covering({READ: [f"{place}/a/x"]}, str(place))]
    assert found == [(f"{place}/a/y", READ)]


def test_what_vanishes(place: Path) -> None:
    """It is passed over, and so is a file that something is said to be in."""
    (place / "file").touch()
    assert [*covering({READ: [f"{place}/gone/a"]}, f"{place}/gone")] == []
    assert [*covering({READ: [f"{place}/file/a"]}, f"{place}/file")] == []
