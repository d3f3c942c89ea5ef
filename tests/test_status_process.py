"""`hotenv status`: who is there, who was, and for how long."""

from __future__ import annotations

import json
import os
import re
import select
import shlex
import signal
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from subprocess import Popen
from types import SimpleNamespace

import pytest

from fakes import answering_together, claim
from hotenv.exchange import probe
from hotenv.session.marker import format_marker
from hotenv.upkeep import sessions
from processes import (
    ALONE,
    GLANCE,
    LIMIT,
    Terminal,
    freeze,
    hotenv,
    said,
    serving,
    socket_path,
    wait_until,
    with_limits,
)

pytestmark = pytest.mark.usefixtures("alone")


def status(directory: Path) -> dict[str, object]:
    """What `hotenv status --json` prints."""
    result = hotenv("status", "--json", cwd=directory)
    assert (result.returncode, result.stderr) == (0, b"")
    loaded = json.loads(result.stdout)
    assert isinstance(loaded, dict)
    return loaded


def short(directory: Path) -> str:
    """What `hotenv status --short` prints."""
    result = hotenv("status", "--short", cwd=directory, command=ALONE)
    assert (result.returncode, result.stderr) == (0, b"")
    return result.stdout.decode().rstrip("\n")


def test_facts(directory: Path) -> None:
    """Marker, socket, pid, start, both limits, variables and log, as JSON and as text."""
    options = ("-t", "10m", "--max-age", "1h", "--log", "log")
    before = time.time()
    with serving(directory, b"A=1\nB=2\n", *options) as server:
        facts = status(directory)
        text = hotenv("status", cwd=directory).stdout.decode()
    idle, age = facts.pop("idle_remaining"), facts.pop("age_remaining")
    assert isinstance(idle, float)
    assert isinstance(age, float)
    assert 600 - LIMIT < idle <= 600
    assert 3600 - LIMIT < age <= 3600
    started = time.mktime(time.strptime(str(facts.pop("started"))[:19], "%Y-%m-%dT%H:%M:%S"))
    assert int(before) <= started <= time.time()
    path = str(socket_path(directory))
    assert facts == {
        "state": "alive",
        "directory": str(directory),
        "marker": f"{directory}/.hotenv",
        "socket": path,
        "pid": server.pid,
        "timeout": 600,
        "variables": 2,
        "log": f"{directory}/log",
    }
    rows = dict(line.split("\t") for line in text.splitlines())
    assert re.fullmatch(r"(10m|9m\S*) left of 10m", rows.pop("idle timeout"))
    assert re.fullmatch(r"1h|59m\S*", rows.pop("max age"))
    assert rows.pop("started").startswith(time.strftime("%Y-%m-%d ", time.localtime(before))[:8])
    assert rows == {
        "marker": f"{directory}/.hotenv",
        "socket": path,
        "pid": str(server.pid),
        "variables": "2",
        "log": f"{directory}/log",
    }


def test_asking_extends_nothing(directory: Path, runtime: Path) -> None:
    """Status is in no log and moves no deadline; run does."""
    with serving(directory, b"A=1\n", "-t", "1h") as server:
        published = next(runtime.glob("hotenv/*.json"))
        before = published.read_bytes()
        assert status(directory)["age_remaining"] is None
        assert b"max age\tno limit\n" in hotenv("status", cwd=directory).stdout
        assert re.fullmatch(r"1h|5\dm(\d+s)?", short(directory))
        assert hotenv("status", "--all", cwd=directory, command=ALONE).returncode == 0
        assert published.read_bytes() == before
        assert hotenv("run", "--", "true", cwd=directory).returncode == 0
        wait_until(lambda: published.read_bytes() != before, "the new deadline")
        assert len(published.read_bytes()) == len(before)
        server.terminate()
        _, words = server.communicate(timeout=LIMIT)
    assert [line.split()[-2:] for line in words.decode().splitlines()[1:]] == [["run", "true"]]


def test_publishes_no_value_and_no_name(directory: Path, runtime: Path) -> None:
    """What lies beside the socket is private and tells nothing of what the session holds."""
    with serving(directory, b"CANARY_NAME=canary-value\n"):
        (published,) = runtime.glob("hotenv/*.json")
        assert published.stat().st_mode & 0o777 == 0o600
        assert b"canary" not in published.read_bytes().lower()


