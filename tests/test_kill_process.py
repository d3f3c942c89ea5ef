"""Signals at random moments in the life of `hotenv serve`, from its first line to its last."""

from __future__ import annotations

import os
import random
import signal
import socket
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from forkserver import Ended, ForkServer
from hotenv.session.marker import parse_marker
from processes import LIMIT, is_clean, wait_until

SHORT_LIFE = ("serve", "-t", "0.01")


@pytest.fixture
def forks(directory: Path) -> Iterator[ForkServer]:
    """Quick starts in ``directory``."""
    with ForkServer(directory) as server:
        yield server


def moments(whole: Ended, count: int) -> Iterator[int]:
    """``count`` lines at random of those that a ``whole`` life has."""
    assert whole.code == 0
    seed = int.from_bytes(os.urandom(4))
    print(f"random seed {seed}, {whole.lines} lines")
    generator = random.Random(seed)  # noqa: S311 - to be repeated with the seed
    return (generator.randint(1, whole.lines) for _ in range(count))


def answer(marker: Path) -> bytes:
    """What the session of ``marker`` answers, if there is one."""
    with suppress(OSError), socket.socket(socket.AF_UNIX) as client:
        client.settimeout(LIMIT)
        client.connect(parse_marker(marker.read_bytes(), str(marker)))
        client.sendall(b'{"command":"dump"}\n')
        return client.recv(1000)
    return b""


def works(forks: ForkServer, *options: str) -> bool:
    """Whether a session can be started, used and ended."""
    pid = forks.start("serve", *options, text="A=2\n")
    wait_until(lambda: answer(Path(".hotenv")) == b'{"env":{"A":"2"}}\n', "the new session")
    os.kill(pid, signal.SIGTERM)
    code, _, words = forks.end()
    return code == 0 and "Traceback" not in words and not Path(".hotenv").exists()


def files(directory: Path, runtime: Path) -> set[Path]:
    """What sessions have in the marker's and in the runtime directory."""
    return {*directory.iterdir(), *runtime.glob("hotenv/*")}


def test_kill(forks: ForkServer, directory: Path, runtime: Path) -> None:
    """What kill -9 leaves is a dead session or none: run 4 or 3, serve 10 or 0, --force 0."""
    codes = set()
    for moment in moments(forks.run(*SHORT_LIFE, text="A=1\n"), 200):
        before = files(directory, runtime)
        killed = forks.run(*SHORT_LIFE, text="A=1\n", at=moment)
        assert "Traceback" not in killed.words
        assert killed.code == -signal.SIGKILL or (killed.code == 0 and killed.lines < moment)
        if files(directory, runtime) == before:
            continue  # it is as if it had never been started
        run = forks.run("run", "--", "echo", "ran")
        assert run.words.startswith("hotenv: ")
        assert run.words.count("\n") == 1
        codes.add(run.code)
        if (directory / ".hotenv").exists():
            refused = forks.run("serve", text="A=2\n")
            assert (run.code, refused.code) == (4, 10), f"killed at line {moment}"
            assert works(forks, "--force"), f"killed at line {moment}"
        else:
            assert run.code == 3, f"killed at line {moment}"
            assert works(forks), f"killed at line {moment}"
    assert codes == {3, 4}
    assert forks.run("prune").code == 0
    assert is_clean(directory, runtime)


@pytest.mark.parametrize(
    ("signum", "early"),
    [
        (signal.SIGTERM, {-signal.SIGTERM}),
        (signal.SIGHUP, {-signal.SIGHUP}),
        (signal.SIGINT, {-signal.SIGINT, 130}),
    ],
)
def test_graceful_signal(
    forks: ForkServer, directory: Path, runtime: Path, signum: int, early: set[int]
) -> None:
    """Either it comes before anything was made, or all is cleaned up but a note: if it expired."""
    codes = set()
    whole = forks.run(*SHORT_LIFE, text="A=1\n")
    for moment in [*range(1, 12), *moments(whole, 40)]:
        ended = forks.run(*SHORT_LIFE, text="A=1\n", at=moment, signum=signum)
        codes.add(ended.code)
        assert "Traceback" not in ended.words, f"at line {moment}"
        clean = [is_clean(directory, runtime, expired=expired) for expired in (False, True)]
        assert any(clean), f"at line {moment}"
        assert forks.run("prune").code == 0
    assert codes == {0, *early}


SIGNALS = (signal.SIGKILL, signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGQUIT)


@pytest.mark.parametrize(
    "first", [None, "be_the_child", "_be_the_server"], ids=["starter", "reader", "server"]
)
def test_detached(forks: ForkServer, directory: Path, runtime: Path, first: str | None) -> None:
    """Whoever of the three gets a signal: 0 and a session, or another code and nothing left.

    Nothing but kill -9 can leave something: a dead session if the server gets it, and a live one
    if the process that was started gets it between its last word to the server and its end.
    """

    def end() -> None:
        forks.run("stop")
        forks.run("prune")
        wait_until(lambda: is_clean(directory, runtime), "the end of the session")

    whole = forks.run("serve", "--detach", text="A=1\n", first=first)
    end()
    last = range(whole.lines - 15, whole.lines + 1)
    for number, moment in enumerate([*moments(whole, 30), *last]):
        signum = SIGNALS[number % len(SIGNALS)]
        ended = forks.run("serve", "--detach", text="A=1\n", at=moment, signum=signum, first=first)
        what = f"{signum.name} at line {moment}: {ended}"
        assert "Traceback" not in ended.words, what
        assert "internal" not in ended.words, what
        assert ended.words.count("\n") == (ended.code in (0, 8)) or signum == signal.SIGKILL, what
        if ended.code and signum != signal.SIGKILL:
            assert is_clean(directory, runtime), what
        elif not ended.code and first != "_be_the_server":
            assert answer(directory / ".hotenv") == b'{"env":{"A":"1"}}\n', what
        end()
