"""Guards from Python (hotenv.run_guarded)."""

from __future__ import annotations

import os
import signal
import socket
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
import trio

import hotenv
from guarded import PYTHON, needs_guards
from hotenv.guards import api
from hotenv.guards.kernel import Kernel, check, missing, this_kernel
from hotenv.guards.policy import Guard
from processes import HOTENV

pytestmark = needs_guards

CONNECT = [PYTHON, "-c", "import socket; socket.socket().connect(('127.0.0.1', 9))"]


async def test_what_was_blocked(directory: Path) -> None:
    """A test can say that a program does not touch the network."""
    run = await hotenv.run_guarded(["true"], hotenv.Guard(no_network=True))
    assert run == hotenv.GuardedRun(0, ())
    run = await hotenv.run_guarded(CONNECT, hotenv.Guard(no_network=True))
    assert run.status == 1
    (refusal,) = run.blocked
    assert (refusal.what, refusal.guard, refusal.program) == ("connect", "no-network", "python3")
    assert refusal.first == {"host": "127.0.0.1", "port": "9"}
    assert run.refusals == run.blocked


async def test_what_does_not_count(tmp_path: Path) -> None:
    """It is told all the same."""
    script = "import socket; socket.socket(socket.AF_NETLINK, socket.SOCK_RAW)"
    run = await hotenv.run_guarded([PYTHON, "-c", script], Guard(no_network=True), cwd=tmp_path)
    assert run.blocked == ()
    assert [refusal.what for refusal in run.refusals] == ["socket"]


async def test_environment_and_directory(tmp_path: Path) -> None:
    """Those of the command, under every option that there is."""
    (tmp_path / "place").mkdir()
    place = str(tmp_path / "place")
    guard = Guard(
        no_network=True,
        no_subprocess=True,
        fs_readonly=True,
        private_tmp=True,
        no_terminals=True,
        deny_read=[str(tmp_path / "hidden"), "/var"],
        allow_write=[place],
        allow_read=["/usr/share"],
        allow_unix=[place],
    )
    script = 'echo "$A$B" > file; test -d "$TMPDIR"'
    env = {"A": "1", "PYTHONHOME": "/nowhere"}
    run = await hotenv.run_guarded(["/bin/sh", "-c", script], guard, env=env, cwd=place)
    assert (run.status, run.refusals) == (0, ())
    assert (tmp_path / "place" / "file").read_text() == "1\n"


async def test_this_machine(tmp_path: Path) -> None:
    """It is closed, alone and where some hosts are excepted."""
    script = "import socket; socket.create_connection(('127.0.0.1', 9))"
    closed = Guard(no_localhost=True)
    for guard in (closed, closed & Guard(allow_domain=["127.0.0.1"])):
        run = await hotenv.run_guarded([PYTHON, "-S", "-c", script], guard, cwd=tmp_path)
        assert [(each.what, each.guard) for each in run.blocked] == [("connect", "no-localhost")]
        assert run.blocked[0].remedy is None


async def test_nothing_but_the_system(tmp_path: Path) -> None:
    """An empty list of what can be read is not the same as none."""
    (tmp_path / "file").touch()
    guard = Guard(fs_readonly=True, allow_read=[])
    run = await hotenv.run_guarded(["cat", str(tmp_path / "file")], guard)
    assert [refusal.what for refusal in run.blocked] == ["read"]


async def test_cancellation(tmp_path: Path) -> None:
    """It ends the command."""
    fifo = tmp_path / "fifo"
    os.mkfifo(fifo)
    async with trio.open_nursery() as nursery:
        script = 'echo started > "$0"; exec sleep 1000 > "$0"'
        nursery.start_soon(hotenv.run_guarded, ["sh", "-c", script, str(fifo)], Guard())
        async with await trio.open_file(fifo) as pipe:
            assert await pipe.readline() == "started\n"
            nursery.cancel_scope.cancel()
            with trio.CancelScope(shield=True):
                assert await pipe.read() == ""  # nobody is left


