"""``hotenv run --redact`` on a terminal: the command has one too, and hotenv's stays as it was.

What any supervised command has to do on a terminal is in ``test_supervised_terminal_process``.
"""

from __future__ import annotations

import fcntl
import os
import shlex
import signal
import struct
import subprocess
import termios
from collections.abc import Iterator
from pathlib import Path

import pytest

from processes import HOTENV, Terminal, in_job_shell, needs, serving, wait_until
from supervision import REDACTED, gone, only_linux, parent, python, supervising

REDACTING = [*HOTENV, "run", "--redact=TOKEN", "--"]
TEXT = b"TOKEN=s3cr3t/Val+ue=42\n"
SIZED = ["sh", "-c", 'stty rows 24 cols 80; exec "$@"', ""]
"""Run the command behind them on a terminal of this size."""
BASH = ["env", "PS1=> ", "bash", "--norc", "--noprofile", "--noediting", "-i"]


@pytest.fixture
def session(directory: Path) -> Iterator[Path]:
    """A directory with a session."""
    with serving(directory, TEXT):
        yield directory


def set_size(terminal: Terminal, rows: int, columns: int) -> None:
    """Change the size of a terminal's window."""
    fcntl.ioctl(terminal.fd, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))


def modes(terminal: Terminal) -> object:
    """The modes of a terminal."""
    return termios.tcgetattr(terminal.fd)


def new_modes() -> object:
    """The modes of a terminal that nobody has changed."""
    ours, theirs = os.openpty()
    try:
        return termios.tcgetattr(theirs)
    finally:
        os.close(theirs)
        os.close(ours)


def test_it_is_a_terminal(session: Path) -> None:
    """All three streams are the one that /dev/tty is, and colours stay around the name."""
    program = (
        'tty <&1; tty <&2; tty; printf "\\033[31m$TOKEN\\033[0m.\\n"; echo "$TOKEN" > /dev/tty'
    )
    terminal = Terminal([*REDACTING, "sh", "-c", program], session)
    assert terminal.wait() == 0
    lines = terminal.screen.split(b"\r\n")
    assert len(set(lines[:3])) == 1
    assert lines[0].startswith(b"/dev/")
    assert lines[3:] == [b"\x1b[31m[TOKEN]\x1b[0m.", b"[TOKEN]", b""]


def test_a_terminal_that_is_opened_anew(session: Path) -> None:
    """A command may close its streams, and open the terminal later."""
    program = 'exec < /dev/null > /dev/null 2>&1; sleep 0; (echo "$TOKEN" > /dev/tty)'
    terminal = Terminal([*REDACTING, "sh", "-c", program], session)
    assert terminal.wait() == 0
    assert terminal.screen == b"[TOKEN]\r\n"


@only_linux
def test_hangup(session: Path) -> None:
    """A terminal that goes away ends the command, also one that hotenv does not control."""
    terminal = Terminal(
        [
            "sh",
            "-c",
            'setsid "$@" & wait',
            "",
            *REDACTING,
            *python("say('pid', os.getpid(), '.'); signal.pause()"),
        ],
        session,
    )
    terminal.expect(b".")
    command = int(terminal.screen.split()[1])
    os.kill(terminal.pid, signal.SIGKILL)
    os.close(terminal.fd)
    os.waitpid(terminal.pid, 0)
    wait_until(lambda: gone(command), "the end of the command")


def test_its_size(session: Path) -> None:
    """It is that of hotenv's terminal, also when that changes."""
    code = """
signal.signal(signal.SIGWINCH, lambda *_: say("size", *os.get_terminal_size(0)))
say("size", *os.get_terminal_size(0))
while True:
    signal.pause()
"""
    terminal = Terminal(
        ["sh", "-c", 'stty rows 30 cols 90; exec "$@"', "", *REDACTING, *python(code)], session
    )
    terminal.expect(b"size 90 30")
    set_size(terminal, 20, 70)
    terminal.expect(b"size 70 20")
    terminal.type(b"\x1c")
    assert terminal.wait() == -signal.SIGQUIT


def test_end_of_input(session: Path) -> None:
    """Ctrl-D on an empty line ends what the command reads; lines are edited and echoed before."""
    terminal = Terminal([*REDACTING, "sh", "-c", "echo ready; cat"], session)
    terminal.expect(b"ready")
    terminal.type(b"onne\x7f\x7fe\r")
    terminal.expect(b"one\r\n")
    terminal.type(b"\x04")
    assert terminal.wait() == 0


