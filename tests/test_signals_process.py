"""Signals that end a server, and those that do not."""

from __future__ import annotations

import os
import shlex
import signal
import sys
from pathlib import Path

import pytest

from hotenv.termination import NEVER_IGNORED, TERMINATION_SIGNALS
from processes import HOTENV, finish, hotenv, is_clean, serving

FAULTS = ("SEGV", "BUS", "ILL", "FPE", "ABRT", "TRAP", "SYS")
"""What a process does wrong itself: it ends at once, and tells how."""

NAMES = [
    *("HUP", "INT", "QUIT", "TERM", "USR1", "USR2", "ALRM", "VTALRM", "PROF", "XCPU"),
    *(("IO", "PWR", "STKFLT", "RTMIN", "RTMAX") if sys.platform == "linux" else ()),
]


def number(name: str) -> int:
    """The number of the signal ``name``."""
    return int(getattr(signal, f"SIG{name}", None) or {"STKFLT": 16}[name])


@pytest.mark.parametrize("name", NAMES)
def test_ends_in_order(directory: Path, runtime: Path, name: str) -> None:
    """Each asynchronous signal that ends a process by default: exit code 0, and nothing is left."""
    with serving(directory, b"A=1\n", "-q") as server:
        server.send_signal(number(name))
        assert finish(server) == (0, "")
    assert is_clean(directory, runtime)


def test_all_of_them() -> None:
    """They are in the list, with every real-time signal, and no fault is."""
    assert {number(name) for name in NAMES} <= set(TERMINATION_SIGNALS)
    assert not {number(name) for name in FAULTS} & set(TERMINATION_SIGNALS)
    assert set(NEVER_IGNORED) <= set(TERMINATION_SIGNALS)
    assert len(set(TERMINATION_SIGNALS)) == len(TERMINATION_SIGNALS)
    if sys.platform == "linux":
        assert set(range(signal.SIGRTMIN, signal.SIGRTMAX + 1)) <= set(TERMINATION_SIGNALS)


def test_faults_are_not_hidden(directory: Path) -> None:
    """One that a process raises by a mistake ends it as it ends any."""
    with serving(directory, b"A=1\n", "-q") as server:
        server.send_signal(signal.SIGABRT)
        assert finish(server)[0] == -signal.SIGABRT


def test_more_signals_on_the_way_out(directory: Path, runtime: Path) -> None:
    """However many come, of whatever kind, the end is in order."""
    with serving(directory, b"A=1\n", "-q") as server:
        for _ in range(20):
            for name in ("TERM", "INT", "HUP", "USR1"):
                if server.poll() is None:
                    server.send_signal(number(name))
        assert finish(server) == (0, "")
    assert is_clean(directory, runtime)


@pytest.mark.parametrize("name", ["INT", "TERM"])
def test_ignored_from_the_start(directory: Path, runtime: Path, name: str) -> None:
    """What was ignored, as by nohup, stays so, but for the two that everybody uses to end it."""
    ignored = [each for each in NAMES if not each.startswith("RT")]
    numbers = " ".join(str(number(each)) for each in ignored)
    command = ["sh", "-c", f"trap '' {numbers}; exec {shlex.join(HOTENV)} \"$@\"", "sh"]
    with serving(directory, b"A=1\n", "-q", command=command) as server:
        for each in ignored:
            if number(each) not in NEVER_IGNORED:
                server.send_signal(number(each))
        assert hotenv("dump", cwd=directory).stdout == b"A=1\n"
        os.kill(server.pid, number(name))
        assert finish(server) == (0, "")
    assert is_clean(directory, runtime)
