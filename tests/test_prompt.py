"""Questions on a real terminal: echo, signals, job control, and no terminal at all."""

from __future__ import annotations

import os
import shlex
import signal
import subprocess
import sys
import termios
from pathlib import Path

import pytest

from processes import HOTENV, LIMIT, Terminal, hotenv, is_clean, said, serving

CONTRACT = "PW=?Your password\nURL=db://me:${PW}@${DB_HOST}/\nPIN=?\n"

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="written for Linux's terminals")

_JOB_SHELL = """
import os, signal, sys, termios
signal.signal(signal.SIGTTOU, signal.SIG_IGN)
def tell(what):
    echo = "on" if termios.tcgetattr(0)[3] & termios.ECHO else "off"
    print(f"shell: {what}, echo {echo}", flush=True)
job = os.fork()
if not job:
    os.setpgid(0, 0)
    os.tcsetpgrp(0, os.getpgrp())
    signal.signal(signal.SIGTTOU, signal.SIG_DFL)
    os.execvp("sh", ["sh", "-c", sys.argv[1]])
while True:
    _, status = os.waitpid(job, os.WUNTRACED)
    os.tcsetpgrp(0, os.getpgrp())
    if not os.WIFSTOPPED(status):
        break
    tell("stopped")
    command = sys.stdin.readline().strip()
    if command == "fg":
        os.tcsetpgrp(0, job)
    os.killpg(job, signal.SIGCONT)
tell(f"ended {os.waitstatus_to_exitcode(status)}")
"""
"""As little of a shell as it takes: a job of its own, in the foreground until it stops.

It never touches the terminal's modes, so that what they are is what hotenv left.
"""


def in_a_shell(folder: Path, contract: str = CONTRACT) -> Terminal:
    """``hotenv serve -p`` with ``contract`` as its standard input, as a job of a shell."""
    (folder / "contract").write_text(contract)
    job = f'echo "pid $$"; exec {shlex.join(HOTENV)} serve -p < contract'
    return Terminal([sys.executable, "-c", _JOB_SHELL, job], folder)


def again(terminal: Terminal, text: bytes, times: int) -> None:
    """Wait until ``text`` was shown so many times."""
    while terminal.screen.count(text) < times:
        assert terminal.read(), terminal.screen


def echoes(terminal: Terminal) -> bool:
    """Whether what is typed is shown."""
    return bool(termios.tcgetattr(terminal.fd)[3] & termios.ECHO)


@pytest.fixture(autouse=True)
def host(monkeypatch: pytest.MonkeyPatch) -> None:
    """The host's variable of the contract."""
    monkeypatch.setenv("DB_HOST", "db.example")


def test_answers(folder: Path, runtime: Path) -> None:
    """Each is asked for in order, not shown, and taken as it is; then echo is on again."""
    terminal = in_a_shell(folder)
    terminal.expect(b"hotenv: PW (Your password): ")
    assert not echoes(terminal)
    terminal.type("s3cr${DB_HOST}ét\n".encode())
    terminal.expect(b"hotenv: PIN: ")
    assert not echoes(terminal)
    terminal.type(b"\n")
    terminal.expect(b"hotenv: serving 3 variables")
    assert echoes(terminal)
    expected = "PIN=\nPW=s3cr${DB_HOST}ét\nURL=db://me:s3cr${DB_HOST}ét@db.example/\n"
    assert hotenv("dump", cwd=folder).stdout.decode() == expected
    terminal.type(b"\x03")
    terminal.expect(b"shell: ended 0, echo on")
    assert terminal.wait() == 0
    assert b"s3cr" not in terminal.screen
    assert is_clean(folder, runtime)


def test_standard_input_is_the_terminal(folder: Path) -> None:
    """The contract is pasted, Ctrl-D ends it, then come the questions."""
    terminal = Terminal([*HOTENV, "serve", "--prompt"], folder)
    terminal.expect(b"Ctrl-D")
    terminal.type(b"PW=?\n\x04")
    terminal.expect(b"hotenv: PW: ")
    assert not echoes(terminal)
    terminal.type(b"s3cret\n")
    terminal.expect(b"serving 1 variable ")
    assert echoes(terminal)
    assert hotenv("dump", cwd=folder).stdout == b"PW=s3cret\n"
    terminal.type(b"\x03")
    assert terminal.wait() == 0
    assert b"s3cret" not in terminal.screen


def test_nothing_to_ask(folder: Path) -> None:
    """With --prompt but without a question the terminal is left alone, and need not be there."""
    with serving(folder, b"A=1?\n", "-p", command=["setsid", "--wait", *HOTENV]):
        assert hotenv("dump", cwd=folder).stdout == b"A=1?\n"


