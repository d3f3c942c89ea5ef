"""Command sessions on another machine: how they end, and that nothing is left behind there."""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

import hotenv as package
from hotenv.shell.processes import descendants, is_running
from processes import LIMIT, freeze, needs, wait_until
from sshd import Remote
from test_remote_shell_process import BOX, remote_shell
from test_shell_command_process import answers, driven, receive, send
from test_shell_end_process import ALL_KINDS, has_lines, until

pytestmark = needs("bash")

SOON = ("--grace", "1s")
"""What does not end is killed within the time that a test waits for it."""


@contextmanager
def conversing(cwd: Path) -> Iterator[subprocess.Popen[bytes]]:
    """A shell on the other machine that has answered a request."""
    with driven(cwd, *BOX, *SOON) as process:
        send(process, command="true")
        assert receive(process)["exit_code"] == 0
        yield process


def nothing_remains(machine: Remote) -> None:
    """Return when nothing of a session is there any more."""
    wait_until(lambda: not machine.processes(), "the end of all processes there")
    assert machine.left() == []


def connections_of(process: subprocess.Popen[bytes]) -> set[int]:
    """The processes of ssh below ``process``."""
    found = set()
    for pid in descendants(process.pid):
        with suppress(OSError):  # it has ended meanwhile
            if Path(f"/proc/{pid}/comm").read_text() == "ssh\n":
                found.add(pid)
    return found


def kill_sshd(machine: Remote, _process: subprocess.Popen[bytes]) -> None:
    """Cut the connection there."""
    machine.signal(signal.SIGKILL)


def kill_ssh(_machine: Remote, process: subprocess.Popen[bytes]) -> None:
    """Cut the connection here."""
    connections = connections_of(process)
    assert connections
    for pid in connections:
        with suppress(ProcessLookupError):  # it has ended with another one
            os.kill(pid, signal.SIGKILL)


Cut = Callable[[Remote, "subprocess.Popen[bytes]"], None]
CUTS = [kill_sshd, kill_ssh]


@pytest.mark.parametrize("cut", CUTS)
def test_a_lost_connection(cut: Cut, machine: Remote, directory: Path) -> None:
    """It is an error with the output so far; what comes after it is not run in another shell."""
    pids = machine.home() / "pids"
    with conversing(directory) as process:
        send(process, command=f"{{ {ALL_KINDS.format(pids=pids)} }} &")
        receive(process)
        wait_until(lambda: has_lines(pids, 7), "the processes")
        send(process, id=2, command="echo before; sleep 1000; touch after", stdout_file="copy")
        copy = directory / "copy"
        wait_until(lambda: copy.exists() and copy.read_text() == "before\n", "output")
        cut(machine, process)
        answer = receive(process)
        assert answer["id"] == 2
        assert "connection" in answer["error"]
        assert "exit_code" not in answer
        assert answer["stdout"] == "before\n"
        with suppress(BrokenPipeError):
            send(process, id=3, command="touch after")
        rest, words = process.communicate(timeout=LIMIT)
        assert ["error" in each for each in answers(rest)] == [True] * len(answers(rest))
        assert b"Traceback" not in words
    nothing_remains(machine)
    assert not (machine.home() / "after").exists()


@pytest.mark.parametrize("cut", CUTS)
def test_a_connection_lost_between_commands(cut: Cut, machine: Remote, directory: Path) -> None:
    """The next command is not run, and told so."""
    with conversing(directory) as process:
        cut(machine, process)
        wait_until(lambda: not machine.connections(), "the end of the connection")
        with suppress(BrokenPipeError):
            send(process, id=2, command="touch after")
        rest, _ = process.communicate(timeout=LIMIT)
        assert [each["id"] for each in answers(rest) if "connection" in each["error"]] == [2]
    nothing_remains(machine)
    assert not (machine.home() / "after").exists()


async def test_a_lost_connection_in_python(machine: Remote) -> None:
    """The same error for each call from then on."""
    started = machine.home() / "started"
    async with remote_shell() as opened:

        async def read() -> None:
            async with opened.stream("echo before; : > started; sleep 1000") as running:
                async for chunk in running:
                    assert chunk.data == b"before\n"
                    await until(started.exists)
                    machine.signal(signal.SIGKILL)

        with pytest.raises(package.HotenvError, match="connection"):
            await read()
        with pytest.raises(package.HotenvError, match="connection"):
            await opened.run("touch after")
    nothing_remains(machine)
    assert sorted(os.listdir(machine.home())) == ["started"]


STATES = {
    "idle": ":",
    "running": ": > started; sleep 1000",
    "stubborn": "trap '' INT TERM HUP; : > started; while :; do :; done",
    "flooding": ": > started; yes",
    "writing nowhere": "exec > /dev/null 2>&1; : > started; while sleep 0.1; do :; done",
}


