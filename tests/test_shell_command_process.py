"""``hotenv shell``: a program drives it through pipes."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from guarded import needs_guards
from hotenv.shell.processes import descendants, is_running
from processes import HOTENV, LIMIT, Terminal, hotenv, needs, said, serving, wait_until
from test_coredump import with_core_limit

pytestmark = needs("bash")

SHELL = ("shell", "--timeout", "10m", "--grace", f"{LIMIT:.0f}s")
"""It gives up on nothing because the machine is slow."""

NO_SESSION = (*SHELL, "--no-session")


def answers(text: bytes) -> list[dict[str, Any]]:
    """The answers in ``text``."""
    return [json.loads(line) for line in text.splitlines()]


def requests(*fields: Mapping[str, object]) -> bytes:
    """A line for each."""
    return b"".join(json.dumps(each).encode() + b"\n" for each in fields)


@contextmanager
def driven(
    cwd: Path, *options: str, shell: Sequence[str] = NO_SESSION
) -> Iterator[subprocess.Popen[bytes]]:
    """A shell, by default without a session, which has ended when the block is over."""
    with subprocess.Popen(
        [*HOTENV, *shell, *options],
        cwd=cwd,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    ) as process:
        try:
            yield process
        finally:
            process.kill()


def send(process: subprocess.Popen[bytes], **fields: object) -> None:
    """Send a request."""
    assert process.stdin is not None
    process.stdin.write(requests(fields))
    process.stdin.flush()


def receive(process: subprocess.Popen[bytes]) -> dict[str, Any]:
    """The next answer."""
    assert process.stdout is not None
    answer: dict[str, Any] = json.loads(process.stdout.readline())
    return answer


def test_conversation(directory: Path) -> None:
    """Each request has an answer, in order; a bad one changes nothing."""
    text = requests(
        {"id": 1, "command": "x=5; cat", "stdin": "é"},
        {"id": "two", "command": "echo $x; printf '\\xff' >&2; cd /", "timeout": None},
        {"id": 3, "command": 3},
        {"command": "sleep 1000", "timeout": 0.1},
        {"id": 5, "command": "echo a\0"},
        {"id": 51, "command": "echo a", "stdout_file": "/dev/full"},
        {"id": 6, "command": "echo $x; exit 9"},
        {"id": 7, "command": "pwd"},
    )
    done = hotenv(*NO_SESSION, cwd=directory, stdin=b"nonsense\n" + text)
    assert (done.returncode, done.stderr) == (0, b"")
    bad, first, second, third, fourth, fifth, full, sixth, seventh = answers(done.stdout)
    assert bad == {"id": None, "error": "a line must be one JSON value"}
    assert (first["id"], first["stdout"], first["cwd"]) == (1, "é", str(directory))
    assert (second["id"], second["stdout"], second["stderr_base64"]) == ("two", "5\n", "/w==")
    assert third == {"id": 3, "error": "command must be a string"}
    assert (fourth["id"], fourth["exit_code"], fourth["timed_out"]) == (None, 124, True)
    assert fifth == {"id": 5, "error": "command: must not contain a NUL character"}
    assert full == {"id": 51, "error": "cannot write /dev/full: no space left on device"}
    assert (sixth["stdout"], sixth["exit_code"], sixth["restarted"]) == ("5\n", 9, False)
    assert (seventh["stdout"], seventh["restarted"]) == ("/\n", True)


def test_options(directory: Path) -> None:
    """Those of the shell, and those of run that compose its environment."""
    text = requests({"command": "echo $A $B; printf %10000s; sleep 1000"})
    words = ("-t", "0.1s", "--max-output", "4", "--isolated", "--define", "A=1")
    done = hotenv(*NO_SESSION, *words, cwd=directory, stdin=text, env={**os.environ, "B": "2"})
    (answer,) = answers(done.stdout)
    assert (answer["exit_code"], answer["timed_out"]) == (124, True)
    assert answer["stdout"] == "1\n  "
    assert answer["omitted"] == {"stdout": {"bytes": 9998, "lines": 0, "at": 2}}


def test_a_file_as_input(directory: Path) -> None:
    """It works as a pipe does, also if its last line has no end."""
    (directory / "requests").write_bytes(requests({"command": "true"}, {"command": "false"})[:-1])
    with open(directory / "requests") as file:
        done = subprocess.run(
            [*HOTENV, *NO_SESSION], stdin=file, capture_output=True, timeout=LIMIT, check=True
        )
    assert [answer["exit_code"] for answer in answers(done.stdout)] == [0, 1]


def test_variables_of_a_session(directory: Path) -> None:
    """They are taken once, which is said; hotenv dump in the shell is what it is elsewhere."""
    with serving(directory, b"A=1\nB=2\n"):
        text = requests({"command": "echo $A$B"})
        done = hotenv(*SHELL, "--only", "A", cwd=directory, stdin=text)
        assert answers(done.stdout)[0]["stdout"] == "1\n"
        words = f"took 2 variables from the session of {directory}, to keep until the shell is"
        took, warning = done.stderr.decode().splitlines()
        assert took == f"hotenv: {words} closed"
        assert warning.startswith("hotenv: warning: not redacted, ")
    (directory / ".hotenv").unlink()
    done = hotenv(*SHELL, cwd=directory, stdin=text)
    assert done.returncode == 3
    assert "no .hotenv" in said(done)


def test_a_terminal(directory: Path) -> None:
    """Nobody is left alone in front of a shell that reads JSON."""
    terminal = Terminal([*HOTENV, *SHELL], directory)
    assert terminal.wait() == 2
    assert b"hotenv: 'hotenv shell' is for a program" in terminal.screen


@pytest.mark.parametrize("words", [["--max-output", "-1"], ["--max-output", "x"], ["-t", "0"]])
def test_usage(words: list[str], directory: Path) -> None:
    """A wrong option is a usage error."""
    assert hotenv(*NO_SESSION, *words, cwd=directory).returncode == 2


def test_no_bash(directory: Path) -> None:
    """It is an error at the start."""
    done = hotenv(*NO_SESSION, cwd=directory, env={**os.environ, "PATH": "/nowhere"})
    assert done.returncode == 8
    assert said(done) == "hotenv: cannot run 'bash': command not found"


@pytest.mark.parametrize("end", ["eof", "SIGTERM", "SIGINT", "SIGHUP"])
def test_the_end(end: str, directory: Path) -> None:
    """What is running is ended, and nothing is left."""
    with driven(directory, *(["--grace", "0.1s"] if end == "eof" else [])) as process:
        send(process, command="sleep 1000 & echo $!")
        job = int(receive(process)["stdout"])
        send(process, id=2, command=": > started; sleep 1000")
        wait_until((directory / "started").exists, "the command")
        below = descendants(process.pid)
        assert job in below
        if end == "eof":
            assert process.stdin is not None
            process.stdin.close()
            assert receive(process) == {"id": 2, "error": "ended at the end of input"}
        else:
            process.send_signal(signal.Signals[end])
        assert process.wait(LIMIT) == 0
    assert not any(map(is_running, below))


def test_the_end_of_a_busy_shell(directory: Path) -> None:
    """A signal ends it even if it is in an endless loop that takes no notice of signals."""
    with driven(directory, "--grace", "1s") as process:
        send(process, command="trap '' INT TERM; : > started; while :; do :; done")
        wait_until((directory / "started").exists, "the command")
        process.terminate()
        assert process.wait(LIMIT) == 0


def test_nohup(directory: Path) -> None:
    """A hangup that is ignored does not end it."""
    program = ["sh", "-c", "trap '' HUP; exec \"$@\"", "sh", *HOTENV, *NO_SESSION]
    with subprocess.Popen(
        program, cwd=directory, stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as process:
        try:
            send(process, id=1, command="true")
            assert receive(process)["id"] == 1
            process.send_signal(signal.SIGHUP)
            send(process, id=2, command="true")
            assert receive(process)["id"] == 2
        finally:
            process.kill()


def test_a_driver_that_does_not_read(directory: Path) -> None:
    """Its signals count all the same."""
    with driven(directory, "--max-output", "1000000") as process:
        send(process, command="head -c 900000 /dev/zero; : > done")
        wait_until((directory / "done").exists, "the command")
        process.terminate()
        assert process.wait(LIMIT) == 0


def test_nobody_reads(directory: Path) -> None:
    """The end of the reader is the end of the shell."""
    with driven(directory) as process:
        assert process.stdout is not None
        process.stdout.close()
        send(process, command="true")
        assert process.wait(LIMIT) == 141


WITH_AND_WITHOUT_GUARD = [[], pytest.param(["--fs-readonly"], marks=needs_guards)]


@pytest.mark.parametrize("guard", WITH_AND_WITHOUT_GUARD)
def test_variables_in_files(guard: list[str], directory: Path) -> None:
    """They are there for each command and each shell, whatever descriptors a command uses."""
    text = requests(
        {"command": "exec 3</ 4</ 5</ 6</ 7</ 8</ 9</; export COPY=$A_FILE"},
        {"command": "cat $A_FILE $HOTENV_ENV_FILE $COPY; echo [$A$B]; exit"},
        {"command": "cat $A_FILE $HOTENV_ENV_FILE $COPY; kill -9 $$"},
        {"command": "cat $A_FILE $HOTENV_ENV_FILE $COPY"},
    )
    with serving(directory, b"A=a\nB=b\n"):
        words = ("--as-file", "A", "--env-file", "json", *guard)
        done = hotenv(*SHELL, *words, cwd=directory, stdin=text)
    content = 'a{"B": "b"}\na'
    shown = ["", f"{content}[]\n", content, content]
    assert [answer["stdout"] for answer in answers(done.stdout)] == shown
    assert [answer["stderr"] for answer in answers(done.stdout)] == [""] * 4


@pytest.mark.parametrize(
    "words", [["--define", "HOTENV_ENV_FILE=x"], ["--as-file", "A=HOTENV_ENV_FILE"]]
)
def test_a_name_that_is_taken(words: list[str], directory: Path) -> None:
    """It is an error: one of the two would be lost."""
    with serving(directory, b"A=1\nB=2\n"):
        done = hotenv(*SHELL, "--env-file", "json", *words, cwd=directory)
    assert done.returncode == 2
    assert "hotenv: --env-file HOTENV_ENV_FILE: also defined" in done.stderr.decode()


@pytest.mark.parametrize("guard", WITH_AND_WITHOUT_GUARD)
@pytest.mark.parametrize(("soft", "hard"), [(0, 0), (1, 4096), (4096, 8192), (8192, 8192)])
def test_core_limits(soft: int, hard: int, guard: list[str], directory: Path) -> None:
    """A command has those that hotenv was started with."""
    limits = with_core_limit(soft, hard)
    text = requests({"command": "grep core /proc/self/limits"}, {"command": "exit"})
    done = subprocess.run(
        [*limits, *HOTENV, *NO_SESSION, *guard],
        cwd=directory,
        input=text * 2,
        capture_output=True,
        timeout=LIMIT,
        check=True,
    )
    first, _, second, _ = answers(done.stdout)
    for answer in (first, second):
        assert answer["stdout"].split()[4:6] == [str(soft), str(hard)]


@pytest.mark.skipif(sys.platform != "linux", reason="there is no /proc")
def test_no_core_of_ours(directory: Path) -> None:
    """Neither process that knows the variables leaves one."""
    program = [*with_core_limit(4096, 4096), *HOTENV, *NO_SESSION]
    with subprocess.Popen(
        program, cwd=directory, stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as process:
        send(process, command="echo $PPID $$")
        keeper, shell = map(int, receive(process)["stdout"].split())
        assert process.stdin is not None
        limits = {pid: Path(f"/proc/{pid}/limits").read_text() for pid in (keeper, shell)}
        process.stdin.close()
    soft = {pid: re.findall(r"core file size +(\d+)", text) for pid, text in limits.items()}
    assert soft == {keeper: ["1"], shell: ["4096"]}


@needs_guards
@pytest.mark.usefixtures("unmeasured")
@pytest.mark.parametrize("descriptor", [False, True])
def test_report(descriptor: bool, directory: Path) -> None:
    """It has what each shell was refused, one after the other, and nothing of an earlier run."""
    report = directory / "report"
    report.write_text("of an earlier run\n" * 1000)
    text = requests(
        {"command": "echo a > one"},
        {"command": "readlink /proc/$$/fd/*; echo b > two; exit 3"},
        {"command": "kill -9 $$"},
        {"command": "sleep 1000 & echo c > three; exit 0"},
    )
    with open(report, "r+b") as file:
        path = f"/dev/fd/{file.fileno()}" if descriptor else str(report)
        done = subprocess.run(
            [*HOTENV, *NO_SESSION, "--fs-readonly", "--report", path],
            cwd=directory,
            input=text,
            capture_output=True,
            pass_fds=[file.fileno()] if descriptor else [],
            timeout=LIMIT,
            check=True,
        )
    lines = [json.loads(line) for line in report.read_text().splitlines()]
    shown = [line.get("status", line.get("times")) for line in lines if line.get("counts", True)]
    assert shown == [2, 3, -9, 1, 0]
    listed = answers(done.stdout)[1]["stdout"]
    assert "report" not in listed


def test_a_report_that_cannot_be_written(directory: Path) -> None:
    """It is an error before anything is run."""
    done = hotenv(
        *NO_SESSION, "--no-network", "--report", "/nowhere/report", cwd=directory, stdin=b""
    )
    assert done.returncode == 8
    assert (
        said(done) == "hotenv: cannot write the report /nowhere/report: no such file or directory"
    )


@needs_guards
@pytest.mark.parametrize("field", ["stdout_file", "stderr_file"])
def test_no_file_for_a_guarded_shell(field: str, directory: Path) -> None:
    """A request is no way to write where its command may not."""
    refusal = "stdout_file and stderr_file are refused with --fs-readonly and --deny-read"
    text = requests({"id": 1, "command": "echo a | tee /dev/stderr", field: "file"})
    done = hotenv(*NO_SESSION, "--fs-readonly", cwd=directory, stdin=text)
    (answer,) = answers(done.stdout)
    assert answer == {
        "id": 1,
        "error": f"{refusal}: hotenv would write them, and is under no guard",
    }
    assert os.listdir(directory) == []


@needs_guards
def test_private_tmp(directory: Path) -> None:
    """It lasts as long as the session, whatever becomes of its shells."""
    text = requests(
        {"command": "echo a > $TMPDIR/file; echo $TMPDIR"},
        {"command": "kill -9 $$"},
        {"command": "cat $TMPDIR/file; echo $TMPDIR"},
    )
    done = hotenv(*NO_SESSION, "--private-tmp", "--fs-readonly", cwd=directory, stdin=text)
    first, _, last = answers(done.stdout)
    assert last["stdout"] == "a\n" + first["stdout"]
    assert not os.path.exists(first["stdout"].rstrip())


@needs_guards
@pytest.mark.usefixtures("unmeasured")
def test_guard(directory: Path) -> None:
    """What is blocked is told at the end, without values of the session."""
    (directory / "secret-1").touch()
    with serving(directory, b"A=secret-1\n"):
        text = requests({"command": "echo a > $A; echo b"})
        done = hotenv(*SHELL, "--fs-readonly", "--report", "r", cwd=directory, stdin=text)
    assert answers(done.stdout)[0]["stdout"] == "b\n"
    assert f"blocked write {directory}/[A] by bash (fs-readonly)" in done.stderr.decode()
    assert b"secret-1" not in done.stderr
    blocked, end = map(json.loads, (directory / "r").read_text().splitlines())
    assert blocked["what"] == "write"
    assert set(end) == {"status"}
