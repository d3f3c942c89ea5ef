"""`hotenv status`: who is there, who was, and for how long."""

from __future__ import annotations

import json
import os
import re
import shlex
import signal
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from fakes import claim
from hotenv.session.marker import format_marker
from processes import (
    HOTENV,
    LIMIT,
    Terminal,
    hotenv,
    said,
    serving,
    socket_path,
)


def status(folder: Path) -> dict[str, object]:
    """What `hotenv status --json` prints."""
    result = hotenv("status", "--json", cwd=folder)
    assert (result.returncode, result.stderr) == (0, b"")
    loaded = json.loads(result.stdout)
    assert isinstance(loaded, dict)
    return loaded


def short(folder: Path) -> str:
    """What `hotenv status --short` prints."""
    result = hotenv("status", "--short", cwd=folder)
    assert (result.returncode, result.stderr) == (0, b"")
    return result.stdout.decode().rstrip("\n")


def test_facts(folder: Path) -> None:
    """Marker, socket, pid, start, time left, age left, variables and log, as JSON and as text."""
    options = ("-t", "10m", "--max-age", "1h", "--log", "log")
    before = time.time()
    with serving(folder, b"A=1\nB=2\n", *options) as server:
        facts = status(folder)
        text = hotenv("status", cwd=folder).stdout.decode()
    idle, age = facts.pop("idle_left"), facts.pop("age_left")
    assert isinstance(idle, float)
    assert isinstance(age, float)
    assert 600 - LIMIT < idle <= 600
    assert 3600 - LIMIT < age <= 3600
    started = time.mktime(time.strptime(str(facts.pop("started"))[:19], "%Y-%m-%dT%H:%M:%S"))
    assert int(before) <= started <= time.time()
    path = str(socket_path(folder))
    assert facts == {
        "state": "alive",
        "folder": str(folder),
        "marker": f"{folder}/.hotenv",
        "socket": path,
        "pid": server.pid,
        "timeout": 600,
        "variables": 2,
        "log": f"{folder}/log",
    }
    rows = dict(line.split("\t") for line in text.splitlines())
    assert rows.pop("idle left").endswith(" of 10m")
    assert rows.pop("age left")
    assert rows.pop("started")
    assert rows == {
        "marker": f"{folder}/.hotenv",
        "socket": path,
        "pid": str(server.pid),
        "variables": "2",
        "log": f"{folder}/log",
    }


def test_asking_extends_nothing(folder: Path, runtime: Path) -> None:
    """Status is in no log and moves no deadline; run does."""
    with serving(folder, b"A=1\n", "-t", "1h") as server:
        published = next(runtime.glob("hotenv/*.json"))
        before = published.read_bytes()
        assert status(folder)["age_left"] is None
        assert re.fullmatch(r"1h|5\dm(\d+s)?", short(folder))
        assert hotenv("status", "--all", cwd=folder).returncode == 0
        assert published.read_bytes() == before
        assert hotenv("run", "--", "true", cwd=folder).returncode == 0
        after = published.read_bytes()
        assert after != before
        assert len(after) == len(before)
        server.terminate()
        _, words = server.communicate(timeout=LIMIT)
    assert [line.split()[-2:] for line in words.decode().splitlines()[1:]] == [["run", "true"]]


def test_publishes_no_value_and_no_name(folder: Path, runtime: Path) -> None:
    """What lies beside the socket is private and tells nothing of what the session holds."""
    with serving(folder, b"CANARY_NAME=canary-value\n"):
        (published,) = runtime.glob("hotenv/*.json")
        assert published.stat().st_mode & 0o777 == 0o600
        assert b"canary" not in published.read_bytes().lower()


@pytest.mark.parametrize(
    "words", [["status"], ["status", "--json"], ["status", "--short"]], ids=str
)
def test_fails_as_run_would(folder: Path, words: list[str]) -> None:
    """3 without a marker, 9 for none, 8 for somebody else's, 4 for a dead or silent server."""
    marker = folder / ".hotenv"
    assert hotenv(*words, cwd=folder).returncode == 3
    marker.write_text("socket\n")
    marker.chmod(0o600)
    assert hotenv(*words, cwd=folder).returncode == 9
    marker.write_bytes(format_marker(f"{folder}/gone.sock"))
    dead = hotenv(*words, cwd=folder)
    assert dead.returncode == 4
    assert "'hotenv serve --force'" in said(dead)
    assert "'hotenv prune'" in said(dead)
    marker.chmod(0o666)
    assert hotenv(*words, cwd=folder).returncode == 8


def test_server_that_is_stopped(folder: Path) -> None:
    """A server that does not answer is unreachable, as it is for run, and silent in the list."""
    with serving(folder) as server:
        server.send_signal(signal.SIGSTOP)
        result = hotenv("status", cwd=folder)
        assert result.returncode == 4
        assert "no answer within 5 s" in said(result)
        assert "'fg' lets it go on" in said(result)
        (entry,) = json.loads(hotenv("status", "--all", "--json", cwd=folder).stdout)
        assert (entry["state"], entry["pid"]) == ("silent", server.pid)


