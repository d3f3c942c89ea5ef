"""Questions on a real terminal: echo, signals, job control, and no terminal at all."""

from __future__ import annotations

import json
import os
import re
import shlex
import signal
import subprocess
import sys
import termios
from pathlib import Path

import pytest

from hotenv.errors import InputError, SystemFailureError
from hotenv.intake.answer import Keys
from hotenv.intake.echoguard import Child, EchoGuard
from hotenv.intake.prompt import TOO_SOON, Prompter
from hotenv.intake.terminal import Resumed
from hotenv.intake.terminal import Terminal as Ours
from hotenv.termination import TERMINATION_SIGNALS
from processes import HOTENV, LIMIT, Terminal, hotenv, in_job_shell, is_clean, said, serving

CONTRACT = "PW=?Your password\nURL=db://me:${PW}@${DB_HOST}/\nPIN=?\n"

BRACKETS_ON, BRACKETS_OFF = b"\x1b[?2004h", b"\x1b[?2004l"

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="written for Linux's terminals")


def in_a_shell(directory: Path, contract: str = CONTRACT) -> Terminal:
    """``hotenv serve -p`` with ``contract`` as its standard input, as a job of a shell."""
    (directory / "contract").write_text(contract)
    job = f'echo "pid $$"; exec {shlex.join(HOTENV)} serve -p < contract'
    return Terminal(in_job_shell(job), directory)


def again(terminal: Terminal, text: bytes, times: int) -> None:
    """Wait until ``text`` was shown so many times."""
    while terminal.screen.count(text) < times:
        assert terminal.read(), terminal.screen


def echoes(terminal: Terminal) -> bool:
    """Whether what is typed is shown."""
    return bool(termios.tcgetattr(terminal.fd)[3] & termios.ECHO)


def marks_pastes(terminal: Terminal) -> bool:
    """Whether bracketed paste was switched on last; it was switched at least once."""
    assert BRACKETS_ON in terminal.screen
    return terminal.screen.rfind(BRACKETS_ON) > terminal.screen.rfind(BRACKETS_OFF)


@pytest.fixture(autouse=True)
def host(monkeypatch: pytest.MonkeyPatch) -> None:
    """The host's variable of the contract, and a terminal that is no dumb one."""
    monkeypatch.setenv("DB_HOST", "db.example")
    monkeypatch.setenv("TERM", "xterm")


def test_answers(directory: Path, runtime: Path) -> None:
    """Each is asked for in order, not shown, and taken as it is; then echo is on again."""
    terminal = in_a_shell(directory)
    terminal.expect(b"hotenv: PW (Your password): ")
    assert not echoes(terminal)
    assert marks_pastes(terminal)
    terminal.type("s3cr${DB_HOST}ét\n".encode())
    terminal.expect(b"hotenv: PIN: ")
    assert not echoes(terminal)
    terminal.type(b"\n")
    again(terminal, b"hotenv: PIN: ", 2)
    assert b"hotenv: nothing typed: press Enter again to leave it empty\r\n" in terminal.screen
    terminal.type(b"\n")
    terminal.expect(b"hotenv: serving 3 variables")
    assert echoes(terminal)
    assert not marks_pastes(terminal)
    expected = "PIN=\nPW=s3cr${DB_HOST}ét\nURL=db://me:s3cr${DB_HOST}ét@db.example/\n"
    assert hotenv("dump", cwd=directory).stdout.decode() == expected
    terminal.type(b"\x03")
    terminal.expect(b"shell: ended 0, echo on")
    assert terminal.wait() == 0
    assert b"s3cr" not in terminal.screen
    assert is_clean(directory, runtime)


def test_standard_input_is_the_terminal(directory: Path) -> None:
    """The contract is pasted, Ctrl-D ends it, then come the questions."""
    terminal = Terminal([*HOTENV, "serve", "--prompt"], directory)
    terminal.expect(b"Ctrl-D")
    terminal.type(b"PW=?\n\x04")
    terminal.expect(b"hotenv: PW: ")
    assert not echoes(terminal)
    terminal.type(b"s3cret\n")
    terminal.expect(b"serving 1 variable ")
    assert echoes(terminal)
    assert hotenv("dump", cwd=directory).stdout == b"PW=s3cret\n"
    terminal.type(b"\x03")
    assert terminal.wait() == 0
    assert b"s3cret" not in terminal.screen


