"""processes: which ones are below another."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from hotenv.shell import processes
from hotenv.shell.processes import descendants, is_chain, is_running, parent_of
from processes import wait_until

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="there is no /proc")


def test_descendants() -> None:
    """They are found when they begin, and not any more when they have ended; nobody else is."""
    before = descendants(os.getpid())
    with subprocess.Popen(
        ["sh", "-c", "sleep 1000 & echo $!; wait"], stdout=subprocess.PIPE
    ) as one:
        assert one.stdout is not None
        inner = int(one.stdout.readline())
        try:
            assert descendants(os.getpid()) - before == {one.pid, inner}
            assert descendants(one.pid) == {inner}
            assert (parent_of(inner), parent_of(one.pid)) == (one.pid, os.getpid())
            assert is_running(inner)
            os.kill(inner, 9)
            one.wait()
        finally:
            one.kill()
    wait_until(lambda: descendants(os.getpid()) <= before, "the end of both")
    assert not is_running(inner) or parent_of(inner) != one.pid
    assert parent_of(one.pid) == -1
    assert parent_of(1) == 0


def test_who_has_ended() -> None:
    """A process that its parent has not noticed the end of is there, and does not run."""
    with subprocess.Popen(["true"]) as process:
        os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)
        assert process.pid in descendants(os.getpid())
        assert not is_running(process.pid)
    assert process.pid not in descendants(os.getpid())


@pytest.mark.skipif(
    not os.path.exists(f"/proc/self/task/{os.getpid()}/children"),
    reason="this kernel does not list children",
)
def test_a_chain() -> None:
    """Each process has the next one as its only child, and the last one has none."""
    script = "sh -c 'echo $$; read x; sleep 1000 & echo; read x'; :"
    with subprocess.Popen(
        ["sh", "-c", script], stdin=subprocess.PIPE, stdout=subprocess.PIPE, bufsize=0
    ) as outer:
        assert outer.stdin is not None
        assert outer.stdout is not None
        inner = int(outer.stdout.readline())
        assert is_chain([outer.pid, inner])
        assert not is_chain([outer.pid])
        assert not is_chain([inner, outer.pid])
        outer.stdin.write(b"\n")
        outer.stdout.readline()
        assert not is_chain([outer.pid, inner])
        for pid in descendants(outer.pid):
            os.kill(pid, 9)
    assert not is_chain([outer.pid, inner])


def test_a_parent_that_ends_meanwhile(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its child is asked again who its parent is."""
    parents = {1: [0], 10: [1], 20: [-1], 30: [20, 10], 40: [1], 50: [40], 60: [20, -1]}
    monkeypatch.setattr("os.listdir", lambda _: [*map(str, parents), "self"])
    monkeypatch.setattr(
        processes, "parent_of", lambda pid: parents[pid].pop(0) if pid in parents else -1
    )
    assert processes.descendants(10) == {30}
    assert set(map(len, parents.values())) == {0}


def test_a_parent_that_cannot_be_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    """It may be hidden, as another user's."""
    parents = {10: 5, 20: 10}
    monkeypatch.setattr("os.listdir", lambda _: [*map(str, parents)])
    monkeypatch.setattr(processes, "parent_of", parents.__getitem__)
    assert processes.descendants(10) == {20}
