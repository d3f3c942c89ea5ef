"""Command sessions on another machine: what commands give is what they give here."""

from __future__ import annotations

import base64
import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Any

import pytest
import trio

import hotenv as package
from hotenv.remote.connection import Channel
from processes import LIMIT, hotenv, needs, serving
from sshd import Remote
from test_policy import needs_parser
from test_shell_command_process import NO_SESSION, SHELL, answers, requests
from test_shell_end_process import ALL_KINDS, has_lines, processes_in, until
from test_shell_process import is_sound, shell

pytestmark = needs("bash")

TOKEN = "s3cr3t/Val+ue=42"
BOX = ("--host", "box")


@asynccontextmanager
async def remote_shell(**options: object) -> AsyncIterator[package.Shell]:
    """A shell on the other machine that gives up on nothing because one of them is slow."""
    async with shell(**{"host": "box", "env": {}} | options) as opened:
        yield opened


HOSTS = ["box", "noisy", "dash", "spare", "sealed", "shared", "noisy@box"]


@pytest.mark.parametrize("host", HOSTS)
def test_conversation(host: str, machine: Remote, directory: Path) -> None:
    """Whatever the login shell is or says. Bash and coreutils are enough, without any file."""
    text = requests(
        {"id": 1, "command": "x=5; pwd; cat", "stdin": "é"},
        {"id": 2, "command": "echo $x; printf '\\xff' >&2; cd /; false"},
        {"id": 3, "command": "echo a\0"},
        {"id": 4, "command": "echo $?; readlink /proc/$$/exe; exit 9"},
        {"id": 5, "command": "pwd; echo [$x]; mkdir ~/$'a\\nb '; cd ~/$'a\\nb '"},
    )
    done = hotenv(*NO_SESSION, "--host", host, cwd=directory, stdin=text)
    first, second, third, fourth, fifth = answers(done.stdout)
    home = machine.home(host.partition("@")[0] if host != "shared" else "box")
    assert (first["stdout"], first["stderr"]) == (f"{home}\né", "")
    assert (first["exit_code"], first["cwd"]) == (0, str(home))
    assert (second["stdout"], second["stderr_base64"], second["cwd"]) == ("5\n", "/w==", "/")
    assert (second["exit_code"], second["timed_out"], second["restarted"]) == (1, False, False)
    assert third == {"id": 3, "error": "command: must not contain a NUL character"}
    code, program = fourth["stdout"].splitlines()
    assert (code, os.path.basename(program), fourth["exit_code"]) == ("1", "bash", 9)
    assert (fifth["stdout"], fifth["restarted"]) == ("/\n[]\n", True)
    assert (fifth["stderr"], fifth["cwd"]) == ("", f"{home}/a\nb ")
    assert done.returncode == 0
    if "noisy" not in host:
        assert done.stderr == b""
    assert machine.left() == []


async def test_one_connection(machine: Remote) -> None:
    """It is for all commands, and also for a shell that takes the place of another."""
    async with remote_shell() as opened:
        for command in ("true", "exit 3", "kill -9 $$", "true"):
            await opened.run(command)
        assert len(machine.connections()) == 1
    assert machine.log().count("Accepted publickey") == 1


async def test_bytes(machine: Remote) -> None:
    """They arrive as they are, there and back again, and on two outputs apart."""
    data = bytes(range(256)) * 2000
    async with remote_shell(max_output=None) as opened:
        result = await opened.run("tee /dev/stderr", stdin=data)
        assert (result.stdout == data, result.stderr == data) == (True, True)
        assert await is_sound(opened, restarted=False)


def test_bytes_in_json(machine: Remote, directory: Path) -> None:
    """The same for a program that sends lines."""
    data = bytes(range(256))
    text = requests({"command": "cat", "stdin_base64": base64.b64encode(data).decode()})
    (answer,) = answers(hotenv(*NO_SESSION, *BOX, cwd=directory, stdin=text).stdout)
    assert base64.b64decode(answer["stdout_base64"]) == data


