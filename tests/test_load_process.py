"""`hotenv serve` as a process under load, with clients that misbehave and a system that fails."""

from __future__ import annotations

import os
import resource
import select
import shutil
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

import pytest

from fakes import claim
from hotenv.serving import server as server_module
from processes import (
    HOTENV,
    LIMIT,
    finish,
    hotenv,
    is_clean,
    said,
    serving,
    socket_path,
    wait_until,
    with_limits,
)

DUMP = b'{"command":"dump"}\n'
CROWD = 1000
SILENT = 500
MEBI = 1024 * 1024

SLACK = 4 * MEBI
"""Bytes by which a server may be larger than after its first crowd. A leak is a multiple."""


LIMITED = """
import os, resource, sys
most, inherited, *command = sys.argv[1:]
hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
resource.setrlimit(resource.RLIMIT_NOFILE, (int(most), hard))
for number in range(3, 3 + int(inherited)):
    os.dup2(0, number)
os.execvp(command[0], command)
"""


def limited(descriptors: int, inherited: int = 0) -> list[str]:
    """The command with a limit of descriptors, of which some are taken from the start."""
    return [sys.executable, "-c", LIMITED, str(descriptors), str(inherited), *HOTENV]


@pytest.fixture(autouse=True)
def descriptors() -> Iterator[None]:
    """Enough for a crowd in this process."""
    before = resource.getrlimit(resource.RLIMIT_NOFILE)
    if before[1] < CROWD + 200:
        pytest.skip(f"needs {CROWD} descriptors, the hard limit is {before[1]}")
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(before[0], CROWD + 200), before[1]))
    yield
    resource.setrlimit(resource.RLIMIT_NOFILE, before)


class Server:
    """A server, its socket, and what it has to answer."""

    def __init__(self, process: subprocess.Popen[bytes], directory: Path, value: bytes) -> None:
        self.process = process
        self.path = str(socket_path(directory))
        self.response = b'{"env":{"A":"%b"}}\n' % value

    def connect(self, request: bytes = b"") -> socket.socket:
        """A connection over which ``request`` was sent, as far as the server took it."""
        client = socket.socket(socket.AF_UNIX)
        client.settimeout(LIMIT)
        client.connect(self.path)
        with suppress(ConnectionError):  # it has refused it before the end
            client.sendall(request)
        return client

    def ask(self) -> bytes:
        """The answer to an ordinary client."""
        return received(self.connect(DUMP))

    def size(self) -> int:
        """Its memory in bytes."""
        status = Path(f"/proc/{self.process.pid}/status").read_text()
        return int(status.partition("VmRSS:")[2].split()[0]) * 1024

    def connections(self) -> int:
        """How many it has."""
        sockets = Path("/proc/net/unix").read_text().splitlines()
        return sum(line.endswith(self.path) for line in sockets) - 1


def received(client: socket.socket) -> bytes:
    """Everything up to the end of the connection."""
    answer = b""
    with client, suppress(ConnectionResetError):
        while data := client.recv(MEBI):
            answer += data
    return answer


@contextmanager
def unharmed(
    directory: Path,
    runtime: Path,
    *,
    size: int = 1,
    command: Sequence[str] = (),
    ended: bool = False,
) -> Iterator[Server]:
    """A server that has answered, closed and cleaned up everything when it is over.

    Its variable has ``size`` bytes, and it has a warning to say. ``ended``: the block ends it.
    """
    value = b"x" * size
    words = directory / "words"
    with (
        words.open("wb") as file,
        serving(
            directory, b"A=" + value + b"\nB\n", "-v", stderr=file.fileno(), command=command
        ) as process,
    ):
        server = Server(process, directory, value)
        yield server
        if not ended:
            assert server.ask() == server.response
            wait_until(lambda: not server.connections(), "the end of all connections")
            process.terminate()
        assert finish(process)[0] == 0
    assert "Traceback" not in words.read_text()
    assert is_clean(directory, runtime)


# Crowds


def crowd(server: Server) -> None:
    """All at once, and each gets its answer."""
    clients = [server.connect(DUMP) for _ in range(CROWD)]
    for client in clients:
        assert received(client) == server.response


def silent(server: Server) -> None:
    """Many that never speak, or not to the end; another client is answered meanwhile."""
    with ExitStack() as stack:
        for number in range(SILENT):
            stack.enter_context(server.connect(DUMP[: number % 3]))
        assert server.ask() == server.response


def gone(server: Server) -> None:
    """Many that do not wait for their answer."""
    for _ in range(SILENT):
        server.connect(DUMP).close()


