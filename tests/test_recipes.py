"""The recipes work as they stand in their topic, with the tools that they are for."""

from __future__ import annotations

import importlib.util
import json
import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from processes import LIMIT, hotenv, is_clean, needs, serving, wait_until
from readme import block, play

FAILING_TESTS = """
def connect(address):
    raise ValueError("no connection")

def test_snapshot(secrets):
    assert secrets == {}

def test_value(secrets):
    assert secrets["GREETING"] == "none"

def test_argument(secrets):
    connect(secrets["GREETING"])
"""
"""Ways to fail with a secret in hand."""


@pytest.fixture
def home(shop: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The home in which ``shop`` is: what people have set for their tools is not there."""
    for name in list(os.environ):
        if re.match("DIRENV_|GIT_|TOX_|VIRTUAL_ENV|XDG_(?!RUNTIME_DIR)", name):
            monkeypatch.delenv(name)
    monkeypatch.setenv("HOME", str(shop.parent))
    monkeypatch.setenv("GIT_CONFIG_NOSYSTEM", "1")
    return shop.parent


def output(*command: str, cwd: Path, status: int = 0) -> str:
    """All that ``command`` prints until it ends with ``status``."""
    result = subprocess.run(
        command,
        cwd=cwd,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        timeout=LIMIT,
        text=True,
    )
    assert result.returncode == status, result.stdout
    return result.stdout


# pytest


@pytest.fixture
def suite(shop: Path) -> Path:
    """The project with the recipe's fixture, and tests that fail with it."""
    (shop / "conftest.py").write_text(block("pytest"))
    (shop / "test_shop.py").write_text(FAILING_TESTS)
    return shop


def test_pytest(shop: Path) -> None:
    """The fixture has the variables, which are not in the environment."""
    (shop / "conftest.py").write_text(block("pytest"))
    (shop / "test_shop.py").write_text(
        "import os\n\ndef test_greeting(secrets):\n"
        '    assert secrets["GREETING"] == "hello"\n    assert "GREETING" not in os.environ\n'
    )
    with serving(shop, b"GREETING=hello\n"):
        assert "1 passed" in output("pytest", "-q", cwd=shop)


@pytest.mark.parametrize("call", ["skip", "fail"])
def test_pytest_without_a_session(suite: Path, call: str) -> None:
    """Every test that needs it is skipped, or fails where the recipe says fail, for this reason."""
    recipe = (suite / "conftest.py").read_text()
    (suite / "conftest.py").write_text(recipe.replace("pytest.skip", f"pytest.{call}"))
    words = output("pytest", "-q", "-rA", cwd=suite, status=call == "fail")
    assert ("3 skipped" if call == "skip" else "3 errors") in words
    assert f"no .hotenv in {suite} or any parent directory: run 'hotenv serve' there" in words


def test_pytest_shows_no_secret(suite: Path) -> None:
    """With the two options a failing test shows no value, and without them it does."""
    with serving(suite, b"GREETING=s3cret\n"):
        shown = output("pytest", cwd=suite, status=1)
        silent = output("pytest", "--tb=short", "--assert=plain", "-vv", cwd=suite, status=1)
    assert "s3cret" in shown
    assert "3 failed" in silent
    assert "s3cret" not in silent


# tox


@pytest.mark.skipif(not importlib.util.find_spec("tox"), reason="tox is not installed")
def test_tox(home: Path, shop: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The command has the variables, in tox's environment and without what tox keeps back.

    Nothing is installed there: this environment's pytest is put on its path.
    """
    (shop / "tox.ini").write_text(block("tox"))
    (shop / "test_inside.py").write_text(
        "import os, sys\n\ndef test_inside():\n"
        f"    assert sys.prefix.startswith({str(shop / '.tox')!r})\n"
        '    assert {"OUTSIDE", "XDG_RUNTIME_DIR"}.isdisjoint(os.environ)\n'
    )
    monkeypatch.setenv("OUTSIDE", "1")
    monkeypatch.setenv("VIRTUALENV_NO_SEED", "1")
    packages = Path(pytest.__file__).parent.parent
    tox = [sys.executable, "-m", "tox", "--skip-pkg-install", "-e", "py"]
    tox += ["-x", f"testenv.set_env=PYTHONPATH={packages}", "--", "-q"]
    assert "no .hotenv in" in output(*tox, cwd=shop, status=3)
    with serving(shop, b"GREETING=hello\n"):
        assert "2 passed" in output(*tox, cwd=shop)


# make


@needs("make")
def test_make(shop: Path) -> None:
    """One target has the variables, its prerequisite has not, and make never has."""
    lines = ["deploy: build", "build deploy:", '\t@echo "$@ [$$GREETING] [$(GREETING)]"']
    (shop / "Makefile").write_text("\n".join([block("make"), *lines, ""]))
    words = output("make", "deploy", cwd=shop, status=2)
    assert words.startswith("build [] []\nhotenv: no .hotenv in ")
    assert "deploy [" not in words
    with serving(shop, b"GREETING='a$(shell)b'\n"):
        assert output("make", "deploy", cwd=shop) == "build [] []\ndeploy [a$(shell)b] []\n"
        # And what is said about $(NAME):
        whole = output("hotenv", "run", "--", "make", "build", cwd=shop)
        assert whole == "build [a$(shell)b] [ab]\n"


# git


@needs("git")
def test_worktrees(home: Path, shop: Path) -> None:
    """A worktree below the directory of a session has its variables."""
    output("git", "init", "-q", cwd=shop)
    settings = ["-c", "user.name=you", "-c", "user.email=you@localhost"]
    output("git", *settings, "commit", "-q", "--allow-empty", "-m", "first", cwd=shop)
    with serving(shop, b"GREETING=hello\n"):
        play(block("worktrees"), shop)


@needs("git")
@needs("make")
def test_bisect(home: Path, shop: Path) -> None:
    """Without a session no commit is blamed: all of them are skipped."""
    (shop / "Makefile").write_text("test:\n\t@true\n")
    output("git", "init", "-q", cwd=shop)
    settings = ["-c", "user.name=you", "-c", "user.email=you@localhost"]
    for number in range(3):
        output("git", *settings, "commit", "-q", "--allow-empty", "-m", str(number), cwd=shop)
    output("git", "bisect", "start", "HEAD", "HEAD~2", cwd=shop)
    words = output("sh", "-c", block("bisect"), cwd=shop, status=2)
    assert "only 'skip'ped commits left" in words


@needs("git")
def test_gitignore(home: Path, shop: Path) -> None:
    """A marker is no change in a repository, in none of its directories."""
    output("git", "init", "-q", cwd=shop)
    for directory in (shop, shop / "src"):
        (directory / ".hotenv").touch()
    status = ["git", "status", "--porcelain", "--untracked-files=all"]
    assert ".hotenv" in output(*status, cwd=shop)
    play(block("gitignore"), shop)
    assert ".hotenv" not in output(*status, cwd=shop)


# direnv


@needs("direnv")
def test_direnv(home: Path, shop: Path) -> None:
    """At each prompt the shell has what it should, from before the session to after it."""
    (shop / ".envrc").write_text(block("direnv"))
    script = """
        prompt() { eval "$(direnv export bash 2>>direnv.log)"; echo "$1 [$GREETING] [$OTHER]"; }
        direnv allow
        prompt before
        printf 'GREETING=%s\\nOTHER=hello\\n' "it's me" | hotenv serve -q -t 1m &
        until [ -e .hotenv ] || ! kill -0 $!; do sleep 0.01; done
        prompt during
        direnv exec . printenv GREETING 2>>direnv.log
        cd ..; prompt elsewhere; cd shop; prompt back
        kill $!; wait $!
        prompt after
    """
    assert output("bash", "-c", script, cwd=shop).splitlines() == [
        "before [] []",
        "during [it's me] []",
        "it's me",
        "elsewhere [] []",
        "back [it's me] []",
        "after [] []",
    ]
    assert "hotenv" not in (shop / "direnv.log").read_text().replace(".hotenv", "")


# systemd


@pytest.fixture
def unit(home: Path) -> Path:
    """The unit in its place."""
    path = home / ".config" / "systemd" / "user" / "hotenv.service"
    path.parent.mkdir(parents=True)
    path.write_text(block("systemd"))
    return path


@needs("systemd-analyze")
def test_systemd_unit(unit: Path, home: Path) -> None:
    """systemd has nothing to say about the unit. It names the file if it has."""
    assert unit.name not in output("systemd-analyze", "verify", "--user", str(unit), cwd=home)


@contextmanager
def started(unit: Path, home: Path) -> Iterator[subprocess.Popen[bytes]]:
    """The unit's command, when it serves or has ended. In the end all its processes get SIGTERM."""
    settings = dict(re.findall(r"(?m)^(\w+)=(.*)$", unit.read_text().replace("%h", str(home))))
    directory = Path(settings["WorkingDirectory"])
    service = subprocess.Popen(
        shlex.split(settings["ExecStart"]),
        cwd=directory,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        start_new_session=True,
    )
    try:
        ready = (directory / ".hotenv").exists
        wait_until(lambda: service.poll() is not None or ready(), "the session")
        yield service
    finally:
        if service.poll() is None:
            os.killpg(service.pid, signal.SIGTERM)
        service.communicate(timeout=LIMIT)  # until the last process has closed its output


def test_systemd_service(unit: Path, home: Path, shop: Path, runtime: Path) -> None:
    """It serves what gpg prints, and leaves nothing behind; if gpg fails, it fails."""
    (home / ".local" / "bin").mkdir(parents=True)
    (home / ".local" / "bin" / "hotenv").symlink_to(home / "bin" / "hotenv")
    (home / "bin" / "gpg").write_text('#!/bin/sh\n[ "$1" = --decrypt ] && cat "$2"\n')
    (home / "bin" / "gpg").chmod(0o755)
    with started(unit, home) as service:
        assert service.poll() == 7
    (shop / ".env.gpg").write_text("GREETING=hello\n")
    with started(unit, home):
        assert hotenv("dump", cwd=shop).stdout == b"GREETING=hello\n"
    assert is_clean(shop, runtime)


# docker

DOCKER = """
case "$*" in
    run*) for word; do case $word in --env-file=*) cat "${word#*=}"; esac; done;;
    build*) echo "$API_TOKEN";;
esac
"""
"""What docker does with the variables."""


def test_docker(home: Path, shop: Path) -> None:
    """A container has the variables of the file, and a build that of the environment."""
    (home / "bin" / "docker").write_text(f"#!/bin/sh\n{DOCKER}")
    (home / "bin" / "docker").chmod(0o755)
    with serving(shop, b"API_TOKEN='a #b'\n"):
        assert output("sh", "-c", block("docker"), cwd=shop) == "API_TOKEN=a #b\na #b\n"


# Visual Studio Code


def test_vscode(shop: Path) -> None:
    """The task is a process that runs the tests with the variables."""
    (task,) = json.loads(block("vscode"))["tasks"]
    assert task["type"] == "process"
    with serving(shop, b"GREETING=hello\n"):
        assert "1 passed" in output(task["command"], *task["args"], cwd=shop)


# prompts


@pytest.mark.parametrize(
    ("shell", "show"),
    [("bash", 'echo "${PS1@P}"'), ("zsh", 'print -P "$PS1"'), ("fish", "fish_right_prompt; true")],
)
def test_prompt(shell: str, show: str, shop: Path) -> None:
    """The prompt shows the time that is left, and nothing of it without a session."""
    if not shutil.which(shell):
        pytest.skip(f"{shell} is not installed")
    script = f"{block(f'prompt {shell}')}\n{show}"
    assert output(shell, "-c", script, cwd=shop).strip() in {"", "$", "%", "#"}
    with serving(shop, b"GREETING=hello\n"):
        assert re.match(r" *[45]m", output(shell, "-c", script, cwd=shop))
