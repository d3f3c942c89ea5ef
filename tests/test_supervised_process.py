"""A supervised command: hotenv is its parent, and is as good as absent."""

from __future__ import annotations

import os
import re
import signal
import subprocess
from contextlib import suppress
from pathlib import Path

import pytest

from processes import LIMIT, wait_until
from supervision import (
    PRELUDE,
    PYTHON,
    SUPERVISORS,
    Job,
    gone,
    group,
    has_no_reader,
    job,
    only_linux,
    parent,
    python,
    state,
    supervising,
)


@pytest.fixture(params=SUPERVISORS)
def hotenv(request: pytest.FixtureRequest) -> list[str]:
    """What supervises a command, also without anything that macOS lacks, and under a guard."""
    words: list[str] = request.param
    return words


_PLAIN = """
import sys
from hotenv.handover.launch import Launch, inherited_environment
Launch(sys.argv[1:], inherited_environment()).execute()
"""

# As if hotenv were not there


_ODD_START = """
trap "" TERM USR1 HUP
exec 7</dev/null 0</dev/null
ulimit -n 77
exec "$0" -c '
import os, signal, sys
signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGUSR2])
for each in (signal.SIGPIPE, signal.SIGXFSZ):
    signal.signal(each, signal.SIG_DFL)
signal.signal(signal.SIGCHLD, signal.SIG_IGN)
os.environb[b"RAW"] = bytes([255])
os.execvp(sys.argv[1], sys.argv[1:])
' "$@"
"""


@only_linux
@pytest.mark.parametrize(
    "probe",
    [
        ["cat", "/proc/self/status"],
        ["ls", "/proc/self/fd"],
        ["cat", "/proc/self/limits"],
        ["cat", "/proc/self/environ"],
        ["pwd"],
        python("say(os.getpgrp(), os.getsid(0), os.nice(0))"),
    ],
    ids=lambda probe: " ".join(probe)[-30:],
)
@pytest.mark.parametrize("bare", [False, True], ids=["linux", "bare"])
def test_the_command_is_as_in_plain_run(probe: list[str], bare: bool, directory: Path) -> None:
    """Signals, descriptors, environment, limits, folder, group, session: the same, no more."""
    if bare and "/proc/self/limits" in probe:
        pytest.skip("it has a lower limit of descriptors")
    plain = [PYTHON, "-P", "-c", _PLAIN]
    reports = []
    for prefix in (plain, supervising(bare=bare)):
        with job(["sh", "-c", _ODD_START, PYTHON, *prefix, *probe], cwd=directory) as started:
            out = started.process.communicate(timeout=LIMIT)[0].decode(errors="replace")
            assert started.process.returncode == 0
        out = re.sub(rf"\b{started.pid}\b", "LEADER", out)
        changing = ("Vm", "Rss", "voluntary", "nonvoluntary", "SigQ", "FDSize")
        numbers = ("PPid", "Pid", "Tgid", "Ngid", "NS")
        lines = [line for line in out.splitlines() if not line.startswith((*changing, *numbers))]
        reports.append(lines)
    assert reports[0] == reports[1]
    assert reports[0]


@only_linux
def test_files_in_memory_are_the_commands(directory: Path) -> None:
    """A file is named by the process that has it, which is the command."""
    options = 'launch = Launch(sys.argv[1:], inherited_environment(), files={b"F": b"content"})'
    with job([*supervising(options), "sh", "-c", 'cat "$F"; echo " $F $$"']) as started:
        content, path, pid = started.line().split()
        assert (content, started.wait()) == ("content", 0)
    assert path.startswith(f"/proc/{pid}/fd/")


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("exit 0", 0),
        ("exit 42", 42),
        ("exit 255", 255),
        ("kill -TERM $$", -signal.SIGTERM),
        ("kill -INT $$", -signal.SIGINT),
        ("kill -PIPE $$", -signal.SIGPIPE),
        ("kill -KILL $$", -signal.SIGKILL),
        ("kill -SEGV $$", -signal.SIGSEGV),
        pytest.param("kill -40 $$", -40, marks=only_linux),
    ],
)
def test_ends_as_the_command_does(hotenv: list[str], text: str, code: int) -> None:
    """With its exit code, or by its signal; and says nothing about it."""
    done = subprocess.run([*hotenv, "sh", "-c", text], capture_output=True, timeout=LIMIT)
    assert (done.returncode, done.stdout, done.stderr) == (code, b"", b"")


