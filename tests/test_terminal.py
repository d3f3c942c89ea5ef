"""terminal: it is taken for questions, read, and given back as it was, on real terminals."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from processes import LIMIT, Terminal, wait_until

ON, OFF = b"\x1b[?2004h", b"\x1b[?2004l"

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="written for Linux's terminals")

_PRELUDE = """
import os, select, signal, sys, termios, tty
from hotenv.intake.terminal import Resumed, Terminal
"""


def on_a_terminal(script: str) -> list[str]:
    """The command line of a ``script`` about ``Terminal``."""
    return [sys.executable, "-c", _PRELUDE + script]


@pytest.fixture(autouse=True)
def kind(monkeypatch: pytest.MonkeyPatch) -> None:
    """The terminal is no dumb one."""
    monkeypatch.setenv("TERM", "xterm")


def test_taken_and_restored(tmp_path: Path) -> None:
    """No echo, bytes as they are typed, and marks around a paste; then all is as it was."""
    terminal = Terminal(
        on_a_terminal("""
before = termios.tcgetattr(0)
before[0] |= termios.ICRNL | termios.INLCR | termios.IGNCR
termios.tcsetattr(0, termios.TCSANOW, before)
ours = Terminal()
assert ours
ours.take()
modes = termios.tcgetattr(0)
assert not modes[3] & (termios.ECHO | termios.ICANON) and modes[3] & termios.ISIG
print("taken")
typed = ours.read()
while len(typed) < 3:
    typed += ours.read()
assert typed == b"a\\r\\n", typed
ours.restore()
assert termios.tcgetattr(0) == before
ours.close()
assert not ours
"""),
        tmp_path,
    )
    terminal.expect(b"taken\r\n")
    terminal.type(b"a\r\n")
    assert terminal.wait() == 0, terminal.screen
    assert terminal.screen == ON + b"taken\r\n" + OFF


_RAW = "before[3] &= ~termios.ICANON; before[6][termios.VMIN] = before[6][termios.VTIME] = 9;"


@pytest.mark.parametrize(
    ("term", "first"),
    [
        pytest.param("dumb", "pass", id="dumb"),
        pytest.param("xterm", _RAW, id="not by line"),
        pytest.param("xterm", _RAW + " before[3] &= ~termios.ECHO", id="and no echo"),
    ],
)
def test_no_brackets(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, term: str, first: str
) -> None:
    """Where a person does not see to it that a paste is marked, nothing is written for that."""
    monkeypatch.setenv("TERM", term)
    terminal = Terminal(
        on_a_terminal(f"""
before = termios.tcgetattr(0)
{first}
termios.tcsetattr(0, termios.TCSANOW, before)
before = termios.tcgetattr(0)
ours = Terminal()
ours.take()
modes = termios.tcgetattr(0)
assert not modes[3] & termios.ECHO
assert (modes[6][termios.VMIN], modes[6][termios.VTIME]) == (1, 0)
ours.restore()
assert termios.tcgetattr(0) == before
"""),
        tmp_path,
    )
    assert terminal.wait() == 0, terminal.screen
    assert terminal.screen == b""


def test_restored_without_being_taken(tmp_path: Path) -> None:
    """What was typed for the shell is left to it, and nothing is written."""
    script = "ours = Terminal(); print('ready'); sys.stdin.readline()\n"
    script += "select.select([0], [], []); ours.restore(); print(sys.stdin.readline())"
    terminal = Terminal(on_a_terminal(script), tmp_path)
    terminal.expect(b"ready\r\n")
    terminal.type(b"one\ntwo\n")
    assert terminal.wait() == 0, terminal.screen
    assert terminal.screen.replace(b"\r", b"").split() == [b"ready", b"one", b"two", b"two"]


def test_rest_of_a_paste(tmp_path: Path) -> None:
    """What is there and was not read is no command for the shell."""
    terminal = Terminal(
        on_a_terminal("""
ours = Terminal()
ours.take()
print("taken")
select.select([0], [], [])
ours.restore()
assert select.select([0], [], [], 0) == ([], [], [])
"""),
        tmp_path,
    )
    terminal.expect(b"taken\r\n")
    terminal.type(b"rm -r .\n")
    assert terminal.wait() == 0, terminal.screen


def test_woken_just_before_it_waits(tmp_path: Path) -> None:
    """No wake-up is lost between the last look and the system call."""
    terminal = Terminal(
        on_a_terminal("""
ours = Terminal()
ours.take()
wait = select.select
def just_before(*what):
    ours.restore()
    ours.wake()
    return wait(*what)
select.select = just_before
try:
    ours.read()
except Resumed:
    print("resumed")
"""),
        tmp_path,
    )
    assert terminal.wait() == 0, terminal.screen
    assert b"resumed" in terminal.screen


def test_signal_just_before_it_waits(tmp_path: Path) -> None:
    """No signal that Python handles is lost between the last look and the system call.

    Python's own has run by then, and nobody has looked: here because another thread takes the
    signal as soon as this one waits.
    """
    terminal = Terminal(
        on_a_terminal("""
import threading
def told(*_):
    raise TimeoutError