@pytest.mark.parametrize("state", STATES)
def test_hotenv_is_killed(state: str, machine: Remote, directory: Path, runtime: Path) -> None:
    """Nothing is left, neither there nor here."""
    pids = machine.home() / "pids"
    with conversing(directory) as process:
        send(process, command=f"{{ {ALL_KINDS.format(pids=pids)} }} &")
        receive(process)
        wait_until(lambda: has_lines(pids, 7), "the processes")
        if state != "idle":
            send(process, command=STATES[state])
            wait_until((machine.home() / "started").exists, "the command")
        below = descendants(process.pid)
        process.kill()
    nothing_remains(machine)
    wait_until(lambda: not any(map(is_running, below)), "the end of ssh")
    assert [path for path in runtime.rglob("*") if not path.is_dir()] == []


@pytest.mark.parametrize("end", ["eof", "SIGTERM", "SIGINT", "SIGHUP"])
def test_the_end(end: str, machine: Remote, directory: Path, runtime: Path) -> None:
    """What is running is ended, and nothing is left."""
    pids = machine.home() / "pids"
    with conversing(directory) as process:
        send(process, command=f"{{ {ALL_KINDS.format(pids=pids)} }} &")
        receive(process)
        wait_until(lambda: has_lines(pids, 7), "the processes")
        send(process, id=2, command=": > started; sleep 1000")
        wait_until((machine.home() / "started").exists, "the command")
        assert process.stdin is not None
        if end == "eof":
            process.stdin.close()
            assert receive(process) == {"id": 2, "error": "ended at the end of input"}
        else:
            process.send_signal(signal.Signals[end])
        assert process.wait(LIMIT) == 0
        assert machine.commands() == set()
    nothing_remains(machine)
    assert [path for path in runtime.rglob("*") if path.is_socket()] == []


async def test_closing(machine: Remote) -> None:
    """A trap EXIT is run, and what has been started has ended when the block has."""
    pids = machine.home() / "pids"
    async with remote_shell() as opened:
        await opened.run("trap ': > bye' EXIT")
        await opened.run(f"{{ {ALL_KINDS.format(pids=pids)} }} &")
        await until(lambda: has_lines(pids, 7))
    assert machine.commands() == set()
    assert (machine.home() / "bye").exists()


def test_a_connection_that_stands_still_for_a_while(machine: Remote, directory: Path) -> None:
    """Nothing is lost."""
    with conversing(directory) as process:
        machine.signal(signal.SIGSTOP)
        send(process, command="seq 50000 | tail -n 1; cat", stdin="text")
        machine.signal(signal.SIGCONT)
        answer = receive(process)
        assert (answer["stdout"], answer["exit_code"]) == ("50000\ntext", 0)


def test_a_timeout_while_the_connection_stands_still(machine: Remote, directory: Path) -> None:
    """Nobody waits any longer for a machine that does not say anything."""
    with conversing(directory) as process:
        machine.signal(signal.SIGSTOP)
        send(process, command="sleep 1000", timeout=0.5)
        answer = receive(process)
        assert answer.get("exit_code", 124) == 124
        assert answer.get("timed_out") or answer["error"]
        process.terminate()
        assert process.wait(LIMIT) == 0
        machine.signal(signal.SIGCONT)
    nothing_remains(machine)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL])
def test_the_end_while_the_connection_stands_still(
    number: signal.Signals, machine: Remote, directory: Path
) -> None:
    """It is the end here at once, and there as soon as that can be known there."""
    with conversing(directory) as process:
        send(process, command=": > started; sleep 1000")
        wait_until((machine.home() / "started").exists, "the command")
        below = descendants(process.pid)
        machine.signal(signal.SIGSTOP)
        process.send_signal(number)
        process.wait(LIMIT)
        wait_until(lambda: not any(map(is_running, below)), "the end of ssh")
        machine.signal(signal.SIGCONT)
    nothing_remains(machine)


def test_a_full_pipe(machine: Remote, directory: Path) -> None:
    """A command waits for a reader, and nothing is lost."""
    size = 20_000_000  # more than all that is between the two
    with conversing(directory) as process:
        send(process, command=f": > started; yes | head -c {size}; echo end")
        wait_until((machine.home() / "started").exists, "the command")
        freeze(process)
        assert machine.commands()
        process.send_signal(signal.SIGCONT)
        answer = receive(process)
    assert answer["stdout"].endswith("y\nend\n")
    assert len(answer["stdout"]) + answer["omitted"]["stdout"]["bytes"] == size + len("end\n")


def test_killed_at_a_full_pipe(machine: Remote, directory: Path) -> None:
    """That nobody reads is no reason to stay."""
    with conversing(directory) as process:
        send(process, command=": > started; trap '' PIPE TERM; while :; do yes; done")
        wait_until((machine.home() / "started").exists, "the command")
        freeze(process)
        process.kill()
    nothing_remains(machine)
