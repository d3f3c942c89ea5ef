"""``hotenv run --host``: a single command on another machine."""

from __future__ import annotations

import json
import os
import shlex
import signal
import subprocess
from pathlib import Path

import pytest

from processes import HOTENV, LIMIT, Terminal, hotenv, needs, said, serving, wait_until
from sshd import PASSWORD, Remote

pytestmark = needs("bash")

RUN = ("run", "--host", "box", "--")


def test_streams(machine: Remote, directory: Path) -> None:
    """All three are those of the command, byte for byte, and so is its exit code."""
    data = bytes(range(256)) * 2000
    with serving(directory):
        script = "cat; echo err >&2; exit 7"
        done = hotenv(*RUN, "sh", "-c", script, cwd=directory, stdin=data)
    assert done.returncode == 7
    assert done.stdout == data
    assert done.stderr == b"err\n"


def test_words(machine: Remote, directory: Path) -> None:
    """They arrive as they are: no shell there takes them for its own."""
    words = ["a  b", "it's", "$HOME", "`x`", '"\\', "*", "", "-n", "é\n", "~", "a=b", "!x", "#"]
    with serving(directory):
        done = hotenv(*RUN, "printf", "<%s>", *words, cwd=directory)
    assert done.stdout.decode() == "".join(f"<{word}>" for word in words)


@pytest.mark.parametrize("host", ["noisy", "dash", "spare", "sealed"])
def test_hosts(host: str, machine: Remote, directory: Path) -> None:
    """The login shell does not matter."""
    with serving(directory, b"A=it's one\nB=two\n"):
        words = ("run", "--only", "A", "--host", host, "--", "bash", "-c", 'echo "$A$B"; pwd')
        done = hotenv(*words, cwd=directory)
    assert done.returncode == 0
    assert done.stdout.decode().endswith(f"it's one\n{machine.home(host)}\n")


@pytest.mark.parametrize("script", ["kill -9 $$", "kill $$", "exit 255", "no-such-program"])
def test_exit_codes(script: str, machine: Remote, directory: Path) -> None:
    """They are those that ssh gives."""
    by_ssh = subprocess.run(["ssh", "box", f"sh -c '{script}'"], capture_output=True, timeout=LIMIT)
    with serving(directory):
        done = hotenv(*RUN, "sh", "-c", script, cwd=directory)
    assert done.returncode == by_ssh.returncode


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL])
def test_ended(number: signal.Signals, machine: Remote, directory: Path, runtime: Path) -> None:
    """The end here is the end there."""
    script = ": > started; cat > /dev/null; : > ended"
    with (
        serving(directory),
        subprocess.Popen(
            [*HOTENV, *RUN, "sh", "-c", script], cwd=directory, stdin=subprocess.PIPE
        ) as process,
    ):
        try:
            wait_until((machine.home() / "started").exists, "the command")
            process.send_signal(number)
            process.wait(LIMIT)
        finally:
            process.kill()
    wait_until(lambda: not machine.processes(), "the end there")
    assert machine.left() == []
    wait_until(lambda: not list(runtime.rglob("ssh-*")), "the end of the socket")


@pytest.mark.parametrize("connected", [False, True])
def test_a_lost_connection(connected: bool, machine: Remote, directory: Path) -> None:
    """ssh says so, and exits with 255; nothing stays there."""
    script = ": > started; cat > /dev/null"
    with (
        serving(directory),
        subprocess.Popen(
            [*HOTENV, *RUN, "sh", "-c", script],
            cwd=directory,
            stdin=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=os.environ if connected else late(machine, directory),
        ) as process,
    ):
        try:
            began = machine.home() / "started" if connected else directory / "late"
            wait_until(began.exists, "the command")
            machine.signal(signal.SIGKILL)
            wait_until(lambda: not machine.connections(), "the end of the connection")
            (directory / "go").touch()
            assert process.wait(LIMIT) == 255
        finally:
            process.kill()
    wait_until(lambda: not machine.processes(), "the end there")
    assert machine.left() == []


def late(machine: Remote, directory: Path) -> dict[str, str]:
    """An environment where the ssh of the command waits for the file ``go``."""
    late = directory / "bin" / "ssh"
    late.parent.mkdir()
    late.write_text(
        f"""#!/bin/sh
        case "$*" in *ControlMaster=no*)
            : > {directory}/late
            until [ -e {directory}/go ]; do sleep 0.05; done
        esac
        exec {machine.bin}/ssh "$@"
        """
    )
    late.chmod(0o755)
    return {**os.environ, "PATH": f"{late.parent}:{os.environ['PATH']}"}