@pytest.mark.parametrize("first", [":", "trap '' TERM"])
async def test_cancellation_ends_all(
    first: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also who does not want to end, and who has left the command's process group."""
    monkeypatch.setattr(api, "_PATIENCE", 0.1)
    fifo = tmp_path / "fifo"
    os.mkfifo(fifo)
    script = f'{first}; exec > "$0"; setsid sh -c "sleep 1000 & echo started; wait" & wait'
    async with trio.open_nursery() as nursery:
        nursery.start_soon(hotenv.run_guarded, ["sh", "-c", script, str(fifo)], Guard())
        async with await trio.open_file(fifo) as pipe:
            assert await pipe.readline() == "started\n"
            nursery.cancel_scope.cancel()
            with trio.CancelScope(shield=True):
                assert await pipe.read() == ""  # nobody is left


async def test_cancellation_before_the_start(tmp_path: Path) -> None:
    """There is nothing to end then."""
    with trio.move_on_after(0) as scope:
        await hotenv.run_guarded(["touch", str(tmp_path / "file")], Guard())
    assert scope.cancelled_caught
    assert not (tmp_path / "file").exists()


async def test_a_signal(tmp_path: Path) -> None:
    """A command that was killed has a negative status."""
    run = await hotenv.run_guarded(["sh", "-c", "kill -TERM $$"], Guard())
    assert run.status == -signal.SIGTERM


async def test_the_status_of_the_command() -> None:
    """It is never that of hotenv."""
    for status in (0, 2, 8):
        run = await hotenv.run_guarded(["sh", "-c", f"exit {status}"], Guard())
        assert run == hotenv.GuardedRun(status, ())


@pytest.mark.parametrize("argv", [[], (), "true", b"true"], ids=repr)
async def test_no_command(argv: list[str]) -> None:
    """A string is no list of strings."""
    with pytest.raises(hotenv.UsageError, match="argv: must be a list of strings"):
        await hotenv.run_guarded(argv, Guard())


async def test_an_exception_that_is_not_there() -> None:
    """It is named."""
    guard = Guard(fs_readonly=True, allow_write=["/missing"])
    with pytest.raises(hotenv.UsageError, match="allow_write /missing: no such file"):
        await hotenv.run_guarded(["true"], guard)


async def test_a_command_that_cannot_be_executed(tmp_path: Path) -> None:
    """It has no status."""
    with pytest.raises(hotenv.SystemFailureError, match=r"^cannot run '\./missing': "):
        await hotenv.run_guarded(["./missing"], Guard(), cwd=tmp_path)


async def test_what_cannot_be_guarded() -> None:
    """Nothing was blocked then, because nothing was started."""
    inherited = pytest.raises(hotenv.SystemFailureError, match="would inherit an internet socket")
    with socket.socket() as one, standard_input(one.fileno()), inherited:
        await hotenv.run_guarded(["true"], Guard(no_network=True))


async def test_in_another_guard(tmp_path: Path) -> None:
    """That what is refused is not counted does not mean that nothing is."""
    script = """
import hotenv, sys, trio
try:
    trio.run(hotenv.run_guarded, ["true"], hotenv.Guard(no_network=True))
except hotenv.SystemFailureError as error:
    sys.exit(0 if str(error).startswith("--report cannot be used inside ") else str(error))
sys.exit("not raised")
"""
    await trio.run_process([*HOTENV, "guard", "--", sys.executable, "-c", script], cwd=tmp_path)


@contextmanager
def standard_input(descriptor: int) -> Iterator[None]:
    """Have ``descriptor`` in its place for the length of the block."""
    before = os.dup(0)
    os.dup2(descriptor, 0)
    try:
        yield
    finally:
        os.dup2(before, 0)
        os.close(before)


async def test_a_hotenv_that_is_killed(tmp_path: Path) -> None:
    """Nobody knows what it has blocked."""
    fifo = tmp_path / "fifo"
    os.mkfifo(fifo)

    async def kill() -> None:
        async with await trio.open_file(fifo) as pipe:
            keeper = int(await pipe.readline())
        os.kill(keeper, signal.SIGKILL)

    script = 'echo $PPID > "$0"; exec sleep 1000'
    async with trio.open_nursery() as nursery:
        nursery.start_soon(kill)
        with pytest.raises(hotenv.SystemFailureError, match="status -9 and wrote no report"):
            await hotenv.run_guarded(["sh", "-c", script, str(fifo)], Guard())


@pytest.mark.usefixtures("unmeasured")
async def test_a_report_that_is_cut_off() -> None:
    """Half of it is none."""
    script = """
import hotenv, resource, sys, trio
resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))
try:
    trio.run(hotenv.run_guarded, ["true"], hotenv.Guard())
except hotenv.SystemFailureError as error:
    sys.exit(str(error))
"""
    command = [sys.executable, "-c", script]
    done = await trio.run_process(command, capture_stderr=True, check=False)
    reason, error = done.stderr.decode().splitlines()
    assert reason.startswith("hotenv: cannot write the report")
    assert error == "hotenv exited with status 8 and wrote no report"


async def test_no_descriptor_of_the_report() -> None:
    """The command does not get the one that hotenv gets."""
    run = await hotenv.run_guarded(["sh", "-c", "! ls -l /proc/self/fd | grep memfd"], Guard())
    assert run.status == 0


async def test_the_report_out_of_reach() -> None:
    """The command line of hotenv names it, but only hotenv and its parent can open it."""
    script = """
import os, socket, sys
try:
    socket.socket().connect(("127.0.0.1", 9))
except OSError:
    pass
pid, words = os.getpid(), []
while b"--report" not in words:
    pid = int(open(f"/proc/{pid}/stat").read().rpartition(")")[2].split()[1])
    words = open(f"/proc/{pid}/cmdline", "rb").read().split(b"\\0")
path = words[words.index(b"--report") + 1].decode()
for way in (path, *(path.replace("/dev", f"/proc/{each}") for each in (pid, os.getppid()))):
    try:
        open(way, "w")
    except OSError as error:
        print(error)
    else:
        sys.exit(f"opened {way}")
"""
    run = await hotenv.run_guarded([PYTHON, "-c", script], Guard(no_network=True))
    assert run.status == 0
    assert [refusal.what for refusal in run.blocked] == ["connect"]


@pytest.mark.parametrize(
    ("landlock", "lacking"),
    [(0, "Landlock ABI 2 (Linux 5.19)"), (1, "Landlock ABI 2 (Linux 5.19)"), (2, None), (5, None)],
)
def test_other_kernels(landlock: int, lacking: str | None) -> None:
    """What is missing is named, and what has a second way is not missing."""
    kernel = Kernel("x86_64", landlock)
    if lacking is None:
        check(Guard(fs_readonly=True, no_network=True), kernel)
        for guard in (Guard(fs_readonly=True), Guard(no_terminals=True, deny_read=["/a"])):
            assert missing(guard, kernel) == []
        return
    if not landlock:
        said = "".join(missing(Guard(no_terminals=True, deny_read=["/a"]), kernel))
        assert "other terminals can be opened" in said
        assert "what --deny-read names can be read" in said
    with pytest.raises(hotenv.SystemFailureError) as raised:
        check(Guard(fs_readonly=True), kernel)
    assert lacking in str(raised.value)
    assert "--best-effort" in str(raised.value)


@pytest.mark.parametrize(("system", "machine"), [("Darwin", "arm64"), ("Linux", "riscv64")])
def test_other_systems(monkeypatch: pytest.MonkeyPatch, system: str, machine: str) -> None:
    """There are no guards, and the error says where there are."""
    name = os.uname_result((system, "host", "1", "1", machine))
    monkeypatch.setattr(os, "uname", lambda: name)
    with pytest.raises(hotenv.SystemFailureError, match="guards need Linux on x86_64 or aarch64"):
        this_kernel()


@pytest.mark.parametrize("shown", ["1", None], ids=["another", "none"])
def test_another_proc(shown: str | None, monkeypatch: pytest.MonkeyPatch) -> None:
    """A supervisor looks at processes in /proc: it has to show the same ones."""

    def readlink(_path: str) -> str:
        if shown is None:
            raise FileNotFoundError
        return shown

    monkeypatch.setattr(os, "readlink", readlink)
    with pytest.raises(hotenv.SystemFailureError, match="guards need /proc, which is missing"):
        this_kernel()
