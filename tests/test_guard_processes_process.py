"""--no-subprocess, and the processes outside that no guarded command reaches."""

from __future__ import annotations

import errno
import fcntl
import json
import os
import select
import shutil
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from guarded import PYTHON, compiled, freely, guard, needs_compiler, needs_guards, needs_scopes
from guarded import probe as probe  # a fixture
from hotenv.guards import supervisor
from hotenv.guards.privatetmp import PrivateFolder, remove_abandoned
from processes import HOTENV, needs, with_limits

pytestmark = [needs_guards, needs_compiler]


@pytest.fixture
def outside() -> Iterator[int]:
    """A process of the same user that is not guarded."""
    with subprocess.Popen(["sleep", "1000"]) as process:
        yield process.pid
        process.kill()


@pytest.mark.parametrize(
    ("words", "what"),
    [
        (["clone"], "fork"),
        (["clone parent"], "fork"),
        (["vfork"], "fork"),
        (["exec"], "exec"),
        (["exec memory"], "exec"),
    ],
    ids=lambda value: value[0] if isinstance(value, list) else "",
)
def test_no_subprocess(words: list[str], what: str, probe: str, tmp_path: Path) -> None:
    """Neither another process nor another program, also from a file without a name."""
    assert freely(probe, *words, cwd=tmp_path) == 0
    result = guard("--no-subprocess", "--", probe, *words, cwd=tmp_path)
    assert (result.status, result.counted) == (2, [what]), result


def test_threads(probe: str, tmp_path: Path) -> None:
    """They are no processes, and can be told where to run."""
    for guards in (["--no-subprocess"], ["--no-network", "--fs-readonly"]):
        result = guard(*guards, "--", probe, "thread", cwd=tmp_path)
        assert (result.status, result.blocked) == (0, []), result


def test_scripts(tmp_path: Path) -> None:
    """One execution is enough for a script, also for one that asks env for its interpreter."""
    for line in ("#!/bin/sh", "#!/usr/bin/env sh", "#!/usr/bin/env -S sh -e", "echo"):
        script = tmp_path / "script"
        script.write_text(f"{line}\necho $# $1\n")
        script.chmod(0o755)
        result = guard("--no-subprocess", "--", "./script", "a b", cwd=tmp_path)
        assert (result.status, result.out.splitlines()[-1]) == (0, "1 a b"), result


@needs("bash")
def test_shell(tmp_path: Path) -> None:
    """A shell says so, and the error that it swallows counts."""
    script = "echo one; (echo two) || true; echo three"
    result = guard("--no-subprocess", "--", "bash", "-c", script, cwd=tmp_path)
    assert result.status == 2, result
    assert result.counted == ["fork"]
    assert "hotenv: blocked fork " in result.err


def test_python_subprocess(tmp_path: Path) -> None:
    """In whatever way Python starts a process."""
    script = """
import os, subprocess
for start in (
    lambda: subprocess.run(["true"]),
    lambda: os.posix_spawn("/bin/true", ["true"], {}),
    os.fork,
    os.forkpty,
    lambda: os.execv("/bin/true", ["true"]),
):
    try:
        start()
    except OSError as error:
        print(error.errno)
print(os.system("true"))
"""
    result = guard("--no-subprocess", "--", PYTHON, "-c", script, cwd=tmp_path)
    assert result.status == 2, result
    assert result.out.split()[:5] == [str(errno.EPERM)] * 5


def test_programs_that_are_missing(tmp_path: Path) -> None:
    """To look for one along PATH does not count: the call fails as ever."""
    script = """
import os
open("file", "w").close()
for name in ("/missing", "/etc/passwd/x", "missing", "./file", "/"):
    try:
        os.execvp(name, ["x"])
    except OSError as error:
        print(error.errno)
"""
    command = [PYTHON, "-c", script]
    result = guard("--no-subprocess", "--", *command, cwd=tmp_path)
    assert (result.status, result.blocked) == (0, []), result
    errors = (errno.ENOENT, errno.ENOTDIR, errno.ENOENT, errno.EACCES, errno.EACCES)
    assert result.out.split() == [str(error) for error in errors]


