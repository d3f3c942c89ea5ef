"""`hotenv serve --detach`: the session is there when it returns, and nothing of the caller's is."""

from __future__ import annotations

import fcntl
import os
import re
import select
import shlex
import signal
import socket
import stat
import subprocess
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path

import pytest

from hotenv.intake.echoguard import Child
from hotenv.session.marker import format_marker
from processes import (
    HOTENV,
    LIMIT,
    Terminal,
    connect,
    fill,
    freeze,
    hotenv,
    is_clean,
    said,
    wait_until,
    with_limits,
)


@pytest.fixture
def ended(directory: Path) -> Iterator[None]:
    """Ends the session that a test leaves."""
    yield
    hotenv("stop", cwd=directory)


def server_pid(directory: Path) -> int:
    """The process that serves in ``directory``, by the kernel's word."""
    with connect(directory) as client:
        raw = client.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12)
    return int.from_bytes(raw[:4], "little")


def reader_and_server(starter: subprocess.Popen[bytes]) -> list[int]:
    """The two processes that ``serve --detach`` has started, once it has."""
    wait_until(lambda: len(children_of(starter)) == 2, "reader and server")
    return children_of(starter)


def server_of(pids: Iterable[int]) -> int:
    """The one of ``pids`` that has a session of its own, or 0."""
    return next((pid for pid in pids if os.getsid(pid) == pid), 0)


def children_of(process: subprocess.Popen[bytes]) -> list[int]:
    """What ``process`` has started and not yet seen end."""
    text = Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text()
    return [int(pid) for pid in text.split()]


def is_gone(pid: int) -> bool:
    """Whether the process has ended."""
    try:
        return state_of(pid) == "Z"
    except OSError:
        return True


def state_of(pid: int) -> str:
    """What the process does, as ps(1) has it: ``S`` waits, ``Z`` has ended."""
    return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]


def test_answers_when_it_returns(directory: Path, ended: None) -> None:
    """Exit code 0, one line that says where, and the next command gets the variables."""
    result = hotenv("serve", "--detach", "-t", "90", cwd=directory, stdin=b"A=1\nB\n")
    assert result.returncode == 0
    assert result.stdout == b""
    assert result.stderr.decode().splitlines() == [
        "hotenv: warning: standard input: line 2: name without '=' sets nothing",
        f"hotenv: serving 1 variable in {directory} (expires after 1m30s idle)",
    ]
    assert hotenv("dump", cwd=directory).stdout == b"A=1\n"


def test_quiet(directory: Path, ended: None) -> None:
    """--quiet says nothing."""
    result = hotenv("serve", "--detach", "-q", cwd=directory, stdin=b"A=1\n")
    assert (result.returncode, result.stdout, result.stderr) == (0, b"", b"")


def test_holds_nothing_of_the_callers(directory: Path, ended: None) -> None:
    """A session of its own, /dev/null for the standard streams, no pipe, no other descriptor."""
    reader, writer = os.pipe()
    other, others_end = os.pipe()
    process = subprocess.Popen(
        [*HOTENV, "serve", "--detach"],
        cwd=directory,
        stdin=subprocess.PIPE,
        stdout=writer,
        stderr=writer,
        pass_fds=[others_end],
    )
    os.close(writer)
    os.close(others_end)
    process.communicate(b"A=1\n", timeout=LIMIT)
    assert process.returncode == 0
    assert os.read(reader, 1000).startswith(b"hotenv: serving 1 variable ")
    for descriptor in (reader, other):
        assert select.select([descriptor], [], [], LIMIT)[0]
        assert os.read(descriptor, 1000) == b""
    pid = server_pid(directory)
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    assert fields[2:5] == [str(pid), str(pid), "0"]  # process group, session, no terminal
    if os.geteuid() == 0:  # only root may look
        for number in range(3):
            assert os.readlink(f"/proc/{pid}/fd/{number}") == os.devnull


def test_command_substitution(directory: Path, ended: None) -> None:
    """`x=$(hotenv serve --detach <env)` returns."""
    (directory / "env").write_text("A=1\n")
    script = f'x=$({shlex.join(HOTENV)} serve --detach <env 2>&1) && echo "[$x]"'
    done = subprocess.run(
        ["sh", "-c", script], cwd=directory, capture_output=True, timeout=LIMIT, text=True
    )
    assert done.stdout.startswith("[hotenv: serving 1 variable ")