def test_no_core(hotenv: list[str], directory: Path) -> None:
    """The one that ends like a command which dumped its core dumps none itself."""
    dumping = ["sh", "-c", 'ulimit -c "$(ulimit -H -c)" && exec 2>/dev/null && exec "$@"', "sh"]
    cored = []
    for prefix in ([], hotenv):
        pid = os.spawnvp(os.P_NOWAIT, "sh", [*dumping, *prefix, "sh", "-c", "kill -QUIT $$"])
        status = os.waitpid(pid, 0)[1]
        assert os.WTERMSIG(status) == signal.SIGQUIT
        cored.append(os.WCOREDUMP(status))
    if not cored[0]:
        pytest.skip("nothing dumps its core here")
    assert not cored[1]


@pytest.mark.parametrize(
    ("name", "code", "words"),
    [
        ("no-such-command", 8, b"hotenv: cannot run 'no-such-command': command not found\n"),
        ("/", 8, b"hotenv: cannot run '/': permission denied\n"),
    ],
)
def test_cannot_be_executed(hotenv: list[str], name: str, code: int, words: bytes) -> None:
    """The error is the one of plain run."""
    done = subprocess.run([*hotenv, name], capture_output=True, timeout=LIMIT)
    assert (done.returncode, done.stdout, done.stderr) == (code, b"", words)


@pytest.mark.parametrize("how", ["from", "to"])
def test_pipes(hotenv: list[str], how: str) -> None:
    """Input ends for the command, and its output may be cut off, as without hotenv."""
    if how == "from":
        done = subprocess.run(
            [*hotenv, "sh", "-c", "cat; echo end"], input=b"a\n", stdout=-1, timeout=LIMIT
        )
        assert (done.returncode, done.stdout) == (0, b"a\nend\n")
    else:
        with job([*hotenv, "yes"]) as started:
            assert started.line() == "y"
            assert started.process.stdout is not None
            started.process.stdout.close()
            assert started.wait() == -signal.SIGPIPE


def test_nothing_of_the_commands_is_held(hotenv: list[str], directory: Path) -> None:
    """Who reads what the command has closed sees the end of it while the command works on."""
    os.mkfifo("fifo")
    theirs, ours = os.pipe()
    back, stdin = os.pipe()
    code = "for each in (0, 1, int(sys.argv[1])): os.close(each)\nopen('fifo').close()"
    with job([*hotenv, *python(code, str(ours))], pass_fds=[ours], stdin=back) as started:
        os.close(ours)
        os.close(back)
        assert os.read(theirs, 1) == b""
        assert started.line() == ""
        wait_until(lambda: has_no_reader(stdin), "it to be closed")
        assert started.process.poll() is None
        with open("fifo", "w"):
            pass
        assert started.wait() == 0
    os.close(theirs)
    os.close(stdin)


# Signals

_LISTENER = """
everything = signal.valid_signals()
signal.pthread_sigmask(signal.SIG_BLOCK, everything)
say("ready", os.getpid())
while True:
    say(int(signal.sigwait(everything)))
"""
"""Tells each signal that comes. Two of one kind may come as one, but for real-time ones."""

_PROCESS_ONLY = {signal.SIGKILL, signal.SIGSTOP, signal.SIGCHLD}
"""What nobody can pass on: the first two cannot be caught, and the third tells of children."""

PASSED_ON = sorted(signal.valid_signals() - _PROCESS_ONLY)


def until(started: Job, fence: int) -> list[int]:
    """Which signals a listener tells until ``fence`` comes, which is sent to hotenv."""
    os.kill(started.pid, fence)
    told = []
    while (signum := int(started.line())) != fence:
        told.append(signum)
    return told


def test_each_signal_is_passed_on(hotenv: list[str]) -> None:
    """What is sent to hotenv alone reaches the command, once."""
    with job([*hotenv, *python(_LISTENER)]) as started:
        started.line()
        for signum in PASSED_ON:
            fence = signal.SIGUSR1 if signum != signal.SIGUSR1 else signal.SIGUSR2
            os.kill(started.pid, signum)
            assert int(started.line()) == signum
            assert until(started, fence) == []


