"""Commands under the guards of a project's file and of variables."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Mapping
from pathlib import Path

import pytest
import trio

import hotenv
from guarded import PYTHON, guard, needs_guards
from hotenv.cli import explanation
from processes import HOTENV, LIMIT, serving

pytestmark = needs_guards

SCRIPT = """
import socket
try:
    socket.create_connection(("127.0.0.1", 9))
except OSError:
    pass
"""
CONNECT = [PYTHON, "-c", SCRIPT]


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A project that forbids its commands the network."""
    (tmp_path / "hotenv.toml").write_text("[guard]\nno-network = true\n")
    return tmp_path


def told(
    *words: str, cwd: Path, env: Mapping[str, str] | None = None
) -> tuple[int, list[str], str]:
    """Run hotenv to its end: its status, the lines on standard output, and standard error."""
    done = subprocess.run(
        [*HOTENV, *words],
        cwd=cwd,
        env={**os.environ, **(env or {})},
        capture_output=True,
        text=True,
        timeout=LIMIT,
    )
    return done.returncode, done.stdout.splitlines(), done.stderr


def test_file(project: Path) -> None:
    """It is read always, and an option loosens what it asks for."""
    result = guard("--", *CONNECT, cwd=project)
    assert (result.status, result.counted) == (2, ["connect"]), result
    result = guard("--private-tmp", "--", *CONNECT, cwd=project)
    assert (result.status, result.counted) == (2, ["connect"]), result
    result = guard("--allow-localhost", "--", *CONNECT, cwd=project)
    assert (result.status, result.blocked) == (0, []), result


def test_run(project: Path, runtime: Path) -> None:
    """Where a guard is asked for, be it by nothing but its name."""
    with serving(project):
        assert told("run", "--", *CONNECT, cwd=project) == (0, [], "")
        for option in ("--guard", "--private-tmp", "--profile=exec-deny"):
            status, _, said = told("run", option, "--", *CONNECT, cwd=project)
            assert status == 2
            assert "blocked connect 127.0.0.1:9" in said


@pytest.mark.parametrize("option", ["--guard", "--private-tmp", "--profile=exec-deny"])
def test_shell(option: str, project: Path) -> None:
    """Likewise; how a single command ends says nothing about a shell."""
    request = json.dumps({"command": "echo >/dev/tcp/127.0.0.1/9"})
    done = subprocess.run(
        [*HOTENV, "shell", "--no-session", option],
        cwd=project,
        env={**os.environ, "HOTENV_GUARD": "--keep-status --trace"},
        input=f"{request}\n",
        capture_output=True,
        text=True,
        timeout=LIMIT,
    )
    assert done.returncode == 0
    assert "[hotenv] blocked connect host=127.0.0.1 port=9" in done.stderr


def test_variable(tmp_path: Path) -> None:
    """How to report is among the options that it may have."""
    env = {"HOTENV_GUARD": "--no-network --keep-status --trace"}
    status, _, said = told("guard", "--", *CONNECT, cwd=tmp_path, env=env)
    assert status == 0
    assert "[hotenv] blocked connect host=127.0.0.1 port=9" in said
    env = {"HOTENV_PROFILE": "net-hermetic"}
    assert told("guard", "--", *CONNECT, cwd=tmp_path, env=env) == (0, [], "")


@pytest.mark.parametrize("words", [[], ["--guard"], ["--private-tmp"]])
def test_mistakes(words: list[str], tmp_path: Path, runtime: Path) -> None:
    """A file that cannot be understood does not mean that nothing is forbidden."""
    (tmp_path / "hotenv.toml").write_text("[guard]\nno-netwrk = true\n")
    command = ["run", *words] if "--guard" in words else ["guard", *words]
    status, lines, said = told(*command, "--", "echo", "started", cwd=tmp_path)
    assert (status, lines) == (2, [])
    where = f"hotenv: {tmp_path}/hotenv.toml: guard.no-netwrk"
    assert said.startswith(f"{where}: unknown key: did you mean 'no-network'?")


def test_explain(project: Path) -> None:
    """Each part with its source, and what does not count; nothing is run."""
    (project / "build").mkdir()
    (project / "hotenv.toml").write_text(
        "[guard]\nprofile = ['net-hermetic', 'ci']\n"
        "[profiles.ci]\nfs-readonly = true\nallow-write = ['build']\n"
    )
    words = ["guard", "--no-network", "--explain", "--", "touch", "build/started"]
    env = {"HOTENV_PROFILE": "exec-deny"}
    status, lines, said = told(*words, cwd=project, env=env)
    assert (status, said) == (0, "")
    assert not (project / "build" / "started").exists()
    ignored = "does not count: it cannot loosen what a higher source asks for"
    rows = [tuple(line.split("\t")) for line in lines]
    assert [(what, source) for what, source, _ in rows] == [
        ("--no-network", "profile net-hermetic (hotenv.toml)"),
        ("--allow-localhost", "profile net-hermetic (hotenv.toml)"),
        ("--fs-readonly", "profile ci (hotenv.toml)"),
        (f"--allow-write {project}/build", "profile ci (hotenv.toml)"),
        ("processes outside, Unix sockets, privileges", "hotenv guard"),
        ("--no-subprocess", "profile exec-deny (HOTENV_PROFILE)"),
        ("--no-network", "command line"),
    ]
    hows = [how for *_, how in rows]
    assert hows[1] == ignored
    assert hows.count(ignored) == 1
    assert hows[0] == hows[5] == hows[6] == "seccomp"
    assert hows[3].startswith("Landlock ")


def test_all_can_be_explained() -> None:
    """Whatever a guard has."""
    assert {*explanation._HOW} == {*hotenv.Guard.__slots__}


async def test_python(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A Guard is all that counts for who runs a command with one."""
    monkeypatch.setenv("HOTENV_PROFILE", "exec-deny")
    with trio.fail_after(LIMIT):
        run = await hotenv.run_guarded(CONNECT, hotenv.Guard(), cwd=project)
    assert (run.status, run.refusals) == (0, ())
