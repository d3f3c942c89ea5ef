"""Sources as processes: what hotenv runs, reads and takes, and what is left of it."""

from __future__ import annotations

import json
import os
import select
import signal
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from hotenv.cli.main import main
from hotenv.intake import hardening
from processes import (
    HOTENV,
    LIMIT,
    Terminal,
    all_stopped,
    hotenv,
    in_job_shell,
    is_clean,
    said,
    wait_until,
)

WITHOUT_MEMORY_FILES = pytest.mark.skipif(
    not hasattr(os, "memfd_create"), reason="there are no in-memory files"
)


def dump(directory: Path) -> dict[str, str]:
    """What the session in ``directory`` has."""
    result = hotenv("dump", "--format", "json", cwd=directory)
    assert result.stderr == b""
    variables: dict[str, str] = json.loads(result.stdout)
    return variables


def stop(directory: Path, runtime: Path) -> None:
    """End the session, which leaves nothing."""
    assert hotenv("stop", cwd=directory).returncode == 0
    assert is_clean(directory, runtime)


# Commands


def test_output_of_a_command(directory: Path, runtime: Path) -> None:
    """It has hotenv's standard input and error, environment and directory."""
    script = 'read line; echo "A=$line"; echo "B=$HOME"; echo C="$PWD"; echo noise >&2'
    result = hotenv(
        "serve", "--detach", "--", "sh", "-c", script, cwd=directory, stdin=b"typed\nrest\n"
    )
    assert result.returncode == 0
    assert result.stderr.startswith(b"noise\nhotenv: serving 3 variables in ")
    assert dump(directory) == {"A": "typed", "B": os.environ["HOME"], "C": str(directory)}
    stop(directory, runtime)


@pytest.mark.parametrize("options", [[], ["--detach"], ["--check"]], ids=str)
@pytest.mark.parametrize(
    ("script", "how"),
    [
        ("echo A=1; exit 3", "exited with status 3"),
        ("echo A=1; kill -9 $$", "was killed by signal 9"),
        ("echo A=1; exec >&-; exit 3", "exited with status 3"),
        ("echo B C; exit 3", "exited with status 3"),
    ],
)
def test_command_that_fails(
    directory: Path, runtime: Path, script: str, how: str, options: list[str]
) -> None:
    """What it printed is not served, be it all or half of what it would have."""
    result = hotenv("serve", *options, "--", "sh", "-c", script, cwd=directory)
    assert result.returncode == 8
    assert said(result) == f"hotenv: 'sh' {how}: nothing is served"
    assert is_clean(directory, runtime)


def test_command_that_cannot_be_executed(directory: Path, runtime: Path) -> None:
    """It is told as ``run`` tells it."""
    result = hotenv("serve", "--", "no-such-command", cwd=directory)
    assert (result.returncode, said(result)) == (
        8,
        "hotenv: cannot run 'no-such-command': command not found",
    )
    assert is_clean(directory, runtime)


def test_bad_output_of_a_command(directory: Path, runtime: Path) -> None:
    """A problem says whose output it is in; and JSON can be read, too."""
    words = ["serve", "--detach", "--", "echo", '{"A": "1 #2"}']
    result = hotenv(*words, cwd=directory)
    assert (result.returncode, said(result)) == (
        7,
        "hotenv: output of 'echo': this is JSON: read it with '--format json'",
    )
    assert is_clean(directory, runtime)
    words.insert(1, "--format=json")
    assert hotenv(*words, cwd=directory).returncode == 0
    assert dump(directory) == {"A": "1 #2"}
    stop(directory, runtime)


def test_output_that_is_too_large(directory: Path, runtime: Path) -> None:
    """It is not waited for without end."""
    result = hotenv("serve", "--", "yes", "A=1", cwd=directory)
    assert result.returncode == 8
    assert "output of 'yes' too large (limit " in said(result)
    assert is_clean(directory, runtime)


def test_command_starts_as_hotenv_did(directory: Path) -> None:
    """With the dispositions and the mask of signals that hotenv was started with."""
    report = "grep -E '^Sig(Blk|Ign|Cgt)' /proc/self/status | tr ':\\t' '=_' >&2"
    here = subprocess.run(["sh", "-c", report], capture_output=True, timeout=LIMIT, check=True)
    there = hotenv("serve", "--check", "--", "sh", "-c", report, cwd=directory)
    assert there.stderr.startswith(here.stderr)