def test_killed_before_the_command(machine: Remote, directory: Path) -> None:
    """What is there for a command that will never come is removed."""
    with (
        serving(directory),
        subprocess.Popen(
            [*HOTENV, *RUN, "touch", "file"], cwd=directory, env=late(machine, directory)
        ) as process,
    ):
        wait_until((directory / "late").exists, "the ssh of the command")
        assert machine.left() != []
        process.kill()
    wait_until(lambda: not machine.processes(), "the end there")
    assert machine.left() == []
    assert os.listdir(machine.home()) == []


def at_terminal(directory: Path, *words: str, host: str = "box") -> Terminal:
    """A command whose standard streams are a terminal."""
    return Terminal([*HOTENV, "run", "--host", host, *words], directory)


def test_a_terminal(machine: Remote, directory: Path) -> None:
    """The command has one too, with its keys; Ctrl-C is for the command."""
    script = "trap 'echo caught; exit 3' INT; test -t 0 && test -t 1 && echo there; read x; read y"
    with serving(directory):
        terminal = at_terminal(directory, "--", "bash", "-c", script)
        terminal.expect(b"there\r\n")
        terminal.type(b"a line\r")
        terminal.expect(b"a line\r\n")
        terminal.type(b"\x03")
        terminal.expect(b"caught\r\n")
        assert terminal.wait() == 3
    wait_until(lambda: not machine.processes(), "the end there")
    assert machine.left() == []


def test_a_terminal_that_is_closed(machine: Remote, directory: Path) -> None:
    """It is closed for the command too."""
    with serving(directory):
        terminal = at_terminal(directory, "--", "sh", "-c", "echo there; sleep 1000")
        terminal.expect(b"there\r\n")
        os.close(terminal.fd)
        os.waitpid(terminal.pid, 0)
    wait_until(lambda: not machine.processes(), "the end there")
    assert machine.left() == []


def test_half_a_terminal(machine: Remote, directory: Path) -> None:
    """With another standard output, the command has none: as for ssh, its output is as it is."""
    words = shlex.join([*HOTENV, *RUN, "sh", "-c", r"test -t 1 || printf 'a\nb'"])
    with serving(directory):
        terminal = Terminal(["sh", "-c", f"{words} > output"], directory)
        assert terminal.wait() == 0
    assert (directory / "output").read_bytes() == b"a\nb"


def test_a_password(machine: Remote, directory: Path) -> None:
    """ssh asks for it on the terminal."""
    with serving(directory):
        terminal = at_terminal(directory, "--", "sh", "-c", "echo A=$A", host="password")
        terminal.expect(b"password:")
        terminal.type(f"{PASSWORD}\r".encode())
        terminal.expect(b"A=1\r\n")
        assert terminal.wait() == 0
    assert PASSWORD.encode() not in terminal.screen


def test_ctrl_c_at_a_question(machine: Remote, directory: Path) -> None:
    """It ends both, and nothing is run."""
    with serving(directory):
        terminal = at_terminal(directory, "--", "touch", "file", host="password")
        terminal.expect(b"password:")
        terminal.type(b"\x03")
        assert terminal.wait() == 130
    assert os.listdir(machine.home()) == []


@pytest.mark.parametrize("host", ["password", "unknown", "refused"])
def test_nobody_gets_in(host: str, machine: Remote, directory: Path) -> None:
    """Without a terminal nobody is asked, and it is an error of hotenv, which says why."""
    words = ["run", "--host", host, "--failure-status"]
    with serving(directory):
        codes = [
            subprocess.run(
                [*HOTENV, *given, "touch", "file"],
                cwd=directory,
                capture_output=True,
                timeout=LIMIT,
                start_new_session=True,
            )
            for given in ([*words[:3], "--"], [*words, "125", "--"])
        ]
    assert [done.returncode for done in codes] == [4, 125]
    assert said(codes[0]).startswith(f"hotenv: cannot connect to {host}: ")
    assert os.listdir(machine.home()) == []


def test_no_ssh(machine: Remote, directory: Path) -> None:
    """It is an error before anything else is done."""
    with serving(directory):
        done = hotenv(*RUN, "true", cwd=directory, env={**os.environ, "PATH": "/nowhere"})
    assert done.returncode == 8
    assert said(done) == "hotenv: cannot run 'ssh': command not found"


def test_no_program(machine: Remote, directory: Path) -> None:
    """The bash there says so, in a line."""
    with serving(directory):
        done = hotenv(*RUN, "no-such-program", cwd=directory)
    assert done.returncode == 127
    assert said(done).endswith("no-such-program: not found")