def test_a_typed_value(session: Path) -> None:
    """The echo is output too."""
    terminal = Terminal([*REDACTING, "sh", "-c", "echo ready; cat"], session)
    terminal.expect(b"ready")
    terminal.type(b"s3cr3t/Val+ue=42\r\x04")
    assert terminal.wait() == 0
    assert b"Val+ue" not in terminal.screen
    assert terminal.screen.count(b"[TOKEN]") == 2


def test_a_password_prompt(session: Path) -> None:
    """It turns the echo off, and finds the terminal without standard input."""
    code = "import getpass; answer = getpass.getpass('PIN: '); say('got', len(answer))"
    command = shlex.join([*REDACTING, "python3", "-c", code.replace("say(", "print(")])
    terminal = Terminal(["sh", "-c", f"{command} < /dev/null"], session)
    terminal.expect(b"PIN: ")
    terminal.type(b"1234\r")
    terminal.expect(b"got 4")
    assert terminal.wait() == 0
    assert b"1234" not in terminal.screen


def test_raw_mode(session: Path) -> None:
    """A program that reads keys gets each byte as it is typed."""
    code = """
import tty
tty.setraw(0)
say("ready")
got = b""
while len(got) < 6:
    got += os.read(0, 1)
say(got.hex(), ".")
"""
    terminal = Terminal([*REDACTING, *python(code)], session)
    terminal.expect(b"ready")
    terminal.type(b"\x03\x1a\r\x04\xff\x00")
    terminal.expect(b"031a0d04ff00 .")
    assert terminal.wait() == 0


@pytest.mark.parametrize("victim", ["command", "keeper", "hotenv"])
@only_linux
def test_the_terminal_is_restored(victim: str, session: Path) -> None:
    """Whatever is killed, even where the command had set the modes."""
    code = "import tty; tty.setraw(0); say('pid', os.getpid(), '.'); signal.pause()"
    terminal = Terminal(["sh", "-c", '"$@"; echo ended', "", *REDACTING, *python(code)], session)
    terminal.expect(b".")
    assert modes(terminal) != new_modes()
    command = int(terminal.screen.split()[1])
    pids = {"command": command, "keeper": parent(command), "hotenv": parent(parent(command))}
    os.kill(pids[victim], signal.SIGKILL)
    wait_until(lambda: modes(terminal) == new_modes(), "the modes")
    wait_until(lambda: all(map(gone, pids.values())), "the end of all")
    terminal.expect(b"ended")
    assert terminal.wait() == 0


_SLOW = """
class Slow(RedactedStreams):
    @property
    def settled(self):
        open("ended", "w").close()
        return os.path.exists("go") and super().settled
options["streams"] = Slow(Redactor({"TOKEN": "s3cr3t"}))
"""


@only_linux
def test_keys_after_the_end(directory: Path) -> None:
    """What is typed while the last output is on its way is for whoever reads next."""
    script = '"$@"; read -r line; echo "got $line"'
    terminal = Terminal(["sh", "-c", script, "", *supervising(REDACTED + _SLOW), "true"], directory)
    wait_until((directory / "ended").exists, "the command to end")
    terminal.type(b"text\n")
    (directory / "go").touch()
    set_size(terminal, 20, 70)  # a signal: hotenv looks again
    terminal.expect(b"got text")
    assert terminal.wait() == 0


def test_a_pipeline(session: Path) -> None:
    """What is typed is for the program that reads from the terminal: here it is the other one."""
    reader = shlex.join(python("say('got', open('/dev/tty').readline().strip())"))
    command = shlex.join([*REDACTING, "sh", "-c", "echo $TOKEN; tty >&2"])
    terminal = Terminal(["sh", "-c", f"{command} | {{ cat; {reader}; }}"], session)
    terminal.expect(b"[TOKEN]")
    terminal.type(b"text\r")
    terminal.expect(b"got text")
    assert terminal.wait() == 0


def test_it_reads_in_a_pipeline(session: Path) -> None:
    """A command that asks for the terminal gets it there, too."""
    command = shlex.join([*REDACTING, *python("say('got', open('/dev/tty').readline().strip())")])
    terminal = Terminal(["sh", "-c", f"{command} | cat"], session)
    wait_until(lambda: modes(terminal) != new_modes(), "the command to have the terminal")
    terminal.type(b"text\r")
    terminal.expect(b"got text")
    assert terminal.wait() == 0