def test_killed_with_its_command(directory: Path, runtime: Path) -> None:
    """However hotenv ends, its command does not go on."""
    words = [*HOTENV, "serve", "--", "sh", "-c", "echo $$ >pid; exec sleep 600"]
    with subprocess.Popen(words, cwd=directory) as process:
        wait_until(lambda: (directory / "pid").exists() and (directory / "pid").read_text(), "it")
        process.kill()
    pid = int((directory / "pid").read_text())
    wait_until(lambda: not Path(f"/proc/{pid}/exe").exists(), "the end of the command")
    assert is_clean(directory, runtime)


CATCHING = """trap 'echo caught >&2; n=$((${n:-0} + 1))' INT
echo ready >&2
while [ ! "$n" ]; do sleep 0.01; done
echo A=$n; exit ${1:-0}"""
"""Goes on after Ctrl-C, with as many as there were."""


@pytest.mark.parametrize(
    ("script", "code", "words"),
    [
        ("echo ready >&2; exec sleep 600", 130, b""),
        (f"set -- 3\n{CATCHING}", 8, b"hotenv: 'sh' exited with status 3: nothing is served"),
    ],
    ids=["ended by it", "caught"],
)
@pytest.mark.parametrize("options", [[], ["--detach"]], ids=str)
def test_interrupted_command(
    directory: Path, runtime: Path, script: str, code: int, words: bytes, options: list[str]
) -> None:
    """Ctrl-C reaches the command, and hotenv ends as that does."""
    terminal = Terminal([*HOTENV, "serve", *options, "--", "sh", "-c", script], directory)
    terminal.expect(b"ready")
    terminal.type(b"\x03")
    assert terminal.wait() == code
    assert words in terminal.screen
    assert is_clean(directory, runtime)


def test_interrupt_of_a_command_that_has_ended_meanwhile(directory: Path, runtime: Path) -> None:
    """Whose Ctrl-C it was is decided when it came, however late hotenv hears of all that."""
    script = "trap 'exit 3' INT; echo ready >&2; while :; do sleep 0.01; done"
    terminal = Terminal([*HOTENV, "serve", "--", "sh", "-c", script], directory)
    terminal.expect(b"ready")
    reader = int(Path(f"/proc/{terminal.pid}/task/{terminal.pid}/children").read_text())
    command = int(Path(f"/proc/{reader}/task/{reader}/children").read_text())
    os.kill(reader, signal.SIGSTOP)
    terminal.type(b"\x03")
    wait_until(lambda: " Z " in Path(f"/proc/{command}/stat").read_text(), "the command to end")
    os.kill(reader, signal.SIGCONT)
    assert terminal.wait() == 8
    assert b"'sh' exited with status 3: nothing is served" in terminal.screen
    assert is_clean(directory, runtime)


_EARLY = """
import importlib, os, signal, sys
module, name = importlib.import_module(sys.argv.pop(1)), sys.argv.pop(1)
def early(*args, then=getattr(module, name)):
    os.kill(os.getpid(), signal.SIGINT)
    return then(*args)
setattr(module, name, early)
from hotenv.cli.main import main
sys.exit(main())
"""


@pytest.mark.parametrize(
    "place", ["hotenv.intake.reader Child", "hotenv.serving.detach _be_the_server"]
)
def test_interrupt_that_comes_early(directory: Path, runtime: Path, place: str) -> None:
    """The command may be faster than the processes that leave Ctrl-C to it."""
    command = [sys.executable, "-P", "-c", _EARLY, *place.split()]
    result = hotenv("serve", "--detach", "--", "echo", "A=1", cwd=directory, command=command)
    assert result.returncode == 0
    assert dump(directory) == {"A": "1"}
    stop(directory, runtime)


def test_command_that_catches_an_interrupt(directory: Path, runtime: Path) -> None:
    """It may go on after Ctrl-C, which reached it once; later ones are hotenv's again."""
    terminal = Terminal([*HOTENV, "serve", "--", "sh", "-c", CATCHING], directory)
    terminal.expect(b"ready")
    terminal.type(b"\x03")
    terminal.expect(b"serving 1 variable ")
    assert terminal.screen.count(b"caught") == 1
    assert dump(directory) == {"A": "1"}
    terminal.type(b"\x03")
    assert terminal.wait() == 0
    assert is_clean(directory, runtime)


