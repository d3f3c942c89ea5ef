"""hotenv without what macOS lacks: each fallback works, or says in words that it does not.

And what hotenv does on macOS only, with a kernel that is played here.
"""

from __future__ import annotations

import errno
import json
import os
import re
import resource
import select
import shutil
import signal
import stat
import struct
import subprocess
import sys
import termios
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import NoReturn

import pytest

from hotenv import libc, termination
from hotenv.errors import SystemFailureError, UnreachableError
from hotenv.exchange import peer, probe
from hotenv.handover.formats import FORMATS
from hotenv.intake import hardening
from hotenv.intake.lockedmemory import LockedMemory
from hotenv.session.marker import Marker, read_marker
from hotenv.upkeep import stop as stopping
from hotenv.upkeep.stop import stop
from processes import (
    LIMIT,
    Terminal,
    finish,
    hotenv,
    in_job_shell,
    is_clean,
    said,
    serving,
    socket_path,
    start_serve,
    wait_until,
)

TESTS = Path(__file__).parent

BARE = [sys.executable, "-P", str(TESTS / "bare.py")]
"""The command of this lane."""

CANNOT_LOCK = "hotenv: cannot lock memory for the values: raise the limit (see 'ulimit -l')"

UNPROTECTED = (
    "hotenv: warning: cannot disable debugging by your other processes (prctl: function not "
    "implemented): they may read the values\n"
)
"""What serve says there; macOS has its own means."""

pytestmark = pytest.mark.skipif(
    sys.platform != "linux", reason="elsewhere all tests are of this lane"
)


def bare(
    *args: str, cwd: Path, stdin: bytes = b"", env: Mapping[str, str] | None = None
) -> subprocess.CompletedProcess[bytes]:
    """Run a hotenv command of this lane to its end."""
    return hotenv(*args, cwd=cwd, stdin=stdin, env=env, command=BARE)


def in_bare(script: str) -> subprocess.CompletedProcess[bytes]:
    """Run a Python script in an interpreter from which it all was taken away."""
    take_away = f"import sys; sys.path.append({str(TESTS)!r}); import bare; bare.take_away()\n"
    return subprocess.run(
        [sys.executable, "-P", "-c", take_away + script], capture_output=True, timeout=LIMIT
    )


def shut(*streams: str) -> list[str]:
    """The command with these redirections, as ``>&-``."""
    return ["sh", "-c", f'exec "$@" {" ".join(streams)}', "sh", *BARE]


