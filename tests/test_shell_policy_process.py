"""Command sessions with a policy: what is denied is not run."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

import hotenv
from hotenv.shell import approval
from processes import LIMIT, needs, said, with_limits
from processes import hotenv as run_hotenv
from test_policy import needs_parser
from test_shell_process import is_sound, shell
from users import STRANGER

pytestmark = [needs("bash"), needs_parser]


async def test_a_denied_command(tmp_path: Path) -> None:
    """Nothing of it is run, not even its expansions, and the shell does not notice."""
    policy = hotenv.Policy(allow=["echo", "/bin/sh"])
    async with shell(policy=policy, cwd=tmp_path) as opened:
        await opened.run("x=1")
        for command in ("echo $(echo a > file); rm file", "echo a > file; echo 'b", "> file; $x"):
            with pytest.raises(hotenv.DeniedError, match="denied by the policy at line 1"):
                await opened.run(command)
        assert os.listdir(tmp_path) == []
        assert (await opened.run("echo $x")).stdout == b"1\n"


async def test_scripts_in_scripts() -> None:
    """They are looked through to the bottom, if there is one."""
    async with shell(policy=hotenv.Policy(deny=["rm"])) as opened:
        assert (await opened.run("""sh -c "sh -c 'echo a'" """)).stdout == b"a\n"
        with pytest.raises(hotenv.DeniedError, match="column 7: 'rm'"):
            await opened.run("""true; sh -c "sh -c 'rm a'" """)
        with pytest.raises(hotenv.DeniedError, match="column 7: it cannot be parsed"):
            await opened.run("true; sh -c 'echo )'")
        for depth in (1_000, 5_000):
            with pytest.raises(hotenv.DeniedError, match=r"nested too deep|cannot be parsed"):
                await opened.run("{ " * depth + "true;" + " }" * depth)
        with pytest.raises(hotenv.DeniedError, match="too many"):
            await opened.run("sh -c 'echo a';" * 200)
        assert await is_sound(opened, restarted=False)


async def test_a_tree_that_is_too_deep(monkeypatch: pytest.MonkeyPatch) -> None:
    """It is denied too if its parser can still read it."""
    check = approval.Approval(hotenv.Policy()).check

    def fail(*_: object) -> None:
        raise RecursionError

    monkeypatch.setattr(hotenv.Policy, "check", fail)
    with pytest.raises(hotenv.DeniedError, match="nested too deeply"):
        await check(b"true")


async def test_no_parser(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """It is an error, and not consent."""
    monkeypatch.setattr("sys.executable", str(tmp_path / "python"))
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(hotenv.SystemFailureError, match=r"pip install 'hotenv\[policy\]'"):
        async with shell(policy=hotenv.Policy()):
            pass


@pytest.mark.parametrize(
    "script", ["exit 1", "exit 0", "echo nonsense", "kill $$", "exec sleep 1000"]
)
async def test_a_parser_that_fails(
    script: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """What it does not parse, be it too slow, is denied."""
    (tmp_path / "shfmt").write_text(f"#!/bin/sh\n{script}\n")
    (tmp_path / "shfmt").chmod(0o755)
    monkeypatch.setattr("sys.executable", str(tmp_path / "python"))
    monkeypatch.setattr(approval, "_PATIENCE", 0.2)
    async with shell(policy=hotenv.Policy()) as opened:
        with pytest.raises(hotenv.DeniedError, match="cannot be parsed"):
            await opened.run("true")
        monkeypatch.setattr(approval, "_PATIENCE", LIMIT)
        (tmp_path / "shfmt").unlink()
        with pytest.raises(hotenv.SystemFailureError, match="cannot run the parser"):
            await opened.run("true")


def test_a_file(directory: Path) -> None:
    """It is read once, at the start."""
    (directory / "policy.toml").write_text('deny = ["rm"]\npatterns = ["git push*"]')
    (directory / "policy.toml").chmod(0o600)
    texts = ["rm policy.toml", "echo > policy.toml", "rm policy.toml", "git push", "echo a"]
    stdin = b"".join(json.dumps({"command": text}).encode() + b"\n" for text in texts)
    words = ("shell", "--no-session", "--grace", "60s", "--policy", "policy.toml")
    patient = with_limits({"hotenv.shell.approval._PATIENCE": LIMIT})
    done = run_hotenv(*words, cwd=directory, stdin=stdin, command=patient)
    first, second, third, fourth, fifth = map(json.loads, done.stdout.splitlines())
    reason = "denied by the policy at line 1, column 1: 'rm' is denied"
    assert first == third == {"id": None, "error": reason}
    assert second["exit_code"] == 0
    assert "'git push*' is denied" in fourth["error"]
    assert fifth["stdout"] == "a\n"


@pytest.mark.parametrize(
    ("text", "mode", "message", "code"),
    [
        ("allow = [", 0o600, "must be TOML", 2),
        ('allow = "secret"', 0o600, "allow must be a list", 2),
        ("deny = [1]", 0o600, "deny: must be a list of non-empty strings", 2),
        ("alow = []", 0o600, "unknown keys: alow", 2),
        ("deny = []", 0o620, "is writable by others: run 'chmod go-w", 8),
        ("deny = []", 0o602, "is writable by others", 8),
    ],
)
def test_a_wrong_file(text: str, mode: int, message: str, code: int, directory: Path) -> None:
    """An error that says what is wrong with it, before anything is run."""
    (directory / "policy.toml").write_text(text)
    (directory / "policy.toml").chmod(mode)
    done = run_hotenv("shell", "--no-session", "--policy", "policy.toml", cwd=directory)
    assert done.returncode == code
    assert message in said(done)
    assert "secret" not in said(done)


def test_no_file(directory: Path) -> None:
    """What is no regular file is none, and is not waited for."""
    os.mkfifo(directory / "fifo")
    for name, message in [
        ("fifo", "not a regular file"),
        ("/nowhere", "no such file"),
        (".", "is a directory"),
    ]:
        done = run_hotenv("shell", "--no-session", "--policy", name, cwd=directory)
        assert done.returncode == 8
        assert message in said(done)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can make another user's file")
def test_a_file_of_somebody_else(directory: Path) -> None:
    """It is not trusted."""
    (directory / "policy.toml").write_text("")
    (directory / "policy.toml").chmod(0o600)
    os.chown(directory / "policy.toml", STRANGER, STRANGER)
    done = run_hotenv("shell", "--no-session", "--policy", "policy.toml", cwd=directory)
    assert done.returncode == 8
    assert "owned by" in said(done)