@pytest.mark.parametrize(
    "words", [["status"], ["status", "--json"], ["status", "--short"]], ids=str
)
def test_fails_as_run_would(directory: Path, runtime: Path, words: list[str]) -> None:
    """3 without a marker, 9 if it is malformed, 8 if others can write to it, 4 without a server."""
    marker = directory / ".hotenv"
    assert hotenv(*words, cwd=directory).returncode == 3
    marker.write_text("socket\n")
    marker.chmod(0o600)
    assert hotenv(*words, cwd=directory).returncode == 9
    marker.write_bytes(format_marker(f"{runtime}/01234567.sock"))
    dead = hotenv(*words, cwd=directory)
    assert dead.returncode == 4
    assert "'hotenv serve --force'" in said(dead)
    assert "'hotenv prune'" in said(dead)
    marker.chmod(0o666)
    assert hotenv(*words, cwd=directory).returncode == 8


def test_server_that_is_stopped(directory: Path) -> None:
    """A server that does not answer is unreachable, as for run, and unresponsive in the list."""
    with serving(directory) as server:
        freeze(server)
        command = with_limits({"hotenv.exchange.answer.ANSWER_TIMEOUT": 0.2})
        result = hotenv("status", cwd=directory, command=command)
        assert result.returncode == 4
        assert "(no answer within 0.2 seconds): resume it with 'fg'" in said(result)
        command = with_limits({GLANCE: 0.2})
        (entry,) = json.loads(
            hotenv("status", "--all", "--json", cwd=directory, command=command).stdout
        )
        assert (entry["state"], entry["pid"]) == ("unresponsive", server.pid)


def test_short_of_a_server_that_is_stopped(directory: Path) -> None:
    """A prompt does not wait as long as other commands, and shows nothing at all: exit code 4."""
    with serving(directory) as server:
        freeze(server)
        command = with_limits({"hotenv.exchange.answer.ANSWER_TIMEOUT": 2 * LIMIT})
        result = hotenv("status", "--short", cwd=directory, command=command)
        assert (result.returncode, result.stdout, result.stderr) == (4, b"", b"")


def test_all_are_asked_at_the_same_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Servers that answer only after each of them was asked: the list waits for none of them."""
    monkeypatch.setattr(sessions, "GLANCE_TIMEOUT", LIMIT)
    with answering_together(tmp_path, 3):
        assert [report.state for report in sessions.reports()] == ["alive"] * 3


def test_all_waits_once_for_all_that_are_stopped(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Sessions that nothing answers for: each is given the same moment."""
    waits: list[float] = []

    class Poll:
        """Sees nothing, and notes how long it was to wait for that."""

        def register(self, *_args: object) -> None: ...

        def unregister(self, *_args: object) -> None: ...

        def poll(self, milliseconds: float) -> list[tuple[int, int]]:
            waits.append(milliseconds / 1000)
            now[0] += milliseconds / 1000
            return []

    now = [0.0]
    monkeypatch.setattr(probe, "time", SimpleNamespace(monotonic=lambda: now[0]))
    monkeypatch.setattr(probe, "select", SimpleNamespace(poll=Poll, POLLIN=select.POLLIN))
    with ExitStack() as stack:
        for name in "abc":
            (tmp_path / name).mkdir()
            stack.enter_context(claim(str(tmp_path / name)))
        assert [report.state for report in sessions.reports()] == ["unresponsive"] * 3
    assert sum(waits) == pytest.approx(probe.GLANCE_TIMEOUT)
    assert probe.GLANCE_TIMEOUT < 0.5


@contextmanager
def answering(directory: Path, answer: bytes) -> Iterator[None]:
    """A program other than hotenv answers every connection with ``answer``."""
    with claim(str(directory)) as session:
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
def test_another_program_answers(directory: Path, answer: bytes, code: int) -> None:
    """What does not reject an empty request is not a server of hotenv."""
    with answering(directory, answer):
        assert hotenv("status", cwd=directory).returncode == code