def test_command_that_is_stopped(directory: Path, runtime: Path) -> None:
    """Ctrl-Z stops the job as a whole, and fg continues it. Its echo is the terminal's again."""
    script = "stty -echo; echo ready >&2; read line </dev/tty; stty echo; echo A=$line"
    words = " ".join([*HOTENV, "serve", "--", "sh", "-c", f"'{script}'"])
    terminal = Terminal(in_job_shell(f"echo $$.; exec {words}"), directory)
    terminal.expect(b"ready")
    group = int(terminal.screen.split(b".")[0])
    terminal.type(b"\x1a")
    terminal.expect(b"shell: stopped, echo on")
    wait_until(lambda: all_stopped(group), "the command to stop")
    terminal.type(b"fg\n")
    terminal.type(b"word\n")
    terminal.expect(b"serving 1 variable ")
    assert dump(directory) == {"A": "word"}
    terminal.type(b"\x03")
    terminal.expect(b"shell: ended 0, echo on")
    terminal.wait()
    assert is_clean(directory, runtime)


BLOCKING = """
import os, signal, sys
signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGCHLD])
os.execvp(sys.argv[1], sys.argv[1:])
"""


@pytest.mark.parametrize("before", [[], [sys.executable, "-c", BLOCKING]], ids=["", "no SIGCHLD"])
@pytest.mark.parametrize("options", [[], ["--detach"]], ids=str)
def test_interrupt_after_the_command(
    directory: Path, runtime: Path, options: list[str], before: list[str]
) -> None:
    """What it left behind may keep its output open: Ctrl-C ends that wait."""
    script = "trap '' INT; sleep 600 2>/dev/null </dev/null & echo $! >pid; echo A=1"
    words = [*before, *HOTENV, "serve", *options, "--", "sh", "-c", script]
    terminal = Terminal(words, directory)
    wait_until(lambda: (directory / "pid").exists() and (directory / "pid").read_text(), "sleep")

    def interrupt() -> bool:
        """Press Ctrl-C; whether that has ended hotenv. While the command runs it does not."""
        terminal.type(b"\x03")
        if select.select([terminal.fd], [], [], 0)[0]:  # else it would be full of ^C in the end
            terminal.read()
        return " Z " in Path(f"/proc/{terminal.pid}/stat").read_text()

    try:
        wait_until(interrupt, "the end")
        assert terminal.wait() in (130, -signal.SIGINT)  # the latter if it comes once more
    finally:
        os.kill(int((directory / "pid").read_text()), signal.SIGKILL)
    assert is_clean(directory, runtime)


def test_command_that_leaves_modes(directory: Path, runtime: Path) -> None:
    """Questions after it are asked as ever, and then the terminal is as it was."""
    script = 'stty -isig -opost -echo; echo "K=?"; echo "L=?"'
    words = " ".join([*HOTENV, "serve", "-p", "--", "sh", "-c", f"'{script}'"])
    terminal = Terminal(in_job_shell(f"exec {words}"), directory)
    terminal.expect(b"hotenv: K: ")
    terminal.type(b"typed\x03")
    terminal.expect(b"shell: ended 130, echo on")
    terminal.wait()
    assert is_clean(directory, runtime)


def test_ready_fd_is_not_the_commands(directory: Path, runtime: Path) -> None:
    """That there is no session is known as soon as hotenv has ended."""
    reader, writer = os.pipe()
    os.set_inheritable(writer, True)
    script = "sleep 600 >/dev/null 2>&1 </dev/null & echo $! >pid; exit 1"
    words = [*HOTENV, "serve", "--ready-fd", str(writer), "--", "sh", "-c", script]
    result = subprocess.run(
        words, cwd=directory, capture_output=True, timeout=LIMIT, pass_fds=[writer]
    )
    os.close(writer)
    try:
        assert result.returncode == 8
        with open(reader, "rb") as file:
            assert file.read() == b""
    finally:
        os.kill(int((directory / "pid").read_text()), signal.SIGKILL)
    assert is_clean(directory, runtime)


# Files