def test_who_it_was(tmp_path: Path) -> None:
    """A refusal is the program's, whatever its thread is called."""
    script = """
import ctypes, os, threading
def change():
    ctypes.CDLL(None).prctl(15, b"thread")  # PR_SET_NAME
    for name in ("one", "two"):
        try:
            os.mkdir(name)
        except OSError:
            print(os.getpid())
thread = threading.Thread(target=change)
thread.start()
thread.join()
"""
    result = guard("--fs-readonly", "--trace", "--", PYTHON, "-c", script, cwd=tmp_path)
    pid = int(result.out.split()[0])
    assert [(each["program"], each["pid"]) for each in result.blocked] == [(Path(PYTHON).name, pid)]
    assert result.err.count(f" pid={pid} ") == 2


REACHED = [
    "kill",
    "pidfd signal",
    "limit",
    "affinity",
    "priority",
    "io priority",
    "ptrace",
    "memory",
    "environ",
    "maps",
    "descriptor",
]


@needs_scopes
@pytest.mark.parametrize("guards", [[], ["--no-network"]], ids=str)
@pytest.mark.parametrize("way", REACHED)
def test_processes_outside(
    way: str, guards: list[str], probe: str, outside: int, tmp_path: Path
) -> None:
    """Each works without a guard, and under none."""
    for process in (outside, os.getpid()):
        without = freely(probe, way, str(process), cwd=tmp_path)
        assert without == 0
        result = guard("--keep-status", *guards, "--", probe, way, str(process), cwd=tmp_path)
        assert result.status in (errno.EPERM, errno.EACCES), result


SUPERVISOR = """
import os, subprocess, sys
probe = sys.argv[1]
keeper = os.getppid()
with open(f"/proc/{keeper}/stat") as file:
    standin = file.read().rpartition(")")[2].split()[1]
for process in (str(keeper), standin):
    for way in sys.argv[2:]:
        print(subprocess.run([probe, way, process]).returncode, end=" ")
"""


@needs_scopes
def test_its_supervisor(probe: str, tmp_path: Path) -> None:
    """Nor can a command reach hotenv itself: its parent, and what stands in for it outside."""
    words = ["--keep-status", "--", PYTHON, "-c", SUPERVISOR, probe, *REACHED]
    result = guard(*words, cwd=tmp_path)
    assert set(result.out.split()) <= {str(errno.EPERM), str(errno.EACCES)}, result
    assert len(result.out.split()) == 2 * len(REACHED)


SETTINGS = """
import os, sys
keeper = os.getppid()
with open(f"/proc/{keeper}/stat") as file:
    standin = file.read().rpartition(")")[2].split()[1]
for process in (sys.argv[1], keeper, standin):
    for name in ("oom_score_adj", "autogroup", "coredump_filter", "clear_refs", "comm"):
        path = f"/proc/{process}/{name}"
        try:
            os.close(os.open(path, os.O_WRONLY))
        except OSError as error:
            if os.path.exists(path):  # some kernels lack some
                print(error.strerror)
        else:
            print(path)
"""


@pytest.mark.parametrize(
    "guards", [[], ["--no-network"], ["--fs-readonly", "--allow-write", "/"]], ids=str
)
def test_settings_of_processes_outside(guards: list[str], outside: int, tmp_path: Path) -> None:
    """No file in /proc is a way to another process: to make the kernel kill that first, say."""
    words = ["--keep-status", *guards, "--", PYTHON, "-c", SETTINGS, str(outside)]
    result = guard(*words, cwd=tmp_path)
    assert result.status == 0, result
    assert set(result.out.splitlines()) == {os.strerror(errno.EACCES)}


def test_streams_by_their_paths(tmp_path: Path) -> None:
    """They are in /proc by name only: what they refer to can be written."""
    script = "echo a > /dev/stdout; echo b > /proc/self/fd/1; echo c 3>&1 > /dev/fd/3"
    result = guard("--", "sh", "-c", script, cwd=tmp_path)
    assert (result.status, result.out) == (0, "a\nb\nc\n"), result


INSIDE = """
import os, signal, subprocess, sys
probe = sys.argv[1]
child = subprocess.Popen(["sleep", "1000"])
for way in sys.argv[2:]:
    print(way, subprocess.run([probe, way, str(child.pid)]).returncode)
child.kill()
print(child.wait())
"""