@pytest.mark.parametrize("keys", [b"\x03", b"typed\x03"])
def test_interrupt(folder: Path, runtime: Path, keys: bytes) -> None:
    """Ctrl-C at a question: 130, echo on, nothing made, nothing shown."""
    terminal = in_a_shell(folder)
    terminal.expect(b"Your password): ")
    terminal.type(keys)
    terminal.expect(b"shell: ended 130, echo on")
    terminal.wait()
    assert b"typed" not in terminal.screen
    assert b"Traceback" not in terminal.screen
    assert is_clean(folder, runtime)


@pytest.mark.parametrize("signum", [signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT])
def test_killed(folder: Path, runtime: Path, signum: signal.Signals) -> None:
    """A signal that ends it at a question does so, and echo is on."""
    terminal = in_a_shell(folder)
    terminal.expect(b"Your password): ")
    os.kill(int(terminal.screen.split(b"pid ")[1].split()[0]), signum)
    terminal.expect(f"shell: ended -{signum}, echo on".encode())
    terminal.wait()
    assert is_clean(folder, runtime)


def test_stop_and_continue(folder: Path) -> None:
    """Ctrl-Z: echo is on before the shell has the terminal. Then it is asked again, without."""
    terminal = in_a_shell(folder, "PW=?\n")
    for time in range(1, 4):
        again(terminal, b"hotenv: PW: ", time)
        assert not echoes(terminal)
        terminal.type(b"typed\x1a")
        again(terminal, b"shell: stopped, echo on", time)
        terminal.type(b"fg\n")
    again(terminal, b"hotenv: PW: ", 4)
    assert not echoes(terminal)
    terminal.type(b"s3cret\n")
    terminal.expect(b"serving 1 variable ")
    assert hotenv("dump", cwd=folder).stdout == b"PW=s3cret\n"
    terminal.type(b"\x03")
    terminal.expect(b"shell: ended 0, echo on")
    terminal.wait()
    assert b"s3cret" not in terminal.screen
    assert b"typed" not in terminal.screen


def test_in_the_background(folder: Path) -> None:
    """It stops there, as any program that wants the terminal, and leaves it as the shell has it."""
    terminal = in_a_shell(folder, "PW=?\n")
    terminal.expect(b"hotenv: PW: ")
    terminal.type(b"\x1a")
    again(terminal, b"shell: stopped, echo on", 1)
    terminal.type(b"bg\n")
    again(terminal, b"shell: stopped, echo on", 2)
    terminal.type(b"fg\n")
    again(terminal, b"hotenv: PW: ", 2)
    terminal.type(b"s3cret\n")
    terminal.expect(b"serving 1 variable ")
    terminal.type(b"\x03")
    terminal.expect(b"shell: ended 0, echo on")
    terminal.wait()


def test_stop_where_no_shell_could_continue_it(folder: Path) -> None:
    """Ctrl-Z does nothing without job control, but the question is shown again."""
    (folder / "contract").write_text("PW=?\n")
    terminal = Terminal(["sh", "-c", f"exec {shlex.join(HOTENV)} serve -p < contract"], folder)
    terminal.expect(b"hotenv: PW: ")
    terminal.type(b"typed\x1a")
    again(terminal, b"hotenv: PW: ", 2)
    assert not echoes(terminal)
    terminal.type(b"s3cret\n")
    terminal.expect(b"serving 1 variable ")
    assert hotenv("dump", cwd=folder).stdout == b"PW=s3cret\n"
    terminal.type(b"\x03")
    assert terminal.wait() == 0


def test_stop_while_pasting(folder: Path) -> None:
    """Before the first question Ctrl-Z stops it as ever, and nothing is asked too early."""
    job = shlex.join([*HOTENV, "serve", "-p"])
    terminal = Terminal([sys.executable, "-c", _JOB_SHELL, f"exec {job}"], folder)
    terminal.expect(b"Ctrl-D")
    terminal.type(b"\x1a")
    terminal.expect(b"shell: stopped, echo on")
    terminal.type(b"fg\n")
    terminal.type(b"PW=?\n\x04")
    terminal.expect(b"hotenv: PW: ")
    terminal.type(b"s3cret\n")
    terminal.expect(b"serving 1 variable ")
    terminal.type(b"\x03")
    terminal.expect(b"shell: ended 0, echo on")
    terminal.wait()


@pytest.mark.parametrize(
    ("keys", "words"),
    [
        pytest.param(b"\x04", b"there was no answer for PW", id="Ctrl-D"),
        pytest.param(b"ab\x04\x04", b"there was no answer for PW", id="Ctrl-D in a line"),
        pytest.param(b"a\xffb\n", b"the answer for PW is not UTF-8", id="not UTF-8"),
        pytest.param(b"a\0b\n", b"the answer for PW has a NUL character", id="NUL"),
        pytest.param(b"x" * 5000 + b"\n", b"the answer for PW is too long", id="cut by the kernel"),
    ],
)
def test_no_good_answer(folder: Path, runtime: Path, keys: bytes, words: bytes) -> None:
    """Exit code 8 names the variable, and not what was typed."""
    terminal = in_a_shell(folder)
    terminal.expect(b"Your password): ")
    terminal.type(keys)
    terminal.expect(b"hotenv: " + words)
    terminal.expect(b"shell: ended 8, echo on")
    terminal.wait()
    assert b"xxx" not in terminal.screen
    assert is_clean(folder, runtime)


