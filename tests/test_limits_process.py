"""Limits of others, and system calls that a container refuses: told in words of their own."""

from __future__ import annotations

import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from processes import (
    HOTENV,
    LIMIT,
    finish,
    freeze,
    hotenv,
    is_clean,
    said,
    serving,
    start_serve,
    wait_until,
)
from seccomp import is_possible, refusing

filters = pytest.mark.skipif(not is_possible(), reason="no filters of system calls here")
modes = pytest.mark.parametrize("mode", [(), ("--detach",)], ids=["foreground", "detached"])
errors = pytest.mark.parametrize("error", ["EPERM", "ENOSYS"])


def limited(limit: str) -> list[str]:
    """The command under an ``ulimit``."""
    return ["sh", "-c", f'ulimit {limit}; exec {shlex.join(HOTENV)} "$@"', "sh"]


def end(directory: Path, runtime: Path, process: subprocess.Popen[bytes]) -> tuple[int, str]:
    """Code and words of a start that has failed, or whose session has expired and left a note."""
    code, words = finish(process)
    wait_until(lambda: is_clean(directory, runtime, expired=not code), "the end of the session")
    assert "internal error" not in words
    assert "Traceback" not in words
    return code, words


@modes
@pytest.mark.parametrize("count", [5, 6, 7, 8, 9, 10, 12, 13, 14, 32])
def test_few_descriptors(directory: Path, runtime: Path, count: int, mode: tuple[str, ...]) -> None:
    """There is a session, or the error says what was too many."""
    command = limited(f"-n {count}")
    process = start_serve(directory, b"A=1\n", "-q", "-t", "0.3", *mode, command=command)
    code, words = end(directory, runtime, process)
    if code or words:
        assert code == 8
        assert "too many open files" in words
        assert words.startswith("hotenv: ")
        assert words.count("\n") == 1
    assert (code, count) != (8, 32)


_FAILS = """
import errno, mmap, os, sys, trio
from hotenv.cli.main import main
def fail(*_args, **_options):
    raise {error}
{place} = fail
sys.exit(main(["serve", "--log", "log", *sys.argv[1:]]))
"""

OUT_OF_MEMORY = "hotenv: out of memory: raise the limit (see 'ulimit -v')"


@modes
@pytest.mark.parametrize(
    ("place", "error", "words"),
    [
        ("trio.run", "MemoryError", OUT_OF_MEMORY),
        ("trio.run", "ExceptionGroup('', [MemoryError()])", OUT_OF_MEMORY),
        (
            "trio.run",
            "ImportError('/lib/x.so: failed to map segment from shared object')",
            OUT_OF_MEMORY,
        ),
        (
            "trio.run",
            "OSError(errno.ENOMEM, 'Cannot allocate memory')",
            "hotenv: a system call failed: cannot allocate memory: raise the limit (see 'ulimit "
            "-v')",
        ),
    ],
)
def test_out_of_memory(
    directory: Path, runtime: Path, place: str, error: str, words: str, mode: tuple[str, ...]
) -> None:
    """Whatever cannot be had, it is no bug of hotenv's, also in the log."""
    result = subprocess.run(
        [sys.executable, "-P", "-c", _FAILS.format(place=place, error=error), *mode],
        cwd=directory,
        input=b"A=1\n",
        capture_output=True,
        timeout=LIMIT,
    )
    assert (result.returncode, said(result)) == (8, words)
    assert (directory / "log").read_text().endswith(f" {words}\n")
    assert is_clean(directory, runtime)


CANNOT_START = "hotenv: cannot start the process that reads the input: {}\n"
CANNOT_DETACH = "hotenv: cannot detach the server process: {}\n"
CANNOT_READ = "hotenv: cannot read from the process that reads the input: {}\n"
CANNOT_WAIT = "hotenv: cannot wait for signals: {}\n"
REASONS = {"EPERM": "operation not permitted", "ENOSYS": "function not implemented"}


@filters
@errors
@pytest.mark.parametrize(
    ("calls", "mode", "expected"),
    [
        ("setsid", (), ""),
        ("setsid", ("--detach",), CANNOT_DETACH),
        ("readv", (), CANNOT_READ),
        ("readv", ("--detach",), CANNOT_READ),
        ("clone,clone3,fork,vfork", (), CANNOT_START),
        ("clone,clone3,fork,vfork", ("--detach",), CANNOT_START),
        ("socketpair", ("--detach",), "hotenv: cannot start the server process: {}\n"),
        ("rt_sigtimedwait", (), CANNOT_WAIT),
        ("rt_sigtimedwait", ("--detach",), CANNOT_WAIT),
        ("timer_create", (), ""),
        ("timer_create", ("--detach",), ""),
        ("timer_settime", (), ""),
        ("memfd_secret", (), ""),
        ("mlock", (), ""),
        ("pidfd_open,pidfd_send_signal", (), ""),
        ("pidfd_open,pidfd_send_signal", ("--detach",), ""),
        (
            "epoll_create1",
            (),
            "hotenv: a system call failed: {}: check the limits and filters of this system or "
            "container\n",
        ),
    ],
)
def test_refused_system_call(
    directory: Path, runtime: Path, calls: str, error: str, mode: tuple[str, ...], expected: str
) -> None:
    """What can be done without it is done; what cannot be says what the system refused."""
    command = [*refusing(calls, error), *HOTENV]
    options = ("-q", "-t", "0.3", "--allow-confined", *mode)
    process = start_serve(directory, b"A=1\n", *options, command=command)
    code, words = end(directory, runtime, process)
    assert words == expected.format(REASONS[error])
    assert code == (8 if expected else 0)


