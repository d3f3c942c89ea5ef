"""Command sessions on another machine: what ssh asks, and where nobody gets in."""

from __future__ import annotations

import os
import shlex
import subprocess
from pathlib import Path

import pytest

import hotenv as package
from processes import HOTENV, LIMIT, Terminal, hotenv, needs, said
from sshd import PASSWORD, Remote
from test_remote_shell_process import BOX, remote_shell
from test_shell_command_process import NO_SESSION, answers, requests

pytestmark = needs("bash")


def without_terminal(host: str, cwd: Path) -> subprocess.CompletedProcess[bytes]:
    """A shell in a session of its own, which has no terminal that ssh could ask."""
    return subprocess.run(
        [*HOTENV, *NO_SESSION, "--host", host],
        cwd=cwd,
        input=requests({"command": "touch file"}),
        capture_output=True,
        timeout=LIMIT,
        start_new_session=True,
    )


@pytest.mark.parametrize(
    ("host", "reason"),
    [
        ("password", "permission denied"),
        ("unknown", "host key verification failed"),
        ("refused", "connection refused"),
    ],
)
def test_nobody_gets_in(host: str, reason: str, machine: Remote, directory: Path) -> None:
    """It is an error at once that has the reason in it."""
    done = without_terminal(host, directory)
    assert done.returncode == 4
    words = said(done)
    assert host in words
    assert reason in words.lower()
    assert os.listdir(machine.home()) == []


async def test_an_error_in_python(machine: Remote) -> None:
    """It is the same."""
    with pytest.raises(package.UnreachableError, match="refused"):
        async with remote_shell(host="refused"):
            pass


def at_terminal(host: str, cwd: Path) -> Terminal:
    """A shell whose requests come from a file, at a terminal."""
    (cwd / "requests").write_bytes(requests({"command": "echo $HOME"}))
    line = f"{shlex.join([*HOTENV, *NO_SESSION, '--host', host])} < requests > answers"
    return Terminal(["sh", "-c", line], cwd)


@pytest.mark.parametrize(
    ("host", "question", "reply"),
    [("password", b"password:", PASSWORD), ("unknown", b"continue connecting", "yes")],
)
def test_questions(
    host: str, question: bytes, reply: str, machine: Remote, directory: Path
) -> None:
    """They come to the terminal, and the replies to them go to ssh."""
    terminal = at_terminal(host, directory)
    terminal.expect(question)
    terminal.type(f"{reply}\r".encode())
    assert terminal.wait() == 0
    (answer,) = answers((directory / "answers").read_bytes())
    assert answer["stdout"] == f"{machine.home()}\n"
    assert PASSWORD.encode() not in terminal.screen


@pytest.mark.parametrize(
    ("host", "question", "reply"),
    [("password", b"password:", b"wrong"), ("unknown", b"continue connecting", b"no")],
)
def test_wrong_replies(
    host: str, question: bytes, reply: bytes, machine: Remote, directory: Path
) -> None:
    """With them nobody gets in either."""
    terminal = at_terminal(host, directory)
    terminal.expect(question)
    terminal.type(reply + b"\r")
    assert terminal.wait() == 4
    assert b"hotenv: " in terminal.screen
    assert (directory / "answers").read_bytes() == b""
    assert machine.processes() == set()


@pytest.mark.parametrize("host", ["", "-oProxyCommand=touch file", "a\0b", "a\nb"])
async def test_no_host(host: str, machine: Remote, directory: Path) -> None:
    """What cannot be one is a usage error, and no option of ssh."""
    with pytest.raises(package.UsageError, match="host"):
        async with remote_shell(host=host):
            pass
    assert os.listdir(directory) == []


def test_an_option_as_host(machine: Remote, directory: Path) -> None:
    """The same on the command line."""
    done = hotenv(*NO_SESSION, "--host=-oProxyCommand=touch file", cwd=directory)
    assert done.returncode == 2
    assert b"--host" in done.stderr
    assert os.listdir(directory) == []


def test_no_ssh(machine: Remote, directory: Path) -> None:
    """It is an error at the start."""
    done = hotenv(*NO_SESSION, *BOX, cwd=directory, env={**os.environ, "PATH": "/nowhere"})
    assert done.returncode == 8
    assert said(done) == "hotenv: cannot run 'ssh': command not found"