def test_processes_inside(probe: str, tmp_path: Path) -> None:
    """Among themselves, processes of a command do as ever: signals, limits, debuggers."""
    ways = [way for way in REACHED if way != "ptrace"]
    result = guard("--", PYTHON, "-c", INSIDE, probe, *ways, cwd=tmp_path)
    assert result.out.splitlines() == [*(f"{way} 0" for way in ways), "-9"], result
    assert (result.status, result.blocked) == (0, [])


TRACED = """
import ctypes, os, signal
libc = ctypes.CDLL(None, use_errno=True)
print(libc.ptrace(0, 0, None, None), ctypes.get_errno(), flush=True)
os.kill(os.getpid(), signal.SIGCONT)  # a traced process would stop here
child = os.fork()
if not child:
    traced = libc.ptrace(0, 0, None, None)
    os.kill(os.getpid(), signal.SIGUSR1)
    os._exit(traced & 0xFF)
print(os.WSTOPSIG(os.waitpid(child, 0)[1]) == signal.SIGUSR1)
print(libc.ptrace(7, child, None, None))  # PTRACE_CONT, without the signal
print(os.waitpid(child, 0)[1])
"""


def test_tracing(tmp_path: Path) -> None:
    """A debugger works inside, but nobody makes hotenv the debugger of a process."""
    result = guard("--", PYTHON, "-c", TRACED, cwd=tmp_path)
    assert result.out.split() == ["-1", str(errno.EPERM), "True", "0", "0"], result
    assert (result.status, result.counted) == (2, ["ptrace"])


@pytest.mark.parametrize(
    ("way", "status"),
    [
        ("priority of all", errno.EPERM),
        ("keyctl", errno.EPERM),
        ("unshare", errno.EPERM),
        ("clone user", errno.EPERM),
    ],
)
def test_any_guard(way: str, status: int, probe: str, tmp_path: Path) -> None:
    """What reaches more than one process, and what makes new rights."""
    if freely(probe, way, "0", cwd=tmp_path):
        pytest.skip("not possible here without a guard either")
    result = guard("--", probe, way, "0", cwd=tmp_path)
    assert (result.status, len(result.counted)) == (2, 1), result
    assert guard("--keep-status", "--", probe, way, "0", cwd=tmp_path).status == status


def test_no_privileges(tmp_path: Path) -> None:
    """No capability is left, be it for root, and no program gives new ones."""
    result = guard("--", "cat", "/proc/self/status", cwd=tmp_path)
    fields = dict(line.split(":\t") for line in result.out.splitlines() if ":\t" in line)
    for name in ("CapInh", "CapPrm", "CapEff", "CapAmb"):
        assert int(fields[name], 16) == 0
    assert fields["NoNewPrivs"] == "1"


@pytest.mark.skipif(os.geteuid() != 0, reason="only root could do this without a guard")
def test_root(tmp_path: Path) -> None:
    """Root is as guarded as anybody else."""
    (tmp_path / "place").mkdir()
    for command in (["mount", "-t", "tmpfs", "x", "place"], ["chroot", "/", "true"]):
        result = guard("--keep-status", "--", *command, cwd=tmp_path)
        assert result.status not in (0, 2), result
    assert not os.path.ismount(tmp_path / "place")


def test_terminal(tmp_path: Path) -> None:
    """Nothing is typed into a terminal, however the number of the request is spelled."""
    script = f"""
import ctypes, os
libc = ctypes.CDLL(None, use_errno=True)
master, slave = os.openpty()
for request in (0x5412, 0x1_0000_5412, 0x541C):
    libc.syscall({16 if os.uname().machine == "x86_64" else 29}, ctypes.c_long(slave),
                 ctypes.c_ulong(request), b"x")
    print(ctypes.get_errno())
"""
    result = guard("--", PYTHON, "-c", script, cwd=tmp_path)
    assert (result.status, result.out.split()) == (2, ["1", "1", "1"]), result


# The parent


@pytest.mark.parametrize("command", [["sh", "-c", "exit 3"], ["sh", "-c", "kill -TERM $$"]])
def test_it_ends_as_the_command_does(command: list[str], tmp_path: Path) -> None:
    """With its status, or by its signal."""
    done = subprocess.run(command, check=False)
    assert guard("--no-network", "--", *command, cwd=tmp_path).status == done.returncode


