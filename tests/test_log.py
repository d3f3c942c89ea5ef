"""The log: its lines (specification, section 8), its file, and where each goes."""

from __future__ import annotations

import os
import select
import stat
import time
from datetime import datetime
from pathlib import Path

import pytest

from hotenv.errors import SystemFailureError
from hotenv.exchange.protocol import Request
from hotenv.serving.events import Event, Outcome
from hotenv.serving.log import LineWriter, Log, message_line, open_log_file, request_line
from processes import fill

# A line

PYTHON = Request("run", ["python", "script.py", "--debug"])


@pytest.mark.parametrize(
    ("request_", "verbose", "words"),
    [
        pytest.param(PYTHON, False, "run python", id="run"),
        pytest.param(PYTHON, True, "run python script.py --debug", id="run, verbose"),
        pytest.param(Request("dump"), False, "dump -", id="dump"),
        pytest.param(Request("dump"), True, "dump -", id="dump, verbose"),
        pytest.param(Request("run", ["my tool", "x"]), False, "run my tool", id="a space"),
        pytest.param(Request("run", ["a\nb\x1b[2J"]), False, r"run a\nb\x1b[2J", id="controls"),
        pytest.param(
            Request("run", ["a", "\n2026-02-14 15:04:05 dump -"]),
            True,
            r"run a \n2026-02-14 15:04:05 dump -",
            id="a forged line",
        ),
        pytest.param(Request("run", ["\udcff"]), False, r"run \xff", id="no text"),
    ],
)
def test_line(request_: Request, verbose: bool, words: str) -> None:
    """A line has the time, the command, and its name or all its words; it is always one line."""
    when = datetime(2026, 2, 14, 15, 4, 5, 999_999)
    assert request_line(when, request_, verbose=verbose) == f"2026-02-14 15:04:05 {words}"


def test_not_verbose_by_default() -> None:
    """Arguments may be private: they are not logged unless somebody asked for it."""
    assert "script" not in request_line(datetime(2026, 1, 2), PYTHON)


def test_message() -> None:
    """What happens to the session itself has its time too, and is one line."""
    when = datetime(2026, 2, 14, 15, 4, 5, 999_999)
    assert message_line(when, "a\nb\x1b") == r"2026-02-14 15:04:05 hotenv: a\nb\x1b"


# Writing


def test_writes_lines() -> None:
    """A line and its end, in UTF-8 on every locale."""
    reader, writer = os.pipe()
    LineWriter(writer).write("grün \udcff")
    assert os.read(reader, 100) == "grün \\udcff\n".encode()


def test_full_pipe_drops_and_counts() -> None:
    """What does not fit is dropped; when there is room again, the number is told."""
    reader, writer = os.pipe()
    lines = LineWriter(writer)
    size = fill(writer)
    for _ in range(3):
        lines.write("lost")
    while size > 0:
        size -= len(os.read(reader, size))
    lines.write("there")
    assert os.read(reader, 1000) == b"hotenv: lines lost here: 3 (output was blocked)\nthere\n"
    assert os.get_blocking(writer)  # it is shared, and was left as it was


def test_terminal_with_little_room() -> None:
    """A terminal nobody reads takes part of a line at most, and the writer does not wait."""
    controller, terminal = os.openpty()
    lines = LineWriter(terminal)
    for _ in range(5000):
        lines.write("x" * 200)
    assert select.select([controller], [], [], 0)[0]
    assert os.get_blocking(terminal)


@pytest.mark.parametrize("path", ["/dev/full", "/dev/null"])
def test_devices(path: str) -> None:
    """A full disk is no reason to fail."""
    descriptor = os.open(path, os.O_WRONLY)
    LineWriter(descriptor).write("x")
    os.close(descriptor)


def test_closed_descriptor() -> None:
    """Neither is a closed standard error, nor a pipe without a reader."""
    reader, writer = os.pipe()
    lines = LineWriter(writer)
    os.close(reader)
    lines.write("x")
    os.close(writer)
    LineWriter(writer).write("x")


def test_file_is_appended(tmp_path: Path) -> None:
    """A regular file is written where the shell has opened it."""
    path = tmp_path / "log"
    with path.open("wb") as file:
        os.write(file.fileno(), b"before\n")
        LineWriter(file.fileno()).write("line")
        os.write(file.fileno(), b"after\n")
    assert path.read_bytes() == b"before\nline\nafter\n"


def test_long_line_is_cut() -> None:
    """A line is written whole or not at all, so it must fit into what a pipe takes at once."""
    reader, writer = os.pipe()
    LineWriter(writer).write("ä" * 10_000)
    line = os.read(reader, 100_000)
    assert len(line) <= select.PIPE_BUF
    assert line.decode().endswith("ä...\n")


# The file


def test_new_file_is_private(directory: Path, umask: None) -> None:
    """0600 whatever the umask; the descriptor is not inherited."""
    os.umask(0)
    descriptor = open_log_file("log")
    assert stat.S_IMODE(os.fstat(descriptor).st_mode) == 0o600
    assert not os.get_inheritable(descriptor)
    os.close(descriptor)


def test_existing_file_is_appended_to(directory: Path) -> None:
    """What is there stays, and becomes private."""
    Path("log").write_text("before\n")
    Path("log").chmod(0o644)
    descriptor = open_log_file("log")
    os.write(descriptor, b"after\n")
    os.close(descriptor)
    assert Path("log").read_text() == "before\nafter\n"
    assert stat.S_IMODE(Path("log").stat().st_mode) == 0o600