def test_values(machine: Remote, directory: Path) -> None:
    """They arrive as they are, more of them than a pipe holds, and nothing of this machine does."""
    values = {"LONG": "x" * 100_000, "LINES": "\n a\r\n\tb'\n\n", "IFS": "e", "LC_ALL": "é"}
    text = "".join(f"{name}={value}\0" for name, value in values.items())
    with serving(directory, text.encode(), "--format", "null"):
        done = hotenv("run", "--define", "D= 1", *RUN[1:], "env", "-0", cwd=directory)
    assert done.stderr == b""
    got = dict(pair.split("=", 1) for pair in done.stdout.decode().split("\0") if pair)
    assert {name: got.get(name) for name in (*values, "D")} == {**values, "D": " 1"}
    assert got["HOME"] == str(machine.home())
    assert "XDG_RUNTIME_DIR" not in got


def test_too_long(machine: Remote, directory: Path) -> None:
    """A variable with which no program there can start is named, and its value is not shown."""
    with serving(directory, f"A=1\nLONG={'x' * 131_067}\nLONGEST={'x' * 131_063}\n".encode()):
        refused = hotenv(*RUN, "touch", "file", cwd=directory)
        done = hotenv("run", "--except", "LONG", *RUN[1:], "printenv", "A", cwd=directory)
    assert refused.returncode == 2
    assert said(refused) == (
        "hotenv: LONG is too long for a program on another machine (limit 131071 bytes, including "
        "name and '='): leave it out"
    )
    assert done.stdout == b"1\n"
    assert os.listdir(machine.home()) == []


def test_too_much(machine: Remote, directory: Path) -> None:
    """What is too long in all is said by the bash there."""
    text = "".join(f"A{number}={'x' * 100_000}\n" for number in range(100))
    with serving(directory, text.encode()):
        done = hotenv(*RUN, "env", cwd=directory)
    assert done.returncode == 126
    assert b"env: Argument list too long\n" in done.stderr


def test_a_name_that_cannot_be_set(machine: Remote, directory: Path) -> None:
    """It is named; the others can be had without it."""
    words = ("run", "--except", "UID", *RUN[1:], "printenv", "A")
    with serving(directory, b"A=1\nUID=s3cr3t\n"):
        refused = hotenv(*RUN, "touch", "file", cwd=directory)
        done = hotenv(*words, cwd=directory)
    assert refused.returncode == 2
    assert said(refused).startswith("hotenv: UID cannot be set on another machine")
    assert b"s3cr3t" not in refused.stderr
    assert done.stdout == b"1\n"
    assert os.listdir(machine.home()) == []


def test_redacted(machine: Remote, directory: Path) -> None:
    """What comes from there is redacted as what comes from here."""
    script = "echo $TOKEN; echo $TOKEN >&2; cat; exit 5"
    with serving(directory, b"TOKEN=s3cr3t-t0ken\n"):
        words = ("run", "--redact", *RUN[1:], "sh", "-c", script)
        done = hotenv(*words, cwd=directory, stdin=b"of s3cr3t-t0ken")
    assert (done.returncode, done.stdout, done.stderr) == (5, b"[TOKEN]\nof [TOKEN]", b"[TOKEN]\n")


def test_audit(machine: Remote, directory: Path) -> None:
    """The log has the command and its end, also if there is no connection."""
    with serving(directory):
        for host in ("box", "refused"):
            words = ("run", "--audit", "log", "--host", host, "--", "sh", "-c", "exit 5")
            hotenv(*words, cwd=directory)
    lines = [json.loads(line) for line in (directory / "log").read_text().splitlines()]
    assert [line["program"] for line in lines] == ["sh"] * 4
    assert [line["folder"] for line in lines[::2]] == ["box:", "refused:"]
    assert [line["outcome"] for line in (lines[0], lines[2])] == ["begun", "begun"]
    assert lines[1]["status"] == 5
    assert lines[3]["failed"] == "not started"


def test_explained(machine: Remote, directory: Path) -> None:
    """What is added there is shown, and nobody is asked there."""
    with serving(directory):
        done = hotenv("run", "--explain", "--define", "B=1", *RUN[1:], "true", cwd=directory)
    assert [line.split()[0] for line in done.stdout.decode().splitlines()] == ["A", "B"]


@pytest.mark.parametrize(
    "option",
    ["--as-file=A", "--env-file=json", "--isolated", "--pass=B", "--bin=/bin", "--no-override"],
)
def test_options_of_this_machine(option: str, directory: Path) -> None:
    """They do not go together, which is said before there is a session to be found."""
    done = hotenv("run", option, *RUN[1:], "touch", "{}", cwd=directory)
    assert done.returncode == 2
    assert said(done).startswith(f"hotenv: {option.partition('=')[0]}: not possible with --host")


def test_no_guard(machine: Remote, directory: Path) -> None:
    """It would hold nothing there: the two do not go together."""
    with serving(directory):
        done = hotenv("run", "--fs-readonly", *RUN[1:], "touch", "file", cwd=directory)
    assert done.returncode == 2
    assert b"--host" in done.stderr
    assert os.listdir(machine.home()) == []
