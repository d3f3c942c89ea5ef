"""A supervised command on a terminal: keys, stops, and shells around it and in it."""

from __future__ import annotations

import os
import re
import shlex
import signal
import subprocess
from pathlib import Path

import pytest

from processes import LIMIT, Terminal, in_job_shell, needs, wait_until
from supervision import (
    REDACTED,
    SUPERVISORS,
    gone,
    holds,
    job,
    python,
    supervising,
)


@pytest.fixture(params=SUPERVISORS)
def hotenv(request: pytest.FixtureRequest) -> list[str]:
    """What supervises a command, also without anything that macOS lacks, and under a guard."""
    words: list[str] = request.param
    return words


_COUNTER = """
counted = getattr(signal, sys.argv[1])
signal.pthread_sigmask(signal.SIG_BLOCK, [counted, signal.SIGUSR1])
say("ready")
count = 0
while True:
    if signal.sigwait([counted, signal.SIGUSR1]) == counted:
        count += 1
        os.setpgid(0, os.getpgrp())  # changes nothing, but waits until all of the group have it
        say("got it")
    else:
        say("count", count)
"""


@pytest.mark.parametrize(
    ("key", "name"), [(b"\x03", "SIGINT"), (b"\x1c", "SIGQUIT"), (b"\x1a", "SIGTSTP")]
)
def test_a_key_comes_once(hotenv: list[str], key: bytes, name: str, directory: Path) -> None:
    """The terminal sends its signals to the command; hotenv does not repeat them."""
    terminal = Terminal([*hotenv, *python(_COUNTER, name)], directory)
    terminal.expect(b"ready")
    keeper = _keeper(terminal)
    for count in (b"count 1", b"count 2", b"count 3"):
        before = terminal.screen.count(b"got it")
        terminal.type(key)
        while terminal.screen.count(b"got it") == before:
            assert terminal.read()
        # Where the system does not tell who sent a signal, the next key would be one with this.
        wait_until(lambda: not _pending(keeper), "the keeper to take it")
        os.kill(terminal.pid, signal.SIGUSR1)
        terminal.expect(count)
    os.kill(terminal.pid, signal.SIGKILL)
    assert terminal.wait() == -signal.SIGKILL


@pytest.mark.skipif(not hasattr(signal, "sigwaitinfo"), reason="who sent a signal is not told")
def test_keys_while_the_keeper_does_nothing(hotenv: list[str], directory: Path) -> None:
    """Two of them are one signal for it then, and still two for the command."""
    if "bare" in "".join(hotenv):
        pytest.skip("who sent a signal is not told")
    if "RedactedStreams" in "".join(hotenv):
        pytest.skip("keys come through the keeper")
    terminal = Terminal([*hotenv, *python(_COUNTER, "SIGINT")], directory)
    terminal.expect(b"ready")
    keeper = _keeper(terminal)
    os.kill(keeper, signal.SIGSTOP)
    for count in (1, 2):
        terminal.type(b"\x03")
        while terminal.screen.count(b"got it") < count:
            assert terminal.read()
        wait_until(lambda: not _pending(terminal.pid), "the stand-in to take it")
    os.kill(keeper, signal.SIGCONT)
    os.kill(terminal.pid, signal.SIGUSR1)
    terminal.expect(b"count 2")
    os.kill(terminal.pid, signal.SIGKILL)
    assert terminal.wait() == -signal.SIGKILL


def _keeper(terminal: Terminal) -> int:
    """The process between the one that was started and the command."""
    return int(Path(f"/proc/{terminal.pid}/task/{terminal.pid}/children").read_text())


def _pending(pid: int) -> int:
    """The signals that wait for a process, as bits."""
    status = Path(f"/proc/{pid}/status").read_text()
    return int(re.findall(r"ShdPnd:\t(\w+)", status)[0], 16)


@pytest.mark.parametrize("shell", [pytest.param(s, marks=needs(s)) for s in ("bash", "zsh")])
def test_ctrl_c_ends_a_loop_around_it(hotenv: list[str], shell: str, directory: Path) -> None:
    """A shell ends its loop if the command in it was ended by SIGINT, not if it exits with 130."""
    loop = 'while true; do "$@"; echo again; done'
    code = "signal.signal(signal.SIGINT, signal.SIG_DFL); say('ready'); signal.pause()"
    argv = [shell, "-c", loop, shell, *hotenv, *python(code)]
    terminal = Terminal(argv, directory)
    terminal.expect(b"ready")
    terminal.type(b"\x03")
    assert terminal.wait() in (-signal.SIGINT, 130)
    assert b"again" not in terminal.screen


def as_job(argv: list[str], before: str = "exec") -> list[str]:
    """The command line of a shell with job control, and of ``argv`` as its job."""
    words = " ".join("'" + word.replace("'", "'\\''") + "'" for word in argv)
    return in_job_shell(f"{before} {words}")