def test_what_was_swallowed(tmp_path: Path) -> None:
    """Also by a grandchild, and by a command that ends well."""
    script = "(sh -c 'echo x > new; exit 0'; exit 0) 2> /dev/null; exit 0"
    result = guard("--fs-readonly", "--", "sh", "-c", script, cwd=tmp_path)
    assert result.status == 2, result
    assert (
        guard("--fs-readonly", "--keep-status", "--", "sh", "-c", script, cwd=tmp_path).status == 0
    )


def test_a_million_refusals(tmp_path: Path) -> None:
    """One line for each kind, with a number."""
    script = """
import os
for number in range(10_000):
    try:
        os.mkdir(f"new{number}")
    except OSError:
        pass
"""
    result = guard("--fs-readonly", "--", PYTHON, "-c", script, cwd=tmp_path)
    assert result.status == 2
    (line,) = result.err.splitlines()
    assert line.startswith("hotenv: blocked create /")
    assert "new0 and 9999 more by python3 (fs-readonly): allow it with --allow-write /" in line


def test_what_runs_on(tmp_path: Path) -> None:
    """A background process stays guarded and supervised; hotenv returns when its command ends."""
    script = """
import os, socket, sys
if os.fork():
    sys.exit()
os.setsid()
os.read(int(sys.argv[1]), 1)
outcome = []
for attempt in (
    lambda: open("new", "w"),
    lambda: os.chmod("file", 0o644),
    lambda: socket.socket().connect(("127.0.0.1", 9)),
):
    try:
        attempt()
    except OSError as error:
        outcome.append(str(error.errno))
os.write(int(sys.argv[2]), " ".join(outcome).encode())
"""
    (read, write), (begin, end) = os.pipe(), os.pipe()
    words = ["--fs-readonly", "--no-network", "--", PYTHON, "-c", script, str(begin), str(write)]
    process = [*HOTENV, "guard", *words]
    done = subprocess.run(
        process, cwd=tmp_path, stdout=subprocess.DEVNULL, check=False, pass_fds=[begin, write]
    )
    os.close(write)
    os.close(begin)
    assert done.returncode == 0
    (tmp_path / "file").touch()
    os.close(end)
    with open(read) as pipe:
        assert pipe.read() == "13 13 1"


def test_what_runs_on_is_traced(tmp_path: Path) -> None:
    """Refusals are told also when the command has ended, but are no part of its status then."""
    script = "read line; echo > new"
    (read, write), (begin, end) = os.pipe(), os.pipe()
    words = ["--fs-readonly", "--trace", "--", "bash", "-c", f"({script}) <&{begin} 2>/dev/null &"]
    done = subprocess.run(
        [*HOTENV, "guard", *words], cwd=tmp_path, stderr=write, check=False, pass_fds=[begin]
    )
    os.close(write)
    assert done.returncode == 0
    os.close(begin)
    os.write(end, b"\n")
    os.close(end)
    with open(read) as pipe:  # at its end when nobody is supervised any more
        (line,) = pipe
    assert line.startswith(f"[hotenv] blocked write path={tmp_path}/new program=bash ")


@pytest.mark.parametrize("text", ["\u00e9", "a\u00e9"])
def test_a_long_trace(text: str) -> None:
    """A line that is too long to arrive at once is cut, and is a line all the same."""
    read, write = os.pipe()
    for line in (text * select.PIPE_BUF, "next"):
        supervisor._write_at_once(write, line)
    os.close(write)
    with open(read, encoding="utf-8", errors="strict") as pipe:
        first, second = pipe
    assert first[:-1] == (text * select.PIPE_BUF)[: len(first) - 1]
    assert len(first.encode()) in (select.PIPE_BUF - 1, select.PIPE_BUF)
    assert second == "next\n"


def test_a_command_that_is_killed_before_it_starts(tmp_path: Path) -> None:
    """Its supervisor does not wait for it, and what was made for it is gone."""
    script = """
import os, sys
from hotenv.guards.kernel import this_kernel
from hotenv.guards.policy import Guard
from hotenv.guards.report import Report
from hotenv.guards.supervisor import Supervisor
from hotenv.handover.launch import Launch
end = os.dup(int(sys.argv[1]))
at_end = lambda: os.write(end, b"end ")
supervisor = Supervisor(Guard(), this_kernel(), [], Report({}), at_end=at_end)
kill = lambda: os.kill(os.getpid(), 9)
status = supervisor.run(Launch(["true"], {}), kill, lambda status: status)
os.write(end, b"%d" % status)
"""
    read, write = os.pipe()
    subprocess.run([sys.executable, "-c", script, str(write)], check=True, pass_fds=[write])
    os.close(write)
    with open(read) as pipe:  # at its end when nobody is left
        assert pipe.read() == "end 9"


