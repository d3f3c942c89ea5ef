"""The recipes for a project with a file, with stand-ins for password managers only."""

from __future__ import annotations

import importlib.util
import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

from processes import LIMIT, Terminal, hotenv, is_clean, needs
from readme import SHOP, block

MANAGERS = {
    "project op": '[ "${*%% -- *}" = "run --no-masking --env-file .env.op" ] && shift 5 '
    '&& DB_PASSWORD="it is \'a\' #b" MAIL_PASSWORD=c exec "$@"',
    "project sops": '[ "$*" = "decrypt --output-type json env.yaml" ] '
    """&& echo '{"DB_PASSWORD": "it is '"'a'"' #b"}'""",
    "project vault": '[ "$*" = "kv get -mount=secret -format=json -field=data shop" ] '
    """&& echo '{"DB_PASSWORD": "it is '"'a'"' #b"}'""",
}
"""What the tools print for the words of their recipes; for others they fail."""


def allow(shop: Path, text: str) -> None:
    """Let the file of the project say ``text``."""
    (shop / "hotenv.toml").write_text(text)
    (shop / "hotenv.toml").chmod(0o644)
    assert hotenv("allow", cwd=shop).returncode == 0


@pytest.fixture
def project(shop: Path) -> Path:
    """A project whose source says each time that it was asked."""
    (shop / "get").write_text("echo asked >>asked; echo GREETING=hello")
    allow(shop, '[session]\nsource = ["sh", "get"]\n')
    return shop


def output(*command: str, cwd: Path, status: int = 0) -> str:
    """All that ``command`` prints, which has no terminal, until it ends with ``status``."""
    result = subprocess.run(
        command,
        cwd=cwd,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        start_new_session=True,
        timeout=LIMIT,
        text=True,
    )
    assert result.returncode == status, result.stdout
    return result.stdout


def finish(shop: Path, runtime: Path) -> None:
    """One session was started; it is stopped, and nothing is left."""
    assert (shop / "asked").read_text() == "asked\n"
    assert hotenv("stop", cwd=shop).returncode == 0
    assert is_clean(shop, runtime)


@pytest.mark.parametrize(
    "label", [pytest.param("project op", marks=needs("jq")), "project sops", "project vault"]
)
def test_password_managers(shop: Path, label: str) -> None:
    """The file of each recipe is allowed, and gets the variables."""
    path = shop.parent / "bin" / label.removeprefix("project ")
    path.write_text(f"#!/bin/sh\n{MANAGERS[label]}\n")
    path.chmod(0o755)
    (shop / ".env.op").write_text("DB_PASSWORD=op://shop/a\nMAIL_PASSWORD=op://shop/c\n")
    allow(shop, block(label))
    command = ("hotenv", "run", "--", "printenv")
    assert output(*command, "DB_PASSWORD", cwd=shop) == "it is 'a' #b\n"
    output(*command, "MAIL_PASSWORD", cwd=shop, status=1)
    output("hotenv", "stop", cwd=shop)


def test_contract(shop: Path) -> None:
    """hotenv asks on the terminal; without one it says so at once."""
    (shop / "env.contract").write_text("DB_A=?The password\n")
    allow(shop, block("project contract"))
    words = output("hotenv", "run", "--", "true", cwd=shop, status=8)
    assert "terminal" in words
    terminal = Terminal(["hotenv", "run", "--", "printenv", "DB_A"], shop)
    terminal.expect(b"DB_A (The password): ")
    terminal.type(b"it is a\n")
    assert terminal.wait() == 0
    assert terminal.screen.endswith(b"it is a\r\n")
    output("hotenv", "stop", cwd=shop)


@needs("just")
def test_just(project: Path, runtime: Path) -> None:
    """The recipe that needs variables starts the session."""
    (project / "justfile").write_text(block("project just"))
    assert "deploy hello" in output("just", "deploy", cwd=project)
    assert "deploy hello" in output("just", "deploy", cwd=project)
    finish(project, runtime)


@needs("make")
def test_make(project: Path, runtime: Path) -> None:
    """The target that requests the variables starts the session."""
    lines = ["deploy: build", "build deploy:", '\t@echo "$@ [$$GREETING]"']
    (project / "Makefile").write_text("\n".join([block("make"), *lines, ""]))
    for _ in range(2):
        assert output("make", "deploy", cwd=project) == "build []\ndeploy [hello]\n"
    finish(project, runtime)


