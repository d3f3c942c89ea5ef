"""Becoming the command: how it is found, and why it is not."""

from __future__ import annotations

import errno
import os
import signal
from pathlib import Path

import pytest

from hotenv.errors import SystemFailureError
from hotenv.handover import launch
from hotenv.handover.launch import become, inherited_environment


class Executed(BaseException):
    """The fake exec has executed something."""


class FakeExec:
    """Records what would be executed; ``fails`` says which paths cannot be, and why."""

    def __init__(self, fails: dict[bytes, int]) -> None:
        self.tried: list[tuple[bytes, list[bytes]]] = []
        self.fails = fails

    def __call__(self, path: bytes, words: list[bytes], _environment: object) -> None:
        self.tried.append((path, words))
        if path in self.fails:
            raise OSError(self.fails[path], os.strerror(self.fails[path]))
        raise Executed


@pytest.fixture(autouse=True)
def dispositions() -> object:
    """Puts SIGPIPE and SIGXFSZ back as Python has them."""
    before = {s: signal.getsignal(s) for s in (signal.SIGPIPE, signal.SIGXFSZ)}
    yield
    for signum, handler in before.items():
        signal.signal(signum, handler)


def test_looked_up_along_the_path(monkeypatch: pytest.MonkeyPatch) -> None:
    """In order, skipping where it is not; an empty entry is the current folder."""
    fake = FakeExec({b"/a/cmd": errno.ENOENT, b"/b/cmd": errno.EACCES, b"cmd": errno.ENOTDIR})
    monkeypatch.setattr(os, "execve", fake)
    with pytest.raises(Executed):
        become(["cmd", "x"], {b"PATH": b"/a:/b::/c"})
    assert [path for path, _ in fake.tried] == [b"/a/cmd", b"/b/cmd", b"cmd", b"/c/cmd"]
    assert fake.tried[-1][1] == [b"cmd", b"x"]


def test_without_path(monkeypatch: pytest.MonkeyPatch) -> None:
    """No PATH at all: the system's default places."""
    fake = FakeExec({})
    monkeypatch.setattr(os, "execve", fake)
    with pytest.raises(Executed):
        become(["cmd"], {})
    assert fake.tried[0][0] == b"/bin/cmd"


def test_a_name_with_a_slash_is_a_path(monkeypatch: pytest.MonkeyPatch) -> None:
    """It is not looked up."""
    fake = FakeExec({b"./cmd": errno.ENOENT})
    monkeypatch.setattr(os, "execve", fake)
    with pytest.raises(SystemFailureError, match="command not found"):
        become(["./cmd"], {b"PATH": b"/bin"})
    assert len(fake.tried) == 1


@pytest.mark.parametrize(
    ("fails", "reason"),
    [
        ({b"/a/cmd": errno.ENOENT, b"/b/cmd": errno.ENOENT}, "command not found"),
        ({b"/a/cmd": errno.EACCES, b"/b/cmd": errno.ENOENT}, "permission denied"),
        ({b"/a/cmd": errno.ENOENT, b"/b/cmd": errno.EACCES}, "permission denied"),
        ({b"/a/cmd": errno.ETXTBSY}, "text file busy"),
    ],
    ids=["nowhere", "not executable", "not executable there", "other"],
)
def test_why_not(monkeypatch: pytest.MonkeyPatch, fails: dict[bytes, int], reason: str) -> None:
    """The error says what would help most."""
    monkeypatch.setattr(os, "execve", FakeExec(fails))
    with pytest.raises(SystemFailureError, match=reason):
        become(["cmd"], {b"PATH": b"/a:/b"})


def test_script_without_interpreter(monkeypatch: pytest.MonkeyPatch) -> None:
    """What the kernel does not know how to start is given to sh, as execvp(3) does."""
    fake = FakeExec({b"/a/cmd": errno.ENOEXEC})
    monkeypatch.setattr(os, "execve", fake)
    with pytest.raises(Executed):
        become(["cmd", "-x"], {b"PATH": b"/a"})
    assert fake.tried[-1] == (b"/bin/sh", [b"/bin/sh", b"/a/cmd", b"-x"])


def test_too_big_names_what_is(monkeypatch: pytest.MonkeyPatch) -> None:
    """Too long a variable, too long an argument, too much together: never a value."""
    monkeypatch.setattr(os, "execve", FakeExec({b"/cmd": errno.E2BIG}))
    with pytest.raises(SystemFailureError, match=r"B, Z \(.*131071") as caught:
        become(["/cmd"], {b"Z": b"v" * 131_072, b"A": b"v" * 1000, b"B": b"v" * 131_070})
    assert "vvv" not in str(caught.value)
    with pytest.raises(SystemFailureError, match="an argument is over"):
        become(["/cmd", "x" * 131_072], {})
    with pytest.raises(SystemFailureError, match="3000040 bytes together"):
        become(["/cmd"], {b"A%d" % n: b"v" * 99_996 for n in range(10, 40)} | {b"X": b"v" * 3})


def test_nul_in_an_argument() -> None:
    """Only the API can bring it; it is an error and no traceback."""
    with pytest.raises(SystemFailureError, match="NUL"):
        become(["/bin/true", "a\0b"], {})


def test_environment_without_proc(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where there is no /proc, Python's own environment has to do."""

    def missing(*_args: object) -> None:
        raise FileNotFoundError

    monkeypatch.setenv("HOTENV_TEST", "x")
    monkeypatch.setattr(launch, "open", missing, raising=False)
    assert inherited_environment() == dict(os.environb)


def test_environment_is_the_one_the_process_began_with(monkeypatch: pytest.MonkeyPatch) -> None:
    """What Python set since is not in it."""
    if not Path("/proc/self/environ").exists():
        pytest.skip("no /proc here")
    monkeypatch.setenv("HOTENV_TEST_LATER", "x")
    assert b"HOTENV_TEST_LATER" not in inherited_environment()
