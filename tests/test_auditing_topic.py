"""What the help topic about audit logs says is so: its example is run."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest

from processes import HOTENV, LIMIT, serving
from readme import TOPICS


def test_example(directory: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It shows what a terminal would show."""
    shown = re.search(
        r"\.\. test: audit\n\n\.\. code:: console\n\n((?: {4}.*\n)+)", TOPICS["auditing"]
    )
    assert shown
    text = re.sub("(?m)^ {4}", "", shown[1])
    script = "hotenv() { " + " ".join(HOTENV) + ' "$@"; }\n'
    script += "\n".join(re.findall(r"(?m)^\$ (.*)$", text))
    monkeypatch.setenv("XDG_STATE_HOME", str(directory / "state"))
    with serving(directory):
        done = subprocess.run(
            ["sh", "-c", script], cwd=directory, capture_output=True, text=True, timeout=LIMIT
        )
    expected = re.sub(r"(?m)^\$ .*\n", "", text)
    assert (done.stdout + done.stderr, done.returncode) == (expected, 0)
