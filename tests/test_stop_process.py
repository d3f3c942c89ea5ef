"""`hotenv stop`: the right process ends, and is gone."""

from __future__ import annotations

import errno
import json
import os
import signal
import subprocess
from contextlib import ExitStack
from pathlib import Path
from types import SimpleNamespace
from typing import Self

import pytest
import trio

from fakes import claim
from hotenv import Snapshot, serve
from hotenv.cli.main import main
from hotenv.errors import SystemFailureError
from hotenv.exchange import probe
from hotenv.exchange.probe import Probe
from hotenv.serving import server as server_module
from hotenv.session.marker import Marker, read_marker
from hotenv.upkeep import sessions
from hotenv.upkeep import stop as stopping
from hotenv.upkeep.prune import remove_remains
from hotenv.upkeep.sessions import no_sessions
from hotenv.upkeep.status import status, time_remaining
from hotenv.upkeep.stop import stop, stop_all
from processes import (
    ALONE,
    HOTENV,
    LIMIT,
    accepts,
    connect,
    freeze,
    hanging,
    hotenv,
    is_clean,
    let_it_hang,
    said,
    serving,
    socket_path,
    start_serve,
    wait_until,
    with_limits,
)

pytestmark = pytest.mark.usefixtures("alone")


def test_stop(directory: Path, runtime: Path) -> None:
    """When it returns the server is gone, and so are its files."""
    (directory / "below").mkdir()
    with serving(directory) as server:
        result = hotenv("stop", cwd=directory / "below")
        assert (result.returncode, said(result)) == (
            0,
            f"hotenv: stopped the session of {directory}/.hotenv",
        )
        assert is_clean(directory, runtime)
        assert server.wait(timeout=LIMIT) == 0
    assert hotenv("stop", cwd=directory).returncode == 3


def test_stop_waits_for_requests_in_flight(directory: Path) -> None:
    """A client that reads slowly has its moment; stop returns after that."""
    assert server_module.GRACE_PERIOD == 2
    command = with_limits({"hotenv.serving.server.GRACE_PERIOD": LIMIT})
    with serving(directory, b"A=" + b"x" * 1_000_000 + b"\n", command=command) as server:
        with connect(directory) as client:
            client.sendall(b'{"command":"dump"}\n')
            assert client.recv(1)
            stopper = subprocess.Popen(
                [*HOTENV, "stop"], cwd=directory, stderr=subprocess.PIPE, stdout=subprocess.PIPE
            )
            wait_until(lambda: not accepts(socket_path(directory)), "the server to be told")
            assert stopper.poll() is None
            assert server.poll() is None
            answer = b"{"
            while data := client.recv(65536):
                answer += data
            assert answer.endswith(b'x"}}\n')
        out, words = stopper.communicate(timeout=LIMIT)
        assert server.poll() == 0
    assert (stopper.returncode, out) == (0, b"")
    assert words.startswith(b"hotenv: stopped ")


def test_moment_of_a_request_in_flight_is_short(directory: Path) -> None:
    """A client that never reads its answer does not keep the server."""
    command = with_limits(
        {"hotenv.serving.server.GRACE_PERIOD": 0.1, "hotenv.serving.server.EXCHANGE_TIMEOUT": LIMIT}
    )
    text = b"A=" + b"x" * 1_000_000 + b"\n"
    with (
        serving(directory, text, command=command) as server,
        connect(directory) as client,
    ):
        client.sendall(b'{"command":"dump"}\n')
        assert client.recv(1)
        assert hotenv("stop", cwd=directory).returncode == 0
        assert server.poll() == 0


def test_stopped_server(directory: Path, runtime: Path) -> None:
    """It goes on, and ends in order, without an answer."""
    with serving(directory) as server:
        freeze(server)
        result = hotenv("stop", cwd=directory)
        assert (result.returncode, said(result)) == (
            0,
            f"hotenv: stopped the session of {directory}/.hotenv",
        )
        assert server.wait(timeout=LIMIT) == 0
    assert is_clean(directory, runtime)


IMPATIENT = with_limits({"hotenv.upkeep.stop.STOP_TIMEOUT": 0.2})
"""The command that kills a server soon."""


def test_hanging_server(directory: Path, runtime: Path) -> None:
    """It gets its time, and is killed then: its files are removed for it."""
    with serving(directory, command=hanging({})) as server:
        let_it_hang(directory)
        draft = directory / f".hotenv.{socket_path(directory).stem}"
        draft.write_text("x")
        result = hotenv("stop", cwd=directory, command=IMPATIENT)
        assert (result.returncode, said(result)) == (
            0,
            f"hotenv: stopped the session of {directory}/.hotenv",
        )
        assert server.wait(timeout=LIMIT) == -signal.SIGKILL
    assert is_clean(directory, runtime)