_EDITOR = """
stop = [signal.SIGTSTP]
signal.pthread_sigmask(signal.SIG_BLOCK, stop)
say(f"{os.getpgrp()}.ready")
for _ in range(2):
    signal.sigwait(stop)
    say("cleaning up")
    open("fifo").close()
    say("clean")
    os.kill(os.getpid(), signal.SIGTSTP)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, stop)
    signal.pthread_sigmask(signal.SIG_BLOCK, stop)
    say("resumed")
say("read", sys.stdin.readline().strip())
"""


def test_stops_after_the_command_has(hotenv: list[str], directory: Path) -> None:
    """An editor puts the terminal back before the shell has the prompt."""
    os.mkfifo("fifo")
    terminal = Terminal(as_job([*hotenv, *python(_EDITOR)]), directory)
    terminal.expect(b".ready")
    supervisor = int(terminal.screen.split(b".")[0])
    for resumed in (1, 2):
        terminal.type(b"\x1a")
        while terminal.screen.count(b"cleaning up") < resumed:
            assert terminal.read()
        assert terminal.screen.count(b"shell: stopped") == resumed - 1
        with open("fifo", "w"):
            pass
        while terminal.screen.count(b"shell: stopped") < resumed:
            assert terminal.read()
        assert terminal.screen.count(b"clean\r") == resumed
        terminal.type(b"fg\n")
        while terminal.screen.count(b"resumed") < resumed:
            assert terminal.read()
        wait_until(lambda: holds(supervisor, signal.SIGTSTP), "hotenv to go on, too")
    terminal.type(b"text\n")
    terminal.expect(b"read text")
    terminal.expect(b"shell: ended 0")
    assert terminal.wait() == 0


_STOPPER = """
say("ready")
for line in sys.stdin:
    if line.strip() == "end":
        break
    os.kill(os.getpid(), getattr(signal, line.strip()))
    say("went on")
"""


@pytest.mark.parametrize("name", ["SIGSTOP", "SIGTSTP", "SIGTTIN", "SIGTTOU"])
def test_stops_by_the_same_signal(hotenv: list[str], name: str, directory: Path) -> None:
    """And goes on when it is continued, together with the command."""
    process = subprocess.Popen(
        [*hotenv, *python(_STOPPER)], stdin=-1, stdout=-1, process_group=0, bufsize=0
    )
    assert process.stdin is not None
    assert process.stdout is not None
    with process:
        assert process.stdout.readline() == b"ready\n"
        for _ in range(2):
            process.stdin.write(name.encode() + b"\n")
            _, status = os.waitpid(process.pid, os.WUNTRACED)
            assert os.WIFSTOPPED(status)
            assert os.WSTOPSIG(status) == getattr(signal, name)
            os.kill(process.pid, signal.SIGCONT)
            assert process.stdout.readline() == b"went on\n"
        process.stdin.write(b"end\n")
        assert process.wait(LIMIT) == 0


@pytest.mark.parametrize("to_group", [False, True], ids=["process", "group"])
def test_stops_again_at_once(hotenv: list[str], to_group: bool) -> None:
    """However soon after it was continued: hotenv stops each time that the command does."""
    code = """
for _ in range(200):
    os.kill(os.getpid(), signal.SIGSTOP)
"""
    with job([*hotenv, *python(code)]) as started:
        for _ in range(200):
            _, status = os.waitpid(started.pid, os.WUNTRACED)
            assert os.WIFSTOPPED(status)
            (os.killpg if to_group else os.kill)(started.pid, signal.SIGCONT)
        assert started.wait() == 0


def test_stopped_by_a_signal_to_hotenv_alone(hotenv: list[str], directory: Path) -> None:
    """kill -TSTP stops the command, and hotenv with it; kill -CONT continues both."""
    with job([*hotenv, *python(_COUNTER, "SIGCONT")]) as started:
        assert started.line() == "ready"
        for _ in range(2):
            os.kill(started.pid, signal.SIGTSTP)
            _, status = os.waitpid(started.pid, os.WUNTRACED)
            assert os.WSTOPSIG(status) == signal.SIGTSTP
            os.kill(started.pid, signal.SIGCONT)
            assert started.line() == "got it"


def test_killed_while_it_is_stopped(hotenv: list[str]) -> None:
    """The end of a stopped command is not kept from who waits for hotenv."""
    with job([*hotenv, *python("say(os.getpid()); os.kill(os.getpid(), sig('SIGSTOP'))")]) as job_:
        command = int(job_.line())
        _, status = os.waitpid(job_.pid, os.WUNTRACED)
        assert os.WIFSTOPPED(status)
        os.kill(command, signal.SIGKILL)
        assert job_.wait() == -signal.SIGKILL


def test_in_the_background(hotenv: list[str], directory: Path) -> None:
    """A command that reads from the terminal stops there, and reads when it is in front."""
    code = """
say("ready")
sys.stdin.readline()
os.kill(0, sig("SIGTSTP"))
say("in the background")
say("read", sys.stdin.readline().strip())
"""
    terminal = Terminal(as_job([*hotenv, *python(code)]), directory)
    terminal.expect(b"ready")
    terminal.type(b"go\n")
    terminal.expect(b"shell: stopped")
    terminal.type(b"bg\n")
    terminal.expect(b"in the background")
    while terminal.screen.count(b"shell: stopped") < 2:
        assert terminal.read()
    terminal.type(b"fg\n")
    terminal.type(b"text\n")
    terminal.expect(b"read text")
    terminal.expect(b"shell: ended 0")
    assert terminal.wait() == 0


