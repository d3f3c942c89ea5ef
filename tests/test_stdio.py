"""stdio: data and messages, whatever the streams are."""

from __future__ import annotations

import io
import os
import select
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import pytest

from hotenv.errors import SystemFailureError
from hotenv.stdio import reserve_standard_streams, say, write_output, write_table
from processes import wait_until

MORE = 1_000_000  # bytes; many times what a pipe holds


@contextmanager
def piped(monkeypatch: pytest.MonkeyPatch) -> Iterator[int]:
    """The reader's end of a pipe that is the standard output of the block, and is non-blocking."""
    reader, writer = os.pipe()
    os.set_blocking(writer, False)
    with (
        open(reader, "rb", buffering=0),
        open(writer, "w", encoding="utf-8") as stream,
        monkeypatch.context() as patch,
    ):
        # Not by a fixture: after that pytest would set it back.
        patch.setattr(sys, "stdout", stream)
        yield reader


def received_when_full(reader: int, write: Callable[[], None]) -> bytes:
    """All that ``write`` writes, of which nothing is read before the pipe is full."""
    writer = sys.stdout.fileno()
    end = b"\0the end"

    def write_and_end() -> None:
        write()
        write_output(end)

    thread = threading.Thread(target=write_and_end)
    thread.start()
    wait_until(lambda: not select.select([], [writer], [], 0)[1], "a full pipe")
    received = b""
    while not received.endswith(end):
        received += os.read(reader, 65536)
    thread.join()
    return received.removesuffix(end)


def test_a_slow_reader_of_a_non_blocking_stream(monkeypatch: pytest.MonkeyPatch) -> None:
    """All of it is written, however often there is no room."""
    data = os.urandom(MORE)
    with piped(monkeypatch) as reader:
        assert received_when_full(reader, lambda: write_output(data)) == data


def test_a_long_table_to_a_non_blocking_stream(monkeypatch: pytest.MonkeyPatch) -> None:
    """The same for tables."""
    rows = [(f"/directory/{number}", "alive") for number in range(MORE // 20)]
    with piped(monkeypatch) as reader:
        text = received_when_full(reader, lambda: write_table(rows)).decode()
    assert text == "".join(f"{place}\t{state}\n" for place, state in rows)


def test_a_reader_that_goes_away(monkeypatch: pytest.MonkeyPatch) -> None:
    """A broken pipe is told apart from other failures."""
    with piped(monkeypatch) as reader:
        with open(os.devnull, "rb") as other:
            os.dup2(other.fileno(), reader)
        with pytest.raises(BrokenPipeError):
            write_output(b"x")


def test_a_full_disk(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever else fails is said in words."""
    with open("/dev/full", "w") as full, monkeypatch.context() as patch:
        patch.setattr(sys, "stdout", full)
        with pytest.raises(SystemFailureError, match=r"^cannot write to standard output: no space"):
            write_output(b"x")


def test_closed_streams(monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> None:
    """A closed standard output is an error; a message with no place to go is none."""
    with monkeypatch.context() as patch:
        patch.setattr(sys, "stdout", None)
        patch.setattr(sys, "stderr", None)
        with pytest.raises(SystemFailureError, match=r"^standard output is closed$"):
            write_output(b"x")
        with pytest.raises(SystemFailureError, match=r"^standard output is closed$"):
            write_table([("x",)])
        say("lost")
    assert capfd.readouterr() == ("", "")


def test_after_what_python_holds_back(capfd: pytest.CaptureFixture[str]) -> None:
    """What was printed before comes before."""
    print("first", end=" ")
    write_output(b"second\n")
    assert capfd.readouterr().out == "first second\n"


def test_say(capfd: pytest.CaptureFixture[str]) -> None:
    """One line, whatever is in the message, and also what is no text."""
    say("a\nb\x1b[0m é \udcff")
    assert capfd.readouterr() == ("", "hotenv: a\\nb\\x1b[0m é \\xff\n")


def test_say_to_a_stream_that_is_broken(monkeypatch: pytest.MonkeyPatch) -> None:
    """A message that cannot be written is lost, and nothing else is."""

    def fail(*_args: object) -> int:
        raise BrokenPipeError

    with monkeypatch.context() as patch:
        patch.setattr(os, "write", fail)
        say("lost")


class FakeTerminal(io.StringIO):
    """Says that it is a terminal, and has the descriptor of another stream."""

    def isatty(self) -> bool:
        return True

    def fileno(self) -> int:
        return 1


@pytest.mark.parametrize(
    ("environ", "colour"),
    [
        ({"TERM": "xterm"}, True),
        ({"TERM": "dumb"}, False),
        ({"TERM": "xterm", "NO_COLOR": "1"}, False),
        ({"TERM": "xterm", "NO_COLOR": ""}, True),
    ],
    ids=str,
)
def test_a_table_on_a_terminal(
    environ: dict[str, str],
    colour: bool,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
) -> None:
    """In columns below a header, with colour where it is wanted."""
    monkeypatch.delenv("NO_COLOR", raising=False)
    for name, value in environ.items():
        monkeypatch.setenv(name, value)
    with monkeypatch.context() as patch:
        patch.setattr(sys, "stdout", FakeTerminal())
        write_table([("/a", "dead")], ("DIRECTORY", "STATE"))
    text = capfd.readouterr().out
    assert ("\x1b[31m" in text) == colour
    assert ("\x1b[1m" in text) == colour
    if not colour:
        assert text == "DIRECTORY  STATE\n/a         dead\n"


def test_a_table_in_a_pipe(capfd: pytest.CaptureFixture[str]) -> None:
    """With tabs, without the header, and with any bytes of a name as an escape."""
    write_table([("/a\udcff", "dead")], ("DIRECTORY", "STATE"))
    assert capfd.readouterr().out == "/a\\xff\tdead\n"


def test_standard_streams_are_reserved() -> None:
    """A closed standard stream's number is not given to a file of ours, nor to the command."""
    saved = os.dup(0)
    before = os.listdir("/dev/fd")
    os.close(0)
    try:
        reserve_standard_streams()
        assert os.path.samestat(os.fstat(0), os.stat(os.devnull))
        assert not os.get_inheritable(0)
        assert os.listdir("/dev/fd") == before
    finally:
        os.dup2(saved, 0)
        os.close(saved)
