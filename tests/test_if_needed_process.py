"""`hotenv serve --if-needed`: a session is there afterwards, and one only."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from hotenv.cli.main import main
from hotenv.exchange.probe import Probe
from hotenv.session.marker import Marker
from processes import (
    HOTENV,
    LIMIT,
    finish,
    freeze,
    hotenv,
    is_clean,
    said,
    serving,
    socket_path,
    start_serve,
    wait_until,
)

MODES = pytest.mark.parametrize("mode", [(), ("--detach",)], ids=["foreground", "detached"])


@contextmanager
def started(directory: Path, runtime: Path, *mode: str) -> Iterator[subprocess.Popen[bytes]]:
    """A start that is given its whole input; the session is stopped in the end."""
    server = start_serve(directory, b"A=2\n", "--if-needed", *mode)
    yield server
    assert hotenv("stop", cwd=directory).returncode == 0
    code, words = finish(server)
    assert (code, words.splitlines()[0]) == (0, serving_words(directory))
    assert is_clean(directory, runtime)


def serving_words(directory: Path) -> str:
    """What a start says that has made a session."""
    return f"hotenv: serving 1 variable in {directory} (expires after 5m idle)"


@MODES
def test_session_that_answers(directory: Path, mode: tuple[str, ...]) -> None:
    """It stays: 0 at once, whatever there is to read; no line of the log is about that."""
    with serving(directory) as server:
        path = socket_path(directory)
        process = subprocess.Popen(
            [*HOTENV, "serve", "--if-needed", "--log", "log", *mode],
            cwd=directory,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
        assert process.wait(timeout=LIMIT) == 0  # with its standard input still open
        words = process.communicate()
        assert words == (b"", f"hotenv: already serving in {directory}\n".encode())
        quiet = hotenv("serve", "--if-needed", "-q", *mode, cwd=directory, stdin=b"A=2\n")
        assert (quiet.returncode, quiet.stdout, quiet.stderr) == (0, b"", b"")
        assert socket_path(directory) == path
        assert hotenv("dump", cwd=directory).stdout == b"A=1\n"
        assert not (directory / "log").exists()
        assert server.poll() is None


@MODES
def test_no_session(directory: Path, runtime: Path, mode: tuple[str, ...]) -> None:
    """One is started, as without the option."""
    with started(directory, runtime, *mode) as server:
        assert hotenv("run", "--wait", f"{LIMIT}", "true", cwd=directory).returncode == 0
        if mode:
            assert server.wait(timeout=LIMIT) == 0
        assert hotenv("dump", cwd=directory).stdout == b"A=2\n"
        assert server.poll() == (0 if mode else None)


@MODES
def test_dead_session(directory: Path, runtime: Path, mode: tuple[str, ...]) -> None:
    """It is replaced, with all its files."""
    with serving(directory) as dead:
        dead.kill()
        dead.wait()
    old = socket_path(directory)
    with started(directory, runtime, *mode):
        wait_until(lambda: socket_path(directory) != old, "the new marker")
        assert hotenv("dump", cwd=directory).stdout == b"A=2\n"
        new = socket_path(directory)
        assert {*(runtime / "hotenv").iterdir()} == {new, new.with_suffix(".json")}


def test_session_above(directory: Path) -> None:
    """That of a parent directory is none of this one."""
    below = directory / "below"
    below.mkdir()
    with serving(directory):
        result = hotenv("serve", "--if-needed", "--detach", cwd=below, stdin=b"A=2\n")
        assert result.returncode == 0
        hides, ready = result.stderr.decode().splitlines()
        assert (
            hides
            == f"hotenv: note: hides the session of {directory} from commands in {below} and below"
        )
        assert ready == serving_words(below)
        assert hotenv("dump", cwd=below).stdout == b"A=2\n"
        assert hotenv("dump", cwd=directory).stdout == b"A=1\n"
        assert hotenv("stop", cwd=below).returncode == 0


@MODES
def test_session_that_may_be_elsewhere(directory: Path, mode: tuple[str, ...]) -> None:
    """Where its socket is cannot be seen from here: 4, before anything is read; it is kept."""
    marker = directory / ".hotenv"
    content = b"socket=/nowhere/hotenv/01234567.sock\n"
    marker.write_bytes(content)
    marker.chmod(0o600)
    process = subprocess.Popen(
        [*HOTENV, "serve", "--if-needed", *mode],
        cwd=directory,
        stdin=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    assert process.wait(timeout=LIMIT) == 4  # with its standard input still open
    words = process.communicate()[1].decode()
    assert words.startswith(f"hotenv: cannot reach the server of {marker} (")
    assert "its server may be alive in another container, namespace or host" in words
    assert words.count("\n") == 1
    assert marker.read_bytes() == content


def test_session_that_does_not_answer(
    directory: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    """It is there, and not replaced: 4, and what to do."""
    monkeypatch.setattr(Probe.__init__, "__defaults__", (0.2,))
    with serving(directory) as server:
        freeze(server)
        path = socket_path(directory)
        assert main(["serve", "--if-needed"]) == 4
        assert capfd.readouterr().err.endswith(" or run 'hotenv stop' to end it\n")
        assert socket_path(directory) == path


def test_session_that_is_replaced_meanwhile(
    directory: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    """A dead one was found, and another start is faster: it is that one which has to answer."""
    with serving(directory) as dead:
        dead.kill()
        dead.wait()
    old = socket_path(directory)
    connect = Probe.__init__
    tries: list[str] = []

    def be_slow(self: Probe, marker: Marker) -> None:
        if not tries:
            start = ("serve", "--if-needed", "--detach")
            assert hotenv(*start, cwd=directory, stdin=b"A=2\n").returncode == 0
        tries.append(marker.socket)
        connect(self, marker)

    monkeypatch.setattr(Probe, "__init__", be_slow)
    assert main(["serve", "--if-needed"]) == 0
    assert capfd.readouterr().err == f"hotenv: already serving in {directory}\n"
    assert tries == [str(old), str(socket_path(directory))]
    assert hotenv("stop", cwd=directory).returncode == 0


@MODES
@pytest.mark.parametrize("kind", ["text", "directory", "link"])
def test_file_that_is_not_a_marker(directory: Path, kind: str, mode: tuple[str, ...]) -> None:
    """It is kept, and the error says that it is there."""
    path = directory / ".hotenv"
    if kind == "text":
        path.write_text("notes\n")
        path.chmod(0o600)
    elif kind == "directory":
        path.mkdir()
    else:
        path.symlink_to("elsewhere")
    result = hotenv("serve", "--if-needed", *mode, cwd=directory, stdin=b"A=1\n")
    assert result.returncode == 9
    assert str(path) in said(result)
    assert os.listdir(directory) == [".hotenv"]


@pytest.mark.parametrize("before", ["none", "dead"])
def test_many_at_once(directory: Path, runtime: Path, before: str) -> None:
    """Twenty, half of them in the foreground: one session, and none that fails."""
    if before == "dead":
        with serving(directory) as dead:
            dead.kill()
            dead.wait()
    starts = [
        start_serve(directory, b"A=2\n", "--if-needed", *(() if number % 2 else ("--detach",)))
        for number in range(20)
    ]
    assert hotenv("run", "--wait", f"{LIMIT}", "true", cwd=directory).returncode == 0
    server = json.loads(hotenv("status", "--json", cwd=directory).stdout)["pid"]
    for each in starts:
        if each.pid != server:
            assert each.wait(timeout=LIMIT) == 0
    wait_until(lambda: len(list((runtime / "hotenv").iterdir())) == 2, "the losers' files to go")
    assert json.loads(hotenv("status", "--json", cwd=directory).stdout)["pid"] == server
    assert hotenv("stop", cwd=directory).returncode == 0
    ends = [finish(each) for each in starts]
    assert [code for code, _ in ends] == [0] * 20
    assert sorted(words.splitlines()[0] for _, words in ends) == [
        *[f"hotenv: already serving in {directory}"] * 19,
        serving_words(directory),
    ]
    assert is_clean(directory, runtime)
