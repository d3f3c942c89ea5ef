"""README.rst and the topics, their labelled blocks, and the project in which these are run."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from hotenv.cli import help as topics
from processes import HOTENV, LIMIT, Terminal

README = (Path(__file__).parent.parent / "README.rst").read_text()
TOPICS = {topic: topics.read(topic) for topic in topics.topics()}
DOCUMENTS = {"README": README, **TOPICS}
TEXT = "\n".join(DOCUMENTS.values())
SHOP = "/home/you/shop"  # where its sessions take place

_TOOLS = {
    "hotenv": f'exec {shlex.join(HOTENV)} "$@"',
    "pytest": f'exec {shlex.join([sys.executable, "-m", "pytest"])} "$@"',
} | ({} if shutil.which("make") else {"make": 'echo "make says $GREETING"'})
_STEERING = ("FORCE_COLOR", "PY_COLORS", "PYTEST_ADDOPTS", "MAKEFLAGS", "MAKELEVEL")
_TESTS = """
import os

def test_greeting():
    assert os.environ["GREETING"] == "hello"
"""


def block(label: str) -> str:
    """The code block that follows the comment ``.. test: label``."""
    found = re.findall(rf"\n\.\. test: {label}\n\n\.\. code:: \w+\n\n((?: {{4}}.*\n|\n)+)", TEXT)
    assert len(found) == 1, f"{len(found)} blocks {label}"
    return re.sub(r"(?m)^ {4}", "", found[0]).strip("\n") + "\n"


def same_for_all(text: str, directory: Path) -> str:
    """``text`` without what differs from one run to the next, or is not to be seen."""
    text = re.sub(r"\x1b\[\?2004[hl]", "", text)
    text = text.replace("\r\n", "\n").replace(str(directory), SHOP)
    text = re.sub(r"(?m)^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d ", "2026-02-14 15:04:05 ", text)
    text = re.sub(r"\bat \d\d:\d\d\b", "at 15:04", text)
    text = re.sub(r"\bin \d+\.\d+s\b", "in 0.01s", text)
    return re.sub(r" +\[100%\]", " [100%]", text)


def play(session: str, directory: Path, *, terminal: bool = False) -> None:
    """Type the commands of ``session`` into a shell, and compare what it shows.

    What they print goes to a pipe, or to a ``terminal``.
    """
    commands = re.findall(r"(?m)^\$ (.*)$", session)
    typed = (f"cat <<'END'\n$ {command}\nEND\n{command}\n" for command in commands)
    shell = ["sh", "-c", "".join(typed)]
    if terminal:
        screen = Terminal(shell, directory)
        screen.wait()
        shown = screen.screen.decode()
    else:
        shown = subprocess.run(
            shell,
            cwd=directory,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            timeout=LIMIT,
            text=True,
        ).stdout
    assert commands
    assert same_for_all(shown, directory) == same_for_all(session, directory)


@pytest.fixture
def shop(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The project of the sessions, and a PATH on which their commands are the ones under test."""
    directory, tools = tmp_path / "shop", tmp_path / "bin"
    (directory / "src").mkdir(parents=True)
    (directory / "test_shop.py").write_text(_TESTS)
    (directory / "Makefile").write_text('greet:\n\t@echo "make says $$GREETING"\n')
    tools.mkdir()
    for name, command in _TOOLS.items():
        (tools / name).write_text(f"#!/bin/sh\n{command}\n")
        (tools / name).chmod(0o755)
    monkeypatch.setenv("PATH", str(tools), prepend=os.pathsep)
    for name in ("GREETING", *_STEERING):
        monkeypatch.delenv(name, raising=False)
    return directory