def test_ctrl_c_reaches_the_script_around_it(session: Path) -> None:
    """As without hotenv: a shell that waits for the command has the signal as well."""
    loop = 'trap "echo trapped" INT; "$@"; echo "status $?"'
    code = "signal.signal(signal.SIGINT, lambda *_: sys.exit(7)); say('ready'); signal.pause()"
    terminal = Terminal(["sh", "-c", loop, "", *REDACTING, *python(code)], session)
    terminal.expect(b"ready")
    terminal.type(b"\x03")
    terminal.expect(b"trapped")
    terminal.expect(b"status 7")
    assert terminal.wait() == 0


def test_ctrl_z_stops_the_script_around_it(session: Path) -> None:
    """The whole job stops, so that its shell has the prompt, and goes on."""
    script = shlex.join(
        ["sh", "-c", '"$@"; echo over', "", *REDACTING, *python("say(input('? '))")]
    )
    terminal = Terminal(in_job_shell(script), session)
    terminal.expect(b"? ")
    terminal.type(b"\x1a")
    terminal.expect(b"shell: stopped, echo on")
    terminal.type(b"fg\n")
    terminal.type(b"text\r")
    terminal.expect(b"text\r\n")
    terminal.expect(b"over")
    terminal.expect(b"shell: ended 0, echo on")
    assert terminal.wait() == 0


@needs("bash")
def test_an_inner_shell(session: Path) -> None:
    """Its jobs stop and go on; what they and it write is redacted."""
    terminal = Terminal([*REDACTING, *BASH], session)
    terminal.expect(b"> ")
    terminal.type(b"set -x; : $TOKEN; set +x\r")
    terminal.expect(b": [TOKEN]")
    terminal.type(b"sh -c 'echo b''egun; read line; echo g''ot $line'\r")
    terminal.expect(b"begun\r\n")
    terminal.type(b"\x1a")
    terminal.expect(b"Stopped")
    terminal.type(b"fg\r")
    terminal.type(b"text\r")
    terminal.expect(b"got text")
    terminal.type(b"exit 5\r")
    assert terminal.wait() == 5
    assert b"Val+ue" not in terminal.screen


@needs("less")
def test_less(session: Path) -> None:
    """A pager on its own terminal, which reads keys."""
    Path("text").write_text("".join(f"line {n} s3cr3t/Val+ue=42\n" for n in range(200)))
    argv = ["env", "TERM=xterm", "less", "text"]
    terminal = Terminal([*REDACTING, *argv], session)
    terminal.expect(b"[TOKEN]")
    terminal.type(b"G")
    terminal.expect(b"line 199 [TOKEN]")
    terminal.type(b"q")
    assert terminal.wait() == 0
    assert b"Val+ue" not in terminal.screen


@needs("top")
def test_top(session: Path) -> None:
    """It draws again and again, and ends by a key."""
    terminal = Terminal([*REDACTING, "env", "TERM=xterm", "top"], session)
    terminal.expect(b"PID")
    terminal.type(b"q")
    assert terminal.wait() == 0


@needs("htop")
def test_htop(session: Path) -> None:
    """Another that draws, with colours and the mouse."""
    terminal = Terminal([*SIZED, *REDACTING, "env", "TERM=xterm", "htop"], session)
    terminal.expect(b"PID")
    terminal.type(b"q")
    assert terminal.wait() == 0


@needs("fzf")
def test_fzf(session: Path) -> None:
    """It reads a pipe, takes keys from the terminal, and prints what was chosen."""
    program = 'printf "%s\\n" "one $TOKEN" "two $TOKEN" | fzf --no-color'
    argv = [*REDACTING, "env", "TERM=xterm", "FZF_DEFAULT_OPTS=", "sh", "-c", program]
    terminal = Terminal([*SIZED, *argv], session)
    terminal.expect(b"two [TOKEN]")
    terminal.type(b"two")
    terminal.expect(b"1/2")
    terminal.type(b"\r")
    assert terminal.wait() == 0
    assert terminal.screen.endswith(b"two [TOKEN]\r\n")
    assert b"Val+ue" not in terminal.screen