def test_reports(tmp_path: Path) -> None:
    """What has no place in a line is escaped, and a report that cannot be written is an error."""
    (tmp_path / "a\nb\x1b").mkdir()
    result = guard("--fs-readonly", "--trace", "--", "mkdir", "a\nb\x1b/new dir", cwd=tmp_path)
    assert result.status == 2
    assert all(line.isprintable() for line in result.err.splitlines())
    assert "a\\nb\\x1b/new\\x20dir program=mkdir pid=" in result.err
    done = subprocess.run(
        [sys.executable, "-P", "-m", "hotenv", "guard", "--report", "no/report", "--", "true"],
        cwd=tmp_path,
        capture_output=True,
        check=False,
    )
    assert (done.returncode, done.stderr) == (
        8,
        b"hotenv: cannot write the report no/report: no such file or directory\n",
    )


@pytest.mark.parametrize(
    ("words", "status", "end"),
    [
        (["--", "sh", "-c", "exit 3"], 3, {"status": 3}),
        (["--", "sh", "-c", "exit 8"], 8, {"status": 8}),
        (["--", "sh", "-c", "kill -TERM $$"], -15, {"status": -15}),
        (["--fs-readonly", "--", "sh", "-c", "echo >new; exit 3"], 2, {"status": 3}),
    ],
    ids=["exit", "exit 8", "signal", "blocked"],
)
def test_the_end_of_a_report(
    words: list[str], status: int, end: dict[str, object], tmp_path: Path
) -> None:
    """The status of the command itself, whatever hotenv makes of it."""
    result = guard(*words, cwd=tmp_path)
    assert (result.status, result.end) == (status, end), result


@pytest.mark.parametrize("words", [["--", "./missing"], ["--no-network", "--", "true"]], ids=str)
def test_a_report_of_a_failure(words: list[str], tmp_path: Path) -> None:
    """If the command did not run, it says why, as a person is told."""
    with socket.socket() as one:
        result = guard(*words, cwd=tmp_path, pass_fds=[one.fileno()])
    assert (result.status, result.blocked) == (8, [])
    assert result.end is not None
    assert result.end["error"] == "SystemFailureError"
    assert f"hotenv: {result.end['message']}\n" == result.err


