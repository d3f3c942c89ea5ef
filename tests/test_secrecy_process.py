"""Where the secrets of a real server are, and where they are not."""

from __future__ import annotations

import json
import os
import resource
import shlex
import shutil
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from hotenv.intake import lockedmemory
from processes import (
    HOTENV,
    LIMIT,
    Terminal,
    finish,
    hotenv,
    is_clean,
    said,
    serving,
    socket_path,
    start_serve,
    wait_until,
)

CANARY = "c4n4ry" + "0123456789abcdef" * 4
TEXT = f"SECRET={CANARY}\nOTHER='{CANARY[::-1]}'\nBOTH=${{SECRET}}\n".encode()

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="reads /proc of a process")

readable = pytest.mark.skipif(
    os.geteuid() != 0, reason="a server's memory is closed to its own user: needs root to look"
)


def memory_of(pid: int) -> bytes:
    """All of a process's memory that can be read."""
    pieces = []
    with open(f"/proc/{pid}/mem", "rb", buffering=0) as memory:
        for line in Path(f"/proc/{pid}/maps").read_text().splitlines():
            start, end = (int(part, 16) for part in line.split()[0].split("-"))
            try:
                memory.seek(start)
                pieces.append(memory.read(end - start))
            except (OSError, OverflowError, ValueError):
                continue  # not readable: guard pages, [vvar], secret memory
    return b"\0".join(pieces)


def occurrences(pid: int) -> int:
    """How often the secrets are in a process's readable memory, in either direction."""
    memory = memory_of(pid)
    assert b"hotenv" in memory  # it was really read
    return max(memory.count(CANARY.encode()), memory.count(CANARY[::-1].encode()))


def ask(path: str) -> bytes:
    """A request on a plain socket."""
    with socket.socket(socket.AF_UNIX) as client:
        client.connect(path)
        client.sendall(b'{"command":"run","args":["x"]}\n')
        with client.makefile("rb") as answer:
            return answer.read()


@pytest.fixture
def server(folder: Path) -> Iterator[subprocess.Popen[bytes]]:
    """A server that holds the canary."""
    with serving(folder, TEXT, "-v", stderr=subprocess.DEVNULL) as process:
        yield process


@readable
def test_memory(folder: Path, server: subprocess.Popen[bytes]) -> None:
    """No copy that anybody can read: none with memfd_secret, one in locked memory without."""
    secret = lockedmemory._secret_mapping(1) is not None
    # Three values of the canary are in the one response.
    expected = 0 if secret else 2
    assert occurrences(server.pid) == expected
    path = (folder / ".hotenv").read_text().strip().removeprefix("socket=")
    for _ in range(1000):
        assert ask(path).count(CANARY.encode()) == 2
    assert occurrences(server.pid) == expected


@readable
def test_detached(folder: Path, runtime: Path) -> None:
    """A server in the background is as closed as one in the foreground, and so is its log."""
    assert hotenv("serve", "--detach", "-v", "--log", "log", cwd=folder, stdin=TEXT).returncode == 0
    try:
        pid = json.loads(hotenv("status", "--json", cwd=folder).stdout)["pid"]
        assert ask(str(socket_path(folder))).count(CANARY.encode()) == 2
        secret = lockedmemory._secret_mapping(1) is not None
        assert occurrences(pid) == (0 if secret else 2)
        assert os.stat(f"/proc/{pid}/mem").st_uid == 0
        assert resource.prlimit(pid, resource.RLIMIT_CORE) == (0, 0)
        files = [*folder.iterdir(), *runtime.glob("hotenv/*.json")]
        files += [Path(f"/proc/{pid}/{name}") for name in ("cmdline", "environ")]
        for path in files:
            assert CANARY.encode() not in path.read_bytes()
    finally:
        assert hotenv("stop", cwd=folder).returncode == 0


@readable
def test_memory_after_a_prompt(folder: Path) -> None:
    """An answer is where the rest is, and nowhere else."""
    (folder / "contract").write_bytes(b"SECRET=?\nOTHER=${SECRET}\n")
    script = f"exec {shlex.join(HOTENV)} serve -p < contract"
    terminal = Terminal(["sh", "-c", script], folder)
    terminal.expect(b"hotenv: SECRET: ")
    terminal.type(f"{CANARY}\n".encode())
    terminal.expect(b"serving 2 variables")
    secret = lockedmemory._secret_mapping(1) is not None
    assert occurrences(terminal.pid) == (0 if secret else 2)
    path = (folder / ".hotenv").read_text().strip().removeprefix("socket=")
    assert ask(path).count(CANARY.encode()) == 2
    terminal.type(b"\x03")
    assert terminal.wait() == 0
    assert CANARY.encode() not in terminal.screen


@readable
def test_the_search_finds_what_is_there(folder: Path) -> None:
    """The same search in a process that holds the canary as everybody does."""
    script = f"import sys; secret = '{CANARY[:30]}' + '{CANARY[30:]}' + 'hotenv'; input()"
    with subprocess.Popen([sys.executable, "-c", script], stdin=subprocess.PIPE) as process:
        wait_until(lambda: memory_of(process.pid).count(CANARY.encode()), "the canary")
        process.communicate(b"\n")


def test_nowhere_else(folder: Path, runtime: Path, server: subprocess.Popen[bytes]) -> None:
    """Not on a command line, in an environment, or in any file."""
    for name in ("cmdline", "environ"):
        try:
            content = Path(f"/proc/{server.pid}/{name}").read_bytes()
        except PermissionError:
            continue  # closed to its own user too
        assert CANARY.encode() not in content
    files = [path for top in (folder, runtime) for path in top.rglob("*") if path.is_file()]
    assert files
    for path in files:
        assert CANARY.encode() not in path.read_bytes()


