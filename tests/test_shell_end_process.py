"""Command sessions: commands that are ended, what is ended with them, and what lives on."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
import trio
from trio.testing import MockClock

import hotenv
from guarded import needs_guards
from hotenv.shell.kept import Kept
from hotenv.shell.processes import descendants, is_running
from processes import LIMIT, needs, wait_until
from test_shell_process import ENV, is_sound, shell

pytestmark = needs("bash")

LONG = 10_000.0  # seconds that only a clock that is moved by hand can pass


def has_lines(file: Path, count: int) -> bool:
    """Whether there are so many lines in ``file``."""
    return file.exists() and file.read_text().count("\n") >= count


def processes_in(file: Path) -> list[int]:
    """The processes whose IDs are in ``file`` that have not ended."""
    return [pid for pid in map(int, file.read_text().split()) if is_running(pid)]


async def until(condition: Callable[[], object]) -> None:
    """Return as soon as ``condition`` holds."""
    with trio.fail_after(LIMIT):
        while not condition():  # noqa: ASYNC110 - processes tell nobody
            await trio.sleep(0.005)


async def too_long(
    clock: MockClock,
    opened: hotenv.Shell,
    command: str,
    *conditions: Callable[[], object],
    rate: float = 1,
) -> hotenv.Result:
    """The result of a command: time passes by when the first condition holds, and then the next.

    ``rate``: how fast it passes after that.
    """
    clock.rate = 1
    results: list[hotenv.Result] = []

    async def run() -> None:
        results.append(await opened.run(command, timeout=LONG))

    async with trio.open_nursery() as nursery:
        nursery.start_soon(run)
        for condition in conditions:
            await until(condition)
            clock.jump(LONG)
        clock.rate = rate
    return results[0]


async def test_timeout(tmp_path: Path, mock_clock: MockClock) -> None:
    """The result has the output so far, and the shell its variables."""
    pids = tmp_path / "pids"
    async with shell(grace=LONG) as opened:
        await opened.run("x=1")
        command = f"echo before; sh -c 'echo $$ >> {pids}; exec sleep 1000'"
        result = await too_long(mock_clock, opened, command, lambda: has_lines(pids, 1))
        assert (result.stdout, result.exit_code, result.timed_out) == (b"before\n", 124, True)
        assert result.duration >= LONG
        assert not processes_in(pids)
        assert (await opened.run("echo $x $?")).stdout == b"1 124\n"
        assert await is_sound(opened, restarted=False)


STUBBORN = """
for name in INT TERM; do trap "echo $name >> {log}" $name; done
echo started >> {log}
while :; do sleep 1000 & wait; done
"""


async def test_signals(tmp_path: Path, mock_clock: MockClock) -> None:
    """First SIGINT, then SIGTERM, then SIGKILL: the shell itself needs none of them."""
    log, script = tmp_path / "log", tmp_path / "script"
    script.write_text(STUBBORN.format(log=log))
    async with shell(grace=LONG) as opened:
        conditions = [lambda count=count: has_lines(log, count) for count in (1, 2, 3)]
        result = await too_long(mock_clock, opened, f"sh {script}; echo after", *conditions)
        assert (result.exit_code, result.timed_out) == (124, True)
        assert log.read_text() == "started\nINT\nTERM\n"
        assert await is_sound(opened, restarted=False)


@pytest.mark.parametrize(
    "loop", ["while :; do :; done", "trap '' INT TERM; until false; do :; done"]
)
async def test_endless_loop(loop: str, tmp_path: Path, mock_clock: MockClock) -> None:
    """A shell that is busy by itself is killed."""
    started = tmp_path / "started"
    async with shell(grace=0) as opened:
        await opened.run("export x=1")
        result = await too_long(
            mock_clock, opened, f"echo before; >{started}; {loop}", started.exists
        )
        assert (result.stdout, result.exit_code, result.timed_out) == (b"before\n", 124, True)
        assert await is_sound(opened, restarted=True)
        assert (await opened.run("echo $x")).stdout == b"1\n"


@pytest.mark.parametrize("trap", ["HUP", "TERM"])
async def test_a_shell_that_is_another_program(
    trap: str, tmp_path: Path, mock_clock: MockClock
) -> None:
    """It gets what it needs to end."""
    started = tmp_path / "started"
    script = tmp_path / "script"
    script.write_text(f"trap '' {trap}; > {started}; while :; do :; done")
    async with shell(grace=0) as opened:
        command = f"exec sh {script}"
        result = await too_long(mock_clock, opened, command, started.exists)
        assert (result.exit_code, result.timed_out) == (124, True)
        assert await is_sound(opened, restarted=True)


async def test_a_shell_that_cannot_be_killed(
    tmp_path: Path, mock_clock: MockClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It may have become a program with another user's rights: it is left to the keeper."""
    started = tmp_path / "started"

    def refuse(*_: int) -> None:
        raise PermissionError

    async with shell(grace=0) as opened:
        with monkeypatch.context() as patch:
            patch.setattr(os, "kill", refuse)
            command = f"echo $$; > {started}; exec sleep 1000"
            result = await too_long(mock_clock, opened, command, started.exists, rate=1000)
            assert (result.exit_code, result.timed_out) == (124, True)
        mock_clock.rate = 1
        assert is_running(int(result.stdout))
        assert await is_sound(opened, restarted=True)
    assert not is_running(int(result.stdout))