def test_hangup(hotenv: list[str], directory: Path) -> None:
    """A terminal that goes away ends both, as SIGHUP ends a command."""
    code = "say('pid', os.getpid(), '.'); signal.pause()"
    terminal = Terminal([*hotenv, *python(code)], directory)
    terminal.expect(b".")
    command = int(terminal.screen.split()[1])
    os.close(terminal.fd)
    assert os.waitstatus_to_exitcode(os.waitpid(terminal.pid, 0)[1]) == -signal.SIGHUP
    wait_until(lambda: gone(command), "the end of the command")


@needs("bash")
def test_suspend_in_an_inner_shell(hotenv: list[str], directory: Path) -> None:
    """An interactive shell has a group of its own, and hands the terminal to and fro."""
    inner = ["env", "PS1=inner> ", "bash", "--norc", "--noprofile", "--noediting", "-i"]
    terminal = Terminal(as_job([*hotenv, *inner]), directory)
    terminal.expect(b"inner> ")
    for time in (1, 2):
        terminal.type(b"suspend\n")
        while terminal.screen.count(b"shell: stopped") < time:
            assert terminal.read()
        prompts = terminal.screen.count(b"inner> ")
        terminal.type(b"fg\n")
        while terminal.screen.count(b"inner> ") == prompts:
            assert terminal.read()
        terminal.type(b"echo $((40 + %d))\n" % time)
        terminal.expect(b"4%d\r\n" % time)
    terminal.type(b"sh -c 'echo begun; read line; echo got $line'\n")
    terminal.expect(b"begun\r\n")
    terminal.type(b"\x1a")
    terminal.expect(b"Stopped")  # a job of the inner shell, which has job control
    terminal.type(b"fg\n")
    terminal.type(b"text\n")
    terminal.expect(b"got text\r\n")
    terminal.type(b"exit 7\n")
    terminal.expect(b"shell: ended 7")
    assert terminal.wait() == 0


@needs("bash")
def test_in_an_interactive_shell(hotenv: list[str], directory: Path) -> None:
    """The shell that people use: Ctrl-Z, jobs, bg, fg and kill, and what it says of them."""
    (directory / "run").write_text("#!/bin/sh\nexec " + shlex.join(hotenv) + ' "$@"\n')
    os.chmod("run", 0o755)
    shell = ["env", "PS1=> ", "bash", "--norc", "--noprofile", "--noediting", "-i"]
    terminal = Terminal(shell, directory)
    terminal.type(b"./run sh -c 'echo b''egun; read line; echo g''ot $line'\n")
    terminal.expect(b"begun\r\n")
    terminal.type(b"\x1a")
    terminal.expect(b"Stopped")
    terminal.type(b"bg\n")
    terminal.expect(b"&\r\n")
    asked = 0
    while terminal.screen.count(b"Stopped") < 2:  # it reads from the terminal
        asked += 1
        terminal.type(b"jobs; echo as''ked %d\n" % asked)
        terminal.expect(b"asked %d\r\n" % asked)
    terminal.type(b"fg\n")
    terminal.type(b"text\n")
    terminal.expect(b"got text\r\n> ")  # what is typed before may be for the command
    terminal.type(b"./run sleep 1000 &\n")
    terminal.type(b"kill %1; wait %1; echo code=$?\n")
    terminal.expect(b"code=143\r\n")
    terminal.type(b"exit 5\n")
    assert terminal.wait() == 5


def test_reads_in_a_group_of_its_own(hotenv: list[str], directory: Path) -> None:
    """A command that leaves the group has the terminal, as it had if it were hotenv."""
    code = """
say("ready")
os.setpgid(0, 0)
say("read", sys.stdin.readline().strip())
"""
    terminal = Terminal(as_job([*hotenv, *python(code)]), directory)
    terminal.expect(b"ready")
    terminal.type(b"text\n")
    terminal.expect(b"read text")
    terminal.expect(b"shell: ended 0")
    assert b"stopped" not in terminal.screen
    assert terminal.wait() == 0


@needs("vim")
@pytest.mark.parametrize("prelude", ["", REDACTED], ids=["plain", "redacted"])
def test_vim(prelude: str, directory: Path) -> None:
    """A full-screen editor: suspended, resumed, and what it wrote."""
    argv = [*supervising(prelude), "env", "TERM=xterm", "vim", "-u", "NONE", "-N", "-n", "file"]
    terminal = Terminal(as_job(argv), directory)
    terminal.expect(b"[New]")
    terminal.type(b"ione\x1b")
    terminal.expect(b"one")
    terminal.type(b":suspend\r")
    terminal.expect(b"shell: stopped, echo on")
    terminal.screen = b""
    terminal.type(b"fg\n")
    terminal.expect(b"one")
    terminal.type(b"otwo\x1b:wq\r")
    terminal.expect(b"shell: ended 0, echo on")
    assert terminal.wait() == 0
    assert (directory / "file").read_text() == "one\ntwo\n"