@pytest.mark.parametrize(
    ("options", "text", "code", "words"),
    [
        ([], b"A=1\n=x\n", 7, "line 2"),
        (["--log", "no/log"], b"A=1\n", 8, "no/log"),
        (["--ready-fd", "77"], b"A=1\n", 2, "--ready-fd 77"),
        (["-p"], b"A=?\n", 8, "cannot prompt for A: no terminal"),
    ],
    ids=["input", "log", "ready", "prompt"],
)
def test_what_fails_fails_before(
    directory: Path, runtime: Path, options: list[str], text: bytes, code: int, words: str
) -> None:
    """One line, the same code as in the foreground, and nothing is left."""
    result = subprocess.run(
        [*HOTENV, "serve", "--detach", *options],
        cwd=directory,
        input=text,
        capture_output=True,
        timeout=LIMIT,
        start_new_session=True,
    )
    assert result.returncode == code
    assert result.stderr.decode().startswith("hotenv: ")
    assert result.stderr.count(b"\n") == 1
    assert words in result.stderr.decode()
    assert is_clean(directory, runtime)


def test_directory_without_room_for_a_marker(directory: Path, runtime: Path) -> None:
    """What only the server finds out is told by the process that was started."""
    result = hotenv("serve", "--detach", cwd=Path("/proc/self"), stdin=b"A=1\n")
    assert result.returncode == 8
    assert result.stderr.startswith(b"hotenv: ")
    assert result.stderr.count(b"\n") == 1
    assert not list((runtime / "hotenv").iterdir())