async def test_much_output(machine: Remote) -> None:
    """The beginning and the end of it are kept, and all of it if that is wanted."""
    whole = "".join(f"{number}\n" for number in range(1, 50_001)).encode()
    async with remote_shell(max_output=1000) as opened:
        result = await opened.run("seq 50000")
        assert result.stdout == whole[:500] + whole[-500:]
        cut = whole[500:-500]
        assert result.omitted.stdout == package.Omitted(len(cut), cut.count(b"\n"), 500)
    async with remote_shell(max_output=None) as opened:
        result = await opened.run("seq 50000")
        assert result.stdout == whole
        result = await opened.run("seq 50000 >&2")
        assert (result.stdout, result.stderr) == (b"", whole)


async def test_copies(machine: Remote, directory: Path) -> None:
    """Files with the complete output are files here."""
    async with remote_shell(max_output=4) as opened:
        await opened.run("seq 50000; echo $HOME >&2", stdout_file="out", stderr_file="err")
    assert (directory / "out").read_text().splitlines()[-1] == "50000"
    assert (directory / "err").read_text() == f"{machine.home()}\n"
    assert os.listdir(machine.home()) == []


async def test_a_stream(machine: Remote) -> None:
    """Output comes before the command ends."""
    async with remote_shell() as opened, opened.stream("echo a; read < go; echo b") as running:
        os.mkfifo(machine.home() / "go", 0o666)
        seen = b""
        async for chunk in running:
            seen += chunk.data
            if seen == b"a\n":
                (machine.home() / "go").write_text("go\n")
    assert seen == b"a\nb\n"


def test_from_outside_of_trio(machine: Remote) -> None:
    """Threads can do the same."""
    options: dict[str, Any] = {"host": "box", "env": {}, "timeout": LIMIT}
    with package.open_shell_sync(**options) as opened:
        opened.run("x=1")
        assert opened.run("echo $x; pwd").stdout == f"1\n{machine.home()}\n".encode()


async def test_long_command(machine: Remote) -> None:
    """A command may be of any length, which no argument of a program may."""
    async with remote_shell() as opened:
        result = await opened.run(f"x='{'y' * 300_000}'; echo ${{#x}}")
        assert result.stdout == b"300000\n"


async def test_nothing_of_ours(machine: Remote) -> None:
    """Neither descriptors nor functions, traps or jobs tell of hotenv, and but one variable."""
    async with remote_shell() as opened:
        result = await opened.run("sh -c 'ls /proc/$$/fd'; declare -F; trap; jobs; history")
        assert result.stdout.split() == [b"0", b"1", b"2"]
        result = await opened.run("unset HOTENV_SHELL; :; declare -p | tr A-Z a-z; alias")
        assert b"hotenv" not in result.stdout


async def test_timeout(machine: Remote) -> None:
    """The result has the output so far, and the shell its variables."""
    seconds = 0.5
    async with remote_shell() as opened:
        await opened.run("x=1")
        while True:
            result = await opened.run("echo before; sleep 1000", timeout=seconds)
            assert (result.exit_code, result.timed_out, result.restarted) == (124, True, False)
            if result.stdout:  # it was fast enough
                break
            seconds *= 2
        assert result.stdout == b"before\n"
        assert (await opened.run("echo $x $?")).stdout == b"1 124\n"
        assert await is_sound(opened, restarted=False)


async def test_what_a_cancelled_command_has_set(machine: Remote) -> None:
    """It is there for the next command, also in a new shell."""
    async with remote_shell() as opened:
        await opened.run("export x=1")
        with trio.CancelScope() as scope:
            async with opened.stream("export x=2; echo; sleep 1000") as running:
                async for _ in running:
                    scope.cancel()
        await opened.run("exit")
        result = await opened.run("echo $x")
        assert (result.stdout, result.restarted) == (b"2\n", True)


async def test_cancelled_at_any_time(machine: Remote) -> None:
    """However soon it is: the shell goes on, as it was, and no output is taken for another's."""
    async with remote_shell() as opened:
        await opened.run("x=kept")
        for number in range(40):
            with trio.move_on_after(number * 0.0005):
                await opened.run(f"echo {number}; echo {number} >&2")
            result = await opened.run("echo $x; echo error >&2")
            assert (result.stdout, result.stderr) == (b"kept\n", b"error\n")
            assert not result.restarted


