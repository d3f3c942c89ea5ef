"""Start the real command, and wait for what it does."""

from __future__ import annotations

import json
import os
import pty
import select
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

from hotenv.session.marker import parse_marker

_SCRIPT = Path(sys.executable).with_name("hotenv")
HOTENV = [str(_SCRIPT)] if _SCRIPT.exists() else [sys.executable, "-m", "hotenv"]
"""The installed command."""

_NO_NEW_PRIVS = """
import ctypes, os, sys
zero = ctypes.c_ulong(0)
if ctypes.CDLL(None).prctl(38, ctypes.c_ulong(1), zero, zero, zero):
    sys.exit(77)
os.execvp(sys.argv[1], sys.argv[1:])
"""

NO_NEW_PRIVS = (sys.executable, "-P", "-c", _NO_NEW_PRIVS)
"""The words that give NoNewPrivs to the command behind them, as every sandbox does."""


def can_be_refused() -> bool:
    """Whether there is NoNewPrivs here, and servers that this process starts do not have it."""
    status = Path("/proc/self/status")
    return status.exists() and "\nNoNewPrivs:\t0\n" in status.read_text()


LIMIT = 60.0
"""Seconds after which a test gives up. Nothing that works comes near it."""

_WITH_LIMITS = """
import importlib, json, os, sys
from hotenv.session import runtime
runtime.LOGINS = runtime.SHARED = os.environ.get("XDG_RUNTIME_DIR", runtime.SHARED)
for name, value in json.loads(sys.argv.pop(1)).items():
    module, _, constant = name.rpartition(".")
    vars(importlib.import_module(module))[constant]  # it is there
    setattr(importlib.import_module(module), constant, value)
from hotenv.cli.main import main
sys.exit(main())
"""


def with_limits(limits: Mapping[str, object]) -> list[str]:
    """The command with other values for constants: ``{"hotenv.session.claim.LOOK_EVERY": 0.1}``.

    Modules that import one of them by its name get the new value too. It knows no sessions of this
    user but those of the test.
    """
    return [sys.executable, "-P", "-c", _WITH_LIMITS, json.dumps(limits)]


_HANG = """
import pathlib, time
from hotenv.serving.log import Log
def hang(*_):
    pathlib.Path("hangs").touch()
    time.sleep(1e6)
Log.event = hang
"""


def hanging(limits: Mapping[str, object]) -> list[str]:
    """The same for a server that does nothing more after its first answer: Python is blocked."""
    return [sys.executable, "-P", "-c", f"{_HANG}{_WITH_LIMITS}", json.dumps(limits)]


def let_it_hang(directory: Path) -> None:
    """Ask the server of a session, which hangs then, for its first answer."""
    with connect(directory) as client:
        client.sendall(b'{"command":"dump"}\n')
        assert client.recv(1)
        wait_until((directory / "hangs").exists, "the server to hang")


GLANCE = "hotenv.exchange.probe.GLANCE_TIMEOUT"
ALONE = with_limits({GLANCE: LIMIT})
"""The command that knows no sessions but those of the test: for what is done to all there are.

Nor does it take a server for unresponsive that is slow to answer, as on a busy machine.
"""


def needs(tool: str) -> pytest.MarkDecorator:
    """Skips a test where ``tool`` is not installed."""
    return pytest.mark.skipif(not shutil.which(tool), reason=f"{tool} is not installed")


def wait_until(condition: Callable[[], object], what: str) -> None:
    """Return as soon as ``condition`` holds."""
    deadline = time.monotonic() + LIMIT
    while not condition():
        assert time.monotonic() < deadline, f"waited {LIMIT} s for {what}"
        time.sleep(0.005)


def hotenv(
    *args: str | bytes,
    cwd: Path,
    stdin: bytes = b"",
    env: Mapping[str, str] | None = None,
    command: Sequence[str] = (),
    timeout: float = LIMIT,
) -> subprocess.CompletedProcess[bytes]:
    """Run a hotenv command to its end."""
    return subprocess.run(
        [*(command or HOTENV), *args],
        cwd=cwd,
        input=stdin,
        env=env,
        capture_output=True,
        timeout=timeout,
    )


def said(result: subprocess.CompletedProcess[bytes]) -> str:
    """The one line that a failed command says, without its end; it says nothing else."""
    words = result.stderr.decode()
    assert result.stdout == b""
    assert words.startswith("hotenv: ")
    assert words.count("\n") == 1
    assert words.endswith("\n")
    return words.rstrip("\n")


def start_serve(
    cwd: Path,
    text: bytes = b"A=1\n",
    *options: str,
    stderr: int = subprocess.PIPE,
    command: Sequence[str] = (),
) -> subprocess.Popen[bytes]:
    """Start ``hotenv serve`` and hand it all of ``text``."""
    process = subprocess.Popen(
        [*(command or HOTENV), "serve", *options],
        cwd=cwd,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=stderr,
    )
    assert process.stdin is not None
    with process.stdin:
        process.stdin.write(text)
    process.stdin = None
    return process


@contextmanager
def serving(
    cwd: Path,
    text: bytes = b"A=1\n",
    *options: str,
    stderr: int = subprocess.PIPE,
    command: Sequence[str] = (),
) -> Iterator[subprocess.Popen[bytes]]:
    """A server that is ready when the block begins and has ended when it is over."""
    process = start_serve(cwd, text, *options, stderr=stderr, command=command)
    marker = cwd / ".hotenv"
    try:
        wait_until(lambda: marker.exists() or process.poll() is not None, "the marker")
        if process.poll() is not None:
            raise AssertionError(f"serve ended: {process.communicate()}")
        yield process
    finally:
        if process.poll() is None:
            process.send_signal(signal.SIGCONT)
            process.kill()
        process.communicate()