def test_longest_answer(folder: Path) -> None:
    """What the kernel takes in one line arrives whole."""
    terminal = in_a_shell(folder, "PW=?\n")
    terminal.expect(b"hotenv: PW: ")
    terminal.type(b"y" * 4094 + b"\n")
    terminal.expect(b"serving 1 variable ")
    assert hotenv("dump", cwd=folder).stdout == b"PW=" + b"y" * 4094 + b"\n"
    terminal.type(b"\x03")
    terminal.expect(b"shell: ended 0, echo on")
    terminal.wait()


def test_escape_sequences_are_not_obeyed(folder: Path) -> None:
    """Neither a question nor a name reaches the terminal raw."""
    terminal = in_a_shell(folder, "'P\x1bW'=?red \x1b[31m\n")
    terminal.expect(rb"hotenv: P\x1bW (red \x1b[31m): ")
    terminal.type(b"\x04")
    terminal.expect(rb"no answer for P\x1bW")
    terminal.wait()
    assert b"\x1b" not in terminal.screen


def test_no_terminal(folder: Path, runtime: Path) -> None:
    """Exit code 8 at once, with the name of the variable, and nothing made."""
    result = subprocess.run(
        [*HOTENV, "serve", "-p"],
        cwd=folder,
        input=CONTRACT.encode(),
        capture_output=True,
        start_new_session=True,
        timeout=LIMIT,
    )
    assert result.returncode == 8
    assert said(result) == "hotenv: cannot ask for PW: there is no terminal"
    assert is_clean(folder, runtime)


def test_terminal_goes_away(folder: Path, runtime: Path) -> None:
    """A hang-up at a question ends it, and nothing stays."""
    (folder / "contract").write_text(CONTRACT)
    terminal = Terminal(["sh", "-c", f"exec {shlex.join(HOTENV)} serve -p < contract"], folder)
    terminal.expect(b"Your password): ")
    os.close(terminal.fd)
    assert os.waitstatus_to_exitcode(os.waitpid(terminal.pid, 0)[1]) == -signal.SIGHUP
    assert is_clean(folder, runtime)


@pytest.mark.parametrize("options", [[], ["-p"]])
def test_check(folder: Path, runtime: Path, options: list[str]) -> None:
    """--check serves and asks nothing, and needs no terminal; a question counts with -p only."""
    result = subprocess.run(
        [*HOTENV, "serve", "--check", *options],
        cwd=folder,
        input=CONTRACT.encode(),
        capture_output=True,
        start_new_session=True,
        timeout=LIMIT,
    )
    asked = "question" if options else "literal"
    rows = [line.split("\t") for line in result.stdout.decode().splitlines()]
    assert rows == [
        ["PW", asked, "1"],
        ["URL", f"host+{asked}", "2"],
        ["PIN", asked, "3"],
    ]
    assert (result.returncode, result.stderr) == (0, b"")
    assert is_clean(folder, runtime)


def test_check_beside_a_session(folder: Path) -> None:
    """A session that is there is no obstacle, and goes on."""
    with serving(folder):
        assert hotenv("serve", "--check", cwd=folder, stdin=b"B=2\n").returncode == 0
        assert hotenv("dump", cwd=folder).stdout == b"A=1\n"


def test_check_of_a_bad_contract(folder: Path) -> None:
    """Exit code 7; what can be shown is shown, and the message is that of serve."""
    text = b"A=${NOWHERE_AT_ALL}\nB\nC=s3cret\n"
    results = [
        hotenv("serve", *options, "--strict", cwd=folder, stdin=text)
        for options in ([], ["--check"], ["--check", "--json"])
    ]
    assert [result.returncode for result in results] == [7, 7, 7]
    assert len({result.stderr for result in results}) == 1
    assert results[0].stdout == b""
    assert results[1].stdout.split() == [b"A", b"nowhere", b"1", b"C", b"literal", b"3"]
    assert b'"name": "C"' in results[2].stdout
    assert b"s3cret" not in b"".join(result.stdout + result.stderr for result in results)


def test_check_warns_without_strict(folder: Path) -> None:
    """What serve would warn of is a warning here too."""
    result = hotenv("serve", "--check", cwd=folder, stdin=b"A=1\nB\n")
    assert result.returncode == 0
    assert b"hotenv: warning: standard input: line 2 has a name without" in result.stderr


def test_failed_producer(folder: Path, runtime: Path) -> None:
    """With --strict an empty input, as of a program that failed, is not served."""
    result = hotenv("serve", "--strict", cwd=folder)
    assert result.returncode == 7
    assert said(result) == "hotenv: standard input: there are no variables in it"
    assert is_clean(folder, runtime)