async def test_a_command_that_is_not_begun() -> None:
    """It has taken too long, and is not tried again."""
    async with shell(grace=0) as opened:
        pid = int((await opened.run("echo $$")).stdout)
        os.kill(pid, signal.SIGSTOP)
        result = await opened.run("echo a", timeout=0.1)
        assert (result.stdout, result.exit_code, result.timed_out) == (b"", 124, True)
        assert await is_sound(opened, restarted=True)


async def test_a_real_timeout() -> None:
    """Without a hand at the clock."""
    async with shell(timeout=0.2) as opened:
        result = await opened.run("sleep 1000")
        assert (result.exit_code, result.timed_out) == (124, True)
        assert 0.2 <= result.duration < LIMIT
        result = await opened.run("echo a", timeout=None)
        assert (result.stdout, result.timed_out) == (b"a\n", False)


ALL_KINDS = """
say() {{ sh -c 'echo $PPID' >> {pids}; }}
(say; exec sleep 1000) &
(trap '' INT TERM HUP; say; exec sleep 1000) &
setsid sh -c 'echo $$ >> {pids}; exec sleep 1000' &
( (say; exec sleep 1000) & )
setsid sh -c '(trap "" INT TERM; sh -c "echo \\$PPID >> {pids}"; sleep 1000; :) & :'
sh -c 'echo $$ >> {pids}; kill -STOP $$; exec sleep 1000' &
sh -c 'echo $$ >> {pids}; exec sleep 1000' | cat
"""


async def test_all_that_a_command_has_started(tmp_path: Path, mock_clock: MockClock) -> None:
    """It is ended when the call is cancelled; what an earlier command has left lives on.

    SIGINT ends at least the one that is not in the background, SIGTERM all that do not ignore it.
    """
    pids, job = tmp_path / "pids", tmp_path / "job"
    mock_clock.rate = 1
    async with shell(grace=LONG) as opened, trio.open_nursery() as nursery:
        await opened.run(f"(sh -c 'echo $PPID' >> {job}; sleep 1000; :) & x=1")
        await until(lambda: has_lines(job, 1))
        scope = trio.CancelScope()

        async def run() -> None:
            with scope:
                await opened.run(ALL_KINDS.format(pids=pids), timeout=None)

        nursery.start_soon(run)
        await until(lambda: has_lines(pids, 7))
        scope.cancel()
        await until(lambda: len(processes_in(pids)) <= 6)
        mock_clock.jump(LONG)
        await until(lambda: len(processes_in(pids)) <= 2)
        mock_clock.jump(LONG)
        await opened.run("true")
        assert not processes_in(pids)
        assert processes_in(job)
        assert (await opened.run("sleep 0; kill -0 %1 && echo there")).stdout == b"there\n"
    assert not processes_in(job)


async def test_cancelled_before_it_begins() -> None:
    """The command is ended wherever it is, and the shell can be used."""
    async with shell() as opened:
        for _ in range(5):
            with trio.move_on_after(0):
                await opened.run("sleep 1000")
            assert await opened.run("echo AFTER; false") is not None
        assert (await opened.run("echo a")).stdout == b"a\n"


async def test_closing_ends_all(tmp_path: Path) -> None:
    """When the block ends, whatever has been started has ended; a trap EXIT is run."""
    pids = tmp_path / "pids"
    async with shell() as opened:
        await opened.run(f"trap 'echo bye > {tmp_path}/bye' EXIT")
        await opened.run(f"{{ {ALL_KINDS.format(pids=pids)} }} &")
        await until(lambda: has_lines(pids, 7))
    assert not processes_in(pids)
    assert (tmp_path / "bye").read_text() == "bye\n"