def test_each_signal_to_the_group_comes_once(hotenv: list[str]) -> None:
    """What is sent to the process group reaches the command by itself."""
    with job([*hotenv, *python(_LISTENER)]) as started:
        started.line()
        for signum in PASSED_ON:
            fence = signal.SIGUSR1 if signum != signal.SIGUSR1 else signal.SIGUSR2
            os.killpg(started.pid, signum)
            assert int(started.line()) == signum
            assert until(started, fence) == []


def test_a_command_with_a_group_of_its_own(hotenv: list[str]) -> None:
    """It would still be in the one of hotenv, if that had not started it: it gets both."""
    with job([*hotenv, *python("os.setpgid(0, 0)" + _LISTENER)]) as started:
        command = int(started.line().split()[1])
        try:
            for signum in PASSED_ON:
                fence = signal.SIGUSR1 if signum != signal.SIGUSR1 else signal.SIGUSR2
                for send in (os.kill, os.killpg):
                    send(started.pid, signum)
                    assert int(started.line()) == signum
                    assert until(started, fence) == []
        finally:
            os.kill(command, signal.SIGKILL)


@only_linux
def test_real_time_signals_are_counted(hotenv: list[str]) -> None:
    """As many come as are sent."""
    with job([*hotenv, *python(_LISTENER)]) as started:
        started.line()
        for _ in range(20):
            os.kill(started.pid, 40)
        assert until(started, 41) == [40] * 20


def test_found_once_by_its_name() -> None:
    """Who looks for hotenv by name finds the process that passes signals on, and no other."""
    rename = """
with open("/proc/self/comm", "w") as file:
    file.write("hotenv")
"""
    with job([*supervising(rename), *python(_LISTENER)]) as started:
        started.line()
        named = [p for p in group(started.pid) if "hotenv" in Path(f"/proc/{p}/comm").read_text()]
        assert named == [started.pid]


@pytest.mark.parametrize("to_group", [False, True], ids=["process", "group"])
@pytest.mark.parametrize("bare", [False, True], ids=["linux", "bare"])
def test_a_signal_before_the_command_is_there(bare: bool, to_group: bool, directory: Path) -> None:
    """What comes while hotenv still prepares takes effect, and without a traceback."""
    os.mkfifo("fifo")
    prelude = """
def prepare():
    os.write(1, b"preparing\\n")
    open("fifo").close()
options["prepare"] = prepare
"""
    argv = [*supervising(prelude, bare=bare), "sh", "-c", "read never <fifo"]
    for signum in (signal.SIGINT, signal.SIGTERM):
        with job(argv, stderr=subprocess.PIPE) as started:
            assert started.line() == "preparing"
            (os.killpg if to_group else os.kill)(started.pid, signum)
            with open("fifo", "w"):
                assert started.wait() == -signum
            assert started.process.stderr is not None
            assert started.process.stderr.read() == b""


def test_a_signal_before_the_command_is_started() -> None:
    """What is sent to the group when the command is no member yet is passed on to it."""
    prelude = """
standin, fork = os.getpid(), os.fork
def late():
    if os.getpid() != standin:
        os.killpg(standin, 15)
    return fork()
os.fork = late
"""
    with job([*supervising(prelude), "sleep", "1000"]) as started:
        assert started.wait() == -signal.SIGTERM


# Whatever ends first


def tree(started: Job) -> tuple[int, int]:
    """The process IDs of the keeper and the command, which tells its own."""
    command = int(started.line())
    keeper = parent(command)
    assert parent(keeper) == started.pid
    return keeper, command


_WAITER = python(
    "say(os.getpid()); [signal.signal(s, signal.SIG_IGN) for s in (1, 15)]\nsignal.pause()"
)


def test_hotenv_is_killed(hotenv: list[str]) -> None:
    """kill -9 of hotenv ends the command too, whatever it ignores."""
    with job([*hotenv, *_WAITER]) as started:
        keeper, command = tree(started)
        os.kill(started.pid, signal.SIGKILL)
        assert started.wait() == -signal.SIGKILL
        wait_until(lambda: gone(keeper) and gone(command), "the end of the others")


@only_linux
def test_the_keeper_is_killed() -> None:
    """A command that nobody guards any more is killed, and hotenv ends like the keeper."""
    with job([*supervising(), *_WAITER]) as started:
        keeper, command = tree(started)
        os.kill(keeper, signal.SIGKILL)
        assert started.wait() == -signal.SIGKILL
        wait_until(lambda: gone(command), "the end of the command")