def garbage(server: Server) -> None:
    """8 MiB that are no request, each in its own way; it is said so."""
    size = 8 * MEBI - 1
    for line in (
        bytes(size + 2),
        b"[" * size + b"\n",
        b"[" + b"[]," * (size // 3 - 1) + b"0]\n",
        DUMP * (size // len(DUMP)),
    ):
        assert received(server.connect(line)).startswith(b'{"error":"BAD_REQUEST"')


@pytest.mark.parametrize(
    ("misuse", "command"),
    [
        pytest.param(crowd, HOTENV, id="1000 clients"),
        pytest.param(crowd, limited(64), id="1000 clients, 64 descriptors"),
        pytest.param(silent, HOTENV, id="500 silent"),
        pytest.param(silent, limited(64), id="500 silent, 64 descriptors"),
        pytest.param(silent, limited(20), id="500 silent, 20 descriptors"),
        pytest.param(gone, HOTENV, id="500 that go away"),
        pytest.param(garbage, HOTENV, id="8 MiB of garbage"),
    ],
)
def test_misuse(
    directory: Path, runtime: Path, misuse: Callable[[Server], None], command: list[str]
) -> None:
    """All other clients are served; its memory is the same the second time as the first."""
    with unharmed(directory, runtime, command=command) as server:
        misuse(server)
        wait_until(lambda: not server.connections(), "the end of all connections")
        before = server.size()
        misuse(server)
        wait_until(lambda: server.size() < before + SLACK, "the memory to come back")


def test_slow_clients(directory: Path, runtime: Path) -> None:
    """A byte now and then, none at all, none taken: all are dropped, and no client waits."""
    assert server_module.EXCHANGE_TIMEOUT == 5
    command = with_limits({"hotenv.serving.server.EXCHANGE_TIMEOUT": 2})
    with unharmed(directory, runtime, size=2 * MEBI, command=command) as server:
        quiet = [server.connect() for _ in range(SILENT)]
        deaf = server.connect(DUMP)
        slow = server.connect(DUMP[:1])
        for byte in DUMP[1:]:
            assert server.ask() == server.response
            if select.select([slow], [], [], 0.3)[0]:
                break  # it was dropped
            slow.send(bytes([byte]))
        assert received(slow) == b""
        assert {received(client) for client in quiet} == {b""}
        wait_until(lambda: server.connections() == 0, "the deaf one to be dropped")
        answer = received(deaf)
        assert server.response.startswith(answer)
        assert len(answer) < len(server.response)


def test_large_answers_and_few_places(directory: Path, runtime: Path) -> None:
    """Clients that are slow to read fill all places: who has sent a request is not dropped."""
    with unharmed(directory, runtime, size=MEBI, command=limited(64)) as server:
        for client in [server.connect(DUMP) for _ in range(100)]:
            assert received(client) == server.response


def test_signal_in_a_crowd(directory: Path, runtime: Path) -> None:
    """Each has its whole answer or none; the silent ones do not keep it up."""
    command = with_limits({"hotenv.serving.server.GRACE_PERIOD": 0.5})
    with unharmed(directory, runtime, ended=True, command=command) as server:
        clients = [server.connect(DUMP) for _ in range(SILENT)]
        quiet = [server.connect() for _ in range(SILENT)]
        server.process.terminate()
        assert {received(client) for client in clients} <= {b"", server.response}
        assert {received(client) for client in quiet} == {b""}


# What the system does


def test_more_descriptors_in_use_than_expected(directory: Path, runtime: Path) -> None:
    """Its parent left many open, so that there are fewer than its capacity: it goes on."""
    with unharmed(directory, runtime, command=limited(64, inherited=40)) as server:
        silent(server)
        crowd(server)


@pytest.mark.parametrize("stderr", ["2>&-", "2>/dev/full"])
def test_nowhere_to_write(directory: Path, runtime: Path, stderr: str) -> None:
    """No log and no warnings, and nothing else is different; nor are other exit codes."""
    command = ["sh", "-c", f'exec "$@" {stderr}', "sh", *HOTENV]
    with unharmed(directory, runtime, command=command) as server:
        for _ in range(50):
            assert server.ask() == server.response
        assert subprocess.run([*command, "serve"], cwd=directory, timeout=LIMIT).returncode == 10


def test_directory_removed(directory: Path, runtime: Path) -> None:
    """A connected client is answered; no other can come, so it ends soon and by itself."""
    inner = directory / "inner"
    inner.mkdir()
    command = with_limits({"hotenv.session.claim.LOOK_EVERY": 0.5})
    with serving(inner, command=command) as process:
        server = Server(process, inner, b"1")
        client = server.connect()
        assert server.ask() == server.response  # so the other one is not in the queue any more
        shutil.rmtree(inner)
        client.sendall(DUMP)
        assert received(client) == server.response
        code, words = finish(process)
    assert code == 0
    assert words.splitlines()[-1].startswith("hotenv: session ended: its marker or socket was remo")
    assert is_clean(directory, runtime)
    assert "no .hotenv" in said(hotenv("dump", cwd=directory))


@pytest.mark.parametrize("what", ["marker", "directory", "socket", "runtime directory"])
@pytest.mark.parametrize("how", ["removed", "replaced"])
def test_lost(directory: Path, runtime: Path, what: str, how: str) -> None:
    """The marker and the socket have to be those of the session, or no client finds it."""
    inner = directory / "inner"
    inner.mkdir()
    with claim(str(inner)) as session:
        assert session.can_be_found()
        marker, path = Path(session.marker_path), Path(session.socket_path)
        lost = {
            "marker": marker,
            "directory": inner,
            "socket": path,
            "runtime directory": path.parent,
        }
        lost[what].rename(runtime / "elsewhere")
        if how == "replaced":
            lost[what].mkdir() if "directory" in what else lost[what].touch()
        assert session.can_be_found() == (what == "directory")  # it is held, whatever its name
    assert lost[what].exists() == (how == "replaced")


def test_no_descriptor_to_look_at_the_marker(directory: Path) -> None:
    """A session is not taken for lost because there is none left to look at its marker."""
    with claim(str(directory)) as session:
        limit = resource.getrlimit(resource.RLIMIT_NOFILE)
        free = os.open(os.devnull, os.O_RDONLY)
        os.close(free)
        resource.setrlimit(resource.RLIMIT_NOFILE, (free, limit[1]))
        try:
            assert session.can_be_found()
        finally:
            resource.setrlimit(resource.RLIMIT_NOFILE, limit)