@pytest.mark.parametrize("kind", ["link", "dangling link", "FIFO", "directory", "device"])
def test_no_regular_file(directory: Path, kind: str) -> None:
    """A link is not followed, a FIFO not waited for; what it points to is not touched."""
    path = directory / "log"
    target = directory / "target"
    if kind == "link":
        target.write_text("mine")
        target.chmod(0o644)
        path.symlink_to(target)
    elif kind == "dangling link":
        path.symlink_to(target)
    elif kind == "FIFO":
        os.mkfifo(path)
    elif kind == "directory":
        path.mkdir()
    else:
        path = Path(os.devnull)
    with pytest.raises(SystemFailureError, match=f"log file {path}.*regular file"):
        open_log_file(str(path))
    assert target.exists() == (kind == "link")
    if kind == "link":
        assert (target.read_text(), stat.S_IMODE(target.stat().st_mode)) == ("mine", 0o644)


def test_directory_that_is_not_there(directory: Path) -> None:
    """The error names the file."""
    with pytest.raises(SystemFailureError, match="cannot open log file nowhere/log"):
        open_log_file("nowhere/log")


# Where each line goes


class Streams:
    """A terminal and a file, each a pipe."""

    def __init__(self) -> None:
        self._terminal, self.terminal = os.pipe()
        self._file, self.file = os.pipe()

    def shown(self) -> tuple[list[str], list[str]]:
        """The lines that have come to the terminal and, without their time, to the file."""
        terminal, file = map(_arrived, (self._terminal, self._file))
        return terminal, [line[len("2026-02-14 15:04:05 ") :] for line in file]


def _arrived(descriptor: int) -> list[str]:
    os.set_blocking(descriptor, False)
    try:
        return os.read(descriptor, 65536).decode().splitlines()
    except BlockingIOError:
        return []


def event(outcome: Outcome = Outcome.ANSWERED, when: float | None = None) -> Event:
    """The end of a request."""
    request = None if outcome is Outcome.REJECTED else PYTHON
    return Event(outcome, request, time.time() if when is None else when, 1, 1)


@pytest.mark.parametrize(
    ("quiet", "verbose", "terminal", "file"),
    [
        (False, False, ["hotenv: a"], ["hotenv: a", "hotenv: b", "run python"]),
        (False, True, ["hotenv: a"], ["hotenv: a", "hotenv: b", "run python script.py --debug"]),
        (True, False, [], []),
    ],
    ids=["as it is", "verbose", "quiet"],
)
def test_with_a_file(quiet: bool, verbose: bool, terminal: list[str], file: list[str]) -> None:
    """The file has everything; people are told what happens to the session."""
    streams = Streams()
    log = Log(streams.terminal, streams.file, quiet=quiet, verbose=verbose)
    log.tell("a")
    log.note("b")
    log.event(event())
    assert streams.shown() == (terminal, file)


@pytest.mark.parametrize("quiet", [False, True])
def test_without_a_file(quiet: bool) -> None:
    """People see the requests then."""
    streams = Streams()
    log = Log(streams.terminal, None, quiet=quiet)
    log.tell("a\nb")
    log.note("b")
    log.event(event(when=datetime(2026, 2, 14, 15, 4, 5).timestamp()))
    shown = [] if quiet else [r"hotenv: a\nb", "2026-02-14 15:04:05 run python"]
    assert streams.shown() == (shown, [])


@pytest.mark.parametrize("outcome", [Outcome.REJECTED, Outcome.ABANDONED])
def test_requests_that_were_not_answered(outcome: Outcome) -> None:
    """They are not in the log (specification, section 8)."""
    streams = Streams()
    Log(streams.terminal, streams.file).event(event(outcome))
    assert event(outcome).answered is None
    assert streams.shown() == ([], [])


@pytest.mark.parametrize("quiet", [False, True])
@pytest.mark.parametrize("with_file", [False, True])
def test_requests_that_were_refused(with_file: bool, quiet: bool) -> None:
    """Who was refused is a line, where those of requests are."""
    refused = Event(Outcome.REFUSED, PYTHON, time.time(), 7, 1, "a\nprocess")
    streams = Streams()
    Log(streams.terminal, streams.file if with_file else None, quiet=quiet).event(refused)
    terminal, file = streams.shown()
    (lines, others) = (file, terminal) if with_file else (terminal, file)
    assert [line.partition("hotenv: ")[2] for line in lines] == (
        [] if quiet else [r"refused to a\nprocess: pid 7"]
    )
    assert others == []


def test_without_anything() -> None:
    """A server in the background without a log file says nothing."""
    log = Log(None, None)
    log.tell("a")
    log.note("b")
    log.event(event())
    log.failure(SystemFailureError("c"))


def test_failure() -> None:
    """Why a server fails is in the file only, and when it is quiet too; a bug shows no text."""
    streams = Streams()
    log = Log(streams.terminal, streams.file, quiet=True)
    log.failure(SystemFailureError("cannot\ndo it"))
    log.failure(ValueError("a secret"))
    terminal, file = streams.shown()
    assert terminal == []
    assert file[0] == r"hotenv: cannot\ndo it"
    assert file[1].startswith("hotenv: internal error: ValueError")
    assert "secret" not in file[1]