@pytest.mark.parametrize("bare", [False, True])
def test_the_keeper_is_killed_before_the_command_is_executed(*, bare: bool) -> None:
    """What it has just started still has its pipes, and nobody waits for that."""
    prelude = """
import signal, time
def prepare():
    os.write(1, b"%d\\n" % os.getpid())
    os.kill(os.getppid(), signal.SIGKILL)
    while True:
        time.sleep(1000)
options["prepare"] = prepare
"""
    with job([*supervising(prelude, bare=bare), "true"]) as started:
        starting = int(started.line())
        assert started.wait() == -signal.SIGKILL
        with suppress(ProcessLookupError):  # where nothing kills it when the keeper dies
            os.kill(starting, signal.SIGKILL)


@only_linux
def test_both_are_killed() -> None:
    """The command does not survive it."""
    with job([*supervising(), *_WAITER]) as started:
        keeper, command = tree(started)
        os.kill(started.pid, signal.SIGSTOP)  # so that it cannot see what becomes of the keeper
        os.kill(keeper, signal.SIGKILL)
        os.kill(started.pid, signal.SIGKILL)
        wait_until(lambda: gone(command), "the end of the command")


@only_linux
def test_orphans_are_reaped() -> None:
    """A process whose parent has ended is the keeper's, and leaves no zombie."""
    code = """
if not os.fork():
    if not os.fork():
        parent = os.getppid()
        say("orphan", os.getpid())
        sys.stdin.readline()
        say("parent", os.getppid())
    os._exit(0)
os.wait()
signal.pause()
"""
    with job([*supervising(), *python(code)], stdin=subprocess.PIPE) as started:
        orphan = int(started.line().split()[1])
        assert started.process.stdin is not None
        wait_until(lambda: parent(parent(orphan)) == started.pid, "the orphan to be adopted")
        keeper = parent(orphan)
        started.process.stdin.write(b"\n")
        started.process.stdin.flush()
        assert started.line() == f"parent {keeper}"
        wait_until(lambda: state(orphan) == "", "the orphan to be reaped")
        assert started.process.poll() is None


@only_linux
def test_nothing_is_left_of_hotenv(hotenv: list[str]) -> None:
    """Who waited for hotenv finds nothing of it, nor does who reaps orphans."""
    code = """
import ctypes, subprocess
ctypes.CDLL(None).prctl(36, 1, 0, 0, 0)
ended = subprocess.run(sys.argv[1:]).returncode
try:
    say(ended, os.waitpid(-1, 0))
except ChildProcessError:
    say(ended, "nothing")
"""
    for command, code_ in (["true"], 0), (["false"], 1), (["no-such-command"], 8):
        argv = [*python(code)[:2], "-c", python(code)[-1], *hotenv, *command]
        done = subprocess.run(argv, capture_output=True, timeout=LIMIT)
        assert done.stdout.decode() == f"{code_} nothing\n"


# What stays, and why


@pytest.mark.parametrize(
    ("error", "code", "words"),
    [
        ("UsageError('no')", 2, "hotenv: no"),
        ("NoSessionError('none')", 3, "hotenv: none"),
        ("SystemFailureError('this kernel lacks it')", 8, "hotenv: this kernel lacks it"),
        ("FieldError('passed', 'no')", 2, "hotenv: passed: no"),
        ("OSError(1, 'Not permitted')", 8, "hotenv: a system call failed: not permitted: "),
        ("ValueError('s3cret')", 8, "hotenv: internal error: ValueError at "),
        ("KeyboardInterrupt()", 8, "hotenv: internal error: KeyboardInterrupt"),
    ],
)
@pytest.mark.parametrize("where", ["prepare", "watch", "finish"])
def test_errors(where: str, error: str, code: int, words: str) -> None:
    """An error of the other processes is hotenv's, and the command does not go on."""
    prelude = f"""
def fail(*_):
    raise {error}
options["{where}"] = {{os.dup(0): fail}} if "{where}" == "watch" else fail
"""
    command = ["true"] if where == "finish" else ["sleep", "1000"]
    theirs, ours = os.pipe()
    os.write(ours, b"x")
    done = subprocess.run(
        [*supervising(prelude), *command], stdin=theirs, capture_output=True, timeout=LIMIT
    )
    os.close(theirs)
    os.close(ours)
    assert done.returncode == code
    assert done.stderr.decode().startswith(words)
    assert done.stderr.count(b"\n") == 1
    assert b"s3cret" not in done.stderr


