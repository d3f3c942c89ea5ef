"""Calls of processes that end, or hide, while they are looked at (hotenv.guards.listener)."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from guarded import PYTHON, guard, needs_guards
from hotenv.guards.kernel import Kernel
from hotenv.guards.listener import Call, Listener
from hotenv.guards.threads import Vanished

pytestmark = needs_guards

NOBODY = 1 << 30
"""No process has this number."""


def call(thread: int) -> Call:
    """A call of ``thread``, whose listener is none."""
    kernel = Kernel(os.uname().machine, 7)
    with open(os.devnull) as null:
        return Call(Listener(null.fileno(), kernel), kernel, 1, thread, "connect")


def test_a_process_that_is_gone() -> None:
    """All that is asked of it is Vanished, and its program has no name."""
    gone = call(NOBODY)
    assert gone.program() == "?"
    for ask in (gone.confirm, gone.status, gone.process, lambda: gone.text(0)):
        with pytest.raises(Vanished):
            ask()
    with pytest.raises(Vanished), gone.descriptor(0):
        pass


def test_killed_while_refused(tmp_path: Path) -> None:
    """Whenever that happens, the supervisor goes on."""
    script = """
import os, signal
for number in range(100):
    child = os.fork()
    if not child:
        while True:
            try:
                os.mkdir("new")
            except OSError:
                pass
    for _ in range(number):
        os.getppid()
    try:
        os.mkdir("mine")
    except OSError:
        pass
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
print("done")
"""
    result = guard("--fs-readonly", "--", PYTHON, "-c", script, cwd=tmp_path)
    assert (result.status, result.out) == (2, "done\n"), result


def test_a_process_that_hides(tmp_path: Path) -> None:
    """One that makes itself undumpable is refused what nobody can look at."""
    script = """
import ctypes, errno, os, socket
server = socket.socket(socket.AF_UNIX)
ctypes.CDLL(None).prctl(4, 0, 0, 0, 0)
try:
    server.connect("/nowhere")
except OSError as error:
    print(error.errno in (errno.EPERM, errno.ENOENT))
"""
    result = guard("--keep-status", "--", PYTHON, "-c", script, cwd=tmp_path)
    assert (result.status, result.out) == (0, "True\n"), result


def test_a_process_that_hides_and_writes(tmp_path: Path) -> None:
    """Where the kernel decides by itself, what it allows works, and what it refuses is refused."""
    (tmp_path / "place").mkdir()
    script = """
import ctypes, os
ctypes.CDLL(None).prctl(4, 0, 0, 0, 0)
os.mkdir("place/new")
open("place/new/file", "w").close()
os.rename("place/new/file", "place/file")
for change in (lambda: os.mkdir("new"), lambda: os.chmod("place/file", 0o600)):
    try:
        change()
    except OSError:
        print("refused")
"""
    words = ["--fs-readonly", "--allow-write", "place", "--", PYTHON, "-c", script]
    result = guard(*words, cwd=tmp_path)
    assert (result.status, result.out) == (2, "refused\nrefused\n"), result
    assert {path.name for path in (tmp_path / "place").iterdir()} == {"new", "file"}