signal.signal(signal.SIGXCPU, told)
ours = Terminal()
ours.take()
signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGXCPU])
os.kill(os.getpid(), signal.SIGXCPU)
waits = threading.Lock()
waits.acquire()
def take_the_signal():
    with waits:
        signal.pthread_sigmask(signal.SIG_UNBLOCK, [signal.SIGXCPU])
threading.Thread(target=take_the_signal).start()
sys.setswitchinterval(1000)  # this thread goes on until it waits
wait = select.select
def just_before(*what):
    waits.release()
    return wait(*what)
select.select = just_before
try:
    ours.read()
except TimeoutError:
    print("told")
"""),
        tmp_path,
    )
    assert terminal.wait() == 0, terminal.screen
    assert b"told" in terminal.screen


def test_woken_for_nothing(tmp_path: Path) -> None:
    """It goes on reading if nobody else had the terminal, and forgets what was before it took it.

    However often it is woken, the one that wakes it does not wait.
    """
    terminal = Terminal(
        on_a_terminal("""
ours = Terminal()
for _ in range(100_000):
    ours.wake()
ours.take()
ours.restore()
assert ours.read(0) == b""  # nor Resumed
ours.take()
ours.wake()
print("taken")
assert ours.read() == b"a"
"""),
        tmp_path,
    )
    terminal.expect(b"taken\r\n")
    terminal.type(b"a")
    assert terminal.wait() == 0, terminal.screen


def test_nothing_typed(tmp_path: Path) -> None:
    """Nothing is read in the time that is given for it."""
    script = "ours = Terminal(); ours.take(); assert ours.read(0) == ours.read(0.01) == b''"
    assert Terminal(on_a_terminal(script), tmp_path).wait() == 0


def test_not_ready_after_all(tmp_path: Path) -> None:
    """What was there to be read, or room to write, may be gone again: it waits on."""
    terminal = Terminal(
        on_a_terminal("""
wait = select.select
def wrong(reading, writing, _, seconds=None):
    select.select = right
    return reading[:1], writing, []
def right(*what):
    open("reads" if what[0] else "writes", "w").close()
    return wait(*what)
ours = Terminal()
ours.take()
select.select = wrong
assert ours.read() == b"a"
while wait([], [1], [], 0)[1]:
    pass
select.select = wrong
ours.write(b"shown")
"""),
        tmp_path,
    )
    wait_until((tmp_path / "reads").exists, "it to read")
    terminal.type(b"a\x13")
    wait_until((tmp_path / "writes").exists, "it to write")
    terminal.type(b"\x11")
    terminal.expect(b"shown")
    assert terminal.wait() == 0


def test_output_that_is_stopped(tmp_path: Path) -> None:
    """Ctrl-S: what is shown waits, what gives the terminal back does not."""
    terminal = Terminal(
        on_a_terminal("""
ours = Terminal()
ours.take()
print("taken")
while select.select([], [1], [], 0)[1]:
    pass
if os.fork():
    os.wait()
    ours.restore()
    assert termios.tcgetattr(0)[3] & termios.ECHO
else:
    signal.setitimer(signal.ITIMER_REAL, 0.1)
    signal.signal(signal.SIGALRM, lambda *_: os._exit(0))
    ours.write(b"shown")
"""),
        tmp_path,
    )
    terminal.expect(b"taken\r\n")
    terminal.type(b"\x13")
    assert terminal.wait() == 0, terminal.screen
    assert b"shown" not in terminal.screen


def test_output_that_goes_on(tmp_path: Path) -> None:
    """All of it is shown, more than the terminal takes at once."""
    terminal = Terminal(
        on_a_terminal("ours = Terminal(); ours.write(b'x' * 300_000 + b'end')"), tmp_path
    )
    assert terminal.wait() == 0
    assert terminal.screen == b"x" * 300_000 + b"end"


def test_hang_up(tmp_path: Path) -> None:
    """A terminal that goes away is an error, and no end of waiting."""
    terminal = Terminal(
        on_a_terminal("""
signal.signal(signal.SIGHUP, signal.SIG_IGN)
ours = Terminal()
ours.take()
print("taken", flush=True)
try:
    ours.read()
except OSError:
    ours.restore()
    os._exit(3)
"""),
        tmp_path,
    )
    terminal.expect(b"taken\r\n")
    os.close(terminal.fd)
    assert os.waitstatus_to_exitcode(os.waitpid(terminal.pid, 0)[1]) == 3


def test_keys(tmp_path: Path) -> None:
    """They are those that stty shows; one that is switched off is none."""
    script = "print(*Terminal().keys, sep='|')"
    line = 'stty erase ^H werase ^X kill undef eof ^B; exec "$0" -c "$1"'
    terminal = Terminal(["sh", "-c", line, sys.executable, _PRELUDE + script], tmp_path)
    assert terminal.wait() == 0, terminal.screen
    assert terminal.screen == rb"b'\x08'|b'\x18'|b''|b'\x02'" + b"\r\n"


def test_no_terminal(tmp_path: Path) -> None:
    """There may be none; then there is nothing to restore."""
    script = "ours = Terminal(); assert not ours; ours.wake(); ours.restore(); ours.close()"
    done = subprocess.run(
        on_a_terminal(script), cwd=tmp_path, start_new_session=True, timeout=LIMIT
    )
    assert done.returncode == 0
