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
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from hotenv.session.marker import parse_marker
from processes import HOTENV, LIMIT, Terminal, fill, hotenv, is_clean, said, wait_until


@pytest.fixture
def ended(folder: Path) -> Iterator[None]:
    """Ends the session that a test leaves."""
    yield
    hotenv("stop", cwd=folder)


def server_pid(folder: Path) -> int:
    """The process that serves in ``folder``, by the kernel's word."""
    path = parse_marker((folder / ".hotenv").read_bytes(), ".hotenv")
    with socket.socket(socket.AF_UNIX) as client:
        client.connect(path)
        raw = client.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12)
    return int.from_bytes(raw[:4], "little")


def reader_and_server(starter: subprocess.Popen[bytes]) -> list[int]:
    """The two processes that ``serve --detach`` has started, once it has."""
    wait_until(lambda: len(children_of(starter)) == 2, "reader and server")
    return children_of(starter)


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


def test_answers_when_it_returns(folder: Path, ended: None) -> None:
    """Exit code 0, one line that says where, and the next command gets the variables."""
    result = hotenv("serve", "--detach", "-t", "90", cwd=folder, stdin=b"A=1\nB\n")
    assert result.returncode == 0
    assert result.stdout == b""
    assert result.stderr.decode().splitlines() == [
        "hotenv: warning: standard input: line 2 has a name without '=' and sets nothing",
        f"hotenv: serving 1 variable in {folder} until nobody asks for 1m30s",
    ]
    assert hotenv("dump", cwd=folder).stdout == b"A=1\n"


def test_quiet(folder: Path, ended: None) -> None:
    """--quiet says nothing."""
    result = hotenv("serve", "--detach", "-q", cwd=folder, stdin=b"A=1\n")
    assert (result.returncode, result.stdout, result.stderr) == (0, b"", b"")


