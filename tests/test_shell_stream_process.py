"""Command sessions: output that is read as it comes, and shells for programs without Trio."""

from __future__ import annotations

import os
import threading
from pathlib import Path

import pytest
import trio

import hotenv
from processes import LIMIT, needs
from test_policy import needs_parser
from test_shell_process import ENV, is_sound, shell

pytestmark = needs("bash")


async def test_output_as_it_comes(tmp_path: Path) -> None:
    """Each piece is there before the command goes on, and in the result."""
    fifos = [tmp_path / "first", tmp_path / "second"]
    for fifo in fifos:
        os.mkfifo(fifo)
    first, second = fifos
    async with shell() as opened:
        command = f"echo a; read < {first}; echo b >&2; read < {second}; printf c; exit 3"
        async with opened.stream(command, stdin=b"") as running:
            pieces = []
            async for chunk in running:
                pieces.append((chunk.stream, chunk.data))
                if fifos:
                    await trio.Path(fifos.pop(0)).write_text("\n")
        assert pieces == [("stdout", b"a\n"), ("stderr", b"b\n"), ("stdout", b"c")]
        result = running.result
        assert (result.stdout, result.stderr, result.exit_code) == (b"a\nc", b"b\n", 3)
        assert await is_sound(opened, restarted=True)


async def test_all_of_it() -> None:
    """Output of any length, of which the result keeps its bounds; also what comes at the end."""
    async with shell(max_output=10) as opened:
        async with opened.stream("yes | head -n 500000; printf end") as running:
            data = b"".join([chunk.data async for chunk in running])
        assert data == b"y\n" * 500_000 + b"end"
        assert running.result.stdout == b"y\ny\ny" + b"y\nend"[-5:]
        assert running.result.omitted.stdout.bytes == 1_000_003 - 10


async def test_back_pressure(tmp_path: Path) -> None:
    """A command waits until its output is read."""
    written = tmp_path / "written"
    async with shell() as opened:
        command = f"head -c 1000000 /dev/zero; > {written}"
        async with opened.stream(command) as running:
            size = len((await anext(running)).data)
            await opened_for(running)
            assert not written.exists()
            async for chunk in running:
                size += len(chunk.data)
        assert size == 1_000_000
        assert written.exists()


async def opened_for(running: hotenv.Running) -> None:
    """Let every task run that can, while nobody reads."""
    for _ in range(100):
        await trio.lowlevel.checkpoint()
    with pytest.raises(RuntimeError, match="has not ended"):
        _ = running.result


async def test_a_block_that_is_left() -> None:
    """The command is ended with it, and the shell can be used."""
    async with shell() as opened:
        async with opened.stream("echo a; yes") as running:
            assert (await anext(running)).data.startswith(b"a\n")
        async with opened.stream("sleep 1000"):
            pass
        assert await is_sound(opened, restarted=False)


async def test_errors() -> None:
    """Reading raises what run raises, as it is; so does the block."""
    async with shell() as opened:
        with pytest.raises(hotenv.UsageError, match="NUL"):
            async with opened.stream("\0"):
                pass
        with pytest.raises(ZeroDivisionError):
            async with opened.stream("sleep 1000"):
                raise ZeroDivisionError
        assert await is_sound(opened, restarted=False)


@needs_parser
async def test_denied() -> None:
    """It is an error of the first piece."""
    async with shell(policy=hotenv.Policy(allow=["ls"])) as opened:
        async with opened.stream("cat") as running:
            with pytest.raises(hotenv.DeniedError):
                await anext(running)
        assert (await opened.run("ls /")).exit_code == 0


async def test_timeout() -> None:
    """What has come until then is read, and the result says so."""
    async with shell(timeout=0.2) as opened, opened.stream("sleep 1000") as running:
        assert [chunk async for chunk in running] == []
        assert running.result.timed_out
    assert "data" not in repr(hotenv.Chunk("stdout", b"data"))


def test_without_trio(tmp_path: Path) -> None:
    """A shell for scripts."""
    with hotenv.open_shell_sync(env=ENV, cwd=tmp_path, timeout=LIMIT) as opened:
        opened.run("x=1; cd /")
        result = opened.run("cat; echo $x; exit 3", stdin=b"a\n", timeout=None)
        assert (result.stdout, result.exit_code, result.cwd) == (b"a\n1\n", 3, b"/")
        with pytest.raises(hotenv.UsageError, match="NUL"):
            opened.run("\0")
        assert opened.run("sleep 1000", timeout=0.1).timed_out
    assert "hotenv-shell" not in [thread.name for thread in threading.enumerate()]
    with pytest.raises(hotenv.SystemFailureError, match="the shell is closed"):
        opened.run("true")


def test_errors_without_trio() -> None:
    """Those of its start, and those of its block."""
    with (
        pytest.raises(hotenv.SystemFailureError, match="/nowhere"),
        hotenv.open_shell_sync(cwd="/nowhere"),
    ):
        pass
    with pytest.raises(ZeroDivisionError), hotenv.open_shell_sync(env=ENV):
        raise ZeroDivisionError


def test_threads() -> None:
    """Any thread may send a command: one after the other is run."""
    with hotenv.open_shell_sync(env=ENV, timeout=LIMIT) as opened:
        threads = [
            threading.Thread(target=opened.run, args=("x=${x}a; sleep 0; x=${x}b",))
            for _ in range(5)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert opened.run("echo $x").stdout == b"ab" * 5 + b"\n"
