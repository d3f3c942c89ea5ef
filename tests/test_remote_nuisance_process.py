"""Command sessions on another machine: logins and commands that get in their way."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

import hotenv as package
from processes import hotenv, needs, serving
from sshd import Remote
from test_remote_end_process import nothing_remains
from test_remote_shell_process import remote_shell
from test_shell_process import is_sound

pytestmark = needs("bash")

LOGINS = {
    "French": "export LANG=C.UTF-8 LANGUAGE=fr",
    "loader": "export LD_PRELOAD=/nosuch.so",
    "functions": "kill() { echo K; }; read() { :; }; printf() { echo P; }; rm() { :; }; "
    "export -f kill read printf rm",
    "cat": "cat() { nosuch; }; export -f cat",
    "xtrace": "export SHELLOPTS; set -x",
    "noclobber": "set -Cf; export SHELLOPTS",
    "nounset": "set -eu; export SHELLOPTS",
    "startup": "echo 'set -eu; echo noise' > ~/env; export BASH_ENV=~/env",
    "globs": "export GLOBIGNORE='*' IFS=/",
    "timeout": "export TMOUT=1",
}
"""What a startup file may do to the tools of a session, but not to a session."""


@pytest.mark.parametrize("login", LOGINS.values(), ids=LOGINS)
async def test_logins(login: str, machine: Remote, directory: Path) -> None:
    """Commands run as the login has it, and the session is not disturbed."""
    (machine.home() / ".bashrc").write_text(f"{login}\n")
    async with remote_shell() as opened:
        for _ in range(2):
            result = await opened.run("echo a; (exit 3)")
            assert (result.stdout, result.exit_code) == (b"a\n", 3)
            result = await opened.run("exit 4")
            assert (result.exit_code, result.timed_out) == (4, False)
    with serving(directory):
        done = hotenv("run", "--host", "box", "--", "sh", "-c", "echo $A; exit 5", cwd=directory)
    assert (done.stdout.splitlines()[-1], done.returncode) == (b"1", 5)
    nothing_remains(machine)


async def test_a_timeout_of_the_login(machine: Remote) -> None:
    """It is for people who are idle, and keeps nobody from ending a command."""
    (machine.home() / ".bashrc").write_text("export TMOUT=1\n")
    async with remote_shell(grace=0.1) as opened:
        result = await opened.run("sleep 1000", timeout=2.5)
        assert result.timed_out
        assert await is_sound(opened, restarted=False)


async def test_a_login_that_leaves_a_job(machine: Remote) -> None:
    """What it prints would be taken for output of a command: there is no such session."""
    (machine.home() / ".bashrc").write_text("(sleep 1000; echo update) &\n")
    with pytest.raises(package.SystemFailureError, match=r"^process [0-9]+ on box writes"):
        async with remote_shell(grace=0.1):
            pass


@pytest.mark.parametrize(
    ("login", "error"),
    [
        ("exec sh", r"^a login on box cannot run bash: install version 5"),
        ("yes | head -c 100000", r"^cannot connect to box: ssh has ended"),
        ("exit 0", r"^cannot connect to box: ssh has ended with status 0"),
    ],
)
async def test_logins_without_a_session(login: str, error: str, machine: Remote) -> None:
    """It is said at once, and nothing is left."""
    (machine.home() / ".bashrc").write_text(f"{login}\n")
    with pytest.raises(package.HotenvError, match=error):
        async with remote_shell():
            pass
    nothing_remains(machine)


@pytest.mark.parametrize("what", ["dd", "cat", "bash"])
async def test_killed_tools(what: str, machine: Remote) -> None:
    """Without the tools of the session it is lost: no result is made up."""
    async with remote_shell() as opened:
        with pytest.raises(package.DisconnectedError, match=r"was lost"):
            await opened.run(f"echo a; pkill -9 -u $UID -x {what}")
        with pytest.raises(package.DisconnectedError):
            await opened.run("touch after")
    assert not (machine.home() / "after").exists()


@pytest.mark.parametrize("what", ["/dev/shm/hotenv-*", "/dev/shm/hotenv-*/*"])
async def test_a_directory_of_ours_that_is_removed(what: str, machine: Remote) -> None:
    """The session is lost. The command was run once."""
    async with remote_shell() as opened:
        with pytest.raises(package.DisconnectedError):
            await opened.run(f"echo x >> log; rm -rf {what}; echo done")
    assert (machine.home() / "log").read_text() == "x\n"
    nothing_remains(machine)


async def test_files_of_ours_that_are_removed(machine: Remote) -> None:
    """A command is run once, whatever it does to what tells that it has begun."""
    async with remote_shell() as opened:
        command = "echo x >> log; find /dev/shm -type f -user $UID -delete; echo done"
        result = await opened.run(command)
        assert (result.stdout, result.exit_code, result.restarted) == (b"done\n", 0, False)
        result = await opened.run(f"{command}; kill -9 $$")
        assert (result.stdout, result.exit_code, result.restarted) == (b"done\n", 137, False)
        assert await is_sound(opened, restarted=True)
    assert (machine.home() / "log").read_text() == "x\nx\n"
    assert os.listdir(machine.home()) == ["log"]