@filters
@errors
@modes
@pytest.mark.parametrize(
    ("calls", "problem"),
    [
        ("prctl", "cannot disable debugging by your other processes ({})"),
        ("prlimit64", "cannot disable core dumps (the limit cannot be set)"),
        (
            "memfd_secret,mlock",
            "cannot lock memory for the values: raise the limit (see 'ulimit -l')",
        ),
    ],
)
def test_refused_hardening(
    directory: Path, runtime: Path, calls: str, problem: str, error: str, mode: tuple[str, ...]
) -> None:
    """A warning, also with --quiet; with --require-hardening the error, and no session."""
    command = [*refusing(calls, error), *HOTENV]
    options = ("-q", "-t", "0.3", "--allow-confined", *mode)
    process = start_serve(directory, b"A=1\n", *options, command=command)
    code, words = end(directory, runtime, process)
    reason = problem.format(REASONS[error])
    assert code == 0
    assert words.startswith(f"hotenv: warning: {reason}: ")
    assert words.count("\n") == 1
    options = ("--require-hardening", "--allow-confined", *mode)
    required = hotenv("serve", *options, cwd=directory, stdin=b"A=1\n", command=command)
    assert (required.returncode, said(required)) == (8, f"hotenv: {reason}")
    assert is_clean(directory, runtime, expired=True)


@filters
@errors
@pytest.mark.parametrize("calls", ["prlimit64", "prctl", "pidfd_open", "timer_create", "setsid"])
@pytest.mark.parametrize("words", [["run", "--", "printenv", "A"], ["dump"], ["status"]], ids=str)
def test_refused_to_a_client(directory: Path, calls: str, error: str, words: list[str]) -> None:
    """Clients do without. A filter confines them, which is another matter."""
    with serving(directory, b"A=1\n", "--allow-confined"):
        result = hotenv(*words, cwd=directory, command=[*refusing(calls, error), *HOTENV])
    assert (result.returncode, result.stderr) == (0, b"")


@filters
@errors
@pytest.mark.parametrize(
    ("calls", "what"),
    [
        ("pidfd_open", "identify the server of {directory}/.hotenv"),
        ("pidfd_send_signal", "stop process {pid} (the server of {directory}/.hotenv)"),
    ],
)
def test_refused_to_stop(directory: Path, calls: str, what: str, error: str) -> None:
    """It says so, and the session lives on."""
    with serving(directory) as server:
        result = hotenv("stop", cwd=directory, command=[*refusing(calls, error), *HOTENV])
        what = what.format(directory=directory, pid=server.pid)
        assert (result.returncode, said(result)) == (8, f"hotenv: cannot {what}: {REASONS[error]}")
        assert hotenv("dump", cwd=directory).stdout == b"A=1\n"


@filters
def test_stopped_server_without_timers(directory: Path) -> None:
    """Where there are none it keeps its secrets until it goes on; stop still ends it in order."""
    command = [*refusing("timer_create"), *HOTENV]
    with serving(directory, b"A=1\n", "-t", "0.1", command=command) as server:
        freeze(server)
        assert hotenv("stop", cwd=directory).returncode == 0
        assert server.wait(timeout=LIMIT) == 0


_NO_THREADS = """
import _thread, sys, threading
def refuse(*_args, **_options):
    raise RuntimeError("can't start new thread")
for module in (_thread, threading):
    for name in ("start_new_thread", "_start_new_thread", "start_joinable_thread",
                 "_start_joinable_thread"):
        if hasattr(module, name):
            setattr(module, name, refuse)
from hotenv.cli.main import main
sys.exit(main(["serve", "--log", "log", *sys.argv[1:]]))
"""


@modes
def test_no_more_threads(directory: Path, runtime: Path, mode: tuple[str, ...]) -> None:
    """As under ``ulimit -u``: the limit is named, in the log too."""
    result = subprocess.run(
        [sys.executable, "-P", "-c", _NO_THREADS, *mode],
        cwd=directory,
        input=b"A=1\n",
        capture_output=True,
        timeout=LIMIT,
    )
    words = "hotenv: cannot start a thread: raise the limit (see 'ulimit -u' and 'ulimit -v')"
    assert (result.returncode, said(result)) == (8, words)
    assert (directory / "log").read_text().endswith(f" {words}\n")
    assert is_clean(directory, runtime)