def test_no_core_dump(folder: Path, server: subprocess.Popen[bytes]) -> None:
    """Its core limit is 0, it is closed to its own user, and a crash leaves no core."""
    limits = Path(f"/proc/{server.pid}/limits").read_text()
    core = next(line for line in limits.splitlines() if line.startswith("Max core file size"))
    assert core.split()[4:6] == ["0", "0"]
    assert os.stat(f"/proc/{server.pid}/mem").st_uid == 0  # the kernel's sign of not dumpable
    server.send_signal(signal.SIGSEGV)
    assert server.wait(LIMIT) == -signal.SIGSEGV
    assert [path.name for path in folder.iterdir()] == [".hotenv"]


def test_forced_core(folder: Path, server: subprocess.Popen[bytes]) -> None:
    """A core that a debugger is told to write has no secret, if it gets one at all."""
    gcore = shutil.which("gcore")
    if gcore is None:
        pytest.skip("gcore (of gdb) is not installed")
    core = folder / "core"
    subprocess.run([gcore, "-o", str(core), str(server.pid)], capture_output=True, timeout=LIMIT)
    for path in folder.glob("core*"):
        assert CANARY.encode() not in path.read_bytes()


def test_a_command_has_neither(folder: Path, server: subprocess.Popen[bytes]) -> None:
    """What run starts has the core limit of the caller, and can be debugged."""
    script = "ulimit -c; ulimit -H -c; stat -c %u /proc/self/mem"
    _, hard = resource.getrlimit(resource.RLIMIT_CORE)
    result = hotenv("run", "--", "sh", "-c", script, cwd=folder)
    own = subprocess.run(["sh", "-c", script], capture_output=True)
    assert result.stdout == own.stdout
    assert hard != 0 or result.stdout.startswith(b"0")


def _without_lockable_memory() -> list[str]:
    limit = [sys.executable, "-c"]
    limit.append(
        "import os, resource, sys; resource.setrlimit(resource.RLIMIT_MEMLOCK, (0, 0)); "
        "os.execvp(sys.argv[1], sys.argv[1:])"
    )
    if os.geteuid() != 0:
        return [*limit, *HOTENV]
    if shutil.which("setpriv") is None:
        pytest.skip("root needs setpriv to be bound by a limit")
    return [*limit, "setpriv", "--bounding-set=-ipc_lock", "--inh-caps=-ipc_lock", *HOTENV]


def test_memory_that_cannot_be_locked(folder: Path, runtime: Path) -> None:
    """It serves with a warning, also with --quiet; with --require-locked-memory it does not."""
    command = _without_lockable_memory()
    with serving(folder, TEXT, "-q", command=command) as server:
        assert hotenv("run", "--", "sh", "-c", 'test "$SECRET"', cwd=folder).returncode == 0
        server.terminate()
        code, words = finish(server)
    assert code == 0
    assert words.startswith("hotenv: warning: the memory for the secrets cannot be locked")
    result = subprocess.run(
        [*command, "serve", "--require-locked-memory"],
        cwd=folder,
        input=TEXT,
        capture_output=True,
        timeout=LIMIT,
    )
    assert result.returncode == 8
    assert "cannot be locked" in said(result)
    assert is_clean(folder, runtime)


def test_required_and_there(folder: Path) -> None:
    """Where memory can be locked, --require-locked-memory says nothing."""
    with serving(folder, b"A=1\n", "--require-locked-memory", "-q") as server:
        server.terminate()
        assert finish(server) == (0, "")


def test_max_age(folder: Path, runtime: Path) -> None:
    """It ends at its greatest age although it is asked again and again."""
    with serving(folder, b"A=1\n", "--max-age", "1") as server:
        while hotenv("dump", cwd=folder).returncode == 0:
            pass
        code, words = finish(server)
    assert code == 0
    assert "1s at most" in words
    assert is_clean(folder, runtime)


@pytest.mark.parametrize("what", ["socket", "marker", "marker of another", "runtime folder"])
def test_a_holder_nobody_can_find_ends(folder: Path, runtime: Path, what: str) -> None:
    """Its socket or marker was removed or replaced: it ends, and leaves what is not its own."""
    marker = folder / ".hotenv"
    with serving(folder) as server:
        path = Path(marker.read_text().strip().removeprefix("socket="))
        if what == "socket":
            path.unlink()
            path.write_text("somebody's")
        elif what == "marker":
            marker.unlink()
        elif what == "marker of another":
            marker.write_text("socket=/another/one\n")
        else:
            shutil.rmtree(runtime / "hotenv")
        code, words = finish(server)
    assert code == 0
    assert "removed or replaced" in words
    assert path.exists() == (what == "socket")
    assert marker.exists() == (what == "marker of another")


def test_forced_out(folder: Path, runtime: Path) -> None:
    """A newer session replaced it: it ends, and the newer one stays."""
    with serving(folder, b"A=old\n") as old:
        before = (folder / ".hotenv").read_text()
        new = start_serve(folder, b"A=new\n", "--force")
        wait_until(lambda: (folder / ".hotenv").read_text() != before, "the newer session")
        assert finish(old)[0] == 0
        assert hotenv("dump", cwd=folder).stdout == b"A=new\n"
        new.terminate()
        assert finish(new)[0] == 0
    assert is_clean(folder, runtime)