@pytest.mark.parametrize("options", [(), ("--detach",)], ids=["foreground", "detached"])
def test_directory_that_is_removed_meanwhile(
    directory: Path, runtime: Path, options: tuple[str, ...]
) -> None:
    """It was there at the start, and is not when all is read: one line, which is logged too."""
    place = directory / "place"
    place.mkdir()
    process = subprocess.Popen(
        [*HOTENV, "serve", "--log", "../log", *options],
        cwd=place,
        stdin=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    wait_until((directory / "log").exists, "the log")
    place.rmdir()
    _, words = process.communicate(b"A=1\n", timeout=LIMIT)
    assert process.returncode == 8
    assert words == b"hotenv: cannot determine the current directory: no such file or directory\n"
    assert (directory / "log").read_bytes().endswith(words)
    assert not list(runtime.glob("hotenv/*"))


def test_existing_marker(directory: Path) -> None:
    """Refused with 10, at once; with --force replaced."""
    (directory / ".hotenv").write_bytes(format_marker(f"{directory}/gone.sock"))
    assert hotenv("serve", "--detach", cwd=directory).returncode == 10
    assert hotenv("serve", "--detach", "-f", cwd=directory, stdin=b"A=1\n").returncode == 0
    assert hotenv("stop", cwd=directory).returncode == 0


def test_of_many_starts_one_wins(directory: Path, runtime: Path) -> None:
    """Six at once: one session, five times exit code 10."""
    starts = [
        subprocess.Popen(
            [*HOTENV, "serve", "--detach"],
            cwd=directory,
            stdin=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
        for _ in range(6)
    ]
    for start in starts:
        start.communicate(b"A=1\n", timeout=LIMIT)
    assert sorted(start.returncode for start in starts) == [0] + [10] * 5
    assert hotenv("dump", cwd=directory).stdout == b"A=1\n"
    assert hotenv("stop", cwd=directory).returncode == 0
    assert is_clean(directory, runtime)


def test_ends_by_itself(directory: Path, runtime: Path) -> None:
    """When it expires everything but a note is gone, and the log says why."""
    done = hotenv("serve", "--detach", "-t", "0.5", "--log", "log", cwd=directory, stdin=b"A=1\n")
    assert done.returncode == 0
    wait_until(lambda: is_clean(directory, runtime, expired=True), "the end of the session")
    wait_until(lambda: "session expired" in (directory / "log").read_text(), "the last line")


def test_log(directory: Path) -> None:
    """The log file has what standard error would have had, with the time."""
    assert (
        hotenv("serve", "--detach", "--log", "log", cwd=directory, stdin=b"A=1\n").returncode == 0
    )
    assert hotenv("run", "--", "true", cwd=directory).returncode == 0
    assert hotenv("stop", cwd=directory).returncode == 0
    lines = [line[20:] for line in (directory / "log").read_text().splitlines()]
    assert lines == [
        f"hotenv: serving 1 variable in {directory} (expires after 5m idle)",
        "run true",
        "hotenv: session stopped by a signal",
    ]
    assert stat.S_IMODE((directory / "log").stat().st_mode) == 0o600


def test_fatal_error_is_in_the_log(directory: Path) -> None:
    """What goes wrong in the background is written down."""
    options = ("--detach", "--log", "log")
    command = with_limits({"hotenv.serving.server.GRACE_PERIOD": "not a number"})
    assert hotenv("serve", *options, cwd=directory, stdin=b"A=1\n", command=command).returncode == 0
    assert hotenv("stop", cwd=directory).returncode == 0
    last = (directory / "log").read_text().splitlines()[-1]
    assert " hotenv: internal error: TypeError at server.py:" in last
    assert last.endswith(": please report this bug")


@pytest.mark.parametrize("lock", ["directory", "marker"])
def test_end_waits_for_no_lock(directory: Path, runtime: Path, lock: str) -> None:
    """Others hold locks on the directory and on the marker: the end is in order all the same."""
    assert hotenv("serve", "--detach", cwd=directory, stdin=b"A=1\n").returncode == 0
    descriptor = os.open(directory / ".hotenv" if lock == "marker" else directory, os.O_RDONLY)
    fcntl.flock(descriptor, fcntl.LOCK_EX)
    assert hotenv("stop", cwd=directory).returncode == 0
    os.close(descriptor)
    assert is_clean(directory, runtime)


def test_foreground_log(directory: Path) -> None:
    """In the foreground too --log takes the request log; standard error says when it is ready."""
    process = subprocess.Popen(
        [*HOTENV, "serve", "--log", "log"],
        cwd=directory,
        stdin=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    assert process.stdin is not None
    process.stdin.write(b"A=1\n")
    process.stdin.close()
    process.stdin = None
    assert hotenv("run", "--wait", f"{LIMIT}", "true", cwd=directory).returncode == 0
    assert hotenv("stop", cwd=directory).returncode == 0
    _, words = process.communicate(timeout=LIMIT)
    assert words.decode() == f"hotenv: serving 1 variable in {directory} (expires after 5m idle)\n"
    assert (directory / "log").read_text().splitlines()[1].endswith(" run true")


@pytest.mark.parametrize("options", [(), ("--detach",)], ids=["foreground", "detached"])
def test_ready_fd(directory: Path, options: tuple[str, ...]) -> None:
    """A newline when it answers, and the end."""
    reader, writer = os.pipe()
    process = subprocess.Popen(
        [*HOTENV, "serve", "-q", "--ready-fd", str(writer), *options],
        cwd=directory,
        stdin=subprocess.PIPE,
        pass_fds=[writer],
    )
    os.close(writer)
    assert process.stdin is not None
    process.stdin.write(b"A=1\n")
    assert not select.select([reader], [], [], 0)[0]
    process.stdin.close()
    assert select.select([reader], [], [], LIMIT)[0]
    assert os.read(reader, 10) == b"\n"
    assert hotenv("dump", cwd=directory).stdout == b"A=1\n"
    assert os.read(reader, 10) == b""
    assert hotenv("stop", cwd=directory).returncode == 0
    assert process.wait(timeout=LIMIT) == 0


def test_ready_fd_at_a_failure(directory: Path) -> None:
    """The end without a newline tells that there is no session."""
    reader, writer = os.pipe()
    process = subprocess.Popen(
        [*HOTENV, "serve", "--detach", "--ready-fd", str(writer)],
        cwd=directory,
        stdin=subprocess.PIPE,
        stderr=subprocess.PIPE,
        pass_fds=[writer],
    )
    os.close(writer)
    process.communicate(b"=\n", timeout=LIMIT)
    assert process.returncode == 7
    assert os.read(reader, 10) == b""


def test_prompts(directory: Path) -> None:
    """Questions are asked in the foreground; the session outlives the terminal."""
    (directory / "env").write_text("A=?\n")
    line = f"{shlex.join(HOTENV)} serve --detach -p <env; echo code $?"
    terminal = Terminal(["sh", "-c", line], directory)
    terminal.expect(b"hotenv: A: ")
    terminal.type(b"s3cret\n")
    terminal.expect(b"code 0")
    assert terminal.wait() == 0
    assert b"s3cret" not in terminal.screen
    assert hotenv("dump", cwd=directory).stdout == b"A=s3cret\n"
    assert hotenv("stop", cwd=directory).returncode == 0


def test_interrupt_at_a_prompt(directory: Path, runtime: Path) -> None:
    """Ctrl-C: 130, nothing is said, and none of the processes is left."""
    (directory / "env").write_text("A=?\n")
    before = set(os.listdir("/proc"))
    line = f"trap : INT; {shlex.join(HOTENV)} serve --detach -p <env; echo code $?"
    terminal = Terminal(["sh", "-c", line], directory)
    terminal.expect(b"hotenv: A: ")
    terminal.type(b"\x03")
    terminal.expect(b"code 130")
    assert terminal.wait() == 0
    shown = re.sub(rb"\^C|\x1b\[\?2004[hl]", b"", terminal.screen)
    assert shown.split() == [b"hotenv:", b"A:", b"code", b"130"]
    new = [pid for pid in set(os.listdir("/proc")) - before if pid.isdigit()]
    mine = [pid for pid in new if _directory_of(pid) == str(directory)]
    wait_until(lambda: all(is_gone(int(pid)) for pid in mine), "the end of all processes")
    assert is_clean(directory, runtime)


def test_child_whose_code_is_lost() -> None:
    """A signal may come between the end of a child and the moment when its code is noted."""
    pid = os.fork()
    if not pid:
        os._exit(3)
    os.waitpid(pid, 0)
    child = Child(pid)
    child.send(signal.SIGKILL)
    child.kill()
    assert child.wait() == 0


def _directory_of(pid: str) -> str:
    try:
        return os.readlink(f"/proc/{pid}/cwd")
    except OSError:
        return ""


@pytest.mark.parametrize("signum", [signal.SIGKILL, signal.SIGTERM, signal.SIGHUP])
def test_starter_that_is_killed(directory: Path, runtime: Path, signum: int) -> None:
    """If the process that was to return is killed while it reads, the others end: no session."""
    process = subprocess.Popen(
        [*HOTENV, "serve", "--detach"], cwd=directory, stdin=subprocess.PIPE, stderr=subprocess.PIPE
    )
    pids = reader_and_server(process)
    process.send_signal(signum)
    process.wait(timeout=LIMIT)
    for pid in pids:
        wait_until(lambda pid=pid: is_gone(pid), "the end of the others")  # type: ignore[misc]
    assert process.communicate()[1] == b""
    assert is_clean(directory, runtime)


def test_stopped_starter_is_not_waited_for(directory: Path, runtime: Path) -> None:
    """If it does not hear that the server answers, there is no session after a moment."""
    process = subprocess.Popen(
        [*with_limits({"hotenv.serving.detach.HANDSHAKE_TIMEOUT": 0.3}), "serve", "--detach"],
        cwd=directory,
        stdin=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    pids = reader_and_server(process)
    freeze(process)
    assert process.stdin is not None
    process.stdin.write(b"A=1\n")
    process.stdin.close()
    process.stdin = None
    wait_until(lambda: all(is_gone(pid) for pid in pids), "the others to give up")
    process.send_signal(signal.SIGCONT)
    _, words = process.communicate(timeout=LIMIT)
    assert process.returncode == 8
    assert words == b"hotenv: the server process exited before the session was ready\n"
    assert is_clean(directory, runtime)


def test_starter_that_is_stopped_at_the_end(directory: Path, runtime: Path) -> None:
    """It does not say that there is a session, if its server has given it up meanwhile."""
    process = subprocess.Popen(
        [*with_limits({"hotenv.serving.detach.HANDSHAKE_TIMEOUT": 1}), "serve", "--detach"],
        cwd=directory,
        stdin=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    server = stop_server_before_its_word(process)
    freeze(process)
    os.kill(server, signal.SIGCONT)
    wait_until(lambda: is_gone(server), "the server to give up")
    assert is_clean(directory, runtime)
    process.send_signal(signal.SIGCONT)
    _, words = process.communicate(timeout=LIMIT)
    assert process.returncode == 8
    assert words == b"hotenv: the server process exited before the session was ready\n"


def test_slow_starter_is_waited_for(directory: Path, ended: None) -> None:
    """It is given a few seconds, so that a machine under load has its session."""
    process = subprocess.Popen(
        [*with_limits({"hotenv.serving.detach.HANDSHAKE_TIMEOUT": LIMIT}), "serve", "--detach"],
        cwd=directory,
        stdin=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    pids = reader_and_server(process)
    wait_until(lambda: server_of(pids), "the server's own session")
    freeze(process)
    assert process.stdin is not None
    process.stdin.write(b"A=1\n")
    process.stdin.close()
    process.stdin = None
    (reader,) = {*pids} - {server_of(pids)}
    wait_until(lambda: is_gone(reader), "the end of the reader")
    wait_until(lambda: state_of(server_of(pids)) == "S", "the server to wait")
    process.send_signal(signal.SIGCONT)
    _, words = process.communicate(timeout=LIMIT)
    assert (process.returncode, words.count(b"\n")) == (0, 1)
    assert hotenv("dump", cwd=directory).stdout == b"A=1\n"


def test_server_that_is_killed_in_between(directory: Path, runtime: Path) -> None:
    """It dies with a word unread that it was sent: one line says that it has ended."""
    process = subprocess.Popen(
        [*HOTENV, "serve", "--detach"], cwd=directory, stdin=subprocess.PIPE, stderr=subprocess.PIPE
    )
    os.kill(stop_server_before_its_word(process), signal.SIGKILL)
    _, words = process.communicate(timeout=LIMIT)
    assert process.returncode == 8
    assert words == b"hotenv: the server process exited before the session was ready\n"
    assert is_clean(directory, runtime)


def stop_server_before_its_word(starter: subprocess.Popen[bytes]) -> int:
    """Hand A=1 to ``starter``, whose server is stopped before it reads that it may continue."""
    pids = reader_and_server(starter)
    wait_until(lambda: server_of(pids), "the server's own session")
    server = server_of(pids)
    os.kill(server, signal.SIGSTOP)
    assert starter.stdin is not None
    starter.stdin.write(b"A=1\n")
    starter.stdin.close()
    starter.stdin = None
    wait_until(lambda: children_of(starter) == [server], "the end of the reader")
    wait_until(lambda: state_of(starter.pid) == "S", "the word to the server")
    return server


def test_standard_error_that_is_full(directory: Path, ended: None) -> None:
    """The messages are not read: neither process waits for that, with secrets in memory."""
    reader, writer = os.pipe()
    fill(writer)
    process = subprocess.Popen(
        [*HOTENV, "serve", "--detach"], cwd=directory, stdin=subprocess.PIPE, stderr=writer
    )
    try:
        process.communicate(b"A=1\nB\n", timeout=LIMIT)
        assert process.returncode == 0
        assert hotenv("dump", cwd=directory).stdout == b"A=1\n"
    finally:
        process.kill()
        os.close(writer)
        os.close(reader)


def test_descriptor_above_the_limit(directory: Path, ended: None) -> None:
    """One that was opened before the limit was lowered is not kept either."""
    reader, writer = os.pipe()
    high = fcntl.fcntl(writer, fcntl.F_DUPFD, 200)
    os.close(writer)
    script = f"ulimit -n 100 && exec {shlex.join(HOTENV)} serve --detach"
    subprocess.run(
        ["sh", "-c", script],
        cwd=directory,
        input=b"A=1\n",
        pass_fds=[high],
        capture_output=True,
        check=True,
        timeout=LIMIT,
    )
    os.close(high)
    assert select.select([reader], [], [], 0)[0]
    assert os.read(reader, 1) == b""


_FORKS_NO_MORE = """
import errno, os, sys
from hotenv.cli.main import main
forks = [os.fork] * int(sys.argv[1])
def fork():
    if forks:
        return forks.pop()()
    raise BlockingIOError(errno.EAGAIN, os.strerror(errno.EAGAIN))
os.fork = fork
sys.exit(main(["serve", "--detach"]))
"""


@pytest.mark.parametrize(
    ("forks", "what"), [(0, "process that reads the input"), (1, "server process")]
)
def test_no_more_processes(directory: Path, forks: int, what: str) -> None:
    """Where the system has none left, that is what is said."""
    command = [sys.executable, "-c", _FORKS_NO_MORE, str(forks)]
    result = subprocess.run(
        command, cwd=directory, input=b"A=1\n", capture_output=True, timeout=LIMIT
    )
    assert result.returncode == 8
    assert said(result) == f"hotenv: cannot start the {what}: resource temporarily unavailable"