@pytest.mark.parametrize("damage", ["gone", "junk", "FIFO"])
def test_without_what_is_published(directory: Path, runtime: Path, damage: str) -> None:
    """The session is as good without it: what is not known is null or a dash."""
    with serving(directory) as server:
        (published,) = runtime.glob("hotenv/*.json")
        published.unlink()
        if damage == "junk":
            published.write_text("{}")
        elif damage == "FIFO":
            os.mkfifo(published)
        facts = status(directory)
        assert (facts["pid"], facts["marker"]) == (server.pid, f"{directory}/.hotenv")
        assert (facts["started"], facts["idle_remaining"], facts["variables"]) == (None,) * 3
        assert b"variables\t-\n" in hotenv("status", cwd=directory).stdout
        assert short(directory) == "?"
        assert hotenv("run", "--", "true", cwd=directory).returncode == 0
        assert hotenv("status", "--all", cwd=directory, command=ALONE).stdout.split(b"\t")[:2] == [
            b"-",
            b"alive",
        ]
        server.terminate()
        server.communicate(timeout=LIMIT)
    assert not (directory / ".hotenv").exists()


@pytest.mark.parametrize("started", [1e300, -1e18])
def test_start_in_no_year(directory: Path, runtime: Path, started: float) -> None:
    """A damaged time is not known, and spoils neither the rest nor the list."""
    with serving(directory):
        (published,) = runtime.glob("hotenv/*.json")
        published.write_text(json.dumps({**json.loads(published.read_text()), "started": started}))
        assert (status(directory)["started"], status(directory)["variables"]) == (None, 1)
        assert b"started\t-\n" in hotenv("status", cwd=directory).stdout
        assert (
            hotenv("status", "--all", cwd=directory, command=ALONE).stdout.split(b"\t")[1]
            == b"alive"
        )


def test_session_for_ages(directory: Path) -> None:
    """A time without an end in sight can be read after a request too, and the session stopped."""
    with serving(directory, b"A=1\n", "-t", "1" + "0" * 20):
        assert hotenv("run", "--", "true", cwd=directory).returncode == 0
        assert status(directory)["timeout"] == 1e20
        assert hotenv("stop", cwd=directory).returncode == 0


def test_all(tmp_path: Path) -> None:
    """Each session with its directory, the oldest first; what is left of a dead one says so."""
    names = ["b", "a", "c"]
    for name in names:
        (tmp_path / name).mkdir()
    with serving(tmp_path / "b") as b, serving(tmp_path / "a") as a, serving(tmp_path / "c") as c:
        a.kill()
        a.wait()
        shown = hotenv("status", "--all", cwd=tmp_path, command=ALONE).stdout.decode()
        listed = json.loads(hotenv("status", "--all", "--json", cwd=tmp_path, command=ALONE).stdout)
        pids = [str(b.pid), "-", str(c.pid)]
    rows = [line.split("\t") for line in shown.splitlines()]
    states = ["alive", "dead", "alive"]
    assert [row[:3] for row in rows] == [
        [f"{tmp_path}/{name}", state, pid]
        for name, state, pid in zip(names, states, pids, strict=True)
    ]
    assert [each["state"] for each in listed] == states
    assert (listed[1]["pid"], listed[1]["idle_remaining"]) == (None, None)


def test_all_of_none(directory: Path, runtime: Path) -> None:
    """No session is no error."""
    result = hotenv("status", "--all", cwd=directory, command=ALONE)
    assert (result.returncode, said(result)) == (
        0,
        f"hotenv: no sessions (looked in {runtime}/hotenv, {runtime}/{os.geteuid()}/hotenv, "
        f"{runtime}/hotenv-{os.geteuid()})",
    )
    assert (
        json.loads(hotenv("status", "--all", "--json", cwd=directory, command=ALONE).stdout) == []
    )


@pytest.mark.parametrize(
    ("setting", "colour"), [("", True), ("NO_COLOR=1 ", False), ("TERM=dumb ", False)]
)
def test_on_a_terminal(directory: Path, setting: str, colour: bool) -> None:
    """Columns below a header, in colour unless NO_COLOR is set or the terminal is a dumb one."""
    with serving(directory):
        line = f"env -u NO_COLOR TERM=xterm {setting}{shlex.join(ALONE)} status --all"
        terminal = Terminal(["sh", "-c", line], directory)
        assert terminal.wait() == 0
    assert b"\t" not in terminal.screen
    header = b"".join(terminal.screen.partition(b"\r\n")[0].split(b"\x1b[1m"))
    assert (
        header.replace(b"\x1b[0m", b"").split()
        == b"DIRECTORY STATE PID EXPIRES IN VARIABLES".split()
    )
    assert (b"\x1b[" in terminal.screen) == colour


