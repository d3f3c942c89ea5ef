"""What goes to another machine and what comes from there, without one."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path
from subprocess import PIPE

import pytest
import trio
from hypothesis import given
from hypothesis import strategies as st
from trio.testing import MockClock, memory_stream_one_way_pair, wait_all_tasks_blocked

from hotenv.errors import UsageError
from hotenv.remote.connection import greet
from hotenv.remote.destination import (
    GREETING_TIMEOUT,
    check_host,
    master_words,
    session_words,
)
from hotenv.remote.records import LONGEST_GREETING, LONGEST_RECORD, Greeting, Records
from hotenv.remote.scripts import script
from hotenv.remote.settlement import Settlement
from hotenv.shell.passage import Passage
from hotenv.shell.remote.feeder import feeding_command
from hotenv.shell.remote.pump import Stream


@pytest.mark.parametrize("host", ["box", "user@box", "ssh://user@box:22", "::1", "bücher"])
def test_hosts(host: str) -> None:
    """What ssh takes."""
    check_host(host)


@pytest.mark.parametrize("host", ["", "-oProxyCommand=x", "a b", "a\nb", "a\0b"])
def test_no_hosts(host: str) -> None:
    """What ssh would take for something else."""
    with pytest.raises(UsageError, match=r"^host: "):
        check_host(host)


def test_words() -> None:
    """Only the first ssh makes a connection, and the others ask nothing."""
    first = master_words("box", "/s", batch=False)
    assert first[:4] == ["ssh", "-T", "-M", "-S"]
    assert "-oBatchMode=yes" not in first
    assert "-oBatchMode=yes" in master_words("box", "/s", batch=True)
    other = session_words("box", "/s")
    assert {"-oProxyCommand=false", "-oBatchMode=yes", "-oControlMaster=no"} <= {*other}
    assert other[-1] == "box"


@given(st.lists(st.binary().map(lambda data: data.replace(b"\0", b""))), st.integers(1, 5))
def test_records(records: list[bytes], size: int) -> None:
    """They arrive as they were sent, however they were cut."""
    data = b"".join(record + b"\0" for record in records)
    received = Records()
    pieces = [data[at : at + size] for at in range(0, len(data), size)]
    assert [each for piece in pieces for each in received.feed(piece)] == records


def test_a_record_without_an_end() -> None:
    """It is bounded, and the next one is one again."""
    received = Records()
    for _ in range(3):
        assert received.feed(b"x" * LONGEST_RECORD) == []
    first, second = received.feed(b"\0next\0")
    assert (len(first), second) == (LONGEST_RECORD, b"next")


def test_greeting() -> None:
    """What a login prints is left out, whatever it is."""
    greeting = Greeting(b"nonce")
    pieces = [b"Welcome\0\nnonce", b"\0no", b"nce 5 /fol", b"der\0next\0"]
    for piece in pieces[:-1]:
        greeting.feed(piece)
    assert (greeting.record, greeting.rest) == (None, b"")
    greeting.feed(pieces[-1])
    assert (greeting.record, greeting.rest) == (b" 5 /folder", b"next\0")


def test_endless_greeting() -> None:
    """There is a bound."""
    for end in (b"", b"\0nonce 5 /folder\0"):
        greeting = Greeting(b"nonce")
        with pytest.raises(ValueError, match=r"^$"):
            greeting.feed(b"x" * (LONGEST_GREETING + 1) + end)


async def test_a_login_that_says_nothing(autojump_clock: MockClock) -> None:
    """It is not waited for any longer than a login may take."""
    _sender, receiver = memory_stream_one_way_pair()
    began = trio.current_time()
    assert await greet(receiver, b"nonce") is None
    assert trio.current_time() - began == GREETING_TIMEOUT


async def test_more_than_the_command_has_written() -> None:
    """It is nobody's, and ends the use of the stream; so does its end."""
    for data, total in ((b"abcde", 4), (b"", 4)):
        sender, receiver = memory_stream_one_way_pair()
        stream = Stream(receiver, lambda: None)
        async with trio.open_nursery() as nursery:
            nursery.start_soon(stream.follow, b"")
            stream.begin(Passage(lambda _: None))
            await sender.send_all(data)
            await wait_all_tasks_blocked()
            states = [stream.is_broken]
            stream.end_at(total)
            states.append(stream.is_broken)
            await sender.aclose()
        states.append(stream.is_broken)
        assert states == [False, bool(data), True]
        assert (stream.has(total), stream.has_ended) == (True, False)


