"""What a guarded command can be: a program, or a Python module (hotenv.guards.target)."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from guarded import PYTHON, guard, needs_guards
from hotenv.guards.target import resolve_target
from hotenv.handover.launch import Launch

pytestmark = needs_guards

MODULE = """
import os, sys
try:
    os.mkdir("made")
except OSError:
    print("guarded")
if __name__ == "__main__":
    print("main", sys.argv[1:], os.path.basename(sys.argv[0]))

def run():
    print("run", sys.argv)
    return 7

class Tool:
    start = run
"""


@pytest.fixture
def package(tmp_path: Path) -> Path:
    """A directory with ``things.tool``, and its environment's python3."""
    (tmp_path / "things").mkdir()
    (tmp_path / "things" / "__init__.py").write_text("")
    (tmp_path / "things" / "tool.py").write_text(MODULE)
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "python3").symlink_to(PYTHON)
    return tmp_path


def path(package: Path) -> dict[str, str]:
    """An environment in which its python3 is the first."""
    return {**os.environ, "PATH": f"{package}/bin:{os.environ['PATH']}"}


@pytest.mark.usefixtures("importing")
@pytest.mark.parametrize(
    ("words", "status", "out"),
    [
        (["things.tool", "a", "--b"], 0, "guarded\nmain ['a', '--b'] tool.py\n"),
        (["things.tool:run", "-c"], 7, "guarded\nrun ['things.tool:run', '-c']\n"),
        (["things.tool:Tool.start"], 7, "guarded\nrun ['things.tool:Tool.start']\n"),
    ],
)
def test_modules(words: list[str], status: int, out: str, package: Path) -> None:
    """They are run as -m would, or called; the guard is there before their first line."""
    options = ["--fs-readonly", "--no-subprocess", "--keep-status"]
    result = guard(*options, "--", *words, cwd=package, env=path(package))
    assert (result.status, result.out) == (status, out), result
    assert len(result.counted) == 1, result


@pytest.mark.parametrize("name", ["no_such.module", "no_such.module:run", "no-such", "no_such"])
def test_neither(name: str, package: Path) -> None:
    """What is no program and no module is an error that names it."""
    result = guard("--", name, cwd=package, env=path(package))
    assert (result.status, result.out) == (8, "")
    why = "no such command, or module of " if "." in name else "command not found"
    assert f"hotenv: cannot run '{name}': {why}" in result.err
    assert len(result.err.splitlines()) == 1


def test_programs_come_first(package: Path) -> None:
    """A program on PATH is what it always was, also with the name of a module."""
    program = package / "bin" / "things.tool"
    program.write_text("#!/bin/sh\necho program\n")
    program.chmod(0o755)
    result = guard("--", "things.tool", cwd=package, env=path(package))
    assert (result.status, result.out) == (0, "program\n")


def test_which_python(package: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The first on PATH; without one, hotenv's own."""
    first = resolve_target(Launch(["a.b"], {b"PATH": f"{package}/bin".encode()}))
    assert first.argv[0] == f"{package}/bin/python3"
    own = resolve_target(Launch(["a.b"], {b"PATH": b"/nowhere"}))
    assert own.argv[0] == sys.executable
    assert [*own.argv[3:]] == ["a.b"]
    for name in ("a", "a.b/c", "a-b.c", "a:", ".a", "a b.c"):
        launch = Launch([name], {b"PATH": b"/nowhere"})
        assert resolve_target(launch) is launch