@contextmanager
def serving_everywhere(tmp_path: Path, runtime: Path) -> Iterator[list[Popen[bytes]]]:
    """Sessions in 0, 1 and 2: for XDG_RUNTIME_DIR, as systemd sets it, and without it."""
    with ExitStack() as stack, pytest.MonkeyPatch.context() as patch:
        servers = []
        login = runtime / str(os.geteuid())
        login.mkdir(mode=0o700)
        without = with_limits({"hotenv.session.runtime.SHARED": str(runtime)})
        for number, value in enumerate([runtime, login, None]):
            if value is None:
                patch.delenv("XDG_RUNTIME_DIR")
            else:
                patch.setenv("XDG_RUNTIME_DIR", str(value))
            (tmp_path / str(number)).mkdir()
            servers.append(stack.enter_context(serving(tmp_path / str(number), command=without)))
        patch.undo()
        yield servers


def test_sessions_under_other_bases(tmp_path: Path, runtime: Path) -> None:
    """Started by cron, su or ssh: they are listed, used, stopped."""
    with serving_everywhere(tmp_path, runtime) as servers:
        uid = os.geteuid()
        assert [str(socket_path(tmp_path / name).parent) for name in "012"] == [
            *(f"{runtime}/hotenv", f"{runtime}/{uid}/hotenv", f"{runtime}/hotenv-{uid}"),
        ]
        shown = hotenv("status", "--all", cwd=tmp_path, command=ALONE).stdout.decode()
        assert [line.split("\t")[:3] for line in shown.splitlines()] == [
            [f"{tmp_path}/{number}", "alive", str(server.pid)]
            for number, server in enumerate(servers)
        ]
        stopped = hotenv("stop", "--all", cwd=tmp_path, command=ALONE)
        assert (stopped.returncode, stopped.stderr.count(b"hotenv: stopped the session of ")) == (
            *(0, 3),
        )
        assert [server.wait(timeout=LIMIT) for server in servers] == [0] * 3
    assert not list(runtime.rglob("*.sock"))


def test_dead_sessions_under_other_bases(tmp_path: Path, runtime: Path) -> None:
    """They are listed as dead, and prune removes what they left."""
    with serving_everywhere(tmp_path, runtime) as servers:
        for server in servers:
            server.kill()
            server.wait(timeout=LIMIT)
    shown = hotenv("status", "--all", cwd=tmp_path, command=ALONE).stdout.decode()
    assert [line.split("\t")[1] for line in shown.splitlines()] == ["dead"] * 3
    removed = hotenv("prune", cwd=tmp_path, command=ALONE).stderr.decode()
    assert removed.count("hotenv: removed ") == 6
    assert not list(runtime.rglob("*.sock"))
    assert not list(runtime.rglob("*.json"))


def test_runtime_directory_that_is_not_there(directory: Path, runtime: Path) -> None:
    """It counts as unset: all but run say so, and find the sessions that are elsewhere."""
    env = {**os.environ, "XDG_RUNTIME_DIR": "/nonexistent/run"}
    command = with_limits({"hotenv.session.runtime.SHARED": str(runtime), GLANCE: LIMIT})
    base = f"{runtime}/hotenv-{os.geteuid()}"
    note = f"hotenv: note: XDG_RUNTIME_DIR=/nonexistent/run does not exist: using {base}"
    served = hotenv("serve", "--detach", cwd=directory, env=env, stdin=b"A=1\n", command=command)
    assert served.returncode == 0
    assert served.stderr.decode().splitlines() == [
        *(note, f"hotenv: serving 1 variable in {directory} (expires after 5m idle)"),
    ]
    assert str(socket_path(directory).parent) == base
    for words in (["run", "--", "printenv", "A"], ["dump", "--format", "json"]):
        silent = hotenv(*words, cwd=directory, env=env, command=command)
        assert (silent.returncode, silent.stderr) == (0, b"")
    listed = hotenv("status", "--all", cwd=directory, env=env, command=command)
    assert listed.stdout.startswith(f"{directory}\talive\t".encode())
    assert listed.stderr.decode().splitlines() == [note]
    pruned = hotenv("prune", cwd=directory, env=env, command=command)
    assert pruned.stderr.decode().splitlines() == [note, "hotenv: nothing to remove"]
    stopped = hotenv("stop", "--all", cwd=directory, env=env, command=command)
    assert stopped.stderr.decode().splitlines() == [
        *(note, f"hotenv: stopped the session of {directory}/.hotenv"),
    ]
