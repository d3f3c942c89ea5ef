"""The one place where secrets are."""

from __future__ import annotations

import mmap
import os
import resource
import subprocess
import sys
from pathlib import Path

import pytest

from fakes import has_secret_memory
from hotenv import libc
from hotenv.intake.lockedmemory import LockedMemory

CANARY = b"canary-" * 10


def no_secret_memory(_size: int) -> memoryview:
    """As on an older kernel."""
    raise OSError(38, "Function not implemented")


def filled(content: bytes) -> LockedMemory:
    """Locked memory that came to its content through a pipe."""
    reader, writer = os.pipe()
    os.write(writer, content)
    os.close(writer)
    memory = LockedMemory(len(content))
    memory.fill(reader)
    os.close(reader)
    return memory


@pytest.fixture(params=["secret", "anonymous"])
def kind(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """With memfd_secret, where the kernel has it, and without."""
    if request.param == "anonymous":
        monkeypatch.setattr(libc, "secret_memory", no_secret_memory)
    elif not has_secret_memory():
        pytest.skip("this kernel has no memfd_secret")
    return str(request.param)


def test_filled_and_wiped(kind: str) -> None:
    """It holds what came, and zeros after it was wiped."""
    memory = filled(CANARY)
    assert memory.view == CANARY
    memory.wipe()
    assert memory.view == bytes(len(CANARY))


def test_fill_in_many_pieces(kind: str) -> None:
    """Larger than a pipe, byte for byte."""
    content = os.urandom(300_000)
    reader, writer = os.pipe()
    child = os.fork()
    if not child:
        with open(writer, "wb") as file:
            file.write(content)
        os._exit(0)
    os.close(writer)
    memory = LockedMemory(len(content))
    memory.fill(reader)
    assert memory.view == content
    os.waitpid(child, 0)
    os.close(reader)


def test_end_too_early(kind: str) -> None:
    """Half a content is none."""
    reader, writer = os.pipe()
    os.write(writer, b"half")
    os.close(writer)
    with pytest.raises(EOFError):
        LockedMemory(5).fill(reader)
    os.close(reader)


def test_it_is_locked(kind: str) -> None:
    """By the kernel's word: the mapping is locked, and left out of dumps."""
    smaps = Path("/proc/self/smaps")
    if not smaps.exists():
        pytest.skip("no /proc here")
    memory = filled(CANARY)
    if not memory.locked:
        pytest.skip("the limit of locked memory is too low here")
    flags = [line.split()[1:] for line in smaps.read_text().splitlines() if "VmFlags" in line]
    assert any({"lo", "dd"} <= set(each) for each in flags)


_NOT_LOCKED = """
import resource
from hotenv.intake.lockedmemory import LockedMemory
resource.setrlimit(resource.RLIMIT_MEMLOCK, (0, 0))
memory = LockedMemory(100)
print(memory.locked, bytes(memory.view) == bytes(100))
"""


def test_over_the_limit() -> None:
    """It says that it is not locked, and works."""
    command = [sys.executable, "-c", _NOT_LOCKED]
    if os.geteuid() == 0:  # root is bound by no limit, unless it gives that up
        command = ["setpriv", "--bounding-set=-ipc_lock", "--inh-caps=-ipc_lock", *command]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    if "setpriv" in done.stderr:
        pytest.skip(f"setpriv: {done.stderr}")
    assert done.stdout == "False True\n"


def test_soft_limit_is_raised(monkeypatch: pytest.MonkeyPatch) -> None:
    """As far as anybody may."""
    calls = []
    monkeypatch.setattr(resource, "getrlimit", lambda _which: (10, 20))
    monkeypatch.setattr(resource, "setrlimit", lambda which, limits: calls.append((which, limits)))
    LockedMemory(1)
    assert calls == [(resource.RLIMIT_MEMLOCK, (20, 20))]


def test_page_size_does_not_matter(kind: str) -> None:
    """A byte, a page, a byte more."""
    for size in (1, mmap.PAGESIZE, mmap.PAGESIZE + 1):
        assert len(LockedMemory(size).view) == size