def finish(process: subprocess.Popen[bytes]) -> tuple[int, str]:
    """Wait for the end of ``process``; its exit code and what it said."""
    try:
        _, words = process.communicate(timeout=LIMIT)
    except subprocess.TimeoutExpired:
        process.kill()
        raise
    return process.returncode, (words or b"").decode()


def socket_path(directory: Path) -> Path:
    """The socket that the marker in ``directory`` names."""
    return Path(parse_marker((directory / ".hotenv").read_bytes(), ".hotenv"))


def connect(directory: Path) -> socket.socket:
    """A connection to the session in ``directory``."""
    connection = socket.socket(socket.AF_UNIX)
    try:
        connection.settimeout(LIMIT)
        connection.connect(str(socket_path(directory)))
    except BaseException:
        connection.close()
        raise
    return connection


def accepts(path: Path) -> bool:
    """Whether a server listens on the socket at ``path``."""
    with socket.socket(socket.AF_UNIX) as connection:
        return connection.connect_ex(str(path)) == 0


def freeze(process: subprocess.Popen[bytes]) -> None:
    """Stop ``process`` as Ctrl-Z does, and wait until it is."""
    process.send_signal(signal.SIGSTOP)
    os.waitid(os.P_PID, process.pid, os.WSTOPPED | os.WNOWAIT)


def is_clean(cwd: Path, runtime: Path, *, expired: bool = False) -> bool:
    """Whether no session left anything behind, but for the note of one that ``expired`` in cwd."""
    base = runtime / "hotenv"
    left = [path.suffix for path in base.iterdir()] if base.exists() else []
    markers = [path for path in cwd.iterdir() if path.name.startswith(".hotenv")]
    return not markers and left == ([".expired"] if expired else [])


def fill(descriptor: int) -> int:
    """Write to a pipe until nothing more goes in; the number of bytes."""
    total = 0
    os.set_blocking(descriptor, False)
    try:
        while True:
            total += os.write(descriptor, bytes(4096))
    except BlockingIOError:
        return total
    finally:
        os.set_blocking(descriptor, True)


_JOB_SHELL = """
import os, signal, sys, termios
for each in (signal.SIGTSTP, signal.SIGTTIN):
    signal.signal(each, signal.SIG_DFL)  # whatever it was for the caller
signal.signal(signal.SIGTTOU, signal.SIG_IGN)
modes = termios.tcgetattr(0)
def tell(what):
    echo = "on" if termios.tcgetattr(0) == modes else "off"
    print(f"shell: {what}, echo {echo}", flush=True)
job = os.fork()
if not job:
    os.setpgid(0, 0)
    os.tcsetpgrp(0, os.getpgrp())
    signal.signal(signal.SIGTTOU, signal.SIG_DFL)
    os.execvp("sh", ["sh", "-c", sys.argv[1]])
while True:
    _, status = os.waitpid(job, os.WUNTRACED)
    os.tcsetpgrp(0, os.getpgrp())
    if not os.WIFSTOPPED(status):
        break
    tell("stopped")
    command = sys.stdin.readline().strip()
    if command == "fg":
        os.tcsetpgrp(0, job)
    os.killpg(job, signal.SIGCONT)
tell(f"ended {os.waitstatus_to_exitcode(status)}")
"""


def in_job_shell(job: str) -> list[str]:
    """The command line of as little of a shell as it takes to run ``job``, which is text for sh.

    It is a job of its own, in the foreground until it stops; then "fg" or any other line continues
    it. The shell never touches the terminal's modes: what they are is what the job left, and it
    says "echo on" if all of them are as they were.
    """
    return [sys.executable, "-c", _JOB_SHELL, job]


def all_stopped(group: int) -> bool:
    """Whether every process of the process ``group`` has stopped.

    A shell sees to one of them only; another still takes what is typed until it has stopped.
    """
    stats = []
    for path in Path("/proc").glob("[0-9]*/stat"):
        with suppress(OSError):  # it has ended meanwhile
            stats.append(path.read_text().rpartition(") ")[2].split())
    return {state for state, _, its_group, *_ in stats if int(its_group) == group} == {"T"}


class Terminal:
    """A terminal of a test's own, with a process that it controls as its foreground."""

    def __init__(self, argv: Sequence[str], cwd: Path) -> None:
        self.pid, self.fd = pty.fork()
        if not self.pid:
            os.chdir(cwd)
            os.execvp(argv[0], list(argv))
        self.screen = b""

    def read(self) -> bool:
        """Take what comes to the screen; False at the end."""
        assert select.select([self.fd], [], [], LIMIT)[0], f"silent for {LIMIT} s: {self.screen!r}"
        try:
            piece = os.read(self.fd, 65536)
        except OSError:  # EIO: the last process on it is gone
            return False
        self.screen += piece
        return bool(piece)

    def expect(self, text: bytes) -> None:
        """Read until ``text`` is on the screen."""
        while text not in self.screen:
            assert self.read(), f"not shown: {text!r} in {self.screen!r}"

    def type(self, keys: bytes) -> None:
        """Press ``keys``."""
        os.write(self.fd, keys)

    def wait(self) -> int:
        """The exit code of the process, once it has ended."""
        while self.read():
            pass
        os.close(self.fd)
        return os.waitstatus_to_exitcode(os.waitpid(self.pid, 0)[1])
