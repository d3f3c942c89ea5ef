"""desk.client: what a command inside says to a desk, and does with what that says."""

from __future__ import annotations

import fcntl
import json
import os
import signal
import socket
import struct
import termios
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from hotenv.cli.main import main
from hotenv.desk import frames
from hotenv.desk.client import VARIABLE, ask_desk, run_at_desk
from hotenv.desk.request import decode
from hotenv.errors import (
    ArtifactError,
    HotenvError,
    SystemFailureError,
    UnreachableError,
    UsageError,
)
from hotenv.handover.standin import encode_error

Play = Callable[["Talk"], None]
STARTED = frames.encode(frames.STARTED)


class Talk:
    """One connection, as a desk sees it."""

    def __init__(self, connection: socket.socket) -> None:
        self._connection = connection
        self._reader = frames.FrameReader()
        self._frames: list[tuple[bytes, bytes]] = []

    def next(self) -> tuple[bytes, bytes]:
        """The next frame."""
        while not self._frames:
            data = self._connection.recv(65536)
            assert data
            self._frames += self._reader.feed(data)
        return self._frames.pop(0)

    def send(self, *given: bytes) -> None:
        """Send frames."""
        self._connection.sendall(b"".join(given))


@contextmanager
def desk(directory: Path, play: Play) -> Iterator[str]:
    """The path of a desk that does ``play`` with a connection."""
    path = str(directory / "desk")
    failures: list[BaseException] = []
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(path)
        listener.listen()

        def serve() -> None:
            try:
                while True:
                    connection, _ = listener.accept()
                    with connection:
                        play(Talk(connection))
            except OSError:
                pass
            except BaseException as error:
                failures.append(error)

        thread = threading.Thread(target=serve, daemon=True)
        thread.start()
        yield path
        listener.shutdown(socket.SHUT_RDWR)
        thread.join()
    os.unlink(path)
    assert failures == []


@contextmanager
def streams(*given: tuple[int, int]) -> Iterator[None]:
    """Each first descriptor stands for the second one."""
    kept = [(os.dup(stream), stream) for _, stream in given]
    for descriptor, stream in given:
        os.dup2(descriptor, stream)
    try:
        yield
    finally:
        for descriptor, stream in kept:
            os.dup2(descriptor, stream)
            os.close(descriptor)


@contextmanager
def piped(data: bytes) -> Iterator[None]:
    """``data`` is standard input."""
    reading, writing = os.pipe()
    os.write(writing, data)
    os.close(writing)
    with streams((reading, 0)):
        os.close(reading)
        yield


def ended(status: int) -> bytes:
    """The last frame."""
    return frames.encode_number(frames.ENDED, status)


