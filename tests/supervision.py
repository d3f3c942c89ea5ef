"""Start a supervised command, and look at its processes."""

from __future__ import annotations

import os
import re
import select
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

from guarded import needs_guards
from processes import HOTENV, LIMIT

PYTHON = sys.executable
LINUX = sys.platform == "linux"

only_linux = pytest.mark.skipif(not LINUX, reason="the kernel of Linux does this")

_PROGRAM = """
import os, sys
{before}
from hotenv.errors import *
from hotenv.handover.launch import Launch, inherited_environment
from hotenv.handover.standin import end_like
from hotenv.handover.supervised import Supervised
from hotenv.program import catch_interrupts, exit_code_of
def action():
    launch = Launch(sys.argv[1:], inherited_environment())
    options = {{}}
    {prelude}
    supervised = Supervised(launch, **options)
    end_like(supervised.run())
catch_interrupts()
sys.exit(exit_code_of(action))
"""

_BARE = "import bare\nbare.take_away()"
"""Takes away what macOS lacks."""


def supervising(prelude: str = "", *, bare: bool = False) -> list[str]:
    """What supervises the command whose words follow. ``prelude``: Python code for options."""
    lines = prelude.strip("\n").replace("\n", "\n    ")
    code = _PROGRAM.format(before=_BARE if bare else "", prelude=lines)
    path = f"import sys\nsys.path.append({str(Path(__file__).parent)!r})\n" if bare else ""
    return [PYTHON, "-P", "-c", path + code]


REDACTED = """
from hotenv.redaction.redactor import Redactor
from hotenv.redaction.streams import RedactedStreams
options["streams"] = RedactedStreams(Redactor({"TOKEN": "s3cr3t/Val+ue=42"}))
"""
"""For supervising: what the command writes is redacted."""

SUPERVISORS = [
    pytest.param(supervising(), id="linux"),
    pytest.param(supervising(bare=True), id="bare"),
    pytest.param(supervising(REDACTED), id="redacted"),
    pytest.param([*HOTENV, "guard", "--"], id="guard", marks=needs_guards),
]
"""Supervise the command whose words follow."""

PRELUDE = """
import os, signal, sys
def say(*words):
    os.write(1, (" ".join(map(str, words)) + "\\n").encode())
def sig(name):
    return getattr(signal, name)
"""
"""Of the Python code that commands are made of here: every line at once, in one piece."""


def python(code: str, *args: str) -> list[str]:
    """The words of a command in Python."""
    return [PYTHON, "-I", "-S", "-c", PRELUDE + code, *args]


def state(pid: int) -> str:
    """One letter of the state of a process; nothing if it is gone."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except (FileNotFoundError, ProcessLookupError):
        return ""


def holds(pid: int, signum: int) -> bool:
    """Whether a process that blocks all signals blocks ``signum``, or waits for one of them."""
    (line,) = re.findall(r"SigBlk:\s*(\w+)", Path(f"/proc/{pid}/status").read_text())
    blocked = int(line, 16)  # nothing in sigwait
    return not blocked or bool(blocked >> (signum - 1) & 1)


def gone(pid: int) -> bool:
    """Whether a process has ended, be it reaped or not."""
    return state(pid) in ("", "Z", "X")


def parent(pid: int) -> int:
    """The parent of a process."""
    return int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])


class Job:
    """A process that was started, with a pipe from its standard output."""

    def __init__(self, argv: list[str], **options: object) -> None:
        self.process: subprocess.Popen[bytes] = subprocess.Popen(  # type: ignore[call-overload]
            argv, stdout=subprocess.PIPE, **options
        )
        self.pid = self.process.pid

    def line(self) -> str:
        """The next line that it writes; empty at the end."""
        assert self.process.stdout is not None
        line: bytes = self.process.stdout.readline()
        return line.decode().rstrip("\n")

    def wait(self) -> int:
        """How it ended."""
        return self.process.wait(LIMIT)


@contextmanager
def job(argv: list[str], **options: object) -> Iterator[Job]:
    """A job in a process group of its own, of which nothing is left afterwards."""
    started = Job(argv, **{"process_group": 0} | options)
    try:
        yield started
    finally:
        with suppress(ProcessLookupError):
            os.killpg(started.pid, signal.SIGKILL)
        started.process.communicate(timeout=LIMIT)


def has_no_reader(pipe: int) -> bool:
    """Whether all that could read from ``pipe`` have closed it."""
    poll = select.poll()
    poll.register(pipe, 0)
    return bool(poll.poll(0))


def group(leader: int) -> list[int]:
    """Who is in the process group of ``leader``."""
    found = []
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            stat = Path(f"/proc/{pid}/stat").read_text()
        except (FileNotFoundError, ProcessLookupError):
            continue
        if int(stat.rpartition(")")[2].split()[2]) == leader:
            found.append(int(pid))
    return found
