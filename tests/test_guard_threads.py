"""Threads that make calls, as /proc shows them (hotenv.guards.threads)."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from hotenv.guards import threads
from hotenv.guards.threads import Programs, Vanished, process_of, status_of
from supervision import only_linux

pytestmark = only_linux

NOBODY = 1 << 30
"""No process has this number."""


def own_name() -> str:
    """The name of this process."""
    return Path("/proc/self/comm").read_text().rstrip()


def test_a_thread_that_is_gone() -> None:
    """Nothing is known of it."""
    for ask in (status_of, process_of, Programs().origin_of):
        with pytest.raises(Vanished):
            ask(NOBODY)


def test_the_first_thread_and_another() -> None:
    """Both are of one process, whose name is that of the program."""
    found: list[object] = []

    def look() -> None:
        thread = threading.get_native_id()
        found.extend([thread == os.getpid(), process_of(thread), Programs().origin_of(thread)])

    look()
    thread = threading.Thread(target=look)
    thread.start()
    thread.join()
    mine = [os.getpid(), (own_name(), os.getpid())]
    assert found == [True, *mine, False, *mine]


def test_a_program_in_place_of_another() -> None:
    """It is the name of the one that is running now."""
    programs = Programs()
    script = "echo here; read go; exec cat"
    with subprocess.Popen(["sh", "-c", script], stdin=-1, stdout=-1) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        assert process.stdout.readline() == b"here\n"
        assert programs.origin_of(process.pid) == ("sh", process.pid)
        process.stdin.write(b"go\nmore\n")
        process.stdin.flush()
        assert process.stdout.readline() == b"more\n"
        assert programs.origin_of(process.pid) == ("cat", process.pid)


def test_a_number_that_is_taken_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing is remembered of a process that has ended."""
    programs = Programs()
    with subprocess.Popen(["cat"], stdin=-1) as process:
        assert programs.origin_of(process.pid)[1] == process.pid
    monkeypatch.setattr(threads, "process_of", lambda _thread: os.getpid())
    assert programs.origin_of(process.pid) == (own_name(), os.getpid())


def test_one_descriptor_is_kept() -> None:
    """However many processes make calls, and also if they are gone."""
    programs = Programs()
    programs.origin_of(os.getpid())
    before = len(os.listdir("/proc/self/fd"))
    for _ in range(3):
        with subprocess.Popen(["cat"], stdin=-1) as process:
            programs.origin_of(process.pid)
        with pytest.raises(Vanished):
            programs.origin_of(process.pid)
    programs.origin_of(os.getpid())
    assert len(os.listdir("/proc/self/fd")) <= before


def test_asked_in_threads() -> None:
    """What one looks at, another does not close."""
    programs = Programs()
    found: set[tuple[str, int]] = set()
    with subprocess.Popen(["cat"], stdin=-1) as process:

        def ask(pid: int) -> None:
            found.update(programs.origin_of(pid) for _ in range(10_000))

        asking = [threading.Thread(target=ask, args=[pid]) for pid in (os.getpid(), process.pid)]
        usual = sys.getswitchinterval()
        sys.setswitchinterval(1e-6)  # seconds
        try:
            for each in asking:
                each.start()
            for each in asking:
                each.join()
        finally:
            sys.setswitchinterval(usual)
        assert found == {(own_name(), os.getpid()), ("cat", process.pid)}
