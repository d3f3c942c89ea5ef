"""Values on their way to another machine: they arrive, and nobody sees them on the way."""

from __future__ import annotations

import os
import stat
import subprocess
import threading
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

import hotenv as package
from processes import HOTENV, LIMIT, needs, serving, wait_until
from sshd import Remote
from test_remote_shell_process import BOX, remote_shell
from test_shell_command_process import SHELL, driven, receive, send

pytestmark = needs("bash")

TOKEN = f"s3cr3t/{uuid.uuid4().hex}"  # nobody else has it
MEMORY = Path("/dev/shm")

VALUES = {
    "EMPTY": "",
    "QUOTES": "'\"\\ $x `y` !z ''",
    "LINES": "\n a\r\n\tb\n\n",
    "TEXT": "é\u2028\x01\x7f",
    "LONG": "x" * 100_000,
    "BASH_ENV": "/dev/null",
}


async def test_values(machine: Remote) -> None:
    """They arrive as they are, in each shell and in what it starts."""
    async with remote_shell(env=VALUES, redact=False, max_output=None) as opened:
        for command in ("env -0", "exec env -0", "env -0"):
            pairs = (await opened.run(command)).stdout.decode().split("\0")
            there = dict(pair.split("=", 1) for pair in pairs if pair)
            assert {name: there.get(name) for name in VALUES} == VALUES
            assert there["HOME"] == str(machine.home())


@pytest.mark.parametrize("name", ["A.B", "a b", "UID", "SHELLOPTS"])
async def test_names_that_are_refused(name: str, machine: Remote) -> None:
    """They are named before anything is run, and their values are not."""
    with pytest.raises(package.HotenvError) as raised:
        async with remote_shell(env={name: TOKEN}) as opened:
            await opened.run("touch file")
    assert name in str(raised.value)
    assert TOKEN not in str(raised.value)
    assert os.listdir(machine.home()) == []


async def test_a_value_that_is_too_long(machine: Remote) -> None:
    """No program could be started with it, which is said at once."""
    with pytest.raises(package.HotenvError, match="LONG") as raised:
        async with remote_shell(env={"LONG": TOKEN * 20_000}) as opened:
            await opened.run("touch file")
    assert TOKEN not in str(raised.value)
    assert os.listdir(machine.home()) == []


@contextmanager
def watching() -> Iterator[Callable[[], bytes]]:
    """Gives the command lines of all processes on this machine that were seen in the block."""
    seen: set[bytes] = set()
    over = threading.Event()

    def look() -> None:
        for path in Path("/proc").glob("[0-9]*/cmdline"):
            with suppress(OSError):  # it has ended meanwhile
                seen.add(path.read_bytes())

    def watch() -> None:
        while not over.wait(0.01):
            look()

    def seen_so_far() -> bytes:
        look()
        return b"\n".join(seen.copy())

    thread = threading.Thread(target=watch)
    thread.start()
    try:
        yield seen_so_far
    finally:
        over.set()
        thread.join()


def files_with(text: str, *directories: Path) -> list[Path]:
    """The files below ``directories`` that have ``text`` in them."""
    paths = [path for each in directories for path in each.rglob("*")]
    return [path for path in paths if path.is_file() and text.encode() in path.read_bytes()]


@pytest.mark.parametrize("size", [0, 100_000])
def test_where_values_are(size: int, machine: Remote, directory: Path, runtime: Path) -> None:
    """On no command line of either side, and in no file: there are but FIFOs, in memory.

    On this host, a shell that writes to a file is killed.
    """
    home = machine.home("sealed")
    with (
        watching() as command_lines,
        serving(directory, f"TOKEN={TOKEN}{'x' * size}\n".encode()),
        driven(directory, "--host", "sealed", shell=SHELL) as process,
    ):
        send(process, command="echo ${#TOKEN}; kill -9 $$")
        assert receive(process)["stdout"] == f"{len(TOKEN) + size}\n"
        send(process, command="mkfifo go; : > started; read < go; sh -c 'echo ${#TOKEN}'")
        wait_until((home / "started").exists, "the command")
        seen = command_lines()
        assert b"sshd: sealed" in seen
        assert TOKEN.encode() not in seen
        folders = machine.left()
        for folder in folders:
            assert (folder.parent, stat.S_IMODE(folder.stat().st_mode)) == (MEMORY, 0o700)
        inside = [path for folder in folders for path in folder.rglob("*")]
        assert [path for path in inside if path.is_file() and path.stat().st_size] == []
        assert sorted(os.listdir(home)) == ["go", "started"]
        assert files_with(TOKEN, directory, runtime) == []
        (home / "go").write_text("go\n")
        assert receive(process)["stdout"] == f"{len(TOKEN) + size}\n"
        assert process.stdin is not None
        process.stdin.close()
        assert process.wait(LIMIT) == 0
        assert TOKEN.encode() not in command_lines()
    wait_until(lambda: not machine.processes(), "the end on the other machine")
    assert machine.left() == []


def test_values_of_a_single_command(machine: Remote, directory: Path) -> None:
    """They take the same way to what ``hotenv run`` runs there."""
    words = ["sh", "-c", 'mkfifo go; : > started; read x < go; printf %s "$TOKEN"']
    with (
        watching() as command_lines,
        serving(directory, f"TOKEN={TOKEN}\n".encode()),
        subprocess.Popen(
            [*HOTENV, "run", *BOX, "--", *words], cwd=directory, stdout=subprocess.PIPE
        ) as process,
    ):
        try:
            wait_until((machine.home() / "started").exists, "the command")
            assert TOKEN.encode() not in command_lines()
            (machine.home() / "go").write_text("go\n")
            assert process.communicate(timeout=LIMIT)[0].decode() == TOKEN
        finally:
            process.kill()
    assert machine.left() == []
    assert sorted(os.listdir(machine.home())) == ["go", "started"]