async def test_cancelled_from_outside(tmp_path: Path, mock_clock: MockClock) -> None:
    """The end of the shell is noticed, too: nobody waits for a clock, which stands still."""
    async with trio.open_nursery() as nursery, shell(grace=LONG) as opened:
        await opened.run(f"trap '> {tmp_path}/bye' EXIT")
        nursery.cancel_scope.cancel()
    assert (tmp_path / "bye").exists()


PROGRAM = """
import sys, trio, hotenv
async def main():
    guard = hotenv.Guard(no_network=True) if sys.argv[2:] else None
    async with hotenv.open_shell(guard=guard) as shell:
        await shell.run(sys.argv[1])
        await trio.sleep_forever()
trio.run(main)
"""


@pytest.mark.parametrize("guard", [[], pytest.param(["guard"], marks=needs_guards)])
def test_a_program_that_is_killed(guard: list[str], tmp_path: Path) -> None:
    """Nothing is left of its shell: no process and no directory."""
    pids = tmp_path / "pids"
    many = f"for i in 1 2 3 4 5; do {{ {ALL_KINDS.format(pids=pids)} }} & done"
    with subprocess.Popen([sys.executable, "-P", "-c", PROGRAM, many, *guard], env=ENV) as program:
        try:
            wait_until(lambda: has_lines(pids, 35), "the processes")
            below = descendants(program.pid)
            keepers = [pid for pid in below if _words(pid)[-2:-1] == ["hotenv.shell.keeper"]]
            folder = _words(keepers[0])[-1]
            assert os.path.isdir(folder)
        finally:
            program.kill()
    wait_until(lambda: not any(map(is_running, {*below, *processes_in(pids)})), "their end")
    wait_until(lambda: not os.path.exists(folder), "the directory to be removed")


def _words(pid: int) -> list[str]:
    try:
        return Path(f"/proc/{pid}/cmdline").read_text().rstrip("\0").split("\0")
    except OSError:  # it has just ended
        return []


async def test_a_keeper_that_is_killed() -> None:
    """An error, and not silence; its shell ends with it."""
    async with shell() as opened:
        pid = int((await opened.run("echo $$")).stdout)
        os.kill(vars(vars(vars(opened)["_executor"])["_bashes"])["_kept"].pid, signal.SIGKILL)
        with pytest.raises(hotenv.SystemFailureError, match="were killed"):
            await opened.run("while sleep 1; do :; done")
        with pytest.raises(hotenv.SystemFailureError, match="were killed"):
            await opened.run("true")
        await until(lambda: not is_running(pid))


async def test_a_keeper_that_is_ending() -> None:
    """The kernel closes its files in any order: it may still seem to take orders."""
    read_orders, orders = os.pipe()
    reports, write_reports = os.pipe()
    process = await trio.lowlevel.open_process(["true"])
    ending = Kept(process, orders, reports)
    os.close(write_reports)
    await ending.watch()
    with pytest.raises(hotenv.SystemFailureError, match="were killed"):
        await ending.start_shell(lambda _: None)
    await ending.aclose()
    assert os.read(read_orders, 1) == b""
    os.close(read_orders)


async def test_a_shell_that_is_killed_meanwhile() -> None:
    """Between two commands: the second one runs in a new shell, and only once."""
    async with shell() as opened:
        result = await opened.run("echo $$")
        os.kill(int(result.stdout), signal.SIGKILL)
        assert await is_sound(opened, restarted=True)


MEMORY = """
import resource, trio, hotenv
async def main():
    async with hotenv.open_shell(timeout=None) as shell:
        await shell.run("head -c 5000000 /dev/zero")
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        result = await shell.run("yes 12345678 | head -c 200000000")
        assert len(result.stdout) == 100_000
        assert result.omitted.stdout.bytes == 199_900_000
        print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before)
trio.run(main)
"""


@pytest.mark.usefixtures("unmeasured")
def test_memory() -> None:
    """It stays what it is, whatever the output."""
    done = subprocess.run(
        [sys.executable, "-P", "-c", MEMORY], capture_output=True, timeout=LIMIT, check=True
    )
    assert int(done.stdout) < 10 * 1024  # kibibytes