def test_a_settlement_shows_no_value() -> None:
    """What the next shell takes over has the values of variables in it."""
    settlement = Settlement()
    settlement.take_record(b"state", b"declare -x A=s3cr3t\n")
    settlement.take_record(b"settled", b"0 1 2 3")
    assert settlement.state == b"declare -x A=s3cr3t\n"
    assert "s3cr3t" not in repr(settlement)


def test_script() -> None:
    """Values are words of the shell there."""
    text = script("processes", folder="/a b'c", cookie="x")
    assert text.startswith(b"folder='/a b'\"'\"'c'\ncookie=x\n#")


def test_scripts_are_for_bash() -> None:
    """They have no errors of syntax."""
    for name in ("processes", "keeper", "pump", "shell"):
        subprocess.run(["bash", "-n"], input=script(name), check=True)


def test_feeder(directory: Path) -> None:
    """It says that it is there, and copies its input, whatever the directory is called."""
    place = directory / "a 'b"
    place.mkdir()
    os.mkfifo(place / "in")
    command = feeding_command(str(place), "nonce")
    with subprocess.Popen(["sh", "-c", command], stdin=PIPE, stdout=PIPE) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        assert process.stdout.read(7) == b"\0nonce\0"
        process.stdin.write(b"data")
        process.stdin.close()
        assert (place / "in").read_bytes() == b"data"
    (own,) = place.glob("own.*")
    assert own.is_fifo()


async def test_counted_stream() -> None:
    """What belongs to a command ends where its count is reached; the rest comes late."""
    sender, receiver = memory_stream_one_way_pair()
    pieces: list[bytes] = []
    late: list[bytes] = []
    progress = trio.Event()
    stream = Stream(receiver, progress.set)
    async with trio.open_nursery() as nursery:
        nursery.start_soon(stream.follow, b"")
        stream.begin(Passage(pieces.append))
        assert not stream.has(4)
        await sender.send_all(b"abc")
        await wait_all_tasks_blocked()
        assert not progress.is_set()
        await sender.send_all(b"d")
        await progress.wait()
        assert stream.has(4)
        await stream.finish()
        rest = stream.duplicate(late.append)
        await sender.send_all(b"later")
        await wait_all_tasks_blocked()
        stream.end_at(9)
        await rest.follow()
        assert stream.has_ended
        await sender.aclose()
    assert (b"".join(pieces), b"".join(late)) == (b"abcd", b"later")


async def test_abandoned_before_it_is_delivered() -> None:
    """There is nobody to deliver to."""
    sender, receiver = memory_stream_one_way_pair()
    stream = Stream(receiver, lambda: None)

    async def deliver(_piece: bytes) -> None:
        stream.abandon()

    async with trio.open_nursery() as nursery:
        nursery.start_soon(stream.follow, b"")
        for _ in range(2):
            stream.begin(Passage(lambda _: None, deliver))
            await sender.send_all(b"abc")
            await wait_all_tasks_blocked()
        await sender.aclose()


async def test_abandoned_stream() -> None:
    """A reader that has gone keeps nobody waiting."""
    sender, receiver = memory_stream_one_way_pair()

    async def deliver(_piece: bytes) -> None:
        await trio.sleep_forever()

    stream = Stream(receiver, lambda: None)
    async with trio.open_nursery() as nursery:
        nursery.start_soon(stream.follow, b"")
        stream.begin(Passage(lambda _: None, deliver))
        await sender.send_all(b"abc")
        await wait_all_tasks_blocked()
        assert not stream.has(1)
        stream.abandon()
        await wait_all_tasks_blocked()
        assert stream.has(3)
        await sender.aclose()