def test_no_report_of_the_killed(tmp_path: Path) -> None:
    """What was there before is gone, and nothing says that nothing was blocked."""
    (tmp_path / "report.json").write_text('{"status": 0}\n')
    words = ["guard", "--report", "report.json", "--", "sh", "-c", "echo; exec sleep 1000"]
    with subprocess.Popen([*HOTENV, *words], cwd=tmp_path, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        process.stdout.readline()
        (keeper,) = Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()
        os.kill(int(keeper), signal.SIGKILL)
    assert process.returncode == -signal.SIGKILL
    assert (tmp_path / "report.json").read_text() == ""


def test_what_else_is_in_a_report(tmp_path: Path) -> None:
    """Nothing: neither what was there before, nor what the command has written there."""
    report = tmp_path / "report.json"
    report.write_text("before\n" * 1000)
    words = ["--report", "report.json", "--", "cat", "report.json"]
    done = subprocess.run([*HOTENV, "guard", *words], cwd=tmp_path, capture_output=True, check=True)
    assert done.stdout == b""
    assert "before" not in report.read_text()
    words = ["--report", "report.json", "--", "sh", "-c", "yes forged | head -n 1000 >report.json"]
    subprocess.run([*HOTENV, "guard", *words], cwd=tmp_path, check=True)
    assert "forged" not in report.read_text()


@pytest.mark.parametrize("is_pipe", [True, False], ids=["pipe", "file"])
def test_a_report_by_descriptor(is_pipe: bool, probe: str, tmp_path: Path) -> None:
    """The command does not get it, and it is closed when the report is written."""
    (tmp_path / "report").write_text("before\n" * 1000)
    flags = (os.O_RDONLY, os.O_WRONLY)
    read, write = os.pipe() if is_pipe else (os.open(tmp_path / "report", each) for each in flags)
    if not is_pipe:
        os.lseek(write, 0, os.SEEK_END)
    begin, end = os.pipe()
    script = (
        f'[ -e /dev/fd/{write} ] && echo open; "$0" create new; (read line) <&{begin} >&- 2>&- &'
    )
    words = ["--fs-readonly", "--report", f"/dev/fd/{write}", "--", "bash", "-c", script, probe]
    done = subprocess.run(
        [*HOTENV, "guard", *words],
        cwd=tmp_path,
        stdout=subprocess.PIPE,
        check=False,
        pass_fds=[write, begin],
    )
    os.close(write)
    assert (done.returncode, done.stdout) == (2, b"")
    with open(read) as file:  # at its end although something of the command is left
        assert [json.loads(line).get("what") for line in file] == ["write", None]
    os.close(begin)
    os.close(end)


def test_a_report_on_standard_output(tmp_path: Path) -> None:
    """The standard streams are the command's all the same."""
    words = ["--report", "/dev/fd/1", "--", "echo", "started"]
    done = subprocess.run([*HOTENV, "guard", *words], cwd=tmp_path, capture_output=True, check=True)
    assert done.stdout == b'started\n{"status": 0}\n'


def test_a_report_that_cannot_be_written(probe: str, tmp_path: Path) -> None:
    """It is an error, but not that of a process that runs on: it is supervised as ever."""
    check = "import socket; print(socket.socket(socket.AF_UNIX).family.name)"
    (read, write), (begin, end) = os.pipe(), os.pipe()
    left = f"(read line; exec {PYTHON} -c '{check}' >&{write}) <&{begin} >&- 2>&- &"
    words = ["--fs-readonly", "--report", "/dev/full", "--", "bash", "-c"]
    done = subprocess.run(
        [*HOTENV, "guard", *words, f'"$0" create new; {left}', probe],
        cwd=tmp_path,
        capture_output=True,
        check=False,
        pass_fds=[write, begin],
    )
    for each in (write, begin, end):
        os.close(each)
    blocked, failed = done.stderr.decode().splitlines()
    assert blocked.startswith("hotenv: blocked write ")
    assert failed == "hotenv: cannot write the report /dev/full: no space left on device"
    assert done.returncode == 8
    with open(read) as pipe:
        assert pipe.read() == "AF_UNIX\n"


def test_a_report_by_a_descriptor_that_is_closed(tmp_path: Path) -> None:
    """It cannot be written, and nothing is started."""
    read, write = os.pipe()
    os.close(write)
    words = ["--report", f"/dev/fd/{write}", "--", "echo", "started"]
    done = subprocess.run(
        [*HOTENV, "guard", *words], cwd=tmp_path, capture_output=True, check=False
    )
    os.close(read)
    said = f"hotenv: cannot write the report /dev/fd/{write}: bad file descriptor\n"
    assert (done.returncode, done.stdout, done.stderr.decode()) == (8, b"", said)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["guard", "--no-network", "true"], "put '--' between the options and the command"),
        (["run", "--no-network", "true"], "put '--' between the options and the command"),
        (["guard", "--"], "missing command after '--'"),
        (["guard"], "put '--' between the options and the command"),
        (["guard", "--allow-read", "/", "--", "true"], "no effect without --fs-readonly=ROOT"),
        (["guard", "--allow-write", "/", "--", "true"], "no effect without --fs-readonly"),
        (["guard", "--fs-readonly=", "--", "true"], "--fs-readonly : no such file or directory"),
        (["guard", "--fs-readonly", "/", "--", "true"], "put '--' between the options and"),
        (["run", "--fs-readonly", "/", "--", "true"], "put '--' between the options and"),
        (["run", "--fs-readonly", "--allow-write", "no", "--", "true"], "--allow-write no: no"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_usage(words: list[str], said: str, tmp_path: Path) -> None:
    """Nonsense is exit 2 and says what to do."""
    command = [sys.executable, "-P", "-m", "hotenv", *words]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, check=False)
    assert done.returncode == 2
    assert said in done.stderr.decode()


