"""Start the real command, and wait for what it does."""

from __future__ import annotations

import os
import pty
import select
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

import pytest

from hotenv.session.marker import parse_marker

_SCRIPT = Path(sys.executable).with_name("hotenv")
HOTENV = [str(_SCRIPT)] if _SCRIPT.exists() else [sys.executable, "-m", "hotenv"]
"""The installed command."""

LIMIT = 60.0
"""Seconds after which a test gives up. Nothing that works comes near it."""


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
) -> subprocess.CompletedProcess[bytes]:
    """Run a hotenv command to its end."""
    return subprocess.run(
        [*HOTENV, *args], cwd=cwd, input=stdin, env=env, capture_output=True, timeout=LIMIT
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
    _, words = process.communicate(timeout=LIMIT)
    return process.returncode, (words or b"").decode()


def socket_path(folder: Path) -> Path:
    """The socket that the marker in ``folder`` names."""
    return Path(parse_marker((folder / ".hotenv").read_bytes(), ".hotenv"))


def is_clean(cwd: Path, runtime: Path) -> bool:
    """Whether no session left anything behind."""
    base = runtime / "hotenv"
    return not [p for p in cwd.iterdir() if p.name.startswith(".hotenv")] and not (
        base.exists() and list(base.iterdir())
    )


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
