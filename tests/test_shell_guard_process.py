"""Command sessions under guards."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
import trio

import hotenv
from guarded import needs_guards
from hotenv.shell.processes import is_running
from processes import LIMIT, needs
from test_shell_end_process import until
from test_shell_process import ENV, is_sound

pytestmark = [needs("bash"), needs_guards]


async def test_files(tmp_path: Path) -> None:
    """Nothing can be changed, in a new shell neither; what a shell needs itself works."""
    guard = hotenv.Guard(fs_readonly=True, allow_write=[str(tmp_path / "out")])
    (tmp_path / "out").mkdir()
    async with hotenv.open_shell(env=ENV, cwd=tmp_path, guard=guard, timeout=LIMIT) as opened:
        for restarted in (False, True):
            result = await opened.run("echo a > out/a; cat out/a; > here", stdin=b"b")
            assert (result.stdout, result.exit_code) == (b"a\n", 1)
            assert result.restarted == restarted
            assert (await opened.run("x=2; cat; exit 3", stdin=b"b")).stdout == b"b"
        assert await is_sound(opened, restarted=True)
    assert os.listdir(tmp_path) == ["out"]


async def test_reading_nothing_else(tmp_path: Path) -> None:
    """With a root for what may be read."""
    (tmp_path / "a").mkdir()
    (tmp_path / "secret").write_text("secret")
    guard = hotenv.Guard(fs_readonly=True, allow_read=[str(tmp_path / "a")])
    async with hotenv.open_shell(env=ENV, guard=guard, timeout=LIMIT) as opened:
        result = await opened.run(f"cat {tmp_path}/secret")
        assert (result.stdout, result.exit_code) == (b"", 1)
        assert await is_sound(opened, restarted=False)


async def test_processes(tmp_path: Path) -> None:
    """The shell is all there is under --no-subprocess."""
    guard = hotenv.Guard(no_subprocess=True)
    async with hotenv.open_shell(env=ENV, guard=guard, timeout=LIMIT, cwd=tmp_path) as opened:
        result = await opened.run("x=1; echo $x; /bin/true")
        assert (result.stdout, result.cwd) == (b"1\n", os.fsencode(tmp_path))
        assert result.exit_code in (126, 254)


@pytest.mark.parametrize("grace", [0, LIMIT])
async def test_what_has_to_be_ended(grace: float, tmp_path: Path) -> None:
    """A command that is cancelled, and all at the end."""
    pid = tmp_path / "pid"
    os.mkfifo(pid)
    guard = hotenv.Guard(no_network=True)
    async with hotenv.open_shell(env=ENV, guard=guard, timeout=LIMIT, grace=grace) as opened:
        await opened.run("sleep 1000 & x=1")
        async with trio.open_nursery() as nursery:
            nursery.start_soon(opened.run, f"sh -c 'echo $$ > {pid}; exec sleep 1000'; :")
            process = int(await trio.Path(pid).read_text())
            nursery.cancel_scope.cancel()
        await until(lambda: not is_running(process))
        result = await opened.run("echo $! $x")
        job, _, x = result.stdout.decode().rstrip("\n").partition(" ")
        if grace:
            assert x == "1"
            assert is_running(int(job))
    assert not job or not is_running(int(job))


async def test_no_such_exception() -> None:
    """What is excepted has to be there: an error that names it."""
    guard = hotenv.Guard(fs_readonly=True, allow_write=["/nowhere"])
    with pytest.raises(hotenv.UsageError, match="/nowhere"):
        async with hotenv.open_shell(env=ENV, guard=guard):
            pass