def test_files(directory: Path, runtime: Path) -> None:
    """The last value of a name counts; a format is that of the sources after it."""
    (directory / "a").write_bytes(b"\xef\xbb\xbfA=1\nB=${A}1")
    (directory / "b").write_text('{"A": "2 #", "C": "x"}')
    (directory / "c").write_bytes(b"\xef\xbb\xbfD=${A}")
    options = ["--from", "a", "--format=json", "--from=b", "--format", "dotenv", "--from", "c"]
    result = hotenv(
        "serve",
        *options,
        "--from",
        "-",
        "--detach",
        "--",
        "echo",
        "C=z",
        cwd=directory,
        stdin=b"C=y",
    )
    assert result.returncode == 0
    assert dump(directory) == {"A": "2 #", "B": "11", "C": "z", "D": "2 #"}
    stop(directory, runtime)


def test_where_each_value_comes_from(directory: Path) -> None:
    """--check names the text beside the line, and so do warnings."""
    (directory / "a").write_text("A=1\n\nN\n")
    options = ["--check", "--from", "a", "--from", "-", "--", "echo", "C=z"]
    result = hotenv("serve", *options, cwd=directory, stdin=b"\nB=${A}")
    assert result.returncode == 0
    assert result.stdout == (
        b"A\tliteral\t1\ta\nB\tliteral\t2\tstandard input\nC\tliteral\t1\toutput of 'echo'\n"
    )
    assert result.stderr == b"hotenv: warning: a: line 3: name without '=' sets nothing\n"


@pytest.mark.parametrize(
    ("words", "code", "message"),
    [
        (["--from", "no"], 8, "cannot open no: no such file or directory"),
        (["--from", "."], 8, "cannot read .: is a directory"),
        (["--from", "a", "--format", "json"], 2, "--format must come before the --from"),
        (["--format", "xml"], 2, "no such format 'xml', choose from dotenv, json, docker, null"),
        (["a"], 2, "unexpected argument 'a': put '--' before a command"),
        (["A=s3cret"], 2, "unexpected argument 'A=...': put '--' before a command"),
        (["--"], 2, "missing command after '--'"),
        (["--env", "NO_SUCH_*"], 2, "--env 'NO_SUCH_*': no matching variable in the environment"),
        (["--env", "HOME", "--env", "NO"], 2, "--env 'NO': no matching variable"),
    ],
)
def test_refused(directory: Path, runtime: Path, words: list[str], code: int, message: str) -> None:
    """With a reason, before anything is asked."""
    (directory / "a").write_text("A=1\n")
    result = hotenv("serve", *words, cwd=directory)
    assert result.returncode == code
    assert said(result).startswith(f"hotenv: {message}")
    assert is_clean(directory, runtime)


# The environment

EXACT = {"X_1": "a #b '\" ${HOME} \\n ?", "X_2": "?two\r\nlines\n", "X_3": "", "Y": "=é"}


@pytest.mark.parametrize("options", [[], ["-C", "below"]], ids=str)
def test_environment(directory: Path, runtime: Path, options: list[str]) -> None:
    """Exact for every value, and standard input is not read."""
    (directory / "below").mkdir()
    where = directory / "below" if options else directory
    words = [*HOTENV, *options, "serve", "--env", "X_?", "--env=Y", "--detach", "--strict"]
    ours, theirs = socket.socketpair()  # nothing comes, and it does not end
    with ours, theirs:
        result = subprocess.run(
            words,
            cwd=directory,
            env={**os.environ, **EXACT},
            stdin=theirs.fileno(),
            capture_output=True,
            timeout=LIMIT,
            check=True,
        )
    assert result.stderr.startswith(b"hotenv: serving 4 variables in ")
    assert dump(where) == EXACT
    stop(where, runtime)


def test_environment_among_other_sources(directory: Path, runtime: Path) -> None:
    """In the order in which they are given; and one that is asked for by name is read."""
    words = ["serve", "--from", "-", "--env", "X_*", "--detach", "--", "sh", "-c", "echo X_2=2"]
    result = hotenv(
        *words, cwd=directory, stdin=b"X_1=0\nZ=${HOME}", env={**os.environ, "X_1": "1", "X_2": "1"}
    )
    assert result.returncode == 0
    assert dump(directory) == {"X_1": "1", "X_2": "2", "Z": os.environ["HOME"]}
    stop(directory, runtime)