def test_nothing_to_ask(directory: Path) -> None:
    """With --prompt but without a question the terminal is left alone, and need not be there."""
    with serving(directory, b"A=1?\n", "-p", command=["setsid", "--wait", *HOTENV]):
        assert hotenv("dump", cwd=directory).stdout == b"A=1?\n"


def test_nothing_to_ask_on_a_terminal(directory: Path) -> None:
    """Nothing is written that a terminal would obey."""
    terminal = in_a_shell(directory, "A=1?\n")
    terminal.expect(b"serving 1 variable ")
    terminal.type(b"\x03")
    terminal.expect(b"shell: ended 0, echo on")
    terminal.wait()
    assert b"\x1b" not in terminal.screen


@pytest.mark.parametrize("keys", [b"\x03", b"typed\x03"])
def test_interrupt(directory: Path, runtime: Path, keys: bytes) -> None:
    """Ctrl-C at a question: 130, echo on, nothing made, nothing shown."""
    terminal = in_a_shell(directory)
    terminal.expect(b"Your password): ")
    terminal.type(keys)
    terminal.expect(b"shell: ended 130, echo on")
    terminal.wait()
    assert not marks_pastes(terminal)
    assert b"typed" not in terminal.screen
    assert b"Traceback" not in terminal.screen
    assert is_clean(directory, runtime)


def pid_of(terminal: Terminal) -> int:
    """The process that the shell has started."""
    return int(terminal.screen.split(b"pid ")[1].split()[0])


ENDING = [
    *(each for each in TERMINATION_SIGNALS if each <= getattr(signal, "SIGRTMIN", each)),
    *(signal.SIGABRT, signal.SIGTRAP, signal.SIGSYS),
]
"""Of the real-time signals one is enough."""

STOPPING = [signal.SIGTSTP, signal.SIGTTIN, signal.SIGTTOU]

_UNSEEN = {
    *(signal.SIGCHLD, signal.SIGCONT, signal.SIGURG, signal.SIGWINCH),  # of no effect by default
    *(signal.SIGPIPE, signal.SIGXFSZ),  # ignored by Python
}
_NOT_TO_BE_CAUGHT = {
    *(signal.SIGKILL, signal.SIGSTOP),
    *(signal.SIGSEGV, signal.SIGBUS, signal.SIGFPE, signal.SIGILL),  # by a handler of Python's
}


def test_every_signal_is_known() -> None:
    """Whatever this system has ends it, stops it, means nothing, or cannot be caught."""
    known = {*TERMINATION_SIGNALS, *ENDING, *STOPPING, *_UNSEEN, *_NOT_TO_BE_CAUGHT}
    assert set(signal.valid_signals()) - known == set()


@pytest.mark.parametrize("signum", sorted(_UNSEEN))
def test_signals_that_mean_nothing(directory: Path, signum: int) -> None:
    """They neither end it nor show what is typed."""
    terminal = in_a_shell(directory, "PW=?\n")
    terminal.expect(b"hotenv: PW: ")
    os.kill(pid_of(terminal), signum)
    assert not echoes(terminal)
    terminal.type(b"s3cret\n")
    terminal.expect(b"serving 1 variable ")
    assert echoes(terminal)
    terminal.type(b"\x03")
    terminal.expect(b"shell: ended 0, echo on")
    terminal.wait()
    assert b"s3cret" not in terminal.screen


@pytest.mark.parametrize("signum", [signal.SIGKILL, signal.SIGTERM, signal.SIGUSR1, signal.SIGXCPU])
def test_killed_child(directory: Path, runtime: Path, signum: int) -> None:
    """A signal for the process that prompts, as of pkill, ends the other one too, with echo."""
    terminal = in_a_shell(directory)
    terminal.expect(b"Your password): ")
    pid = pid_of(terminal)
    (child,) = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    os.kill(int(child), signum)
    terminal.expect(b"shell: ended ")
    terminal.expect(b", echo on")
    terminal.wait()
    assert not marks_pastes(terminal)
    code = terminal.screen.split(b"shell: ended ")[1].split(b",")[0]
    assert code == (b"7" if signum == signal.SIGXCPU else b"8")
    assert is_clean(directory, runtime)


