"""hotenv mcp: what it does before it serves anybody."""

from __future__ import annotations

import os
import shlex
import subprocess
import sys

import pytest

from hotenv.cli.inside import is_for_desk
from hotenv.cli.main import main
from hotenv.desk.client import VARIABLE
from hotenv.desk.parents import desk_of_parents


def test_without_its_library(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    """It says how to install that."""
    monkeypatch.delitem(sys.modules, "hotenv.desk.mcp", raising=False)
    monkeypatch.setitem(sys.modules, "mcp_types", None)
    assert main(["mcp"]) == 8
    assert capfd.readouterr() == (
        "",
        "hotenv: hotenv mcp needs the library mcp, version 2: run "
        f"{sys.executable} -m pip install 'mcp>=2,<3' (or pipx inject hotenv 'mcp>=2,<3')\n",
    )


def test_the_desk_of_this_process(monkeypatch: pytest.MonkeyPatch) -> None:
    """Is what the variable names."""
    monkeypatch.setenv(VARIABLE, "/a/desk")
    assert desk_of_parents() == "/a/desk"


_LOOK = "from hotenv.desk.parents import desk_of_parents; print(desk_of_parents())"


@pytest.mark.parametrize(("value", "found"), [("/a/désk", "/a/désk"), ("", "None"), (None, "None")])
def test_the_desk_of_a_parent(value: str | None, found: str) -> None:
    """A client may hand on nothing of its own environment."""
    look = f"env -i {sys.executable} -X utf8 -c '{_LOOK}'; true"
    given = {} if value is None else {VARIABLE: value}
    env = {**os.environ, **given}
    done = subprocess.run(
        ["sh", "-c", f"sh -c {shlex.quote(look)}; true"], env=env, capture_output=True, check=True
    )
    assert done.stdout.decode() == f"{found}\n"


@pytest.mark.parametrize(
    ("words", "desk"),
    [
        (["mcp"], False),
        (["mcp", "-C", "/shop"], False),
        (["-C", "/shop", "mcp"], False),
        (["-C", "/shop", "-C", "a", "run", "--", "mcp"], True),
        (["-C", "mcp"], False),
        (["run", "-h"], False),
        ([], False),
        (["-C"], True),
    ],
)
def test_inside(words: list[str], desk: bool) -> None:
    """It is there for an agent, also in another directory."""
    assert is_for_desk(words) == desk
