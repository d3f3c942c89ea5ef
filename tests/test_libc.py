"""libc: functions of the C library, with errors as Python's own have them."""

from __future__ import annotations

import ctypes
import errno
import mmap
import os
import sys
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest

from fakes import has_secret_memory
from hotenv import libc

FUNCTIONS = [
    pytest.param(lambda: libc.prctl(1, 2), "prctl", "linux", id="prctl"),
    pytest.param(lambda: libc.rename_process(b"x"), "prctl", "linux", id="rename_process"),
    pytest.param(lambda: libc.system_call(1), "syscall", "linux", id="system_call"),
    pytest.param(lambda: libc.secret_memory(1), "syscall", "linux", id="memfd_secret"),
    pytest.param(lambda: libc.Timer(1, 9), "timer_create", "linux", id="timer_create"),
    pytest.param(lambda: libc.mlock(mmap.mmap(-1, 1)), "mlock", sys.platform, id="mlock"),
    pytest.param(lambda: libc.birth("/"), "statx", "linux", id="statx"),
    pytest.param(libc.deny_attach, "ptrace", "darwin", id="deny_attach"),
]


class FakeLibrary:
    """A C library with one function, which records its arguments, sets errno and returns."""

    def __init__(self, name: str, result: int = 0, number: int = 0) -> None:
        self.calls: list[tuple[int, ...]] = []

        def function(*args: Any) -> int:  # noqa: ANN401 - numbers of C
            self.calls.append(tuple(getattr(arg, "value", arg) or 0 for arg in args))
            ctypes.set_errno(number)
            return result

        setattr(self, name, function)


@pytest.mark.parametrize(("call", "name", "system"), FUNCTIONS)
@pytest.mark.parametrize(
    ("number", "kind"),
    [
        (errno.EPERM, PermissionError),
        (errno.ENOMEM, OSError),
        (errno.ENOENT, FileNotFoundError),
    ],
)
def test_errno(
    call: Callable[[], object],
    name: str,
    system: str,
    number: int,
    kind: type[OSError],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A negative result is the OSError of errno, of the class that Python has for it."""
    monkeypatch.setattr(sys, "platform", system)
    monkeypatch.setattr(libc, "_libc", FakeLibrary(name, -1, number))
    with pytest.raises(OSError) as caught:  # noqa: PT011 - its number is what is looked at
        call()
    assert type(caught.value) is kind
    assert caught.value.errno == number
    assert caught.value.strerror


@pytest.mark.parametrize(("call", "name", "system"), FUNCTIONS)
def test_missing(
    call: Callable[[], object], name: str, system: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A system whose library has no such function has it "not implemented", by its name."""
    monkeypatch.setattr(sys, "platform", system)
    monkeypatch.setattr(libc, "_libc", SimpleNamespace())
    with pytest.raises(OSError, match=name) as caught:
        call()
    assert caught.value.errno == errno.ENOSYS


@pytest.mark.parametrize(("call", "name", "system"), FUNCTIONS)
def test_another_system(
    call: Callable[[], object], name: str, system: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where the numbers mean something else, the function is not even called."""
    library = FakeLibrary(name)
    monkeypatch.setattr(libc, "_libc", library)
    monkeypatch.setattr(sys, "platform", "another")
    if name == "mlock":
        call()  # the same everywhere
        return
    with pytest.raises(OSError, match=name) as caught:
        call()
    assert caught.value.errno == errno.ENOSYS
    assert library.calls == []


def test_arguments(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is called, with what: the numbers of the manual pages, all arguments given."""
    monkeypatch.setattr(sys, "platform", "linux")
    library = FakeLibrary("prctl")
    monkeypatch.setattr(libc, "_libc", library)
    libc.prctl(4, 0)
    assert library.calls == [(4, 0, 0, 0, 0)]
    library = FakeLibrary("mlock")
    monkeypatch.setattr(libc, "_libc", library)
    memory = mmap.mmap(-1, 5000)
    libc.mlock(memory)
    ((address, size),) = library.calls
    assert size == 5000
    memory[:3] = b"abc"
    assert ctypes.string_at(address, 3) == b"abc"
    monkeypatch.setattr(sys, "platform", "darwin")
    library = FakeLibrary("ptrace")
    monkeypatch.setattr(libc, "_libc", library)
    libc.deny_attach()
    assert library.calls == [(31, 0, 0, 0)]


@pytest.mark.skipif(not has_secret_memory(), reason="this kernel has no memfd_secret")
@pytest.mark.parametrize("size", [1, mmap.PAGESIZE, mmap.PAGESIZE + 1])
def test_secret_memory(size: int) -> None:
    """Bytes to write and read, zero at first, to which no descriptor of this process leads."""
    before = os.listdir("/proc/self/fd")
    memory = libc.secret_memory(size)
    assert os.listdir("/proc/self/fd") == before
    assert memory == bytes(size)
    memory[-1:] = b"x"
    assert memory[-1] == ord("x")
    assert len(memory) == size


@pytest.mark.skipif(not has_secret_memory(), reason="this kernel has no memfd_secret")
@pytest.mark.parametrize("number", [errno.EAGAIN, errno.ENOMEM])
def test_secret_memory_that_cannot_be_mapped(number: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Over the limit of locked memory it fails, and leaves no descriptor."""
    failing = FakeLibrary("mmap", ctypes.c_void_p(-1).value or 0, number)
    library = SimpleNamespace(syscall=libc._libc.syscall, mmap=failing.mmap)  # type: ignore[attr-defined]
    monkeypatch.setattr(libc, "_libc", library)
    before = os.listdir("/proc/self/fd")
    with pytest.raises(OSError, match=os.strerror(number)) as caught:
        libc.secret_memory(1)
    assert caught.value.errno == number
    assert os.listdir("/proc/self/fd") == before


@pytest.mark.skipif(sys.platform != "linux", reason="the real prctl(2) of Linux")
def test_the_real_library() -> None:
    """It is there: what the kernel does not know is an error, what it knows is none."""
    with pytest.raises(OSError, match=r"(?i)invalid argument") as caught:
        libc.prctl(-1, 0)
    assert caught.value.errno == errno.EINVAL
    buffer = ctypes.create_string_buffer(16)
    libc.prctl(16, ctypes.addressof(buffer))  # PR_GET_NAME
    assert buffer.value
    libc.prctl(15, ctypes.addressof(buffer))  # PR_SET_NAME, to what it is