@contextmanager
def answering(folder: Path, answer: bytes) -> Iterator[None]:
    """Somebody who is no hotenv answers every connection with ``answer``."""
    with claim(str(folder)) as session:
        child = os.fork()
        if not child:
            while True:
                connection, _ = session.listener.accept()
                connection.recv(1000)
                connection.sendall(answer)
                connection.close()
        try:
            yield
        finally:
            os.kill(child, signal.SIGKILL)
            os.waitpid(child, 0)


@pytest.mark.parametrize(
    ("answer", "code"),
    [
        (b"", 4),
        (b"x\n", 9),
        (b'{"env":{"A":"1"}}\n', 9),
        (b'{"error":"INTERNAL","message":""}\n', 9),
        (b'{"error":"BAD_REQUEST","message":""}\n', 0),
    ],
)
def test_somebody_else_answers(folder: Path, answer: bytes, code: int) -> None:
    """Whoever does not refuse what is no request is no server."""
    with answering(folder, answer):
        assert hotenv("status", cwd=folder).returncode == code


@pytest.mark.parametrize("damage", ["gone", "junk", "FIFO"])
def test_without_what_is_published(folder: Path, runtime: Path, damage: str) -> None:
    """The session is as good without it: what is not known is null or a dash."""
    with serving(folder) as server:
        (published,) = runtime.glob("hotenv/*.json")
        published.unlink()
        if damage == "junk":
            published.write_text("{}")
        elif damage == "FIFO":
            os.mkfifo(published)
        facts = status(folder)
        assert (facts["pid"], facts["marker"]) == (server.pid, f"{folder}/.hotenv")
        assert (facts["started"], facts["idle_left"], facts["variables"]) == (None,) * 3
        assert b"variables\t-\n" in hotenv("status", cwd=folder).stdout
        assert short(folder) == "?"
        assert hotenv("run", "--", "true", cwd=folder).returncode == 0
        assert hotenv("status", "--all", cwd=folder).stdout.split(b"\t")[:2] == [b"-", b"alive"]
        server.terminate()
        server.communicate(timeout=LIMIT)
    assert not (folder / ".hotenv").exists()


@pytest.mark.parametrize("started", [1e300, -1e18])
def test_start_in_no_year(folder: Path, runtime: Path, started: float) -> None:
    """A damaged time is not known, and spoils neither the rest nor the list."""
    with serving(folder):
        (published,) = runtime.glob("hotenv/*.json")
        published.write_text(json.dumps({**json.loads(published.read_text()), "started": started}))
        assert (status(folder)["started"], status(folder)["variables"]) == (None, 1)
        assert b"started\t-\n" in hotenv("status", cwd=folder).stdout
        assert hotenv("status", "--all", cwd=folder).stdout.split(b"\t")[1] == b"alive"


def test_session_for_ages(folder: Path) -> None:
    """A time without an end in sight can be read after a request too, and the session stopped."""
    with serving(folder, b"A=1\n", "-t", "1" + "0" * 20):
        assert hotenv("run", "--", "true", cwd=folder).returncode == 0
        assert status(folder)["timeout"] == 1e20
        assert hotenv("stop", cwd=folder).returncode == 0


def test_all(tmp_path: Path) -> None:
    """Each session with its folder, the oldest first; what is left of a dead one says so."""
    names = ["b", "a", "c"]
    for name in names:
        (tmp_path / name).mkdir()
    with serving(tmp_path / "b") as b, serving(tmp_path / "a") as a, serving(tmp_path / "c") as c:
        a.kill()
        a.wait()
        shown = hotenv("status", "--all", cwd=tmp_path).stdout.decode()
        listed = json.loads(hotenv("status", "--all", "--json", cwd=tmp_path).stdout)
        pids = [str(b.pid), "-", str(c.pid)]
    rows = [line.split("\t") for line in shown.splitlines()]
    states = ["alive", "dead", "alive"]
    assert [row[:3] for row in rows] == [
        [f"{tmp_path}/{name}", state, pid]
        for name, state, pid in zip(names, states, pids, strict=True)
    ]
    assert [each["state"] for each in listed] == states
    assert (listed[1]["pid"], listed[1]["idle_left"]) == (None, None)


def test_all_of_none(folder: Path) -> None:
    """No session is no error."""
    result = hotenv("status", "--all", cwd=folder)
    assert (result.returncode, said(result)) == (0, "hotenv: there are no sessions")
    assert json.loads(hotenv("status", "--all", "--json", cwd=folder).stdout) == []


@pytest.mark.parametrize(
    ("setting", "colour"), [("", True), ("NO_COLOR=1 ", False), ("TERM=dumb ", False)]
)
def test_on_a_terminal(folder: Path, setting: str, colour: bool) -> None:
    """Columns below a header, in colour unless NO_COLOR is set or the terminal is a dumb one."""
    with serving(folder):
        line = f"env -u NO_COLOR TERM=xterm {setting}{shlex.join(HOTENV)} status --all"
        terminal = Terminal(["sh", "-c", line], folder)
        assert terminal.wait() == 0
    assert b"\t" not in terminal.screen
    header = b"".join(terminal.screen.partition(b"\r\n")[0].split(b"\x1b[1m"))
    assert (
        header.replace(b"\x1b[0m", b"").split() == b"FOLDER STATE PID IDLE LEFT VARIABLES".split()
    )
    assert (b"\x1b[" in terminal.screen) == colour
