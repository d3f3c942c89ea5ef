"""files: in-memory files, and the one {} of a command."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator

import pytest

from hotenv.errors import FieldError, SystemFailureError
from hotenv.handover.files import fill_placeholder, find_placeholder, memory_file

needs_memfd = pytest.mark.skipif(
    not hasattr(os, "memfd_create"), reason="this system has no in-memory files"
)


@pytest.mark.parametrize(
    ("argv", "filled", "index"),
    [
        (["cmd", "{}"], ["cmd", "/p"], 1),
        (["cmd", "--env-file={}", "x"], ["cmd", "--env-file=/p", "x"], 1),
        (["{}"], ["/p"], 0),
        (["cmd", "a{}b", "{", "}", "{ }"], ["cmd", "a/pb", "{", "}", "{ }"], 1),
    ],
    ids=str,
)
def test_filled(argv: list[str], filled: list[str], index: int) -> None:
    """A word or a part of one; what only looks like it stays, and so does the list."""
    before = list(argv)
    assert find_placeholder(argv) == index
    assert fill_placeholder(argv, "/p") == filled
    assert argv == before


@pytest.mark.parametrize("argv", [[], ["cmd"], ["cmd", "{}", "{}"], ["cmd", "{}{}"]], ids=str)
def test_none_or_two(argv: list[str]) -> None:
    """An error of the field, before anything is asked for or made."""
    for function in (find_placeholder, lambda words: fill_placeholder(words, "/p")):
        with pytest.raises(FieldError) as caught:
            function(argv)
        assert caught.value.field == "env_file"
        assert caught.value.reason.startswith("requires exactly one {} in the command")


@pytest.fixture
def path(content: bytes) -> Iterator[str]:
    """The path of an in-memory file that is closed in the end."""
    path = memory_file(content)
    yield path
    os.close(int(path.rpartition("/")[2]))


@needs_memfd
@pytest.mark.parametrize("content", [b"", b"\0\xff\n", bytes(300_000)], ids=len)
def test_memory_file(path: str, content: bytes) -> None:
    """It holds exactly the content, for each reader from the first byte, and for its user alone."""
    assert path.startswith(f"/proc/{os.getpid()}/fd/")
    for _ in range(2):
        with open(path, "rb") as file:
            assert file.read() == content
    assert stat.S_IMODE(os.stat(path).st_mode) == 0o400
    descriptor = int(path.rpartition("/")[2])
    assert os.get_inheritable(descriptor)
    assert descriptor >= 64  # out of the way of what a script opens by number


@needs_memfd
@pytest.mark.parametrize("content", [b"s3cret"])
def test_sealed(path: str) -> None:
    """Not even through the descriptor that made it can it be changed, shrunk or grown."""
    descriptor = int(path.rpartition("/")[2])
    for change in (
        lambda: os.pwrite(descriptor, b"x", 0),
        lambda: os.ftruncate(descriptor, 1),
        lambda: os.ftruncate(descriptor, 100),
    ):
        with pytest.raises(PermissionError):
            change()


def test_a_system_without_them(monkeypatch: pytest.MonkeyPatch) -> None:
    """An error that names the options; nothing is written to a disk instead."""
    monkeypatch.delattr(os, "memfd_create", raising=False)
    with pytest.raises(SystemFailureError) as caught:
        memory_file(b"s3cret")
    assert str(caught.value) == (
        "in-memory files are not supported on this system: run without --as-file and --env-file"
    )


@needs_memfd
def test_a_system_that_refuses_one(monkeypatch: pytest.MonkeyPatch) -> None:
    """A failure is said in words."""

    def fail(*_args: object) -> int:
        raise OSError(24, "Too many open files")

    monkeypatch.setattr(os, "memfd_create", fail)
    with pytest.raises(
        SystemFailureError, match=r"^cannot create an in-memory file: too many open"
    ):
        memory_file(b"s3cret")
