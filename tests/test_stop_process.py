"""`hotenv stop`: the right process ends, and is gone."""

from __future__ import annotations

import os
import socket
import subprocess
from pathlib import Path

import pytest
import trio

from hotenv import Snapshot, commands, serve
from hotenv.exchange.visit import Visit
from hotenv.session.marker import read_marker
from hotenv.upkeep import sessions
from hotenv.upkeep.status import idle_left, status
from hotenv.upkeep.stop import stop
from processes import (
    HOTENV,
    LIMIT,
    hotenv,
    is_clean,
    said,
    serving,
    socket_path,
    start_serve,
    wait_until,
)


def test_stop(folder: Path, runtime: Path) -> None:
    """When it returns the server is gone, and so are its files."""
    (folder / "below").mkdir()
    with serving(folder) as server:
        result = hotenv("stop", cwd=folder / "below")
        assert (result.returncode, said(result)) == (
            0,
            f"hotenv: ended the session of {folder}/.hotenv",
        )
        assert is_clean(folder, runtime)
        assert server.wait(timeout=LIMIT) == 0
    assert hotenv("stop", cwd=folder).returncode == 3


def test_stop_waits_for_requests_in_flight(folder: Path) -> None:
    """A client that reads slowly has its moment; stop returns after that."""
    with serving(folder, b"A=" + b"x" * 1_000_000 + b"\n") as server:
        with socket.socket(socket.AF_UNIX) as client:
            client.connect(str(socket_path(folder)))
            client.sendall(b'{"command":"dump"}\n')
            assert client.recv(1)
            assert hotenv("stop", cwd=folder).returncode == 0
            os.waitid(os.P_PID, server.pid, os.WEXITED | os.WNOWAIT | os.WNOHANG)
        assert server.wait(timeout=LIMIT) == 0


def test_stop_all(tmp_path: Path) -> None:
    """All of them, each is told; none is no error."""
    (tmp_path / "a").mkdir()
    (tmp_path / "b").mkdir()
    with serving(tmp_path / "a") as a, serving(tmp_path / "b") as b:
        result = hotenv("stop", "--all", cwd=tmp_path)
        assert result.returncode == 0
        assert sorted(result.stderr.decode().splitlines()) == [
            f"hotenv: ended the session of {tmp_path}/{name}/.hotenv" for name in "ab"
        ]
        assert (a.wait(timeout=LIMIT), b.wait(timeout=LIMIT)) == (0, 0)
    none = hotenv("stop", "--all", cwd=tmp_path)
    assert (none.returncode, said(none)) == (0, "hotenv: there are no sessions")


def test_stop_all_of_one_that_has_ended_by_now(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    """It was there when they were looked for: that it is gone is no failure."""
    with serving(folder) as server:
        found = sessions.live_sessions()
        server.terminate()
        server.wait(timeout=LIMIT)
    monkeypatch.setattr(sessions, "live_sessions", lambda: found)
    commands.stop_all()
    assert len(found) == 1
    assert capfd.readouterr() == ("", "")


def test_server_that_ends_after_it_answered(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What it published is gone with it: it was read before, and whose process it is is known."""
    answer = Visit.wait_for_answer

    def answer_and_end(visit: Visit) -> None:
        answer(visit)
        server.terminate()
        server.wait(timeout=LIMIT)

    monkeypatch.setattr(Visit, "wait_for_answer", answer_and_end)
    with serving(folder) as server:
        stop(read_marker(".hotenv"))
    with serving(folder) as server:
        assert idle_left(read_marker(".hotenv")) is not None
    with serving(folder) as server:
        assert status(read_marker(".hotenv")).variables == 1


def test_server_that_has_published_nothing(folder: Path, runtime: Path) -> None:
    """It could be any program: it is not ended, and not said to be one either."""
    with serving(folder) as server:
        next(runtime.glob("hotenv/*.json")).unlink()
        result = hotenv("stop", cwd=folder)
        assert result.returncode == 8
        assert f"process {server.pid}, which serves {folder}/.hotenv, has not publ" in said(result)
        assert server.poll() is None


async def test_a_program_is_not_ended(folder: Path) -> None:
    """A session in somebody's Trio program: the program goes on, and stop says who it is."""
    async with trio.open_nursery() as nursery:
        await nursery.start(serve, Snapshot({"A": "1"}), folder)
        for words in (["stop"], ["stop", "--all"]):
            result = await trio.run_process(
                [*HOTENV, *words], cwd=folder, check=False, capture_stderr=True
            )
            assert result.returncode == 8
            assert f"held by process {os.getpid()}, which is no 'hotenv serve'" in (
                result.stderr.decode()
            )
        nursery.cancel_scope.cancel()


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can make a pid namespace")
@pytest.mark.parametrize("inside", ["server", "client"])
def test_another_pid_namespace(folder: Path, inside: str) -> None:
    """Who is in another pid namespace is not sent a signal, from neither side."""
    enter = ["unshare", "--pid", "--fork", "--kill-child", "--mount-proc"]
    if subprocess.run([*enter, "true"], capture_output=True, check=False).returncode:
        pytest.skip("no pid namespaces here")
    server = start_serve(folder, command=[*enter, *HOTENV] if inside == "server" else HOTENV)
    try:
        wait_until((folder / ".hotenv").exists, "the session")
        stop = [*HOTENV, "stop"] if inside == "server" else [*enter, *HOTENV, "stop"]
        result = subprocess.run(stop, cwd=folder, capture_output=True, timeout=LIMIT, check=False)
        assert result.returncode == 8
        assert b"is in another pid namespace" in result.stderr
        assert hotenv("dump", cwd=folder).stdout == b"A=1\n"
    finally:
        server.kill()
        server.communicate()
