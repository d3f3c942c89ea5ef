"""What the help topic about command sessions says is so: its examples are run."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from inspect import signature
from pathlib import Path

import hotenv
from hotenv.cli import shell as command
from hotenv.shell.policy import _OPAQUE
from hotenv.shell.wrappers import _WRAPPERS
from processes import LIMIT, needs, serving
from readme import TOPICS, block, same_for_all

pytestmark = needs("bash")


def test_session(shop: Path) -> None:
    """The example shows what a terminal shows, but for how long it takes."""
    shown = block("bash session")
    requests = "".join(re.findall(r'(?m)^\{.*"command".*\n', shown))
    with serving(shop, b"GREETING=hello\n"):
        done = subprocess.run(
            ["hotenv", "shell", "--grace", "60s"],
            input=requests,
            capture_output=True,
            cwd=shop,
            timeout=LIMIT,
            text=True,
        )
    text = re.sub(r'"duration": [\d.]+', '"duration": 0.01', done.stderr + done.stdout)
    assert same_for_all(text, shop) in shown


def test_python(tmp_path: Path) -> None:
    """The example works."""
    script = block("bash in python")
    assert "assert" in script
    subprocess.run([sys.executable, "-c", script], cwd=tmp_path, timeout=LIMIT, check=True)


def test_policy(tmp_path: Path) -> None:
    """The example is one."""
    path = tmp_path / "policy"
    path.write_text(block("policy"))
    path.chmod(0o600)
    policy = hotenv.load_policy(path)
    assert policy.deny == {"sudo"}
    for name in (*_WRAPPERS, *_OPAQUE):
        assert f"``{name}``" in TOPICS["bash"]


def test_defaults() -> None:
    """They are what is said, and those of the API and of the command are the same."""
    text = TOPICS["bash"]
    assert f"(default: {command._TIMEOUT:.0f}s)" in text
    assert f"(default: {command._MAX_OUTPUT})" in text
    defaults = signature(hotenv.open_shell).parameters
    for name, value in [
        ("timeout", command._TIMEOUT),
        ("max_output", command._MAX_OUTPUT),
        ("grace", command._GRACE),
    ]:
        assert defaults[name].default == value
        assert f"``{name}={value:_}``" in text
    assert f"gets {command._GRACE:.0f} seconds (``--grace``)" in re.sub(r"\s+", " ", text)


def test_fields() -> None:
    """Each field of an answer is in the text."""
    fields = json.loads(re.findall(r'(?m)^    (\{"id": 1, "exit.*)$', TOPICS["bash"])[0])
    assert {name for name in fields if f"``{name}``" not in TOPICS["bash"]} == set()