def test_a_command(runtime: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """Its words and input go there; what it writes, and how it ends, comes back."""
    said: list[tuple[bytes, bytes]] = []

    def play(talk: Talk) -> None:
        said.append(talk.next())
        talk.send(frames.encode_number(frames.ASKED, 3), STARTED)
        while said[-1][0] != frames.END_OF_INPUT:
            said.append(talk.next())
        talk.send(frames.encode_number(frames.TAKEN, 5))
        talk.send(frames.encode(frames.STDOUT, b"out\n"), frames.encode(frames.STDERR, b"err\n"))
        talk.send(ended(7 << 8))

    with desk(runtime, play) as path, piped(b"input"):
        assert run_at_desk(path, ["cat", "x"]) == 7 << 8
    request = decode(said[0][1])
    assert (request.argv, request.folder, request.terminal) == (("cat", "x"), os.getcwd(), ())
    assert b"".join(payload for kind, payload in said if kind == frames.INPUT) == b"input"
    assert capfd.readouterr() == (
        "out\n",
        "hotenv: waiting for the user to answer question 3 in 'hotenv desk'\nerr\n",
    )


@pytest.mark.parametrize(
    ("frame", "kind"),
    [
        (frames.encode(frames.FAILED, encode_error(UsageError("not this"))), UsageError),
        (frames.encode(b"?"), ArtifactError),
        (b"", UnreachableError),
    ],
    ids=["refused", "unknown", "gone"],
)
def test_no_command(runtime: Path, frame: bytes, kind: type[HotenvError]) -> None:
    """Why is an error."""

    def play(talk: Talk) -> None:
        talk.next()
        talk.send(frame)

    with desk(runtime, play) as path, piped(b""), pytest.raises(kind):
        run_at_desk(path, ["true"])
    with pytest.raises(UnreachableError, match="cannot connect to the desk"):
        run_at_desk(path, ["true"])


def test_signals(runtime: Path) -> None:
    """Those that come are passed on, and the dispositions are as they were."""

    def play(talk: Talk) -> None:
        talk.next()
        talk.send(STARTED)
        assert talk.next()[0] == frames.END_OF_INPUT
        os.kill(os.getpid(), signal.SIGUSR1)
        assert talk.next() == (frames.SIGNAL, signal.SIGUSR1.to_bytes(4, "big"))
        talk.send(ended(signal.SIGUSR1))

    before = signal.getsignal(signal.SIGINT)
    try:
        with desk(runtime, play) as path, piped(b""):
            assert run_at_desk(path, ["true"]) == signal.SIGUSR1
        assert signal.getsignal(signal.SIGUSR1) == signal.SIG_DFL
    finally:
        signal.signal(signal.SIGINT, before)


def test_a_full_disk(runtime: Path) -> None:
    """The command loses its output, and the user is told."""

    def play(talk: Talk) -> None:
        talk.next()
        talk.send(STARTED, frames.encode(frames.STDOUT, b"out\n"))
        while (said := talk.next())[0] != frames.LOST:
            pass
        assert said[1] == (1).to_bytes(4, "big")
        talk.send(ended(0))

    with (
        open("/dev/full", "wb") as full,
        desk(runtime, play) as path,
        piped(b""),
        streams((full.fileno(), 1)),
        pytest.raises(SystemFailureError, match="cannot write to standard output: no space"),
    ):
        run_at_desk(path, ["true"])


def test_a_terminal(runtime: Path) -> None:
    """Keys pass through it as they are; its size is told."""
    screen, inner = os.openpty()
    fcntl.ioctl(inner, termios.TIOCSWINSZ, struct.pack("4H", 33, 77, 0, 0))
    modes = termios.tcgetattr(inner)
    keys: list[bytes] = []

    def play(talk: Talk) -> None:
        request = decode(talk.next()[1])
        assert (request.terminal, request.size) == ((0, 1, 2), (33, 77))
        talk.send(STARTED)
        while termios.tcgetattr(inner)[3] & termios.ICANON:
            pass
        os.write(screen, b"\x03a")
        while b"".join(keys) != b"\x03a":
            kind, payload = talk.next()
            assert kind == frames.INPUT
            keys.append(payload)
        fcntl.ioctl(screen, termios.TIOCSWINSZ, struct.pack("4H", 44, 88, 0, 0))
        os.kill(os.getpid(), signal.SIGWINCH)
        assert talk.next() == (frames.RESIZED, struct.pack("!ii", 44, 88))
        talk.send(frames.encode(frames.STDOUT, b"shown"), ended(0))

    before = signal.getsignal(signal.SIGINT)
    try:
        with desk(runtime, play) as path, streams(*((inner, stream) for stream in (0, 1, 2))):
            assert run_at_desk(path, ["true"]) == 0
        assert os.read(screen, 100) == b"shown"
        assert termios.tcgetattr(inner) == modes
    finally:
        signal.signal(signal.SIGINT, before)
        os.close(screen)
        os.close(inner)


def test_queries(
    runtime: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    """hotenv status asks the desk; what agents cannot use asks nobody."""

    def play(talk: Talk) -> None:
        kind, query = talk.next()
        assert kind == frames.QUERY
        told: object = ["A", "B"] if query == frames.VARIABLES else {"directory": "/shop"}
        talk.send(frames.encode(frames.ANSWER, json.dumps(told).encode()))

    with desk(runtime, play) as path:
        monkeypatch.setenv(VARIABLE, path)
        assert main(["-C", "/", "status"]) == 0
        assert capfd.readouterr().out == "directory\t/shop\nvariable\tA\nvariable\tB\n"
        assert main(["status", "--json"]) == 0
        assert json.loads(capfd.readouterr().out) == {"directory": "/shop", "variables": ["A", "B"]}
        for words, message in (
            (["dump"], "an agent cannot use 'hotenv dump'"),
            (["run"], "missing command"),
            (["run", "--only", "A"], "options of 'run' do not work for an agent"),
            (["frob"], "no such command 'frob'"),
        ):
            assert main(words) == 2
            assert message in capfd.readouterr().err
    assert main(["status"]) == 4
    assert "ask the user to start 'hotenv agent' again" in capfd.readouterr().err


@pytest.mark.parametrize(
    ("frame", "kind"),
    [
        (frames.encode(frames.FAILED, encode_error(UsageError("not this"))), UsageError),
        (frames.encode(frames.ANSWER, b"{"), ArtifactError),
        (frames.encode(frames.STDOUT, b"{}"), ArtifactError),
        (b"", UnreachableError),
    ],
    ids=["refused", "no JSON", "no answer", "gone"],
)
def test_no_answer(runtime: Path, frame: bytes, kind: type[HotenvError]) -> None:
    """Why is an error."""

    def play(talk: Talk) -> None:
        talk.next()
        talk.send(frame)

    with desk(runtime, play) as path, pytest.raises(kind):
        ask_desk(path, frames.STATUS)