def test_prepare_is_done_by_the_command(hotenv: list[str]) -> None:
    """In its own process, before it is executed, and in no other one."""
    prelude = 'options["prepare"] = lambda: os.write(1, b"%d\\n" % os.getpid())'
    argv = supervising(prelude, bare="bare" in " ".join(hotenv))
    done = subprocess.run([*argv, "sh", "-c", "echo $$"], capture_output=True, timeout=LIMIT)
    first, second = done.stdout.split()
    assert first == second


_COLLECT = """
import socket
theirs, ours = socket.socketpair()
def collect():
    data = ours.recv(4096)
    log.write(data)
    log.flush()
    if not data:
        log.write(b"end\\n")
        log.flush()
        supervised.unwatch(ours.fileno())
log = open("log", "wb")
theirs.set_inheritable(True)
def prepare():
    os.dup2(theirs.fileno(), 9)
    theirs.set_inheritable(False)
def finish(status):
    log.write(b"finish %d\\n" % status)
    log.flush()
    return 5 << 8
options.update(prepare=prepare, watch={ours.fileno(): collect}, finish=finish)
"""
"""Writes what the command has for descriptor 9 to a file, and ends with 5 instead."""


def collecting(*, bare: bool = False) -> list[str]:
    """What supervises a command with a collector of what it writes to descriptor 9."""
    return supervising(_COLLECT, bare=bare)


@pytest.mark.parametrize("bare", [False, True], ids=["linux", "bare"])
def test_what_the_command_left_is_served_first(bare: bool, directory: Path) -> None:
    """Before its end is reported, and what is reported is what is made of it."""
    done = subprocess.run(
        [*collecting(bare=bare), "sh", "-c", "echo from the command >&9; exit 3"], timeout=LIMIT
    )
    assert done.returncode == 5
    wait_until(lambda: b"end" in Path("log").read_bytes(), "the keeper to see the end")
    log = Path("log").read_bytes()
    assert log.replace(b"end\n", b"") == b"from the command\nfinish 768\n"


@pytest.mark.parametrize("bare", [False, True], ids=["linux", "bare"])
def test_what_stays_in_the_background_is_served(bare: bool, directory: Path) -> None:
    """hotenv ends with the command; the keeper when its processes have, and holds nothing."""
    os.mkfifo("fifo")
    text = "(read line <fifo; echo late >&9) >/dev/null 2>&1 & echo early >&9; exit 3"
    started = subprocess.Popen(
        [*collecting(bare=bare), "sh", "-c", text],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        process_group=0,
    )
    out, err = started.communicate(timeout=LIMIT)  # not before nobody has them any more
    assert (started.returncode, out, err) == (5, b"", b"")
    remaining = group(started.pid)
    assert len(remaining) == 2  # the keeper and the shell in the background
    assert Path("log").read_bytes() == b"early\nfinish 768\n"
    with open("fifo", "w") as fifo:
        fifo.write("\n")
    wait_until(lambda: all(gone(pid) for pid in remaining), "the end of all")
    assert Path("log").read_bytes() == b"early\nfinish 768\nlate\nend\n"


def test_a_descriptor_that_comes_later(hotenv: list[str], directory: Path) -> None:
    """A callback may add others, such as one that it got from the command."""
    prelude = """
import socket
theirs, ours = socket.socketpair()
def receive():
    _, (passed,), _, _ = socket.recv_fds(ours, 1, 1)
    supervised.unwatch(ours.fileno())
    supervised.watch(passed, lambda: answer(passed))
def answer(passed):
    if data := os.read(passed, 100):
        os.write(passed, data.upper())
    else:
        supervised.unwatch(passed)
def prepare():
    os.dup2(theirs.fileno(), 9)
options.update(prepare=prepare, watch={ours.fileno(): receive})
"""
    code = """
import socket
mine, passed = socket.socketpair()
socket.send_fds(socket.socket(fileno=9), [b"x"], [passed.fileno()])
for word in (b"one", b"two"):
    mine.sendall(word)
    say(mine.recv(100).decode())
"""
    argv = supervising(prelude, bare="bare" in " ".join(hotenv))
    with job([*argv, PYTHON, "-c", PRELUDE + code]) as started:
        assert [started.line(), started.line()] == ["ONE", "TWO"]
        assert started.wait() == 0