def test_holds_nothing_of_the_callers(folder: Path, ended: None) -> None:
    """A session of its own, /dev/null for the standard streams, no pipe, no other descriptor."""
    reader, writer = os.pipe()
    other, others_end = os.pipe()
    process = subprocess.Popen(
        [*HOTENV, "serve", "--detach"],
        cwd=folder,
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
    pid = server_pid(folder)
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    assert fields[2:5] == [str(pid), str(pid), "0"]  # process group, session, no terminal
    if os.geteuid() == 0:  # nobody else may look
        for number in range(3):
            assert os.readlink(f"/proc/{pid}/fd/{number}") == os.devnull


def test_command_substitution(folder: Path, ended: None) -> None:
    """`x=$(hotenv serve --detach <env)` returns."""
    (folder / "env").write_text("A=1\n")
    script = f'x=$({shlex.join(HOTENV)} serve --detach <env 2>&1) && echo "[$x]"'
    done = subprocess.run(
        ["sh", "-c", script], cwd=folder, capture_output=True, timeout=LIMIT, text=True
    )
    assert done.stdout.startswith("[hotenv: serving 1 variable ")


@pytest.mark.parametrize(
    ("options", "text", "code", "words"),
    [
        ([], b"A=1\n=x\n", 7, "line 2"),
        (["--log", "no/log"], b"A=1\n", 8, "no/log"),
        (["--ready-fd", "77"], b"A=1\n", 2, "--ready-fd 77"),
        (["-p"], b"A=?\n", 8, "cannot ask for A: there is no terminal"),
    ],
    ids=["input", "log", "ready", "prompt"],
)
def test_what_fails_fails_before(
    folder: Path, runtime: Path, options: list[str], text: bytes, code: int, words: str
) -> None:
    """One line, the same code as in the foreground, and nothing is left."""
    result = subprocess.run(
        [*HOTENV, "serve", "--detach", *options],
        cwd=folder,
        input=text,
        capture_output=True,
        timeout=LIMIT,
        start_new_session=True,
    )
    assert result.returncode == code
    assert result.stderr.decode().startswith("hotenv: ")
    assert result.stderr.count(b"\n") == 1
    assert words in result.stderr.decode()
    assert is_clean(folder, runtime)


def test_folder_without_room_for_a_marker(folder: Path, runtime: Path) -> None:
    """What only the server finds out is told by the process that was started."""
    result = hotenv("serve", "--detach", cwd=Path("/proc/self"), stdin=b"A=1\n")
    assert result.returncode == 8
    assert result.stderr.startswith(b"hotenv: ")
    assert result.stderr.count(b"\n") == 1
    assert not list((runtime / "hotenv").iterdir())


@pytest.mark.parametrize("options", [(), ("--detach",)], ids=["foreground", "detached"])
def test_folder_that_is_removed_meanwhile(
    folder: Path, runtime: Path, options: tuple[str, ...]
) -> None:
    """It was there at the start, and is not when all is read: one line, which is logged too."""
    place = folder / "place"
    place.mkdir()
    process = subprocess.Popen(
        [*HOTENV, "serve", "--log", "../log", *options],
        cwd=place,
        stdin=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    wait_until((folder / "log").exists, "the log")
    place.rmdir()
    _, words = process.communicate(b"A=1\n", timeout=LIMIT)
    assert process.returncode == 8
    assert words == b"hotenv: cannot tell the current folder: no such file or directory\n"
    assert (folder / "log").read_bytes().endswith(words)
    assert not list(runtime.glob("hotenv/*"))


def test_existing_marker(folder: Path) -> None:
    """Refused with 10, at once; with --force replaced."""
    (folder / ".hotenv").write_text("x")
    assert hotenv("serve", "--detach", cwd=folder).returncode == 10
    assert hotenv("serve", "--detach", "-f", cwd=folder, stdin=b"A=1\n").returncode == 0
    assert hotenv("stop", cwd=folder).returncode == 0


def test_of_many_starts_one_wins(folder: Path, runtime: Path) -> None:
    """Six at once: one session, five times exit code 10."""
    starts = [
        subprocess.Popen(
            [*HOTENV, "serve", "--detach"],
            cwd=folder,
            stdin=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
        for _ in range(6)
    ]
    for start in starts:
        start.communicate(b"A=1\n", timeout=LIMIT)
    assert sorted(start.returncode for start in starts) == [0] + [10] * 5
    assert hotenv("dump", cwd=folder).stdout == b"A=1\n"
    assert hotenv("stop", cwd=folder).returncode == 0
    assert is_clean(folder, runtime)


def test_ends_by_itself(folder: Path, runtime: Path) -> None:
    """Its time is over: everything is gone, and the log says why."""
    done = hotenv("serve", "--detach", "-t", "0.5", "--log", "log", cwd=folder, stdin=b"A=1\n")
    assert done.returncode == 0
    wait_until(lambda: is_clean(folder, runtime), "the end of the session")
    wait_until(lambda: "its time is over" in (folder / "log").read_text(), "the last line")


def test_log(folder: Path) -> None:
    """The log file has what standard error would have had, with the time."""
    assert hotenv("serve", "--detach", "--log", "log", cwd=folder, stdin=b"A=1\n").returncode == 0
    assert hotenv("run", "--", "true", cwd=folder).returncode == 0
    assert hotenv("stop", cwd=folder).returncode == 0
    lines = [line[20:] for line in (folder / "log").read_text().splitlines()]
    assert lines == [
        f"hotenv: serving 1 variable in {folder} until nobody asks for 5m",
        "run true",
        "hotenv: it was told to end: the session has ended",
    ]
    assert stat.S_IMODE((folder / "log").stat().st_mode) == 0o600


def test_fatal_error_is_in_the_log(folder: Path) -> None:
    """What goes wrong in the background is written down."""
    assert hotenv("serve", "--detach", "--log", "log", cwd=folder, stdin=b"A=1\n").returncode == 0
    pid = server_pid(folder)
    descriptor = os.open(folder, os.O_RDONLY)
    fcntl.flock(descriptor, fcntl.LOCK_EX)
    os.kill(pid, signal.SIGTERM)
    wait_until(lambda: is_gone(pid), "the server")
    os.close(descriptor)
    assert (
        (folder / "log")
        .read_text()
        .splitlines()[-1]
        .endswith(
            f" hotenv: the folder of {folder}/.hotenv is locked by another process: try again"
        )
    )


def test_foreground_log(folder: Path) -> None:
    """In the foreground too --log takes the request log; standard error says when it is ready."""
    process = subprocess.Popen(
        [*HOTENV, "serve", "--log", "log"],
        cwd=folder,
        stdin=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    assert process.stdin is not None
    process.stdin.write(b"A=1\n")
    process.stdin.close()
    process.stdin = None
    assert hotenv("run", "--wait", f"{LIMIT}", "true", cwd=folder).returncode == 0
    assert hotenv("stop", cwd=folder).returncode == 0
    _, words = process.communicate(timeout=LIMIT)
    assert words.decode() == f"hotenv: serving 1 variable in {folder} until nobody asks for 5m\n"
    assert (folder / "log").read_text().splitlines()[1].endswith(" run true")


@pytest.mark.parametrize("options", [(), ("--detach",)], ids=["foreground", "detached"])
def test_ready_fd(folder: Path, options: tuple[str, ...]) -> None:
    """A newline when it answers, and the end."""
    reader, writer = os.pipe()
    process = subprocess.Popen(
        [*HOTENV, "serve", "-q", "--ready-fd", str(writer), *options],
        cwd=folder,
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
    assert hotenv("dump", cwd=folder).stdout == b"A=1\n"
    assert os.read(reader, 10) == b""
    assert hotenv("stop", cwd=folder).returncode == 0
    assert process.wait(timeout=LIMIT) == 0


def test_ready_fd_at_a_failure(folder: Path) -> None:
    """The end without a newline tells that there is no session."""
    reader, writer = os.pipe()
    process = subprocess.Popen(
        [*HOTENV, "serve", "--detach", "--ready-fd", str(writer)],
        cwd=folder,
        stdin=subprocess.PIPE,
        stderr=subprocess.PIPE,
        pass_fds=[writer],
    )
    os.close(writer)
    process.communicate(b"=\n", timeout=LIMIT)
    assert process.returncode == 7
    assert os.read(reader, 10) == b""


def test_prompts(folder: Path) -> None:
    """Questions are asked in the foreground; the session outlives the terminal."""
    (folder / "env").write_text("A=?\n")
    line = f"{shlex.join(HOTENV)} serve --detach -p <env; echo code $?"
    terminal = Terminal(["sh", "-c", line], folder)
    terminal.expect(b"hotenv: A: ")
    terminal.type(b"s3cret\n")
    terminal.expect(b"code 0")
    assert terminal.wait() == 0
    assert b"s3cret" not in terminal.screen
    assert hotenv("dump", cwd=folder).stdout == b"A=s3cret\n"
    assert hotenv("stop", cwd=folder).returncode == 0


def test_interrupt_at_a_prompt(folder: Path, runtime: Path) -> None:
    """Ctrl-C: 130, nothing is said, and none of the processes is left."""
    (folder / "env").write_text("A=?\n")
    before = set(os.listdir("/proc"))
    line = f"trap : INT; {shlex.join(HOTENV)} serve --detach -p <env; echo code $?"
    terminal = Terminal(["sh", "-c", line], folder)
    terminal.expect(b"hotenv: A: ")
    terminal.type(b"\x03")
    terminal.expect(b"code 130")
    assert terminal.wait() == 0
    assert terminal.screen.replace(b"^C", b"").split() == [b"hotenv:", b"A:", b"code", b"130"]
    new = [pid for pid in set(os.listdir("/proc")) - before if pid.isdigit()]
    mine = [pid for pid in new if _folder_of(pid) == str(folder)]
    wait_until(lambda: all(is_gone(int(pid)) for pid in mine), "the end of all processes")
    assert is_clean(folder, runtime)


def _folder_of(pid: str) -> str:
    try:
        return os.readlink(f"/proc/{pid}/cwd")
    except OSError:
        return ""


@pytest.mark.parametrize("signum", [signal.SIGKILL, signal.SIGTERM, signal.SIGHUP])
def test_starter_that_is_killed(folder: Path, runtime: Path, signum: int) -> None:
    """If whoever was to return is killed while it reads, the others end and nothing is made."""
    process = subprocess.Popen(
        [*HOTENV, "serve", "--detach"], cwd=folder, stdin=subprocess.PIPE, stderr=subprocess.PIPE
    )
    pids = reader_and_server(process)
    process.send_signal(signum)
    process.wait(timeout=LIMIT)
    for pid in pids:
        wait_until(lambda pid=pid: is_gone(pid), "the end of the others")  # type: ignore[misc]
    assert process.communicate()[1] == b""
    assert is_clean(folder, runtime)


def test_stopped_starter_is_not_waited_for(folder: Path, runtime: Path) -> None:
    """If it does not hear that the server answers, there is no session after a few seconds."""
    process = subprocess.Popen(
        [*HOTENV, "serve", "--detach"], cwd=folder, stdin=subprocess.PIPE, stderr=subprocess.PIPE
    )
    pids = reader_and_server(process)
    process.send_signal(signal.SIGSTOP)
    started = time.monotonic()
    assert process.stdin is not None
    process.stdin.write(b"A=1\n")
    process.stdin.close()
    process.stdin = None
    wait_until(lambda: all(is_gone(pid) for pid in pids), "the others to give up")
    assert time.monotonic() - started >= 5
    process.send_signal(signal.SIGCONT)
    _, words = process.communicate(timeout=LIMIT)
    assert process.returncode == 8
    assert words == b"hotenv: the process of the server ended before it answered\n"
    assert is_clean(folder, runtime)


def test_server_that_is_killed_in_between(folder: Path, runtime: Path) -> None:
    """It dies with a word unread that it was sent: one line says that it has ended."""
    process = subprocess.Popen(
        [*HOTENV, "serve", "--detach"], cwd=folder, stdin=subprocess.PIPE, stderr=subprocess.PIPE
    )
    pids = reader_and_server(process)
    wait_until(lambda: {os.getsid(pid) for pid in pids} & {*pids}, "the server's own session")
    (server,) = (pid for pid in pids if os.getsid(pid) == pid)
    os.kill(server, signal.SIGSTOP)
    assert process.stdin is not None
    process.stdin.write(b"A=1\n")
    process.stdin.close()
    process.stdin = None
    wait_until(lambda: children_of(process) == [server], "the end of the reader")
    wait_until(lambda: state_of(process.pid) == "S", "the word to the server")
    os.kill(server, signal.SIGKILL)
    _, words = process.communicate(timeout=LIMIT)
    assert process.returncode == 8
    assert words == b"hotenv: the process of the server ended before it answered\n"
    assert is_clean(folder, runtime)


def test_standard_error_that_is_full(folder: Path, ended: None) -> None:
    """Nobody reads what is said: neither process waits for that, with secrets in memory."""
    reader, writer = os.pipe()
    fill(writer)
    process = subprocess.Popen(
        [*HOTENV, "serve", "--detach"], cwd=folder, stdin=subprocess.PIPE, stderr=writer
    )
    try:
        process.communicate(b"A=1\nB\n", timeout=LIMIT)
        assert process.returncode == 0
        assert hotenv("dump", cwd=folder).stdout == b"A=1\n"
    finally:
        process.kill()
        os.close(writer)
        os.close(reader)


def test_descriptor_above_the_limit(folder: Path, ended: None) -> None:
    """One that was opened before the limit was lowered is not kept either."""
    reader, writer = os.pipe()
    high = fcntl.fcntl(writer, fcntl.F_DUPFD, 200)
    os.close(writer)
    script = f"ulimit -n 100 && exec {shlex.join(HOTENV)} serve --detach"
    subprocess.run(
        ["sh", "-c", script],
        cwd=folder,
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
from hotenv.cli import main
forks = [os.fork] * int(sys.argv[1])
def fork():
    if forks:
        return forks.pop()()
    raise BlockingIOError(errno.EAGAIN, os.strerror(errno.EAGAIN))
os.fork = fork
sys.exit(main(["serve", "--detach"]))
"""


@pytest.mark.parametrize("forks", [0, 1], ids=["reader", "server"])
def test_no_more_processes(folder: Path, forks: int) -> None:
    """Where the system has none left, that is what is said."""
    command = [sys.executable, "-c", _FORKS_NO_MORE, str(forks)]
    result = subprocess.run(command, cwd=folder, input=b"A=1\n", capture_output=True, timeout=LIMIT)
    assert result.returncode == 8
    assert re.fullmatch(r"hotenv: cannot start the process .*unavailable", said(result))
