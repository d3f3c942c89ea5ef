"""What the help topic about redaction says is so: its examples are run."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
from pathlib import Path

import pytest

from processes import HOTENV, LIMIT, serving
from readme import TOPICS

SESSION = b"DATABASE_URL=postgres://shop:hunter22@db/shop\nTOKEN=tok_4f9aXq27\n"
MAKEFILE = """
all:
\t@echo connecting to $(DATABASE_URL)
\t@echo Authorization: Basic $$(printf user:tok_4f9aXq27 | base64)
"""


@pytest.fixture
def shop(directory: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The directory of the examples, with a session."""
    (directory / "Makefile").write_text(MAKEFILE)
    (directory / "bin").mkdir()
    program = directory / "bin" / "hotenv"
    program.write_text(f'#!/bin/sh\nexec {shlex.join(HOTENV)} "$@"\n')
    program.chmod(0o755)
    monkeypatch.setenv("PATH", str(directory / "bin"), prepend=os.pathsep)
    monkeypatch.setenv("DATABASE_URL", "postgres://shop:hunter22@db/shop")
    return directory


@pytest.mark.parametrize("label", ["command", "filter"])
def test_examples(label: str, shop: Path) -> None:
    """They show what a terminal would show."""
    pattern = rf"\.\. test: {label}\n\n\.\. code:: console\n\n((?: {{4}}.*\n)+)"
    shown = re.search(pattern, TOPICS["redaction"])
    assert shown
    command, _, expected = re.sub("(?m)^ {4}", "", shown[1]).removeprefix("$ ").partition("\n")
    with serving(shop, SESSION):
        done = subprocess.run(
            ["sh", "-c", command], cwd=shop, capture_output=True, text=True, timeout=LIMIT
        )
    assert (done.stdout, done.stderr) == (expected, "")