def test_hanging_server_that_is_stopped(directory: Path, runtime: Path) -> None:
    """As by a debugger: what is killed need not go on for that."""
    with serving(directory, command=hanging({})) as server:
        let_it_hang(directory)
        stopper = subprocess.Popen(
            [*IMPATIENT, "stop"], cwd=directory, stderr=subprocess.PIPE, stdout=subprocess.PIPE
        )
        while server.poll() is None:
            server.send_signal(signal.SIGSTOP)
        stopper.communicate(timeout=LIMIT)
        assert (stopper.returncode, server.returncode) == (0, -signal.SIGKILL)
    assert is_clean(directory, runtime)


def test_marker_of_another_session(directory: Path, runtime: Path) -> None:
    """It was replaced meanwhile: only the files of the one that was killed are removed."""
    with serving(directory) as server:
        killed = read_marker(".hotenv")
        server.kill()
        server.wait()
    (directory / ".hotenv").unlink()
    with serving(directory, b"A=2\n"):
        remove_remains(killed)
        assert hotenv("dump", cwd=directory).stdout == b"A=2\n"
        new = socket_path(directory)
        assert {*(runtime / "hotenv").iterdir()} == {new, new.with_suffix(".json")}


def test_patience() -> None:
    """A server in order has more time than it may take, and less than a person would wait."""
    assert server_module.GRACE_PERIOD < stopping.STOP_TIMEOUT <= 10
    assert stopping.KILL_TIMEOUT <= 5