@pytest.mark.parametrize("source", ["-", "f"])
def test_references_to_what_is_taken(directory: Path, runtime: Path, source: str) -> None:
    """They find it as if it had stayed, wherever they stand."""
    text = b"URL=pg://${X_1:-localhost}/${X_1}"
    (directory / "f").write_bytes(text)
    words = ["serve", "--strict", "--from", source, "--env", "X_*", "--detach"]
    result = hotenv(*words, cwd=directory, stdin=text, env={**os.environ, "X_1": "é"})
    assert result.returncode == 0
    assert dump(directory) == {"URL": "pg://é/é", "X_1": "é"}
    stop(directory, runtime)


def test_taking_what_hotenv_needs(directory: Path, runtime: Path) -> None:
    """It is served, and hotenv has it too: XDG_RUNTIME_DIR says where the session is."""
    result = hotenv("serve", "--env", "XDG_RUN*", "--env", "PATH", "--detach", cwd=directory)
    assert result.returncode == 0
    assert dump(directory) == {name: os.environ[name] for name in ("PATH", "XDG_RUNTIME_DIR")}
    stop(directory, runtime)


@pytest.mark.parametrize("number", ["99", str(2**40)])
def test_no_descriptor_of_variables(directory: Path, number: str) -> None:
    """Only hotenv itself gives that option."""
    result = hotenv("--taken-fd", number, "serve", "--env", "PATH", cwd=directory)
    assert (result.returncode, said(result)) == (
        2,
        f"hotenv: --taken-fd {number}: no such file descriptor",
    )


def test_environment_that_is_no_text(directory: Path, runtime: Path) -> None:
    """A value that is not UTF-8 is refused, and not changed."""
    environment = {**os.environb, b"X_1": b"\xff"}
    result = subprocess.run(
        [*HOTENV, "serve", "--env", "X_1"],
        cwd=directory,
        env=environment,
        capture_output=True,
        timeout=LIMIT,
        check=False,
    )
    assert (result.returncode, said(result)) == (
        7,
        "hotenv: environment: line 1: not valid UTF-8",
    )
    assert is_clean(directory, runtime)


@WITHOUT_MEMORY_FILES
def test_what_is_left_of_the_environment(directory: Path, runtime: Path) -> None:
    """The server has no copy in its environment or in a file, and a command does not get one."""
    secret = "s3cret-of-the-environment"
    listing = 'for each in /proc/$$/fd/*; do readlink "$each"; done'
    script = f"(env; {listing}) | grep -c -e s3cret -e memfd >&2; echo A=1"
    words = ["serve", "--env", "X_*", "--detach", "--", "sh", "-c", script]
    environment = {**os.environ, "X_1": secret}
    result = hotenv(*words, cwd=directory, env=environment)
    assert result.stderr.startswith(b"0\nhotenv: serving 2 variables in ")
    pid = json.loads(hotenv("status", "--json", cwd=directory).stdout)["pid"]
    try:
        assert secret.encode() not in Path(f"/proc/{pid}/environ").read_bytes()
        files = [os.readlink(each) for each in Path(f"/proc/{pid}/fd").iterdir()]
        assert not [name for name in files if "memfd" in name]
    except PermissionError:  # to look there takes more than being its user
        assert os.geteuid()
    stop(directory, runtime)


def test_environment_in_a_program(
    directory: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    """Where hotenv cannot start itself anew it takes what it needs from where it is."""
    monkeypatch.chdir(directory)
    monkeypatch.setattr(hardening, "harden", lambda: None)  # it would last
    assert main(["serve", "--check", "--env", "PAT[H]"]) == 0
    assert capfd.readouterr().out == "PATH\tliteral\t1\tenvironment\n"


def test_named_pipe(directory: Path, runtime: Path) -> None:
    """It is read as a file is, and what is written to it in pieces is one text."""
    os.mkfifo(directory / "pipe")
    script = '{ echo A=1; echo B=2; } >pipe & exec "$@"'
    result = hotenv(
        "serve",
        "--from",
        "pipe",
        "--detach",
        cwd=directory,
        command=["sh", "-c", script, "sh", *HOTENV],
    )
    assert result.returncode == 0
    assert dump(directory) == {"A": "1", "B": "2"}
    stop(directory, runtime)