def children_of(pid: int) -> list[int]:
    """What the process has started and not yet seen end."""
    return [int(each) for each in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


def echoes(terminal: Terminal) -> bool:
    """Whether what is typed is shown."""
    return bool(termios.tcgetattr(terminal.fd)[3] & termios.ECHO)


@pytest.fixture
def ended(directory: Path) -> Iterator[None]:
    """Ends the session that a test leaves, with the kernel's help."""
    yield
    hotenv("stop", cwd=directory)


# The lane


def test_lane() -> None:
    """Nothing of what it should take away is there, in whatever way it is looked up."""
    result = in_bare("""
import errno, fcntl, mmap, os, resource, select, signal, socket, time, _signal, _socket
import trio
from hotenv import libc

for module, names in {
    os: ["waitid", "P_PID", "memfd_create", "MFD_CLOEXEC", "pidfd_open", "pipe2"],
    signal: ["pidfd_send_signal", "SIGRTMIN", "SIGPWR", "SIGSTKFLT", "SIGPOLL", "sigtimedwait"],
    _signal: ["pidfd_send_signal", "SIGRTMIN"],
    socket: ["SO_PEERCRED", "SOCK_CLOEXEC"],
    _socket: ["SO_PEERCRED"],
    trio.socket: ["SO_PEERCRED"],
    time: ["CLOCK_BOOTTIME"],
    fcntl: ["F_ADD_SEALS", "F_SEAL_WRITE", "F_OFD_SETLK"],
    mmap: ["MADV_DONTDUMP", "MADV_DONTFORK"],
    resource: ["prlimit"],
    select: ["POLLRDHUP"],
}.items():
    for name in names:
        assert not hasattr(module, name), name
for path in ("/proc/self/environ", "/dev/fd", b"/proc", "/proc/self/fd/0"):
    for look in (open, os.listdir, os.stat, os.lstat, os.readlink, os.scandir,
                 lambda name: os.open(name, os.O_RDONLY)):
        try:
            look(path)
        except FileNotFoundError:
            continue
        raise AssertionError((look, path))
    assert not os.path.exists(path)
assert os.path.exists("/dev/null") and os.listdir("/")
for call in (lambda: libc.prctl(4, 0), lambda: libc.secret_memory(1), libc.deny_attach,
             lambda: libc.Timer(time.CLOCK_MONOTONIC, signal.SIGCONT)):
    try:
        call()
    except OSError as error:
        assert error.errno == errno.ENOSYS
    else:
        raise AssertionError(call)
try:
    libc.mlock(mmap.mmap(-1, 1))
except OSError as error:
    assert error.errno != errno.ENOSYS
""")
    assert (result.returncode, result.stderr) == (0, b"")


# Serving


def test_foreground(directory: Path, runtime: Path) -> None:
    """serve says where it serves, commands get the variables, its log has them, it ends."""
    with serving(directory, b"A=1\n", command=BARE) as server:
        run = bare("run", "--", "printenv", "A", cwd=directory)
        assert (run.returncode, run.stdout, run.stderr) == (0, b"1\n", b"")
        assert bare("run", "--", "sh", "-c", "exit 5", cwd=directory).returncode == 5
        server.terminate()
        code, words = finish(server)
    assert code == 0
    assert words.startswith(UNPROTECTED)
    ready, *log = words.removeprefix(UNPROTECTED).splitlines()
    assert ready == f"hotenv: serving 1 variable in {directory} (expires after 5m idle)"
    assert [line[20:] for line in log] == ["run printenv", "run sh"]
    assert is_clean(directory, runtime)


def test_detached(directory: Path, ended: None) -> None:
    """It answers when --detach returns, and keeps no descriptor of its caller open."""
    reader, writer = os.pipe()
    process = subprocess.Popen(
        [*BARE, "serve", "--detach"],
        cwd=directory,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        pass_fds=[writer],
    )
    os.close(writer)
    out, words = process.communicate(b"A=1\n", timeout=LIMIT)  # until nothing has them open
    assert (process.returncode, out) == (0, b"")
    assert words.decode() == (
        f"{UNPROTECTED}hotenv: serving 1 variable in {directory} (expires after 5m idle)\n"
    )
    assert select.select([reader], [], [], LIMIT)[0]
    with open(reader, "rb") as inherited:
        assert inherited.read() == b""
    assert bare("dump", cwd=directory).stdout == b"A=1\n"


@pytest.mark.parametrize("options", [(), ("--detach",)], ids=["foreground", "detached"])
def test_expiry(directory: Path, runtime: Path, options: tuple[str, ...]) -> None:
    """Nobody asks: it ends by itself, leaves nothing but a note, and the log file says why."""
    server = start_serve(directory, b"A=1\n", "-t", "0.3s", "--log", "log", *options, command=BARE)
    assert finish(server)[0] == 0
    log = directory / "log"
    wait_until(lambda: log.read_text().endswith(" hotenv: session expired\n"), "the last line")
    assert is_clean(directory, runtime, expired=True)
    assert bare("dump", cwd=directory).returncode == 3


@pytest.mark.parametrize("name", ["SIGTERM", "SIGINT", "SIGHUP", "SIGUSR1"])
def test_signal(directory: Path, runtime: Path, name: str) -> None:
    """A signal ends it in order: exit code 0, nothing left."""
    with serving(directory, command=BARE) as server:
        server.send_signal(getattr(signal, name))
        assert finish(server)[0] == 0
    assert is_clean(directory, runtime)


def test_log_and_ready_fd(directory: Path, ended: None) -> None:
    """The log file has mode 0600 and every line; the descriptor is told and closed."""
    reader, writer = os.pipe()
    process = subprocess.Popen(
        [*BARE, "serve", "--detach", "-q", "--log", "log", "--ready-fd", str(writer)],
        cwd=directory,
        stdin=subprocess.PIPE,
        pass_fds=[writer],
    )
    os.close(writer)
    process.communicate(b"A=1\n", timeout=LIMIT)
    with open(reader, "rb") as told:
        assert told.read() == b"\n"
    assert stat.S_IMODE((directory / "log").stat().st_mode) == 0o600
    assert process.returncode == 0


def test_memory_is_locked(directory: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """--require-locked-memory serves where mlock(2) works, and says why not where it does not."""
    with monkeypatch.context() as patch:
        patch.setattr(libc, "secret_memory", raising(errno.ENOSYS))
        works = LockedMemory(1).locked
    if works:
        with serving(directory, b"A=1\n", "--require-locked-memory", command=BARE) as server:
            status = Path(f"/proc/{server.pid}/status").read_text()
            assert re.search(r"^VmLck:\s+[1-9]", status, re.MULTILINE)
            assert bare("dump", cwd=directory).stdout == b"A=1\n"
    else:
        result = bare("serve", "--require-locked-memory", cwd=directory, stdin=b"A=1\n")
        assert (result.returncode, result.stderr.decode()) == (8, f"{UNPROTECTED}{CANNOT_LOCK}\n")


def raising(number: int) -> Callable[[object], NoReturn]:
    """A function of one argument that fails."""

    def fail(_: object) -> NoReturn:
        raise OSError(number, os.strerror(number))

    return fail


@pytest.mark.parametrize("mode", [(), ("--detach",)], ids=["foreground", "detached"])
def test_hardening_that_is_required(directory: Path, runtime: Path, mode: tuple[str, ...]) -> None:
    """--require-hardening does not serve without it: 8, before anything is read."""
    process = subprocess.Popen(
        [*BARE, "serve", "--require-hardening", *mode],
        cwd=directory,
        stdin=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    assert process.wait(timeout=LIMIT) == 8  # with its standard input still open
    assert process.communicate()[1].decode() == (
        "hotenv: cannot disable debugging by your other processes (prctl: function not "
        "implemented)\n"
    )
    assert is_clean(directory, runtime)


def test_memory_that_cannot_be_locked(directory: Path, runtime: Path) -> None:
    """With --require-locked-memory it is exit code 8 and the limit to raise."""
    limit = "import os, resource, sys; resource.setrlimit(resource.RLIMIT_MEMLOCK, (0, 0)); "
    command = [sys.executable, "-c", f"{limit} os.execvp(sys.argv[1], sys.argv[1:])"]
    if os.geteuid() == 0:
        if shutil.which("setpriv") is None:
            pytest.skip("root needs setpriv to be bound by a limit")
        command += ["setpriv", "--bounding-set=-ipc_lock", "--inh-caps=-ipc_lock"]
    result = hotenv(
        "serve",
        "--require-locked-memory",
        cwd=directory,
        stdin=b"A=1\n",
        command=[*command, *BARE],
    )
    assert (result.returncode, result.stderr.decode()) == (8, f"{UNPROTECTED}{CANNOT_LOCK}\n")
    assert is_clean(directory, runtime)


def test_default_runtime_base(directory: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without XDG_RUNTIME_DIR, as on macOS, sockets are in a private directory below /tmp."""
    monkeypatch.delenv("XDG_RUNTIME_DIR")
    base = Path(f"/tmp/hotenv-{os.geteuid()}")
    was_there = base.exists()
    with serving(directory, command=BARE) as server:
        path = socket_path(directory)
        assert path.parent == base
        assert stat.S_IMODE(base.stat().st_mode) == 0o700
        rows = bare("status", "--all", cwd=directory).stdout.decode().splitlines()
        assert [row.split("\t")[1:3] for row in rows if row.startswith(f"{directory}\t")] == [
            ["alive", "-"]
        ]
        server.terminate()
        assert finish(server)[0] == 0
    assert not list(base.glob(f"{path.stem}.*"))
    if not was_there:
        with suppress(OSError):  # another session has moved in
            base.rmdir()


@pytest.mark.parametrize(
    ("streams", "command", "code", "words"),
    [
        pytest.param(
            ["<&-"],
            ["serve", "-q"],
            8,
            f"{UNPROTECTED}hotenv: standard input is closed: pipe dotenv text into 'hotenv serve'"
            "\n",
            id="serve",
        ),
        pytest.param([">&-"], ["dump"], 8, "hotenv: standard output is closed\n", id="dump"),
        pytest.param(["<&-", ">&-", "2>&-"], ["run", "--", "sh", "-c", "exit 7"], 7, "", id="run"),
    ],
)
def test_closed_streams(
    directory: Path, streams: list[str], command: list[str], code: int, words: str
) -> None:
    """A standard stream that is not there is missed only where it is needed."""
    os.mkdir("other")
    with serving(directory, command=shut(">&-", "2>&-")):
        cwd = Path("other") if command[0] == "serve" else directory
        result = hotenv(*command, cwd=cwd, command=shut(*streams))
    assert (result.returncode, result.stdout, result.stderr.decode()) == (code, b"", words)


# Reading


def test_interrupt_while_reading(directory: Path, runtime: Path) -> None:
    """Ctrl-C at the terminal: 130, and nothing was made."""
    terminal = Terminal([*BARE, "serve"], directory)
    terminal.expect(b"Ctrl-D")
    terminal.type(b"\x03")
    assert terminal.wait() == 130
    assert b"Traceback" not in terminal.screen
    assert is_clean(directory, runtime)


def test_reader_whose_parent_is_killed(directory: Path, runtime: Path) -> None:
    """Without the kernel's help it ends with its input, and what it read goes nowhere."""
    process = subprocess.Popen(
        [*BARE, "serve", "-q"], cwd=directory, stdin=subprocess.PIPE, stderr=subprocess.PIPE
    )
    wait_until(lambda: children_of(process.pid), "the reader")
    process.kill()
    assert process.wait(timeout=LIMIT) == -signal.SIGKILL
    assert process.stdin is not None
    assert process.stderr is not None
    with suppress(BrokenPipeError):  # should it have ended by now
        process.stdin.write(b"A=s3cret\n")
        process.stdin.close()
    with process.stderr:
        assert process.stderr.read().decode() == UNPROTECTED  # once the reader has ended
    assert is_clean(directory, runtime)


def test_reader_whose_parent_has_ended() -> None:
    """A child that finds another parent than its own ends at once."""
    result = in_bare("""
import os
from hotenv.lineage import die_with
die_with(os.getppid())
print("alive", flush=True)
die_with(os.getpid())
print("still alive", flush=True)
""")
    assert (result.returncode, result.stdout) == (-signal.SIGKILL, b"alive\n")


# Prompting


def prompting(directory: Path) -> Terminal:
    """``serve -p`` as a job of a shell, at its question."""
    (directory / "contract").write_text("PW=?\n")
    words = " ".join(f"'{word}'" for word in BARE)
    terminal = Terminal(in_job_shell(f'echo "pid $$"; exec {words} serve -p <contract'), directory)
    terminal.expect(b"hotenv: PW: ")
    assert not echoes(terminal)
    return terminal


def test_prompt_after_a_stop(directory: Path, runtime: Path) -> None:
    """Ctrl-Z gives the shell its echo back, fg asks again, and the answer is served unseen."""
    terminal = prompting(directory)
    terminal.type(b"typed\x1a")
    terminal.expect(b"shell: stopped, echo on")
    terminal.screen = b""
    terminal.type(b"fg\n")
    terminal.expect(b"hotenv: PW: ")
    assert not echoes(terminal)
    terminal.type(b"s3cret\n")
    terminal.expect(b"hotenv: serving 1 variable ")
    assert echoes(terminal)
    assert bare("dump", cwd=directory).stdout == b"PW=s3cret\n"
    terminal.type(b"\x03")
    terminal.expect(b"shell: ended 0, echo on")
    terminal.wait()
    assert b"s3cret" not in terminal.screen
    assert is_clean(directory, runtime)


@pytest.mark.parametrize("end", ["Ctrl-C", "SIGTERM", "SIGHUP"])
def test_end_at_a_prompt(directory: Path, runtime: Path, end: str) -> None:
    """Whatever ends it at a question, echo is on, nothing was made, nothing is left running."""
    terminal = prompting(directory)
    if end == "Ctrl-C":
        terminal.type(b"typed\x03")
        code = 130
    else:
        code = -getattr(signal, end)
        os.kill(int(terminal.screen.split(b"pid ")[1].split()[0]), -code)
    terminal.expect(f"shell: ended {code}, echo on".encode())
    terminal.wait()  # until the last process on the terminal has ended
    assert b"typed" not in terminal.screen
    assert is_clean(directory, runtime)


# Commands


def test_environment(directory: Path) -> None:
    """``run`` hands on what it was started with, byte for byte, and adds the variables."""
    env = {**os.environ, "LC_ALL": "C.UTF-8", "ODD": os.fsdecode(b"\xff\n"), "EMPTY": ""}
    with serving(directory, b"A=1\n", command=BARE):
        result = bare("run", "--", "env", "-0", cwd=directory, env=env)
        isolated = bare("run", "--isolated", "--pass", "ODD", "env", "-0", cwd=directory, env=env)
    expected = {os.fsencode(name): os.fsencode(value) for name, value in env.items()}
    assert _environment(result.stdout) == expected | {b"A": b"1"}
    kept = _environment(isolated.stdout)
    assert (kept[b"ODD"], kept[b"A"], kept[b"PATH"]) == (b"\xff\n", b"1", expected[b"PATH"])
    assert b"EMPTY" not in kept


def _environment(block: bytes) -> dict[bytes, bytes]:
    entries = [entry.partition(b"=") for entry in block.removesuffix(b"\0").split(b"\0")]
    return {name: value for name, _, value in entries}


def test_dump(directory: Path) -> None:
    """Every format, to the last byte."""
    variables = {"A": "1", "B": "it's ü"}
    with serving(directory, 'A=1\nB="it\'s ü"\n'.encode(), command=BARE):
        for name, encode in FORMATS.items():
            result = bare("dump", "--format", name, cwd=directory)
            assert (result.returncode, result.stdout, result.stderr) == (0, encode(variables), b"")
    assert list(FORMATS) == ["env", "dotenv", "json", "shell", "fish", "docker", "null"]


def test_status(directory: Path) -> None:
    """All that the server has published; its process is unknown, and not 0."""
    with serving(directory, b"A=1\n", "-t", "90", command=BARE):
        facts = dict(
            line.split("\t") for line in bare("status", cwd=directory).stdout.decode().splitlines()
        )
        assert facts["marker"] == f"{directory}/.hotenv"
        assert (facts["pid"], facts["variables"]) == ("-", "1")
        assert re.fullmatch(r"1m(30|2\d)s left of 1m30s", facts["idle timeout"])
        report = json.loads(bare("status", "--json", cwd=directory).stdout)
        assert (report["state"], report["pid"], report["variables"]) == ("alive", None, 1)
        assert 0 < report["idle_remaining"] <= 90
        short = bare("status", "--short", cwd=directory)
        assert re.fullmatch(rb"1m(30|2\d)s\n", short.stdout)
        row = bare("status", "--all", cwd=directory).stdout.decode().rstrip("\n").split("\t")
        assert (*row[:3], row[4]) == (str(directory), "alive", "-", "1")
        (report,) = json.loads(bare("status", "--all", "--json", cwd=directory).stdout)
        assert (report["state"], report["pid"]) == ("alive", None)


@pytest.mark.parametrize(
    "options",
    [["--as-file", "A", "--", "touch", "ran"], ["--env-file", "json", "--", "touch", "ran", "{}"]],
    ids=["as-file", "env-file"],
)
def test_files_in_memory(directory: Path, options: list[str]) -> None:
    """There are none, hotenv says so, and the command does not run without them."""
    with serving(directory, command=BARE):
        result = bare("run", *options, cwd=directory)
    assert (result.returncode, said(result)) == (
        8,
        "hotenv: in-memory files are not supported on this system: run without --as-file and "
        "--env-file",
    )
    assert not (directory / "ran").exists()


@pytest.mark.parametrize("options", [[], ["--all"]])
def test_stop(directory: Path, options: list[str]) -> None:
    """Which process serves is not known: stop says so, and the session lives on."""
    with serving(directory, command=BARE) as server:
        result = bare("stop", *options, cwd=directory)
        assert (result.returncode, result.stdout) == (8, b"")
        words = result.stderr.decode().splitlines()
        assert words[0] == (
            f"hotenv: cannot stop the session of {directory}/.hotenv: its server cannot be "
            "identified on this system: press Ctrl-C in its terminal, or end its process"
        )
        assert words[1:] == ["hotenv: cannot stop all sessions: 1 still running"][: len(options)]
        assert bare("dump", cwd=directory).stdout == b"A=1\n"
        assert server.poll() is None


def test_killed_server(directory: Path, runtime: Path) -> None:
    """After kill -9: run says that it is dead, serve refuses, --force replaces, prune removes."""
    with serving(directory, command=BARE) as server:
        server.kill()
        server.wait()
    path = socket_path(directory)
    dead = bare("run", "--", "true", cwd=directory)
    assert dead.returncode == 4
    assert said(dead).startswith(
        f"hotenv: cannot reach the server of {directory}/.hotenv ({path}: connection refused): "
        "run 'hotenv serve --force'"
    )
    assert bare("status", "--all", cwd=directory).stdout.split(b"\t")[1:3] == [b"dead", b"-"]
    refused = bare("serve", cwd=directory, stdin=b"A=2\n")
    assert (refused.returncode, refused.stdout) == (10, b"")
    server = start_serve(directory, b"A=2\n", "--force", command=BARE)
    wait_until(lambda: socket_path(directory) != path, "the new marker")
    assert bare("dump", cwd=directory).stdout == b"A=2\n"
    assert not path.exists()
    server.kill()
    finish(server)
    path = socket_path(directory)
    pruned = bare("prune", cwd=directory)
    assert (pruned.returncode, pruned.stderr.decode().splitlines()) == (
        0,
        [
            f"hotenv: removed {gone}"
            for gone in (path, path.with_suffix(".json"), directory / ".hotenv")
        ],
    )
    assert is_clean(directory, runtime)
    assert said(bare("prune", cwd=directory)) == "hotenv: nothing to remove"


def test_force_beside_a_living_server(directory: Path) -> None:
    """The new session is found from now on, and prune leaves it alone."""
    with serving(directory, command=BARE):
        path = socket_path(directory)
        server = start_serve(directory, b"A=2\n", "-f", command=BARE)
        wait_until(lambda: socket_path(directory) != path, "the new marker")
        assert bare("prune", cwd=directory).returncode == 0
        assert bare("dump", cwd=directory).stdout == b"A=2\n"
        server.terminate()
        assert finish(server)[0] == 0


def test_wait(directory: Path) -> None:
    """run --wait is there first, and runs when the session answers."""
    client = subprocess.Popen(
        [*BARE, "run", "--wait", f"{LIMIT}", "--", "printenv", "A"],
        cwd=directory,
        stdout=subprocess.PIPE,
    )
    with serving(directory, b"A=new\n", command=BARE):
        assert client.communicate(timeout=LIMIT)[0] == b"new\n"
    assert client.returncode == 0


# What macOS has of its own


XUCRED = struct.Struct("@IIh16I")
"""struct xucred of <sys/ucred.h>: u_int version, uid_t, short number of groups, 16 of gid_t."""


class Connection:
    """A connection whose peer is the process ``pid`` of user ``uid``, as macOS reports them."""

    def __init__(self, pid: int, uid: int) -> None:
        self._options = {
            (0, 1): XUCRED.pack(0, uid, 3, 20, 12, 61, *[0] * 13),  # SOL_LOCAL, LOCAL_PEERCRED
            (0, 2): struct.pack("@i", pid),  # SOL_LOCAL, LOCAL_PEERPID
        }

    def getpeername(self) -> str:
        return MARKER.socket

    def getsockopt(self, level: int, optname: int, buflen: int, /) -> bytes:
        value = self._options[level, optname]
        assert buflen == len(value)
        return value


class ClosedConnection:
    """A connection whose peer has ended."""

    def getpeername(self) -> str:
        return MARKER.socket

    def getsockopt(self, _level: int, _optname: int, _buflen: int, /) -> bytes:
        raise OSError(errno.ENOTCONN, os.strerror(errno.ENOTCONN))


MARKER = Marker("/project/.hotenv", "/run/hotenv/01234567.sock", 501)


@pytest.fixture
def macos(monkeypatch: pytest.MonkeyPatch) -> None:
    """What this process takes its system for."""
    monkeypatch.setattr(sys, "platform", "darwin")


@pytest.mark.parametrize("uid", [0, 501, 2**32 - 2])  # the last is macOS's "nobody"
def test_peer(macos: None, uid: int) -> None:
    """Process and user come from LOCAL_PEERPID and LOCAL_PEERCRED."""
    assert peer.identify(Connection(70_000, uid)) == (70_000, uid)


def test_peer_that_has_ended(macos: None) -> None:
    """macOS does not tell then: the server is unreachable, and it is no internal error."""
    with pytest.raises(UnreachableError, match="the server exited before answering"):
        peer.check_peer(ClosedConnection(), MARKER)


@pytest.mark.parametrize(
    ("error", "words"),
    [
        (0, ""),
        (
            errno.EPERM,
            "hotenv: warning: cannot disable debugging by your other processes (operation not "
            "permitted): they may read the values\n",
        ),
    ],
)
def test_harden(
    macos: None,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
    error: int,
    words: str,
) -> None:
    """It disables core dumps, and denies debuggers by macOS's means; failing is a warning."""
    calls: list[object] = []

    def fail(name: str, number: int) -> None:
        calls.append(name)
        if number:
            raise OSError(number, os.strerror(number))

    monkeypatch.setattr(hardening, "open", lambda *_: fail("open", errno.ENOENT), raising=False)
    monkeypatch.setattr(libc, "prctl", lambda *_: fail("prctl", errno.ENOSYS))
    monkeypatch.setattr(libc, "deny_attach", lambda: fail("deny_attach", error))
    monkeypatch.setattr(resource, "setrlimit", lambda *args: calls.append(args))
    hardening.harden()
    assert calls == ["open", (resource.RLIMIT_CORE, (0, 0)), "deny_attach"]
    assert capfd.readouterr() == ("", words)
    if error:
        with pytest.raises(SystemFailureError, match="cannot disable debugging"):
            hardening.harden(required=True)


def test_termination_signals(macos: None, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without those that macOS ignores by default (SIGIO), or does not have."""
    for name in ("SIGRTMIN", "SIGRTMAX", "SIGPWR", "SIGSTKFLT"):
        monkeypatch.delattr(signal, name, raising=False)
    names = ["HUP", "INT", "QUIT", "TERM", "USR1", "USR2", "ALRM", "VTALRM", "PROF", "XCPU"]
    assert list(termination._signals()) == [getattr(signal, f"SIG{name}") for name in names]


@pytest.fixture
def numbered(
    directory: Path, macos: None, monkeypatch: pytest.MonkeyPatch
) -> Iterator[subprocess.Popen[bytes]]:
    """A server whose process is known by its number only, as on macOS."""
    monkeypatch.delattr(os, "pidfd_open", raising=False)
    monkeypatch.delattr(signal, "pidfd_send_signal", raising=False)
    with serving(directory) as server:
        monkeypatch.setattr(probe, "check_peer", lambda *_: server.pid)
        yield server
        monkeypatch.undo()  # of os.kill, by which the server is ended


def test_stop_by_number(numbered: subprocess.Popen[bytes], directory: Path, runtime: Path) -> None:
    """The process with that number is told to end, and has ended when stop returns."""
    parent = threading.Thread(target=numbered.wait)  # until it is waited for it is there
    parent.start()
    stop(read_marker(".hotenv"))
    parent.join(LIMIT)
    assert numbered.returncode == 0
    assert is_clean(directory, runtime)


def test_stop_by_number_that_does_not_end(
    numbered: subprocess.Popen[bytes], monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is killed, and not waited for without an end."""
    sent: list[tuple[int, int]] = []
    monkeypatch.setattr(stopping, "STOP_TIMEOUT", 0.1)
    monkeypatch.setattr(stopping, "KILL_TIMEOUT", 0.1)
    monkeypatch.setattr(os, "kill", lambda *args: sent.append(args))
    with pytest.raises(SystemFailureError, match=r"did not exit within 0\.2 seconds"):
        stop(read_marker(".hotenv"))
    signals = [signum for _, signum in sent if signum]
    assert signals == [signal.SIGTERM, signal.SIGCONT, signal.SIGKILL]
    assert {pid for pid, _ in sent} == {numbered.pid}


@pytest.mark.parametrize("error", [ProcessLookupError, PermissionError])
def test_stop_by_number_of_a_process_that_has_ended(
    numbered: subprocess.Popen[bytes], monkeypatch: pytest.MonkeyPatch, error: type[OSError]
) -> None:
    """No process has its number any more, or another user's has: it is gone."""

    def kill(_pid: int, signum: int) -> None:
        if signum == 0 or error is ProcessLookupError:
            raise error

    monkeypatch.setattr(os, "kill", kill)
    stop(read_marker(".hotenv"))


def test_stop_by_number_that_may_not_be_told(
    numbered: subprocess.Popen[bytes], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The error names the process and the session."""

    def kill(_pid: int, _signum: int) -> None:
        raise PermissionError(errno.EPERM, os.strerror(errno.EPERM))

    monkeypatch.setattr(os, "kill", kill)
    words = f"cannot stop process {numbered.pid} .*: operation not permitted"
    with pytest.raises(SystemFailureError, match=words):
        stop(read_marker(".hotenv"))
