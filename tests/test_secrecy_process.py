"""Where the secrets of a real server are, and where they are not."""

from __future__ import annotations

import json
import os
import resource
import shlex
import shutil
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

import seccomp
from fakes import claim, has_secret_memory
from processes import (
    HOTENV,
    LIMIT,
    Terminal,
    connect,
    finish,
    hotenv,
    is_clean,
    said,
    serving,
    socket_path,
    start_serve,
    wait_until,
    with_limits,
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


def ask(directory: Path) -> bytes:
    """A request on a plain socket."""
    with connect(directory) as client:
        client.sendall(b'{"command":"run","args":["x"]}\n')
        with client.makefile("rb") as answer:
            return answer.read()


@pytest.fixture
def server(directory: Path) -> Iterator[subprocess.Popen[bytes]]:
    """A server that holds the canary."""
    with serving(directory, TEXT, "-v", stderr=subprocess.DEVNULL) as process:
        yield process


@readable
def test_memory(directory: Path, server: subprocess.Popen[bytes]) -> None:
    """No copy that anybody can read: none with memfd_secret, one in locked memory without."""
    secret = has_secret_memory()
    # Three values of the canary are in the one response.
    expected = 0 if secret else 2
    assert occurrences(server.pid) == expected
    for _ in range(1000):
        assert ask(directory).count(CANARY.encode()) == 2
    assert occurrences(server.pid) == expected


@readable
def test_detached(directory: Path, runtime: Path) -> None:
    """A server in the background is as closed as one in the foreground, and so is its log."""
    assert (
        hotenv("serve", "--detach", "-v", "--log", "log", cwd=directory, stdin=TEXT).returncode == 0
    )
    try:
        pid = json.loads(hotenv("status", "--json", cwd=directory).stdout)["pid"]
        assert ask(directory).count(CANARY.encode()) == 2
        secret = has_secret_memory()
        assert occurrences(pid) == (0 if secret else 2)
        assert os.stat(f"/proc/{pid}/mem").st_uid == 0
        assert resource.prlimit(pid, resource.RLIMIT_CORE) == (0, 0)
        files = [*directory.iterdir(), *runtime.glob("hotenv/*.json")]
        files += [Path(f"/proc/{pid}/{name}") for name in ("cmdline", "environ")]
        for path in files:
            assert CANARY.encode() not in path.read_bytes()
    finally:
        assert hotenv("stop", cwd=directory).returncode == 0


@readable
@pytest.mark.parametrize("options", [[], ["--detach"]], ids=["foreground", "detached"])
def test_no_descriptor_leads_to_a_value(directory: Path, options: list[str]) -> None:
    """Nothing that could be taken from a server with pidfd_getfd is memory, or holds a value."""
    server = start_serve(directory, TEXT, "-q", *options)
    try:
        wait_until((directory / ".hotenv").exists, "the marker")
        assert ask(directory).count(CANARY.encode()) == 2  # by now it holds them
        pid = json.loads(hotenv("status", "--json", cwd=directory).stdout)["pid"]
        paths = list(Path(f"/proc/{pid}/fd").iterdir())
        targets = [os.readlink(path) for path in paths]
        assert any(target.startswith("socket:") for target in targets)  # it was really looked at
        assert [t for t in targets if "mem" in t] == []
        for path in paths:
            if not path.is_socket() and not path.is_char_device() and not path.is_dir():
                assert CANARY.encode() not in all_that_is_left(path)
    finally:
        assert hotenv("stop", cwd=directory).returncode == 0
        finish(server)


def all_that_is_left(path: Path) -> bytes:
    """What can be read of a file or of a pipe without waiting."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
    except OSError:
        return b""  # a pidfd and the like
    with open(descriptor, "rb", buffering=0) as file:
        try:
            return file.read(1_000_000) or b""
        except OSError:
            return b""


@readable
def test_memory_after_a_prompt(directory: Path) -> None:
    """An answer is where the rest is, and nowhere else."""
    (directory / "contract").write_bytes(b"SECRET=?\nOTHER=${SECRET}\n")
    script = f"exec {shlex.join(HOTENV)} serve -p < contract"
    terminal = Terminal(["sh", "-c", script], directory)
    terminal.expect(b"hotenv: SECRET: ")
    terminal.type(f"{CANARY}\n".encode())
    terminal.expect(b"serving 2 variables")
    secret = has_secret_memory()
    assert occurrences(terminal.pid) == (0 if secret else 2)
    assert ask(directory).count(CANARY.encode()) == 2
    terminal.type(b"\x03")
    assert terminal.wait() == 0
    assert CANARY.encode() not in terminal.screen


@readable
def test_the_search_finds_what_is_there(directory: Path) -> None:
    """The same search in a process that holds the canary in ordinary memory."""
    script = f"import sys; secret = '{CANARY[:30]}' + '{CANARY[30:]}' + 'hotenv'; input()"
    with subprocess.Popen([sys.executable, "-c", script], stdin=subprocess.PIPE) as process:
        wait_until(lambda: memory_of(process.pid).count(CANARY.encode()), "the canary")
        process.communicate(b"\n")


def test_nowhere_else(directory: Path, runtime: Path, server: subprocess.Popen[bytes]) -> None:
    """Not on a command line, in an environment, or in any file."""
    for name in ("cmdline", "environ"):
        try:
            content = Path(f"/proc/{server.pid}/{name}").read_bytes()
        except PermissionError:
            continue  # closed to its own user too
        assert CANARY.encode() not in content
    files = [path for top in (directory, runtime) for path in top.rglob("*") if path.is_file()]
    assert files
    for path in files:
        assert CANARY.encode() not in path.read_bytes()


def test_no_core_dump(directory: Path, server: subprocess.Popen[bytes]) -> None:
    """Its core limit is 0, it is closed to its own user, and a crash leaves no core."""
    limits = Path(f"/proc/{server.pid}/limits").read_text()
    core = next(line for line in limits.splitlines() if line.startswith("Max core file size"))
    assert core.split()[4:6] == ["0", "0"]
    assert os.stat(f"/proc/{server.pid}/mem").st_uid == 0  # the kernel's sign of not dumpable
    server.send_signal(signal.SIGSEGV)
    assert server.wait(LIMIT) == -signal.SIGSEGV
    assert [path.name for path in directory.iterdir()] == [".hotenv"]


def test_forced_core(directory: Path, server: subprocess.Popen[bytes]) -> None:
    """A core that a debugger is told to write has no secret, if it gets one at all."""
    gcore = shutil.which("gcore")
    if gcore is None:
        pytest.skip("gcore (of gdb) is not installed")
    core = directory / "core"
    subprocess.run([gcore, "-o", str(core), str(server.pid)], capture_output=True, timeout=LIMIT)
    for path in directory.glob("core*"):
        assert CANARY.encode() not in path.read_bytes()


def test_a_command_has_neither(directory: Path, server: subprocess.Popen[bytes]) -> None:
    """What run starts has the core limit of the caller, and can be debugged."""
    script = "ulimit -c; ulimit -H -c; stat -c %u /proc/self/mem"
    _, hard = resource.getrlimit(resource.RLIMIT_CORE)
    result = hotenv("run", "--", "sh", "-c", script, cwd=directory)
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


@pytest.mark.parametrize("detach", [[], ["--detach"]], ids=["foreground", "detached"])
@pytest.mark.parametrize("option", ["--require-locked-memory", "--require-hardening"])
def test_memory_that_cannot_be_locked(
    directory: Path, runtime: Path, option: str, detach: list[str]
) -> None:
    """It serves with a warning, also with --quiet; not with either option that insists on it."""
    command = _without_lockable_memory()
    with serving(directory, TEXT, "-q", command=command) as server:
        assert hotenv("run", "--", "sh", "-c", 'test "$SECRET"', cwd=directory).returncode == 0
        server.terminate()
        code, words = finish(server)
    assert code == 0
    assert words == (
        "hotenv: warning: cannot lock memory for the values: raise the limit (see 'ulimit -l'): "
        "values may be swapped to disk\n"
    )
    result = subprocess.run(
        [*command, "serve", option, *detach],
        cwd=directory,
        input=TEXT,
        capture_output=True,
        timeout=LIMIT,
    )
    assert result.returncode == 8
    assert said(result) == (
        "hotenv: cannot lock memory for the values: raise the limit (see 'ulimit -l')"
    )
    assert is_clean(directory, runtime)


_LOCK = (
    "cannot lock memory for the values: raise the limit (see 'ulimit -l')",
    "values may be swapped to disk",
)
_CORE = ("cannot disable core dumps (the limit cannot be set)", "values may be written to disk")
_DEBUG = (
    "cannot disable debugging by your other processes (operation not permitted)",
    "they may read the values",
)

PROTECTIONS = [
    pytest.param("prctl", [_DEBUG], id="prctl"),
    pytest.param("prlimit64", [_CORE], id="prlimit64"),
    pytest.param("mlock,memfd_secret", [_LOCK], id="mlock"),
    pytest.param("prctl,prlimit64,mlock,memfd_secret", [_CORE, _DEBUG, _LOCK], id="all"),
]
"""System calls that a filter refuses, and what cannot be done then."""


@pytest.fixture
def filters() -> None:
    """Skips a test where there are no filters for system calls."""
    if not seccomp.is_possible():
        pytest.skip("there are no filters for system calls here")


@pytest.mark.parametrize("detach", [[], ["--detach"]], ids=["foreground", "detached"])
@pytest.mark.parametrize(("names", "problems"), PROTECTIONS)
def test_protections_that_fail(
    directory: Path, names: str, problems: list[tuple[str, str]], detach: list[str], filters: None
) -> None:
    """Each is a warning of one line, also with --quiet, and the values are served."""
    command = [*seccomp.refusing(names), *HOTENV]
    server = start_serve(directory, b"A=1\n", "-q", "--allow-confined", *detach, command=command)
    try:
        wait_until((directory / ".hotenv").exists, "the marker")
        assert hotenv("dump", cwd=directory).stdout == b"A=1\n"
    finally:
        assert hotenv("stop", cwd=directory).returncode == 0
        code, words = finish(server)
    assert code == 0
    assert words.splitlines() == [f"hotenv: warning: {what}: {so}" for what, so in problems]


@pytest.mark.parametrize("detach", [[], ["--detach"]], ids=["foreground", "detached"])
@pytest.mark.parametrize(("names", "problems"), PROTECTIONS)
def test_protections_that_are_required(
    directory: Path,
    runtime: Path,
    names: str,
    problems: list[tuple[str, str]],
    detach: list[str],
    filters: None,
) -> None:
    """The first that fails ends it, and before input is read unless it depends on the input."""
    reader, writer = os.pipe()
    needs_input = problems == [_LOCK]
    if needs_input:
        os.write(writer, b"A=1\n")
        os.close(writer)
    result = subprocess.run(
        [
            *(*seccomp.refusing(names), *HOTENV),
            *("serve", "--require-hardening", "--allow-confined", *detach),
        ],
        cwd=directory,
        stdin=reader,
        capture_output=True,
        timeout=LIMIT,
    )
    os.close(reader)
    if not needs_input:
        os.close(writer)
    assert result.returncode == 8
    assert said(result) == f"hotenv: {problems[0][0]}"
    assert is_clean(directory, runtime)


def test_locked_memory_alone_is_required(directory: Path, filters: None) -> None:
    """--require-locked-memory insists on that, and the rest stays a warning."""
    command = [*seccomp.refusing("prctl"), *HOTENV]
    options = ("--require-locked-memory", "--allow-confined", "-q")
    with serving(directory, b"A=1\n", *options, command=command) as server:
        server.terminate()
        assert finish(server) == (0, f"hotenv: warning: {': '.join(_DEBUG)}\n")


def test_a_check_is_protected_too(directory: Path, filters: None) -> None:
    """--check, which has the values for a moment, warns of what fails as well."""
    command = [*seccomp.refusing("prctl"), *HOTENV]
    result = hotenv("serve", "--check", cwd=directory, stdin=b"A=1\n", command=command)
    assert (result.returncode, result.stdout) == (0, b"A\tliteral\t1\tstandard input\n")
    assert result.stderr.decode() == f"hotenv: warning: {': '.join(_DEBUG)}\n"


@pytest.mark.parametrize("option", ["--require-locked-memory", "--require-hardening"])
def test_required_and_there(directory: Path, option: str) -> None:
    """Where memory can be locked, neither option says anything."""
    with serving(directory, b"A=1\n", option, "-q") as server:
        server.terminate()
        assert finish(server) == (0, "")


def test_max_age(directory: Path, runtime: Path) -> None:
    """It ends at its greatest age although it is asked again and again."""
    server = start_serve(directory, b"A=1\n", "--max-age", "0.7")
    while hotenv("dump", cwd=directory).returncode == 0 or server.poll() is None:
        pass
    code, words = finish(server)
    assert code == 0
    assert words.splitlines()[0].endswith(" (expires after 5m idle or 0.7s in total)")
    assert words.splitlines()[-1] == "hotenv: session expired"
    assert is_clean(directory, runtime, expired=True)


@pytest.fixture
def watchful() -> list[str]:
    """The command, with servers that look for their files all the time."""
    return with_limits({"hotenv.session.claim.LOOK_EVERY": 0.05})


@pytest.mark.parametrize("what", ["socket", "marker", "marker of another", "runtime directory"])
def test_a_server_that_cannot_be_found_ends(
    directory: Path, runtime: Path, what: str, watchful: list[str]
) -> None:
    """Its socket or marker was removed or replaced: it ends, and leaves what is not its own."""
    marker = directory / ".hotenv"
    with serving(directory, command=watchful) as server:
        path = socket_path(directory)
        if what == "socket":
            path.unlink()
            path.write_text("another user's")
        elif what == "marker":
            marker.unlink()
        elif what == "marker of another":
            marker.write_text("socket=/another/one\n")
        else:
            shutil.rmtree(runtime / "hotenv")
        code, words = finish(server)
    assert code == 0
    assert words.splitlines()[-1] == (
        "hotenv: session ended: its marker or socket was removed or replaced"
    )
    assert path.exists() == (what == "socket")
    assert marker.exists() == (what == "marker of another")


def test_how_often_a_server_looks(directory: Path) -> None:
    """Within seconds it notices that clients cannot find it, and not all the time."""

    class Stop(threading.Event):
        """Says after some looks that the session is at its end."""

        def __init__(self) -> None:
            super().__init__()
            self.waited: list[float | None] = []

        def wait(self, timeout: float | None = None) -> bool:
            self.waited.append(timeout)
            return len(self.waited) == 3

    stop = Stop()
    with claim(str(directory)) as session:
        assert not session.wait_until_lost(stop)
        (directory / ".hotenv").unlink()
        assert session.wait_until_lost(stop)
    first, *others = stop.waited
    assert others == [first] * 2
    assert first is not None
    assert 1 <= first <= 5


def test_forced_out(directory: Path, runtime: Path, watchful: list[str]) -> None:
    """A newer session replaced it: it ends, and the newer one stays."""
    with serving(directory, b"A=old\n", command=watchful) as old:
        before = socket_path(directory)
        new = start_serve(directory, b"A=new\n", "--force")
        wait_until(lambda: socket_path(directory) != before, "the newer session")
        assert finish(old)[0] == 0
        assert hotenv("dump", cwd=directory).stdout == b"A=new\n"
        new.terminate()
        assert finish(new)[0] == 0
    assert is_clean(directory, runtime)
