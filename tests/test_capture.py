"""capture: what comes through a FIFO."""

from __future__ import annotations

import os
from pathlib import Path

import trio
from trio.testing import MockClock, wait_all_tasks_blocked

from hotenv import Redactor
from hotenv.shell.capture import Capture
from hotenv.shell.passage import Passage
from hotenv.shell.pipes import open_fifo


def make(path: Path) -> tuple[int, int]:
    """The ends of a new FIFO: for reading, and for writing."""
    os.mkfifo(path)
    return open_fifo(str(path), os.O_RDONLY), open_fifo(str(path), os.O_WRONLY)


async def test_to_the_end(tmp_path: Path) -> None:
    """It is passed on piece by piece, until nobody has the FIFO open any more."""
    reading, writing = make(tmp_path / "fifo")
    pieces: list[bytes] = []
    capture = Capture(reading, Passage(pieces.append))
    async with trio.open_nursery() as nursery:
        nursery.start_soon(capture.follow)
        for piece in (b"a", b"b"):
            os.write(writing, piece)
            await wait_all_tasks_blocked()
        os.close(writing)
    assert pieces == [b"a", b"b"]
    assert capture.was_opened()
    capture.close()


async def test_whether_more_may_come(tmp_path: Path) -> None:
    """As long as somebody has the FIFO open."""
    reading, writing = make(tmp_path / "fifo")
    capture = Capture(reading, Passage(lambda _: None))
    ended = []
    await capture.finish()
    ended.append(capture.has_ended)
    os.close(writing)
    await capture.finish()
    ended.append(capture.has_ended)
    assert ended == [False, True]
    capture.close()


async def test_closed_while_it_waits(tmp_path: Path) -> None:
    """It ends."""
    reading, writing = make(tmp_path / "fifo")
    capture = Capture(reading, Passage(lambda _: None))
    async with trio.open_nursery() as nursery:
        nursery.start_soon(capture.follow)
        await wait_all_tasks_blocked()
        capture.close()
    os.close(writing)


async def test_closed_before_it_reads(tmp_path: Path) -> None:
    """It does not read from what has got the number of its descriptor meanwhile."""
    reading, writing = make(tmp_path / "fifo")
    pieces: list[bytes] = []
    (tmp_path / "other").write_text("other")

    def feed(piece: bytes) -> None:
        assert not pieces
        pieces.append(piece)
        with open(tmp_path / "other") as other:
            capture.close()
            os.dup2(other.fileno(), reading)

    capture = Capture(reading, Passage(feed))
    os.write(writing, b"a")
    await capture.follow()
    assert pieces == [b"a"]
    os.close(reading)
    os.close(writing)


async def test_never_opened(tmp_path: Path) -> None:
    """A FIFO that nobody has written to tells whether somebody could have."""
    os.mkfifo(tmp_path / "fifo")
    reading = open_fifo(str(tmp_path / "fifo"), os.O_RDONLY)
    capture = Capture(reading, Passage(lambda _: None))
    assert not capture.was_opened()
    writing = open_fifo(str(tmp_path / "fifo"), os.O_WRONLY)
    assert capture.was_opened()
    os.close(writing)
    assert capture.was_opened()
    capture.close()


REDACTOR = Redactor({"TOKEN": "s3cr3t/Val+ue=42"})


async def test_a_value_in_pieces(tmp_path: Path) -> None:
    """It is redacted before it is passed on."""
    reading, writing = make(tmp_path / "fifo")
    pieces: list[bytes] = []
    capture = Capture(reading, Passage(pieces.append, redactor=REDACTOR.another()))
    async with trio.open_nursery() as nursery:
        nursery.start_soon(capture.follow)
        for piece in (b"a s3cr3t", b"/Val+", b"ue=42 b s3cr"):
            os.write(writing, piece)
            await wait_all_tasks_blocked()
        assert b"".join(pieces) == b"a [TOKEN] b "
        os.close(writing)
    assert b"".join(pieces) == b"a [TOKEN] b s3cr"
    capture.close()


async def test_a_value_of_which_a_part_is_late(tmp_path: Path) -> None:
    """What may be the beginning of a value comes with the rest, and else at the end."""
    for rest, shown in ((b"3t/Val+ue=42.", b"[TOKEN]."), (b"", b"s3cr")):
        reading, writing = make(tmp_path / "fifo")
        pieces: list[bytes] = []
        late: list[bytes] = []
        capture = Capture(reading, Passage(pieces.append, redactor=REDACTOR.another()))
        os.write(writing, b"a s3cr")
        await capture.finish()
        later = capture.duplicate(late.append)
        os.write(writing, rest)
        os.close(writing)
        await later.follow()
        assert (pieces, late) == ([b"a "], [shown])
        later.close()
        capture.close()
        (tmp_path / "fifo").unlink()


async def test_the_end_of_a_value_that_never_came(tmp_path: Path) -> None:
    """At the end of all, what was held back is no value."""
    reading, writing = make(tmp_path / "fifo")
    pieces: list[bytes] = []
    capture = Capture(reading, Passage(pieces.append, redactor=REDACTOR.another()))
    os.write(writing, b"a s3cr")
    os.close(writing)
    await capture.finish()
    assert b"".join(pieces) == b"a s3cr"
    capture.close()


async def test_a_prompt_is_delivered(tmp_path: Path, autojump_clock: MockClock) -> None:
    """Three bytes of what may be a value do not wait for more; a fourth does."""
    reading, writing = make(tmp_path / "fifo")
    delivered: list[bytes] = []

    async def deliver(piece: bytes) -> None:
        delivered.append(piece)

    capture = Capture(reading, Passage(lambda _: None, deliver, REDACTOR.another()))
    async with trio.open_nursery() as nursery:
        nursery.start_soon(capture.follow)
        os.write(writing, b"PIN s3c")
        await trio.sleep(1)
        assert b"".join(delivered) == b"PIN s3c"
        os.write(writing, b"r")
        await trio.sleep(1)
        assert b"".join(delivered) == b"PIN s3c"
        os.write(writing, b"3t/Val+ue=42.")
        os.close(writing)
    assert b"".join(delivered) == b"PIN s3c[TOKEN]."
    capture.close()