@pytest.mark.parametrize("signum", ENDING)
def test_killed(directory: Path, runtime: Path, signum: int) -> None:
    """A signal that ends it at a question does so, and echo is on."""
    terminal = in_a_shell(directory)
    terminal.expect(b"Your password): ")
    os.kill(pid_of(terminal), signum)
    code = 130 if signum == signal.SIGINT else -signum
    terminal.expect(f"shell: ended {code}, echo on".encode())
    terminal.wait()
    assert not marks_pastes(terminal)
    assert is_clean(directory, runtime)


@pytest.mark.parametrize("signum", STOPPING)
def test_stopped(directory: Path, signum: int) -> None:
    """A signal that stops it at a question does so, and echo is on until it continues."""
    terminal = in_a_shell(directory, "PW=?\n")
    terminal.expect(b"hotenv: PW: ")
    os.kill(pid_of(terminal), signum)
    terminal.expect(b"shell: stopped, echo on")
    assert not marks_pastes(terminal)
    terminal.type(b"fg\n")
    again(terminal, b"hotenv: PW: ", 2)
    assert not echoes(terminal)
    assert marks_pastes(terminal)
    terminal.type(b"s3cret\n")
    terminal.expect(b"serving 1 variable ")
    assert hotenv("dump", cwd=directory).stdout == b"PW=s3cret\n"
    terminal.type(b"\x03")
    terminal.expect(b"shell: ended 0, echo on")
    terminal.wait()


_AT_EVERY_LINE = """
import os, signal, sys, time
from hotenv.intake.echoguard import Child, EchoGuard
from hotenv.intake.terminal import Terminal

def at(line):
    left = line
    def step(frame, event, _argument):
        nonlocal left
        if event == "line":
            left -= 1
            if not left:
                os.kill(os.getpid(), signal.SIGTERM)
        return step
    def enter(frame, *_):
        return step if "hotenv" in frame.f_code.co_filename else None
    return enter

terminal = Terminal()
line = 0
while True:
    line += 1
    pid = os.fork()
    if not pid:
        code = 1
        try:
            child = os.fork()
            if not child:
                time.sleep(600)
            sys.settrace(at(line))
            guard = EchoGuard(terminal, Child(child))
            with guard:
                Child(child).kill()
            sys.settrace(None)
            code = 0
        finally:
            os._exit(code)
    code = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    assert code in (0, -signal.SIGTERM), (line, code)
    if code == 0:
        break
print("lines", line, flush=True)
"""


def test_killed_while_the_guard_is_made(directory: Path) -> None:
    """SIGTERM at every line between making, entering and leaving it ends the process, as ever."""
    terminal = Terminal([sys.executable, "-c", _AT_EVERY_LINE], directory)
    assert terminal.wait() == 0
    assert b"Traceback" not in terminal.screen
    lines = int(terminal.screen.split(b"lines ")[1])
    assert lines > len(ENDING)