@pytest.fixture
def remote(session: Path) -> list[str]:
    """The words of an ssh to this machine, whose sshd talks over a pipe."""
    for key in ("host", "user"):
        keygen = ["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(session / key)]
        subprocess.run(keygen, check=True)
    lines = {
        "HostKey": session / "host",
        "AuthorizedKeysFile": session / "user.pub",
        "AcceptEnv": "TOKEN",
        **dict.fromkeys(("StrictModes", "UsePAM", "PrintMotd", "PrintLastLog"), "no"),
    }
    (session / "sshd").write_text("".join(f"{name} {value}\n" for name, value in lines.items()))
    server = f"/usr/sbin/sshd -i -f {session}/sshd -E {session}/sshd.log"
    options = {
        "ProxyCommand": server,
        "IdentityFile": session / "user",
        "IdentityAgent": "none",
        "UserKnownHostsFile": "/dev/null",
        "StrictHostKeyChecking": "no",
        "LogLevel": "ERROR",
        "SendEnv": "TOKEN",
    }
    words = [word for name, value in options.items() for word in ("-o", f"{name}={value}")]
    words = ["ssh", "-F", "none", *words, "loopback"]
    if subprocess.run([*words, "true"], stdin=subprocess.DEVNULL).returncode:
        pytest.skip("nobody can log in to an sshd here")
    return words


@pytest.mark.skipif(not Path("/usr/sbin/sshd").exists(), reason="sshd is not installed")
@needs("ssh")
def test_ssh(remote: list[str], session: Path) -> None:
    """A program that hands on keys, sizes and signals to a terminal far away."""
    program = (
        "trap 'echo trapped' INT; stty size; echo \"<$TOKEN>\"; "
        "read -r line; echo g''ot \"$line\"; read -r line; exit 7"
    )
    terminal = Terminal([*SIZED, *REDACTING, remote[0], "-tt", *remote[1:], program], session)
    terminal.expect(b"24 80\r\n<[TOKEN]>")
    terminal.type(b"s3cr3t/Val+ue=42\r")
    terminal.expect(b"got [TOKEN]")
    terminal.type(b"\x03")
    terminal.expect(b"trapped")
    terminal.type(b"\r")
    assert terminal.wait() == 7
    assert b"Val+ue" not in terminal.screen


def test_a_python_prompt(session: Path) -> None:
    """An interpreter shows its prompt and what values evaluate to."""
    argv = ["env", "TERM=dumb", "PYTHON_BASIC_REPL=1", "python3", "-q", "-i", "-c", "import os"]
    terminal = Terminal([*REDACTING, *argv], session)
    terminal.expect(b">>> ")
    terminal.type(b"os.environ['TOKEN']\r")
    terminal.expect(b"'[TOKEN]'")
    terminal.type(b"exit(6)\r")
    assert terminal.wait() == 6


@needs("tmux")
def test_tmux(session: Path) -> None:
    """A program that is a terminal itself."""
    socket = session / "t"
    argv = ["env", "-u", "TMUX", "TERM=xterm", "tmux", "-S", str(socket), "-f", "/dev/null", "new"]
    terminal = Terminal([*REDACTING, *argv, "sh", "-c", 'echo "<$TOKEN>"; read -r line'], session)
    terminal.expect(b"<[TOKEN]>")
    terminal.type(b"\r")
    assert terminal.wait() == 0
    assert b"Val+ue" not in terminal.screen


@needs("bash")
def test_in_an_interactive_shell(session: Path) -> None:
    """Started in the background it runs; in the foreground it reads and gets Ctrl-C."""
    Path("run").write_text(f'#!/bin/sh\nexec {shlex.join(REDACTING)} "$@"\n')
    os.chmod("run", 0o755)
    terminal = Terminal(BASH, session)
    terminal.type(b"./run sh -c 'echo b''egun; read line; echo g''ot $line' &\r")
    terminal.expect(b"begun\r")
    asked = 0
    while b"Stopped" not in terminal.screen:  # it reads from the terminal
        asked += 1
        terminal.type(b"jobs; echo as''ked %d\r" % asked)
        terminal.expect(b"asked %d\r\n" % asked)
    terminal.type(b"fg\r")
    terminal.type(b"text\r")
    terminal.expect(b"got text\r\n> ")
    terminal.type(b"./run sh -c 'echo st''arted; exec sleep 1000' || echo code=$?\r")
    terminal.expect(b"started\r\n")
    terminal.screen = b""
    terminal.type(b"\x03")
    terminal.expect(b"\n> ")
    terminal.type(b"echo code=$?\r")
    terminal.expect(b"code=130")
    terminal.type(b"exit 5\r")
    assert terminal.wait() == 5