def test_server_that_cannot_be_killed(
    directory: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    """It is not waited for without an end, and its files are left."""
    sent: list[int] = []
    monkeypatch.setattr(stopping._Process, "send", lambda _self, signum: sent.append(signum))
    monkeypatch.setattr(stopping, "STOP_TIMEOUT", 0.1)
    monkeypatch.setattr(stopping, "KILL_TIMEOUT", 0.2)
    with serving(directory) as process:
        assert main(["stop"]) == 8
        assert process.poll() is None
        assert (directory / ".hotenv").exists()
    assert sent == [signal.SIGTERM, signal.SIGCONT, signal.SIGKILL]
    assert capfd.readouterr().err == (
        f"hotenv: process {process.pid} (the server of {directory}/.hotenv) did not exit within "
        "0.3 seconds\n"
    )


def test_stop_all(tmp_path: Path) -> None:
    """All of them, each is told; none is no error."""
    (tmp_path / "a").mkdir()
    (tmp_path / "b").mkdir()
    with serving(tmp_path / "a") as a, serving(tmp_path / "b") as b:
        result = hotenv("stop", "--all", cwd=tmp_path, command=ALONE)
        assert result.returncode == 0
        assert sorted(result.stderr.decode().splitlines()) == [
            f"hotenv: stopped the session of {tmp_path}/{name}/.hotenv" for name in "ab"
        ]
        assert (a.wait(timeout=LIMIT), b.wait(timeout=LIMIT)) == (0, 0)
    none = hotenv("stop", "--all", cwd=tmp_path, command=ALONE)
    assert (none.returncode, said(none)) == (0, f"hotenv: {no_sessions()}")


def test_stop_all_of_one_that_has_ended_by_now(
    directory: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    """It was there when they were looked for: that it is gone is no failure."""
    with serving(directory) as server:
        found = sessions.live_sessions()
        server.terminate()
        server.wait(timeout=LIMIT)
    monkeypatch.setattr(stopping, "live_sessions", lambda: found)
    assert len(found) == 1
    assert main(["stop", "--all"]) == 0
    assert capfd.readouterr() == ("", f"hotenv: {no_sessions()}\n")


@pytest.fixture
def hopeless(monkeypatch: pytest.MonkeyPatch) -> set[int]:
    """The processes whose time to exit in order is over at once; others have all they need."""
    pids: set[int] = set()
    kill_after = stopping._Server.kill_after

    def limited(server: stopping._Server, deadline: float) -> None:
        kill_after(server, 0.0 if server._process.pid in pids else deadline)

    monkeypatch.setattr(stopping, "STOP_TIMEOUT", LIMIT)
    monkeypatch.setattr(stopping._Server, "kill_after", limited)
    return pids


def test_stop_all_of_those_that_do_not_answer(
    tmp_path: Path, runtime: Path, hopeless: set[int], capfd: pytest.CaptureFixture[str]
) -> None:
    """A stopped server ends in order, and a hanging one is killed."""
    names = ("alive", "hanging", "stopped")
    for name in names:
        (tmp_path / name).mkdir()
    with (
        serving(tmp_path / "stopped") as stopped,
        serving(tmp_path / "hanging", command=hanging({})) as hangs,
        serving(tmp_path / "alive") as alive,
    ):
        let_it_hang(tmp_path / "hanging")
        freeze(stopped)
        hopeless.add(hangs.pid)
        assert main(["stop", "--all"]) == 0
        codes = [each.wait(timeout=LIMIT) for each in (alive, stopped, hangs)]
        assert codes == [0, 0, -signal.SIGKILL]
        assert [is_clean(each, runtime) for each in tmp_path.iterdir()] == [True] * 3
    out, words = capfd.readouterr()
    assert out == ""
    assert sorted(words.splitlines()) == [
        f"hotenv: stopped the session of {tmp_path}/{name}/.hotenv" for name in names
    ]


@pytest.mark.parametrize("error", [PermissionError, None])
def test_stop_all_of_one_that_cannot_be_stopped(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
    error: type[OSError] | None,
) -> None:
    """It is an error, and the others are stopped all the same."""
    send, wait = stopping._Process.send, stopping._Process.wait

    def refuse(process: stopping._Process, signum: int) -> None:
        if process.pid != bad.pid:
            send(process, signum)
        elif error is not None:
            raise error(errno.EPERM, os.strerror(errno.EPERM))

    def limited(process: stopping._Process, deadline: float) -> bool:
        return wait(process, 0.0 if process.pid == bad.pid else deadline + LIMIT)

    monkeypatch.setattr(stopping._Process, "send", refuse)
    monkeypatch.setattr(stopping._Process, "wait", limited)
    for name in ("bad", "good"):
        (tmp_path / name).mkdir()
    with serving(tmp_path / "bad") as bad, serving(tmp_path / "good") as good:
        assert main(["stop", "--all"]) == 8
        assert good.wait(timeout=LIMIT) == 0
        assert bad.poll() is None
    reason = "did not exit within 15 seconds" if error is None else "operation not permitted"
    out, words = capfd.readouterr()
    *each, last = words.splitlines()
    failure, success = sorted(each)
    assert out == ""
    assert failure.endswith(reason)
    assert f"process {bad.pid} (the server of {tmp_path}/bad/.hotenv)" in failure
    assert success == f"hotenv: stopped the session of {tmp_path}/good/.hotenv"
    assert last == "hotenv: cannot stop all sessions: 1 still running"


def test_stop_all_needs_no_answer(tmp_path: Path) -> None:
    """Nothing ever answers: what is known without that is told at once."""
    with ExitStack() as stack:
        for name in "abc":
            (tmp_path / name).mkdir()
            stack.enter_context(claim(str(tmp_path / name)))
        errors = [error for _, error in stop_all()]
    assert [type(error) for error in errors] == [SystemFailureError] * 3
    assert {"is not 'hotenv serve'" in str(error) for error in errors} == {True}


def test_stop_all_waits_once_for_all(monkeypatch: pytest.MonkeyPatch) -> None:
    """All are told before one is waited for, and each has until the same moment."""
    steps: list[tuple[str, float]] = []

    class Server:
        """Notes what is done with it."""

        def __init__(self, *_: object) -> None: ...

        def __enter__(self) -> Self:
            return self

        def __exit__(self, *_: object) -> None: ...

        def terminate(self) -> None:
            steps.append(("told", 0.0))

        def kill_after(self, deadline: float) -> None:
            steps.append(("killed", deadline - now))

        def wait_gone(self, deadline: float) -> None:
            steps.append(("gone", deadline - now))

    now = 1000.0
    monkeypatch.setattr(stopping, "_Server", Server)
    monkeypatch.setattr(stopping, "time", SimpleNamespace(monotonic=lambda: now))
    monkeypatch.setattr(
        stopping, "live_sessions", lambda: [Marker("/a/.hotenv", "/a/x", 1) for _ in range(2)]
    )
    monkeypatch.setattr(stopping, "is_listening", lambda _: True)
    assert [error for _, error in stop_all()] == [None, None]
    patience = stopping.STOP_TIMEOUT, stopping.STOP_TIMEOUT + stopping.KILL_TIMEOUT
    assert steps == [
        *[("told", 0.0)] * 2,
        *[("killed", patience[0])] * 2,
        *[("gone", patience[1])] * 2,
    ]


def test_server_that_ends_after_it_answered(
    directory: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What it published is gone with it: it was read before, and whose process it is is known."""
    receive = Probe.receive

    def receive_and_end(probe: Probe) -> bool:
        answered = receive(probe)
        if answered:
            server.terminate()
            server.wait(timeout=LIMIT)
        return answered

    monkeypatch.setattr(Probe, "receive", receive_and_end)
    with serving(directory) as server:
        stop(read_marker(".hotenv"))
        assert server.poll() == 0
    with serving(directory) as server:
        assert time_remaining(read_marker(".hotenv")) is not None
        assert server.poll() == 0
    with serving(directory) as server:
        assert status(read_marker(".hotenv")).variables == 1
        assert server.poll() == 0


def test_server_that_has_published_nothing(directory: Path, runtime: Path) -> None:
    """It could be any program: it is not stopped, and not said to be one either."""
    with serving(directory) as server:
        next(runtime.glob("hotenv/*.json")).unlink()
        result = hotenv("stop", cwd=directory)
        assert (result.returncode, said(result)) == (
            8,
            f"hotenv: cannot stop the session of {directory}/.hotenv: process {server.pid} has no "
            "readable status and may not be 'hotenv serve': end that process yourself",
        )
        assert server.poll() is None


async def test_a_program_is_not_ended(directory: Path) -> None:
    """A session in a Trio program: the program goes on, and stop says which process it is."""
    async with trio.open_nursery() as nursery:
        await nursery.start(serve, Snapshot({"A": "1"}), directory)
        for words in (["stop"], ["stop", "--all"]):
            result = await trio.run_process(
                [*ALONE, *words], cwd=directory, check=False, capture_stderr=True
            )
            assert result.returncode == 8
            assert result.stderr.decode().splitlines()[0] == (
                f"hotenv: cannot stop the session of {directory}/.hotenv: its server, process "
                f"{os.getpid()}, is not 'hotenv serve': stop it from that program"
            )
        nursery.cancel_scope.cancel()


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can make a PID namespace")
@pytest.mark.parametrize("inside", ["server", "client"])
def test_another_pid_namespace(directory: Path, inside: str) -> None:
    """A server in another PID namespace gets no signal, from neither side, and has no number 0."""
    enter = ["unshare", "--pid", "--fork", "--kill-child", "--mount-proc"]
    if subprocess.run([*enter, "true"], capture_output=True, check=False).returncode:
        pytest.skip("no PID namespaces here")
    client = ALONE if inside == "server" else [*enter, *ALONE]
    command = [*enter, *HOTENV] if inside == "server" else HOTENV
    server = start_serve(directory, b"A=1\n", "--allow-confined", command=command)
    try:
        wait_until((directory / ".hotenv").exists, "the session")
        result = hotenv("stop", cwd=directory, command=client)
        assert (result.returncode, said(result)) == (
            8,
            f"hotenv: the server of {directory}/.hotenv runs in another PID namespace (a "
            "container): stop it there",
        )
        facts = json.loads(hotenv("status", "--json", cwd=directory, command=client).stdout)
        shown = hotenv("status", cwd=directory, command=client).stdout.decode()
        row = hotenv("status", "--all", cwd=directory, command=client).stdout.decode().split("\t")
        if inside == "client":
            assert (facts["pid"], row[2]) == (None, "-")
            assert "pid\t-\n" in shown
        else:
            assert facts["pid"] > 0
            assert f"pid\t{facts['pid']}\n" in shown
            assert row[2] == str(facts["pid"])
        assert hotenv("dump", cwd=directory).stdout == b"A=1\n"
    finally:
        server.kill()
        server.communicate()


def test_number_of_a_process_that_cannot_be_seen(
    directory: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    """The kernel says 0 for the process of a server in another PID namespace: there is no such."""
    monkeypatch.setattr(probe, "check_peer", lambda *_: 0)
    monkeypatch.setattr(sessions, "GLANCE_TIMEOUT", LIMIT)
    with serving(directory):
        assert main(["status"]) == 0
        assert "pid\t-\n" in capfd.readouterr().out
        assert main(["status", "--json"]) == 0
        assert json.loads(capfd.readouterr().out)["pid"] is None
        assert main(["status", "--all"]) == 0
        assert capfd.readouterr().out.split("\t")[1:3] == ["alive", "-"]
        assert main(["status", "--all", "--json"]) == 0
        assert json.loads(capfd.readouterr().out)[0]["pid"] is None
        assert main(["stop"]) == 8
        assert "runs in another PID namespace" in capfd.readouterr().err


@pytest.mark.parametrize("command", ["stop", "status"])
def test_kernel_that_does_not_tell(
    directory: Path,
    command: str,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
) -> None:
    """Without the process ID of a server it cannot be stopped from outside, and has no number."""
    monkeypatch.setattr(probe, "check_peer", lambda *_: None)
    with serving(directory) as server:
        assert main([command]) == (8 if command == "stop" else 0)
        out, words = capfd.readouterr()
        assert server.poll() is None
    if command == "stop":
        assert "cannot be identified on this system" in words
    else:
        assert "pid\t-\n" in out
