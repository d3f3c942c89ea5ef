"""`run --wait`, and -C for every command."""

from __future__ import annotations

import re
import subprocess
import time
from pathlib import Path
from types import ModuleType
from typing import NoReturn

import pytest

from fakes import claim
from hotenv.cli.session import ask
from hotenv.errors import UnresponsiveError
from hotenv.exchange import client, direct
from hotenv.exchange.answer import too_slow
from hotenv.exchange.protocol import Request
from hotenv.session.marker import Marker
from processes import ALONE, HOTENV, LIMIT, freeze, hotenv, said, serving, with_limits


def test_wait_for_a_session(directory: Path) -> None:
    """run --wait starts first, and runs when the session answers; a dead one is no answer."""
    with serving(directory) as server:
        server.kill()
        server.wait()
    client = subprocess.Popen(
        [*HOTENV, "run", "--wait", f"{LIMIT}", "--", "printenv", "A"],
        cwd=directory,
        stdout=subprocess.PIPE,
    )
    assert client.poll() is None
    with serving(directory, b"A=new\n", "--force"):
        assert client.communicate(timeout=LIMIT)[0] == b"new\n"
    assert client.returncode == 0


def test_wait_in_vain(directory: Path) -> None:
    """Then it fails as without it."""
    result = hotenv("run", "--wait", "0.2", "--", "true", cwd=directory)
    assert result.returncode == 3
    assert said(result)


def test_wait_for_a_server_that_is_stopped(directory: Path) -> None:
    """What is left of the time is the limit of the exchange: it fails when it is over."""
    command = with_limits({"hotenv.exchange.answer.ANSWER_TIMEOUT": 2 * LIMIT})
    with serving(directory) as server:
        freeze(server)
        result = hotenv("run", "--wait", "0.3", "--", "true", cwd=directory, command=command)
    assert result.returncode == 4
    assert re.search(r"\(no answer within 0\.[0-3] seconds\): resume it with", said(result))


@pytest.mark.parametrize("wait", [0.0, 1.0, 5.0, 6.0, 12.0])
@pytest.mark.parametrize("lane", [direct, client])
def test_waiting_takes_no_longer(
    directory: Path, lane: ModuleType, wait: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    """However often it is tried, and whichever client tries: no longer than ``--wait``.

    Without that it is tried once, for 5 seconds.
    """
    now = [100.0]
    timeouts = []

    def advance(seconds: float) -> None:
        now[0] += seconds

    def time_out(marker: Marker, _request: Request, timeout: float) -> NoReturn:
        timeouts.append(timeout)
        advance(timeout)
        raise too_slow(marker, timeout)

    monkeypatch.setattr(direct, "exchange", time_out if lane is direct else lambda *_: None)
    monkeypatch.setattr(client, "exchange_sync", time_out)
    with claim(str(directory)), monkeypatch.context() as patch:
        patch.setattr(time, "monotonic", lambda: now[0])
        patch.setattr(time, "sleep", advance)
        with pytest.raises(UnresponsiveError):
            ask(Request("dump"), wait)
    assert now[0] - 100 <= (wait or 5)
    assert sum(timeouts) > (wait or 5) - 0.2
    assert max(timeouts) == min(wait or 5, 5)


def test_another_directory(tmp_path: Path) -> None:
    """-C for every command: the session, the log and the command are there."""
    (tmp_path / "there").mkdir()
    there = tmp_path / "there"
    serve_there = hotenv(
        "-C", "there", "serve", "--detach", "--log", "log", cwd=tmp_path, stdin=b"A=1\n"
    )
    assert serve_there.returncode == 0
    assert (there / "log").exists()
    assert hotenv("-C", "there", "dump", cwd=tmp_path).stdout == b"A=1\n"
    assert hotenv("run", "-C", "there", "--", "pwd", cwd=tmp_path).stdout == f"{there}\n".encode()
    short = hotenv("status", "--short", "-C", "there", cwd=tmp_path, command=ALONE)
    assert re.fullmatch(rb"[45]m.*\n", short.stdout)
    assert hotenv("stop", "-C", "there", cwd=tmp_path).returncode == 0
    assert said(hotenv("prune", "-C", "there", cwd=tmp_path, command=ALONE))
