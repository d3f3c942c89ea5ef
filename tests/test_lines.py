"""lines: standard streams as lines of text."""

from __future__ import annotations

import os
import socket
from collections.abc import Iterator
from pathlib import Path

import pytest
import trio
from trio.testing import wait_all_tasks_blocked

from hotenv.desk import lines
from hotenv.desk.lines import Lines, Written
from hotenv.errors import UsageError
from processes import fill


@pytest.fixture
def pipe() -> Iterator[tuple[int, int]]:
    """Both ends of a pipe, which a test may close."""
    ends = os.pipe()
    yield ends
    for end in ends:
        try:
            os.close(end)
        except OSError:
            pass


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        (b"", []),
        (b"a\n\nb\n", ["a\n", "\n", "b\n"]),
        (b"a\nhalf", ["a\n", "half"]),
        (b"\xff\0\r\xc3\xa9\n", ["\ufffd\0\ré\n"]),
    ],
)
async def test_lines(pipe: tuple[int, int], data: bytes, expected: list[str]) -> None:
    """Each line with its newline, and the last one without if it has none."""
    os.write(pipe[1], data)
    os.close(pipe[1])
    assert [line async for line in Lines(pipe[0])] == expected


async def test_byte_by_byte(pipe: tuple[int, int]) -> None:
    """However it comes; and what waits can be cancelled, and loses nothing."""
    given = Lines(pipe[0])
    for byte in b"ab\nc":
        os.write(pipe[1], bytes([byte]))
        if byte == ord("\n"):
            assert await anext(given) == "ab\n"
        else:
            with trio.move_on_after(0.01):
                raise AssertionError(await anext(given))
    os.close(pipe[1])
    assert await anext(given) == "c"


async def test_a_line_too_long(pipe: tuple[int, int], monkeypatch: pytest.MonkeyPatch) -> None:
    """It is no request."""
    monkeypatch.setattr(lines, "LONGEST", 10)
    os.write(pipe[1], b"1\n" + b"x" * 11)
    given = Lines(pipe[0])
    assert await anext(given) == "1\n"
    with pytest.raises(UsageError, match="too long"):
        await anext(given)


async def test_what_cannot_be_waited_for(tmp_path: Path) -> None:
    """A file, and the null device, are always ready."""
    path = tmp_path / "file"
    for target in (str(path), os.devnull):
        descriptor = os.open(target, os.O_RDWR | os.O_CREAT)
        await Written(descriptor).write("a\nb")
        os.lseek(descriptor, 0, os.SEEK_SET)
        assert [line async for line in Lines(descriptor)] == (["a\n", "b"] if "f" in target else [])
        os.close(descriptor)


async def test_a_reader_who_is_slow(pipe: tuple[int, int]) -> None:
    """Is waited for, without a stream that would not block for others, and can be given up."""
    filled = fill(pipe[1])
    written = Written(pipe[1])
    with trio.move_on_after(0.01) as scope:
        await written.write("x")
    assert scope.cancelled_caught
    assert os.get_blocking(pipe[1])
    text = "é" * filled
    got = bytearray()
    async with trio.open_nursery() as nursery:
        nursery.start_soon(written.write, text)
        while len(got) < filled + len(text.encode()):
            await wait_all_tasks_blocked()
            got += os.read(pipe[0], filled)
    assert got[filled:].decode() == text


async def test_a_reader_who_is_gone(pipe: tuple[int, int]) -> None:
    """There is nobody to write to."""
    os.close(pipe[0])
    with pytest.raises(BrokenPipeError):
        await Written(pipe[1]).write("x")


async def test_a_socket_that_is_reset() -> None:
    """Is at its end."""
    ours, theirs = socket.socketpair()
    with ours:
        ours.send(b"unread")
        theirs.close()
        assert [line async for line in Lines(ours.fileno())] == []