@pytest.mark.usefixtures("unmeasured")
@pytest.mark.skipif(not importlib.util.find_spec("tox"), reason="tox is not installed")
def test_tox(project: Path, runtime: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its commands start the session, and find it the next time."""
    (project / "tox.ini").write_text(block("project tox"))
    monkeypatch.setenv("VIRTUALENV_NO_SEED", "1")
    packages = Path(pytest.__file__).parent.parent
    tox = [sys.executable, "-m", "tox", "--skip-pkg-install", "-e", "py"]
    tox += ["-x", f"testenv.set_env=PYTHONPATH={packages}", "--", "-q"]
    for _ in range(2):
        assert "1 passed" in output(*tox, cwd=project)
    finish(project, runtime)


@pytest.mark.usefixtures("unmeasured")
def test_pytest(project: Path, runtime: Path) -> None:
    """The fixture starts the session."""
    (project / "conftest.py").write_text(block("project pytest"))
    (project / "test_shop.py").write_text(
        'def test_greeting(secrets):\n    assert secrets["GREETING"] == "hello"\n'
    )
    for _ in range(2):
        assert "1 passed" in output("pytest", "-q", cwd=project)
    finish(project, runtime)


@pytest.mark.usefixtures("importing")
def test_vscode(project: Path, runtime: Path) -> None:
    """One task starts the session, the other has its variables and waits where launch.json says."""
    session, app = json.loads(block("project tasks"))["tasks"]
    for _ in range(2):
        output(session["command"], *session["args"], cwd=project)
    (launch,) = json.loads(block("project launch"))["configurations"]
    assert str(launch["connect"]["port"]) in app["args"]
    stand_in = project / "debugpy.py"
    stand_in.write_text('import os, sys; print(os.environ["GREETING"], *sys.argv[1:])\n')
    command = [sys.executable if each == "python" else each for each in app["args"]]
    shown = output(app["command"], *command, cwd=project)
    assert shown == "hello --listen 5678 --wait-for-client app.py\n"
    finish(project, runtime)


def test_devcontainer(project: Path, runtime: Path) -> None:
    """Whenever the editor attaches, there is a session afterwards."""
    command = json.loads(block("project devcontainer"))["postAttachCommand"]
    for _ in range(2):
        output("sh", "-c", command, cwd=project)
    assert output("hotenv", "dump", cwd=project) == "GREETING=hello\n"
    finish(project, runtime)


@needs("git")
def test_git_hook(project: Path, runtime: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A push starts the session, and hands on its refs to nobody's source."""
    monkeypatch.setenv("HOME", str(project.parent))
    monkeypatch.setenv("GIT_CONFIG_NOSYSTEM", "1")
    output("git", "init", "-q", "--bare", "remote", cwd=project.parent)
    output("git", "init", "-q", cwd=project)
    settings = ["-c", "user.name=you", "-c", "user.email=you@localhost"]
    output("git", *settings, "commit", "-q", "--allow-empty", "-m", "first", cwd=project)
    hook = project / ".git" / "hooks" / "pre-push"
    hook.parent.mkdir(exist_ok=True)
    hook.write_text(block("project hook"))
    hook.chmod(0o755)
    assert "make says hello" in output("git", "push", "../remote", "HEAD:main", cwd=project)
    finish(project, runtime)


def test_cron(project: Path, runtime: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The command of the line works without a terminal; a source that asks fails and says why."""
    home = project.parent
    monkeypatch.setenv("HOME", str(home))
    (home / ".local" / "bin").mkdir(parents=True)
    (home / ".local" / "bin" / "hotenv").symlink_to(home / "bin" / "hotenv")
    command = re.sub(r"^(\S+ ){5}", "", block("project cron")).strip().replace(SHOP, str(project))
    assert "make says hello" in output("sh", "-c", command, cwd=Path("/"))
    finish(project, runtime)
    (project / "get").write_text("read answer </dev/tty && echo GREETING=$answer")
    allow(project, '[session]\nsource = ["sh", "get"]\n')
    words = output("sh", "-c", command, cwd=Path("/"), status=8)
    assert "/dev/tty" in words
    assert re.search(r"hotenv: 'sh' exited with status \d: nothing is served\n$", words)