@pytest.mark.parametrize(("before", "restarted"), [("sleep 1000 &", False), ("exit 3", True)])
async def test_cancelled_at_a_start(
    before: str, restarted: bool, machine: Remote, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What is started for the next command is there for the one after it."""
    scope = trio.CancelScope()
    begin = Channel.begin

    async def begin_then_cancel(channel: Channel, script: bytes) -> bytes:
        nonce = await begin(channel, script)
        scope.cancel()
        return nonce

    async with remote_shell() as opened:
        await opened.run("cd /; export x=1")
        await opened.run(before)
        with monkeypatch.context() as patch, scope:
            patch.setattr(Channel, "begin", begin_then_cancel)
            await opened.run(":")
        assert scope.cancelled_caught
        result = await opened.run("echo a; pwd; echo $x >&2")
        assert (result.stdout, result.stderr, result.restarted) == (b"a\n/\n", b"1\n", restarted)
        if restarted:
            sessions = await opened.run("ps -o pid= --ppid $(ps -o ppid= -p $PPID)")
            assert len(sessions.stdout.splitlines()) == 3  # of the keeper, the pump and the shell
        with trio.fail_after(LIMIT):
            await opened.run("sleep 1000 &")
            assert await is_sound(opened, restarted=False)


async def test_a_busy_shell(machine: Remote) -> None:
    """It is killed, and the next one has its state of before."""
    async with remote_shell(grace=0.1) as opened:
        await opened.run("export x=1; cd /")
        result = await opened.run("trap '' INT TERM; while :; do :; done", timeout=0.5)
        assert (result.exit_code, result.timed_out) == (124, True)
        result = await opened.run("echo $x; pwd")
        assert (result.stdout, result.restarted) == (b"1\n/\n", True)


async def test_a_shell_that_stops(machine: Remote) -> None:
    """It has not ended: it goes on when it is continued."""
    async with remote_shell() as opened:
        result = await opened.run(
            "(while sleep 0.1; do kill -CONT $$; done) & kill -STOP $$; echo on; kill -9 $!"
        )
        assert (result.stdout, result.restarted) == (b"on\n", False)
        assert await is_sound(opened, restarted=False)


async def test_shells_that_end_at_once(machine: Remote) -> None:
    """However early that is, it is noticed."""
    async with remote_shell() as opened:
        for _ in range(20):
            assert (await opened.run("kill -9 $$")).exit_code == 137


async def test_all_that_a_command_has_started(machine: Remote) -> None:
    """It is ended when the call is cancelled; what an earlier command has left lives on."""
    pids, job = machine.home() / "pids", machine.home() / "job"
    async with remote_shell(grace=0.1) as opened, trio.open_nursery() as nursery:
        await opened.run(f"(sh -c 'echo $PPID' >> {job}; sleep 1000; :) & x=1")
        await until(lambda: has_lines(job, 1))
        scope = trio.CancelScope()

        async def run() -> None:
            with scope:
                await opened.run(ALL_KINDS.format(pids=pids), timeout=None)

        nursery.start_soon(run)
        await until(lambda: has_lines(pids, 7))
        scope.cancel()
        await opened.run("true")
        assert not processes_in(pids)
        assert processes_in(job)
        assert (await opened.run("echo $x")).stdout == b"1\n"
    assert not processes_in(job)


@pytest.mark.parametrize(
    ("command", "stdout", "code"),
    [
        ("exit 3", b"", 3),
        ("set -e; echo a; false; echo b", b"a\n", 1),
        ("exec sh -c 'echo a; exit 5'", b"a\n", 5),
        ("kill -9 $$", b"", 137),
        ("sleep 1000 & exit 3", b"", 3),
    ],
)
async def test_the_shell_ends(command: str, stdout: bytes, code: int, machine: Remote) -> None:
    """A command that ends the shell has its output and code, and the next finds a new one."""
    async with remote_shell() as opened:
        await opened.run("cd /; export x=1; greet() { echo hello; }")
        result = await opened.run(command)
        assert (result.stdout, result.exit_code, result.timed_out) == (stdout, code, False)
        result = await opened.run("pwd; echo $x; greet")
        assert (result.stdout, result.restarted) == (b"/\n1\nhello\n", True)
        assert await is_sound(opened, restarted=False)


async def test_a_timeout_in_a_new_shell(machine: Remote) -> None:
    """It ends the command, and not the shell that was started for it."""
    async with remote_shell() as opened:
        await opened.run("exit 3")
        result = await opened.run("x=kept; sleep 1000", timeout=0.5)
        assert (result.timed_out, result.restarted) == (True, True)
        result = await opened.run("echo $x")
        assert (result.stdout, result.restarted) == (b"kept\n", False)


async def test_the_first_command_ends_the_shell(machine: Remote) -> None:
    """The working directory is known already."""
    async with remote_shell() as opened:
        result = await opened.run("exit 3")
        assert (result.exit_code, result.cwd) == (3, os.fsencode(machine.home()))


async def test_an_environment_that_is_too_large(machine: Remote) -> None:
    """It is said, and what can be done."""
    env = {f"A{number}": "x" * 100_000 for number in range(70)}
    with pytest.raises(package.SystemFailureError, match=r"larger than box allows: leave"):
        async with remote_shell(env=env):
            pass
    assert machine.left() == []


async def test_junk_among_reports(machine: Remote) -> None:
    """Commands can write to what the session has there. They gain nothing by it."""
    junk = r"started 1 x\0ready 99 x\0settled x 0 1 0 0\0settled\0\0\xff\0closed 1 x y\0"
    async with remote_shell() as opened:
        await opened.run(f"printf '{junk}' > /dev/shm/hotenv-*/reports")
        assert await is_sound(opened, restarted=False)


async def test_input_outlives_the_first_signal(machine: Remote) -> None:
    """What a timeout ends is the command, and not what feeds it."""
    command = "trap : INT; sleep 1000; trap '' INT; cat | wc -c"
    async with remote_shell() as opened:
        result = await opened.run(command, stdin=b"x" * 1_000_000, timeout=0.5)
        assert (result.timed_out, result.stdout) == (True, b"1000000\n")


async def test_no_session_for_input(machine: Remote) -> None:
    """The command is not started without it, and the shell goes on."""
    async with remote_shell() as opened:
        await opened.run("x=kept")

        async def start_many() -> None:
            for _ in range(20):
                await opened.run("sleep 1000 & read", stdin=b"a\n")

        with pytest.raises(package.SystemFailureError, match="MaxSessions"):
            await start_many()
        result = await opened.run("echo $x")
        assert (result.stdout, result.restarted) == (b"kept\n", False)


async def test_late_output(machine: Remote) -> None:
    """What a job writes after its command is a part of its own of a later result."""
    async with remote_shell() as opened:
        await opened.run("mkfifo go")
        result = await opened.run("(read < go; echo late; echo err >&2) & echo started")
        assert (result.stdout, result.late_stdout) == (b"started\n", b"")
        result = await opened.run("echo > go; wait; echo done; echo also >&2")
        assert (result.stdout, result.stderr) == (b"done\n", b"also\n")
        late = [result.late_stdout, result.late_stderr]
        while late != [b"late\n", b"err\n"]:
            result = await opened.run("true")
            assert (result.stdout, result.stderr) == (b"", b"")
            late = [late[0] + result.late_stdout, late[1] + result.late_stderr]


@pytest.mark.parametrize("name", ["a", "a (deleted)", "a\nb"])
async def test_a_directory_that_is_removed(name: str, machine: Remote) -> None:
    """It keeps its name."""
    folder = machine.home() / name
    async with remote_shell() as opened:
        for command in (f"mkdir '{name}'; cd '{name}'", "rmdir ../*"):
            result = await opened.run(command)
            assert (result.exit_code, result.cwd) == (0, os.fsencode(folder))


async def test_late_output_of_several_commands(machine: Remote) -> None:
    """A way that was taken by late output is used again, also after the end of a shell."""
    async with remote_shell() as opened:
        late = b""
        for number in range(4):
            result = await opened.run(f"mkfifo go{number}; (read < go{number}; echo {number}) &")
            late += result.late_stdout
            result = await opened.run("echo now; kill -9 $$")
            assert (result.stdout, result.exit_code) == (b"now\n", 137)
            late += result.late_stdout
            result = await opened.run(f"echo > go{number}; echo then")
            assert (result.stdout, result.restarted) == (b"then\n", True)
            late += result.late_stdout
        while len(late) < len(b"0\n1\n2\n3\n"):
            late += (await opened.run("true")).late_stdout
        assert late == b"0\n1\n2\n3\n"


async def test_too_many_jobs(machine: Remote) -> None:
    """sshd has a limit. The error says what can be done, and the shell works again after that."""
    async with remote_shell() as opened:

        async def start_many() -> None:
            for _ in range(20):
                await opened.run("cat go &")

        await opened.run("mkfifo go")
        with pytest.raises(package.SystemFailureError, match=r"MaxSessions.* redirected"):
            await start_many()
        (machine.home() / "go").write_text("")
        while True:
            with suppress(package.SystemFailureError):
                assert (await opened.run("echo a")).stdout == b"a\n"
                break


@needs_parser
def test_policy(machine: Remote, directory: Path) -> None:
    """What it denies is not run there."""
    (directory / "policy.toml").write_text('deny = ["rm"]')
    text = requests({"command": "echo a > file; rm file"}, {"command": "ls"})
    done = hotenv(*NO_SESSION, *BOX, "--policy", "policy.toml", cwd=directory, stdin=text)
    denied, listed = answers(done.stdout)
    assert "denied by the policy at line 1, column 16: 'rm'" in denied["error"]
    assert listed["stdout"] == ""


def test_no_guard(machine: Remote, directory: Path) -> None:
    """It would hold nothing there: the two do not go together."""
    text = requests({"command": "touch file"})
    done = hotenv(*NO_SESSION, *BOX, "--fs-readonly", cwd=directory, stdin=text)
    assert (done.returncode, done.stdout) == (2, b"")
    assert b"--host" in done.stderr
    assert os.listdir(machine.home()) == []


def test_a_name_that_cannot_be_set(machine: Remote, directory: Path) -> None:
    """It is told on the command line, too, with what to do about it."""
    text = requests({"command": "echo $A"})
    with serving(directory, b"A=1\nUID=s3cr3t\n"):
        refused = hotenv("shell", *BOX, cwd=directory, stdin=text)
        done = hotenv("shell", *BOX, "--except", "UID", cwd=directory, stdin=text)
    assert (refused.returncode, refused.stdout) == (2, b"")
    assert b"UID cannot be set on another machine" in refused.stderr
    assert b"s3cr3t" not in refused.stderr
    assert answers(done.stdout)[0]["exit_code"] == 0


def test_redaction(machine: Remote, directory: Path) -> None:
    """What comes from there shows names in place of values, and so does the log of what was run."""
    text = requests(
        {"command": f"echo $TOKEN; echo $TOKEN | base64 >&2; mkdir -p $TOKEN; cd $TOKEN # {TOKEN}"},
        {"command": "kill -9 $$"},
        {"command": "echo $TOKEN"},
    )
    with serving(directory, f"TOKEN={TOKEN}\n".encode()):
        done = hotenv(*SHELL, *BOX, "--audit", "log", "--verbose", cwd=directory, stdin=text)
    first, _, last = answers(done.stdout)
    assert (first["stdout"], last["stdout"]) == ("[TOKEN]\n", "[TOKEN]\n")
    assert first["stderr"].startswith("[TOKEN]")
    assert first["cwd"] == last["cwd"] == f"{machine.home()}/[TOKEN]"
    assert (machine.home() / TOKEN).is_dir()
    log = (directory / "log").read_text()
    assert "kill -9" in log
    assert '"folder":"box:"' in log
    assert f'"folder":"box:{machine.home()}/[TOKEN]"' in log
    for words in (log, done.stdout.decode(), done.stderr.decode()):
        assert TOKEN not in words