def test_child_does_not_read_what_is_typed_for_the_shell(
    directory: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It has stopped before echo is restored, and is asked after it was continued."""
    steps: list[object] = []

    class FakeChild(Child):
        def stop(self) -> None:
            steps.append("stop")

        def send(self, signum: int) -> None:
            steps.append(signum)

    class FakeTerminal(Ours):
        def restore(self) -> None:
            steps.append("restore")

        def wake(self) -> None:
            steps.append("wake")

    monkeypatch.setattr(os, "kill", lambda _pid, signum: steps.append(("self", signum)))
    terminal = FakeTerminal()
    guard = EchoGuard(terminal, FakeChild(0))
    before = signal.getsignal(signal.SIGTSTP)
    try:
        guard._stop(signal.SIGTSTP, None)
    finally:
        signal.signal(signal.SIGTSTP, before)
        terminal.close()
    assert steps == ["stop", "restore", ("self", signal.SIGTSTP), signal.SIGCONT, "wake"]


def test_child_that_stops() -> None:
    """It has stopped when that is done, and its end is not missed."""
    pid = os.fork()
    if not pid:
        while True:
            signal.pause()
    child = Child(pid)
    child.stop()
    assert os.waitid(os.P_PID, pid, os.WSTOPPED | os.WNOHANG | os.WNOWAIT) is None  # waited for
    child.send(signal.SIGCONT)
    child.kill()
    assert child.wait() == -signal.SIGKILL
    child.stop()
    child.send(signal.SIGTERM)
    assert child.wait() == -signal.SIGKILL


def test_stop_and_continue(directory: Path) -> None:
    """Ctrl-Z: echo is on before the shell has the terminal. Then it is asked again, without."""
    terminal = in_a_shell(directory, "PW=?\n")
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
    assert hotenv("dump", cwd=directory).stdout == b"PW=s3cret\n"
    terminal.type(b"\x03")
    terminal.expect(b"shell: ended 0, echo on")
    terminal.wait()
    assert b"s3cret" not in terminal.screen
    assert b"typed" not in terminal.screen


def test_in_the_background(directory: Path) -> None:
    """It stops there, as any program that wants the terminal, and leaves it as the shell has it."""
    terminal = in_a_shell(directory, "PW=?\n")
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


def test_stop_where_no_shell_could_continue_it(directory: Path) -> None:
    """Ctrl-Z does nothing without job control, but the question is shown again."""
    (directory / "contract").write_text("PW=?\n")
    terminal = Terminal(["sh", "-c", f"exec {shlex.join(HOTENV)} serve -p < contract"], directory)
    terminal.expect(b"hotenv: PW: ")
    terminal.type(b"typed\x1a")
    again(terminal, b"hotenv: PW: ", 2)
    assert not echoes(terminal)
    terminal.type(b"s3cret\n")
    terminal.expect(b"serving 1 variable ")
    assert hotenv("dump", cwd=directory).stdout == b"PW=s3cret\n"
    terminal.type(b"\x03")
    assert terminal.wait() == 0


def test_stop_while_pasting(directory: Path) -> None:
    """Before the first question Ctrl-Z stops it as ever, and nothing is asked too early."""
    job = shlex.join([*HOTENV, "serve", "-p"])
    terminal = Terminal(in_job_shell(f"exec {job}"), directory)
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
        pytest.param(b"\x04", b"no answer for PW", id="Ctrl-D"),
        pytest.param(b"ab\x04\x04", b"no answer for PW", id="Ctrl-D in a line"),
        pytest.param(b"a\xffb\n", b"invalid answer for PW: not valid UTF-8", id="not UTF-8"),
        pytest.param(b"a\0b\n", b"invalid answer for PW: contains a NUL character", id="NUL"),
    ],
)
def test_no_good_answer(directory: Path, runtime: Path, keys: bytes, words: bytes) -> None:
    """Exit code 8 names the variable, and not what was typed."""
    terminal = in_a_shell(directory)
    terminal.expect(b"Your password): ")
    terminal.type(keys)
    terminal.expect(b"hotenv: " + words)
    terminal.expect(b"shell: ended 8, echo on")
    terminal.wait()
    assert b"xxx" not in terminal.screen
    assert is_clean(directory, runtime)


@pytest.mark.parametrize(
    "keys",
    [
        pytest.param(b"y" * 6000 + b"\r", id="typed"),
        pytest.param(b"\x1b[200~" + b"y" * 6000 + b"\x1b[201~", id="pasted"),
    ],
)
def test_long_answer(directory: Path, keys: bytes) -> None:
    """What is longer than a line of the kernel arrives whole."""
    terminal = in_a_shell(directory, "PW=?\n")
    terminal.expect(b"hotenv: PW: ")
    terminal.type(keys)
    terminal.expect(b"serving 1 variable ")
    assert hotenv("dump", cwd=directory).stdout == b"PW=" + b"y" * 6000 + b"\n"
    terminal.type(b"\x03")
    terminal.expect(b"shell: ended 0, echo on")
    terminal.wait()


def test_paste_of_several_lines(directory: Path) -> None:
    """In brackets it is the answer to one question, its newlines kept but the last."""
    terminal = in_a_shell(directory, "K=?\nL=?\n")
    terminal.expect(b"hotenv: K: ")
    terminal.type(b"\x1b[200~l1\nl2\n\x1b[201~")
    terminal.expect(b"hotenv: L: ")
    terminal.type(b"\x1b[200~l3\r\rl4\x1b[201~")
    terminal.expect(b"serving 2 variables ")
    dump = hotenv("dump", "--format", "json", cwd=directory).stdout
    assert json.loads(dump) == {"K": "l1\nl2", "L": "l3\n\nl4"}
    terminal.type(b"\x03")
    terminal.expect(b"shell: ended 0, echo on")
    terminal.wait()


@pytest.mark.parametrize("contract", ["K=?\nL=?\n", "K=?\n"], ids=["two questions", "one"])
def test_several_lines_without_brackets(directory: Path, runtime: Path, contract: str) -> None:
    """8: none of them is an answer, and none is left to the shell, however much it is."""
    (directory / "contract").write_text(contract)
    line = f"{shlex.join(HOTENV)} serve -p < contract; echo code $?; read -r line; echo got $line"
    terminal = Terminal(["sh", "-c", line], directory)
    terminal.expect(b"hotenv: K: ")
    terminal.type(b"l1\n" + b"rm -r .\n" * 5000)
    terminal.expect(b"code 8")
    terminal.type(b"mine\n")
    terminal.expect(b"got mine")
    assert terminal.wait() == 0
    assert b"hotenv: cannot prompt for K: input typed before the question" in terminal.screen
    assert b"rm -r" not in terminal.screen
    assert not marks_pastes(terminal)
    assert is_clean(directory, runtime)


def test_typed_before_the_first_question(directory: Path, runtime: Path) -> None:
    """It was meant for something else."""
    contract = directory / "contract"
    os.mkfifo(contract)
    terminal = Terminal(["sh", "-c", f"{shlex.join(HOTENV)} serve -p < contract"], directory)
    terminal.type(b"typed")
    terminal.expect(b"typed")  # echoed, since nothing asks yet
    contract.write_text("PW=?\n")
    terminal.expect(b"cannot prompt for PW: input typed before the question")
    assert terminal.wait() == 8
    assert is_clean(directory, runtime)


def test_empty_answer_with_strict(directory: Path, runtime: Path) -> None:
    """7, with the name of the variable."""
    (directory / "contract").write_text("PW=?\n")
    line = f"exec {shlex.join(HOTENV)} serve -p --strict < contract"
    terminal = Terminal(["sh", "-c", line], directory)
    terminal.expect(b"hotenv: PW: ")
    terminal.type(b"\r")
    terminal.expect(b"hotenv: empty answer for PW: --strict rejects it")
    assert terminal.wait() == 7
    assert is_clean(directory, runtime)


def test_escape_sequences_are_not_obeyed(directory: Path) -> None:
    """Neither a question nor a name reaches the terminal raw."""
    terminal = in_a_shell(directory, "'P\u2028W'=?red \x1b[31m\n")
    terminal.expect(rb"hotenv: P\u2028W (red \x1b[31m): ")
    terminal.type(b"\x04")
    terminal.expect(rb"no answer for P\u2028W")
    terminal.wait()
    assert b"\x1b" not in terminal.screen.replace(BRACKETS_ON, b"").replace(BRACKETS_OFF, b"")


def test_no_terminal(directory: Path, runtime: Path) -> None:
    """Exit code 8 at once, with the name of the variable, and nothing made."""
    result = subprocess.run(
        [*HOTENV, "serve", "-p"],
        cwd=directory,
        input=CONTRACT.encode(),
        capture_output=True,
        start_new_session=True,
        timeout=LIMIT,
    )
    assert result.returncode == 8
    assert said(result) == "hotenv: cannot prompt for PW: no terminal"
    assert is_clean(directory, runtime)


def test_terminal_goes_away(directory: Path, runtime: Path) -> None:
    """A hang-up at a question ends it, and nothing stays."""
    (directory / "contract").write_text(CONTRACT)
    terminal = Terminal(["sh", "-c", f"exec {shlex.join(HOTENV)} serve -p < contract"], directory)
    terminal.expect(b"Your password): ")
    os.close(terminal.fd)
    assert os.waitstatus_to_exitcode(os.waitpid(terminal.pid, 0)[1]) == -signal.SIGHUP
    assert is_clean(directory, runtime)


@pytest.mark.parametrize("options", [[], ["-p"]])
def test_check(directory: Path, runtime: Path, options: list[str]) -> None:
    """--check serves and asks nothing, and needs no terminal; a question counts with -p only."""
    result = subprocess.run(
        [*HOTENV, "serve", "--check", *options],
        cwd=directory,
        input=CONTRACT.encode(),
        capture_output=True,
        start_new_session=True,
        timeout=LIMIT,
    )
    asked = "question" if options else "literal"
    rows = [line.split("\t") for line in result.stdout.decode().splitlines()]
    assert rows == [
        ["PW", asked, "1", "standard input"],
        ["URL", f"environment+{asked}", "2", "standard input"],
        ["PIN", asked, "3", "standard input"],
    ]
    assert result.returncode == 0
    warned = [] if options else ["1", "3"]
    assert re.findall(r"line (\d+): a question", result.stderr.decode()) == warned
    assert result.stderr.count(b"\n") == len(warned)
    assert is_clean(directory, runtime)


def test_check_beside_a_session(directory: Path) -> None:
    """A session that is there is no obstacle, and goes on."""
    with serving(directory):
        assert hotenv("serve", "--check", cwd=directory, stdin=b"B=2\n").returncode == 0
        assert hotenv("dump", cwd=directory).stdout == b"A=1\n"


def test_check_of_a_bad_contract(directory: Path) -> None:
    """Exit code 7; what can be shown is shown, and the message is that of serve."""
    text = b"A=${NOWHERE_AT_ALL}\nB\nC=s3cret\n"
    results = [
        hotenv("serve", *options, "--strict", cwd=directory, stdin=text)
        for options in ([], ["--check"], ["--check", "--json"])
    ]
    assert [result.returncode for result in results] == [7, 7, 7]
    assert len({result.stderr for result in results}) == 1
    assert results[0].stdout == b""
    assert results[1].stdout == b"A\tunset\t1\tstandard input\nC\tliteral\t3\tstandard input\n"
    assert b'"name": "C"' in results[2].stdout
    assert b"s3cret" not in b"".join(result.stdout + result.stderr for result in results)


def test_check_warns_without_strict(directory: Path) -> None:
    """What serve would warn of is a warning here too."""
    result = hotenv("serve", "--check", cwd=directory, stdin=b"A=1\nB\n")
    assert result.returncode == 0
    assert (
        result.stderr == b"hotenv: warning: standard input: line 2: name without '=' sets nothing\n"
    )


def test_failed_producer(directory: Path, runtime: Path) -> None:
    """With --strict an empty input, as of a program that failed, is not served."""
    result = hotenv("serve", "--strict", cwd=directory)
    assert result.returncode == 7
    assert said(result) == "hotenv: standard input: no variables found"
    assert is_clean(directory, runtime)


# Without a terminal: what comes when


class Scripted(Ours):
    """A terminal on which it is known what each ``read`` gets; an exception is raised."""

    def __init__(self, *reads: bytes | type[Exception]) -> None:
        self._reads = list(reads)
        self.waited: list[float | None] = []
        self.shown = b""

    def __bool__(self) -> bool:
        return True

    @property
    def keys(self) -> Keys:
        return Keys(b"\x7f", b"\x17", b"\x15", b"\x04")

    def take(self) -> None:
        pass

    def read(self, seconds: float | None = None) -> bytes:
        self.waited.append(seconds)
        assert self._reads or seconds is not None, "it waits for ever"
        piece = self._reads.pop(0) if self._reads else NOTHING
        if isinstance(piece, bytes):
            return piece
        raise piece

    def write(self, data: bytes) -> None:
        self.shown += data


NOTHING = b""
"""What a person types in no time."""


def ask(terminal: Ours, *names: str, strict: bool = False) -> dict[str, str]:
    """The answers to questions for these ``names``."""
    return Prompter(terminal, strict=strict).ask(dict.fromkeys(names, ""))


def test_when_it_is_read() -> None:
    """Before a question, as it is shown, then for the answer, then after that; then the colon."""
    terminal = Scripted(NOTHING, NOTHING, b"a\r", NOTHING, NOTHING, NOTHING, b"b\r")
    assert ask(terminal, "K", "L") == {"K": "a", "L": "b"}
    assert terminal.waited == [0, TOO_SOON, None, TOO_SOON] * 2
    assert terminal.shown == b"hotenv: K: \nhotenv: L: \n"


@pytest.mark.parametrize(
    "reads",
    [
        pytest.param([b"a\r"], id="before it is asked"),
        pytest.param([b"\x1b[200~a\x1b[201~"], id="a paste before it is asked"),
        pytest.param([NOTHING, b"a\r"], id="as it is shown"),
        pytest.param([NOTHING, b"\x1b[A"], id="a key as it is shown"),
        pytest.param([NOTHING, NOTHING, b"l1\rl2\r"], id="two lines"),
        pytest.param([NOTHING, NOTHING, b"l1\r", b"l2\r"], id="two lines in two pieces"),
        pytest.param([NOTHING, NOTHING, b"\x1b[200~a\x1b[201~b\r"], id="a paste and keys"),
        pytest.param([NOTHING, NOTHING, b"\x1b[200~a\x1b[201~\rb\r"], id="a paste and a line"),
        pytest.param([NOTHING, NOTHING, b"\x1b[200~a\x1b[201~", b"\rb"], id="a line after it"),
    ],
)
def test_typed_ahead(reads: list[bytes]) -> None:
    """What nobody can have meant as the answer is not taken, and neither is what follows it."""
    terminal = Scripted(*reads, b"more", b"and more", NOTHING, b"next")
    with pytest.raises(SystemFailureError, match="for K: input typed before the question"):
        ask(terminal, "K", "L")
    assert terminal.read() == b"next"


@pytest.mark.parametrize(
    "reads",
    [
        pytest.param([b"\x1b[200~a\x1b[201~"], id="whole"),
        pytest.param([b"\x1b", b"[200~a\x1b[201~"], id="cut in its marker"),
    ],
)
def test_paste_as_the_question_is_shown(reads: list[bytes]) -> None:
    """The terminal says that it is one, so that nothing else is taken for it."""
    assert ask(Scripted(NOTHING, *reads), "K") == {"K": "a"}


@pytest.mark.parametrize(
    "reads",
    [
        pytest.param([b"\x1b[200~a\x1b[201~\r", NOTHING], id="with it"),
        pytest.param([b"\x1b[200~a\x1b[201~", b"\r"], id="after it"),
        pytest.param([b"\x1b[200~a\x1b[201~", NOTHING, b"\r"], id="before the next question"),
        pytest.param([b"\x1b[200~a\x1b[201~", NOTHING, NOTHING, b"\n"], id="as it is shown"),
        pytest.param([b"\x1b[200~a\x1b[201~", NOTHING, NOTHING, NOTHING, b"\r"], id="at it"),
    ],
)
def test_enter_after_a_paste(reads: list[bytes]) -> None:
    """It belongs to the paste, whenever it comes, and is no answer to the next question."""
    reads += [NOTHING] * (5 - len(reads))
    terminal = Scripted(NOTHING, NOTHING, *reads, b"b\r")
    assert ask(terminal, "K", "L", strict=True) == {"K": "a", "L": "b"}


def test_only_one_enter_after_a_paste() -> None:
    """The second one is an answer."""
    terminal = Scripted(
        NOTHING, NOTHING, b"\x1b[200~a\x1b[201~\r", NOTHING, NOTHING, NOTHING, b"\r"
    )
    with pytest.raises(InputError, match="empty answer for L"):
        ask(terminal, "K", "L", strict=True)


def test_resumed() -> None:
    """It is asked from the start then, whenever that is, and what was typed before is forgotten."""
    for before in ([], [NOTHING], [NOTHING, NOTHING, b"abc"], [NOTHING, NOTHING, b"abc\r"]):
        terminal = Scripted(*before, Resumed, NOTHING, NOTHING, b"d\r")
        assert ask(terminal, "K") == {"K": "d"}


@pytest.mark.parametrize("empty", [b"\r", b"x\x7f\r"])
def test_empty_answer(empty: bytes) -> None:
    """It is asked again once; with --strict it is an error."""
    with pytest.raises(InputError, match="empty answer for K: --strict rejects it"):
        ask(Scripted(NOTHING, NOTHING, empty), "K", strict=True)
    for answer, value in ((b"\r", ""), (b"a\r", "a")):
        terminal = Scripted(NOTHING, NOTHING, empty, NOTHING, NOTHING, NOTHING, NOTHING, answer)
        assert ask(terminal, "K")["K"] == value
        assert terminal.shown.count(b"hotenv: K: ") == 2


def test_too_long(monkeypatch: pytest.MonkeyPatch) -> None:
    """An answer that no session could have is refused before it is complete."""
    monkeypatch.setattr("hotenv.intake.prompt.RESPONSE_LIMIT", 10)
    assert ask(Scripted(NOTHING, NOTHING, b"x" * 9, b"x\r"), "K") == {"K": "x" * 10}
    with pytest.raises(SystemFailureError, match=r"answer for K too long \(limit 10 bytes\)"):
        ask(Scripted(NOTHING, NOTHING, b"x" * 11), "K")


def test_gone() -> None:
    """A terminal that fails is an error that names the variable."""
    with pytest.raises(SystemFailureError, match="cannot prompt for K: "):
        ask(Scripted(OSError), "K")