def test_private_tmp(tmp_path: Path) -> None:
    """A directory that nobody else can enter, and that is gone at the end with what is in it."""
    script = (
        'stat -c %a "$TMPDIR"; mkdir "$TMPDIR/a"; touch "$TMPDIR/a/b"; ln -s / "$TMPDIR/c"; '
        'chmod 0 "$TMPDIR/a"; echo $TMPDIR'
    )
    result = guard("--fs-readonly", "--private-tmp", "--", "sh", "-c", script, cwd=tmp_path)
    assert result.status == 0, result
    mode, path = result.out.split()
    assert mode == "700"
    assert not os.path.exists(path)


def test_private_tmp_of_what_runs_on(tmp_path: Path) -> None:
    """It is there as long as a process of the command is, and gone when hotenv is."""
    (read, write), (begin, end) = os.pipe(), os.pipe()
    left = f'(read line; echo > "$TMPDIR/new" && echo yes >&{write}) <&{begin} &'
    words = ["--fs-readonly", "--private-tmp", "--", "bash", "-c", f"echo $TMPDIR; {left} cat"]
    with subprocess.Popen(
        [*HOTENV, "guard", *words],
        cwd=tmp_path,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        pass_fds=[begin, write],
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        path = process.stdout.readline().decode().strip()
        (keeper,) = Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()
        pidfd = os.pidfd_open(int(keeper))
        process.stdin.close()
        assert process.wait() == 0
    for each in (begin, write):
        os.close(each)
    assert os.path.exists(path)
    os.write(end, b"\n")
    os.close(end)
    with open(read) as pipe:
        assert pipe.read() == "yes\n"
    select.select([pidfd], [], [])
    os.close(pidfd)
    assert not os.path.exists(path)


@pytest.mark.parametrize("moment", ["made", "opened"])
def test_private_tmp_while_others_prune(moment: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """One that was removed before it had an owner is made again, under another name."""
    gone: list[str] = []
    mkdir, flock = os.mkdir, fcntl.flock

    def make(path: str, mode: int) -> None:
        mkdir(path, mode)
        if not gone:
            gone.append(path)
            if moment == "made":
                os.rmdir(path)

    def lock(descriptor: int, how: int) -> None:
        if moment == "opened" and os.path.exists(gone[0]):
            os.rmdir(gone[0])
        flock(descriptor, how)

    with monkeypatch.context() as patch:
        patch.setattr(os, "mkdir", make)
        patch.setattr(fcntl, "flock", lock)
        folder = PrivateFolder()
    assert gone != [folder.path]
    assert folder.path not in remove_abandoned()
    assert os.path.isdir(folder.path)
    folder.remove()
    assert not os.path.exists(folder.path)


def test_report_of_an_earlier_run(tmp_path: Path) -> None:
    """It is gone whatever keeps the command from being run: nobody takes it for this one's."""
    report = tmp_path / "report"
    for words in (["run"], ["guard", "--allow-write", "/"]):
        report.write_text('{"status": 0}\n')
        command = [*HOTENV, *words, "--report", str(report), "--", "true"]
        done = subprocess.run(command, cwd=tmp_path, capture_output=True, check=False)
        assert done.returncode in (2, 3)
        assert report.read_text() == ""


def test_private_tmp_of_the_killed(tmp_path: Path) -> None:
    """prune removes what a killed hotenv left behind, and nothing that is in use."""
    command = [sys.executable, "-P", "-m", "hotenv"]
    words = ["guard", "--private-tmp", "--", "sh", "-c", 'echo "$TMPDIR"; exec sleep 1000']
    with subprocess.Popen([*command, *words], stdout=subprocess.PIPE, cwd=tmp_path) as process:
        assert process.stdout is not None
        path = process.stdout.readline().decode().strip()
        (child,) = Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()
        keeper = os.pidfd_open(int(child))
        try:
            subprocess.run([*command, "prune"], cwd=tmp_path, capture_output=True, check=True)
            assert os.path.exists(path)
        finally:
            process.kill()
            process.wait()
            select.select([keeper], [], [])
            os.close(keeper)
    subprocess.run([*command, "prune"], cwd=tmp_path, capture_output=True, check=True)
    assert not os.path.exists(path)


# What programs do without meaning it


@pytest.mark.parametrize("option", ["--no-network", "--fs-readonly"])
@pytest.mark.parametrize(
    "command",
    [
        ["ls", "-l"],
        ["id"],
        ["bash", "-c", "echo ~root"],
        ["git", "status", "--short"],
        ["npm", "-v"],
        ["node", "-e", "require('os').networkInterfaces"],
        [sys.executable, "-m", "pip", "list", "--disable-pip-version-check"],
        ["curl", "--version"],
        ["vim", "-es", "-c", "q"],
        [PYTHON, "-c", "import socket; socket.getaddrinfo('localhost', 1)"],
    ],
    ids=lambda words: " ".join(words[:3]) if isinstance(words, list) else None,
)
@pytest.mark.usefixtures("unmeasured")
def test_programs_that_need_nothing(command: list[str], option: str, tmp_path: Path) -> None:
    """They end with their own status: what they try and do without does not count."""
    if not shutil.which(command[0]):
        pytest.skip(f"{command[0]} is not installed")
    if command[0] == "git":
        subprocess.run(["git", "init", "-q", "."], cwd=tmp_path, check=True)
    result = guard(option, "--", *command, cwd=tmp_path)
    assert (result.status, result.counted) == (freely(*command, cwd=tmp_path), []), result


@pytest.mark.parametrize("words", [["tcp", "9"], ["create", "new"], ["clone"], ["unix", "/x"]])
def test_a_static_program(words: list[str], tmp_path_factory: pytest.TempPathFactory) -> None:
    """No library stands between it and the kernel."""
    directory = tmp_path_factory.mktemp("static")
    try:
        static = compiled(str(directory), static=True)
    except subprocess.CalledProcessError:
        pytest.skip("there is no static C library")
    guards = ["--no-network", "--no-subprocess", "--fs-readonly"]
    result = guard(*guards, "--", static, *words, cwd=directory)
    expected = 2 if words[0] != "unix" else errno.ENOENT
    assert result.status == expected, result
    assert len(result.counted) == (words[0] != "unix")


# Kernels without what this one has

OLD = with_limits({"hotenv.guards.kernel._SCOPES": 99, "hotenv.guards.kernel._TRUNCATE": 99})
"""hotenv as it is on Linux 6.1: what Landlock does not decide there, the supervisor does."""

SIGNALS = """
import os, signal, subprocess, sys
outside = int(sys.argv[1])
child = subprocess.Popen(["sleep", "1000"], start_new_session=True)
pidfd = os.pidfd_open(child.pid)
far = os.pidfd_open(outside)
for send in (
    lambda: os.kill(outside, 9),
    lambda: os.kill(os.getppid(), 0),
    lambda: os.killpg(os.getpgid(outside), 9),
    lambda: signal.pidfd_send_signal(far, 9),
    lambda: os.kill(child.pid, 0),
    lambda: signal.pidfd_send_signal(pidfd, 0),
    lambda: os.killpg(child.pid, signal.SIGTERM),
):
    try:
        send()
        print("sent", end=" ")
    except PermissionError:
        print("refused", end=" ")
print(child.wait())
"""


def test_signals_without_scopes(tmp_path: Path) -> None:
    """Where Landlock does not know them, they reach the processes of the command all the same."""
    with subprocess.Popen(["sleep", "1000"], start_new_session=True) as outside:
        words = ["--", PYTHON, "-c", SIGNALS, str(outside.pid)]
        result = guard(*words, cwd=tmp_path, command=OLD)
        assert result.out.split() == ["refused"] * 4 + ["sent"] * 3 + ["-15"], result
        assert result.status == 2
        assert outside.poll() is None
        outside.kill()


@pytest.mark.parametrize("way", ["cut", "truncate"])
def test_truncation_without_landlock(way: str, probe: str, tmp_path: Path) -> None:
    """A file is not cut off, but where an exception says so."""
    (tmp_path / "place").mkdir()
    file = tmp_path / "place" / "file"
    file.write_text("text")
    words = ["--fs-readonly", "--", probe, way, str(file)]
    assert guard(*words, cwd=tmp_path, command=OLD).status in (1, 2, 13)
    assert file.read_text() == "text"
    if way == "truncate":
        words = ["--fs-readonly", "--allow-write", "place", "--", probe, way, str(file)]
        assert guard(*words, cwd=tmp_path, command=OLD).status == 0
        assert file.read_text() == ""
