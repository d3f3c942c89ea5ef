"""confinement: who has NoNewPrivs or is out of sight, from fake texts of /proc and real peers."""

from __future__ import annotations

import errno
import os
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
import trio

from hotenv.errors import SystemFailureError
from hotenv.exchange import protocol
from hotenv.serving import confinement
from hotenv.serving.confinement import (
    CONFINED,
    UNSEEN,
    can_refuse,
    has_no_new_privs,
    obstacle,
    start_time,
    why_refused,
)
from hotenv.serving.events import Event, Outcome
from hotenv.serving.server import hold
from hotenv.serving.watchdog import Watchdog
from hotenv.session.clock import boot_time
from processes import LIMIT, NO_NEW_PRIVS, can_be_refused

STATUS = b"Name:\tpython\nUmask:\t0022\nState:\t%s\nTgid:\t7\n%sSeccomp:\t0\n"
SLEEPS = b"S (sleeping)"


@pytest.mark.parametrize(
    ("status", "expected"),
    [
        pytest.param(STATUS % (SLEEPS, b"NoNewPrivs:\t0\n"), False, id="free"),
        pytest.param(STATUS % (SLEEPS, b"NoNewPrivs:\t1\n"), True, id="confined"),
        pytest.param(STATUS % (b"R (running)", b"NoNewPrivs:\t1\n"), True, id="running"),
        pytest.param(STATUS % (SLEEPS, b""), None, id="a kernel before 4.10"),
        pytest.param(STATUS % (SLEEPS, b"NoNewPrivs:\t\n"), None, id="no number"),
        pytest.param(STATUS % (SLEEPS, b"NoNewPrivs:\t2\n"), None, id="another number"),
        pytest.param(STATUS % (b"Z (zombie)", b"NoNewPrivs:\t0\n"), None, id="exited"),
        pytest.param(STATUS % (b"X (dead)", b"NoNewPrivs:\t0\n"), None, id="dead"),
        pytest.param(b"", None, id="empty"),
        pytest.param(
            (STATUS % (SLEEPS, b"NoNewPrivs:\t1\n")).replace(b"python", rb"a\nNoNewPrivs:\t0\nb"),
            True,
            id="a name that looks like it",
        ),
    ],
)
def test_status(status: bytes, expected: bool | None) -> None:
    """What is not said clearly is not known."""
    assert has_no_new_privs(status) is expected


@pytest.mark.parametrize("name", [b"python", b"a) S 1", b"(a b)"])
def test_start_time(name: bytes) -> None:
    """The 22nd field, whatever the second is, a name in parentheses."""
    ticks = os.sysconf("SC_CLK_TCK")
    fields = b" ".join(b"%d" % number for number in range(4, 22))
    stat = b"7 (%s) S %s %d 23 24\n" % (name, fields, 5 * ticks // 2)
    assert start_time(stat) == 2.5


linux = pytest.mark.skipif(sys.platform != "linux", reason="only Linux has NoNewPrivs")


@linux
def test_start_of_a_real_process() -> None:
    """It is on the clock that the server reads, and this process began before now."""
    stat = Path("/proc/self/stat").read_bytes()
    assert 0 < start_time(stat) < boot_time()


@linux
def test_nothing_in_the_way() -> None:
    """What this process sees of itself is what it is."""
    confined = b"\nNoNewPrivs:\t1\n" in Path("/proc/self/status").read_bytes()
    assert obstacle() == ("the server has NoNewPrivs itself" if confined else None)
    assert can_refuse() != confined


@linux
@pytest.mark.parametrize(
    ("link", "status", "problem"),
    [
        ("other", STATUS % (SLEEPS, b"NoNewPrivs:\t0\n"), "/proc shows another PID namespace"),
        ("own", STATUS % (SLEEPS, b"NoNewPrivs:\t1\n"), "the server has NoNewPrivs itself"),
        ("own", STATUS % (SLEEPS, b""), "/proc does not tell"),
        ("own", None, "/proc is not there"),
        ("none", None, "/proc is not there"),
    ],
)
def test_obstacles(
    link: str, status: bytes | None, problem: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each is named, and no client is refused then."""

    def readlink(_path: str) -> str:
        if link == "none":
            raise FileNotFoundError
        return str(os.getpid() if link == "own" else os.getpid() + 1)

    def read(*_where: object) -> bytes:
        if status is None:
            raise FileNotFoundError
        return status

    monkeypatch.setattr(os, "readlink", readlink)
    monkeypatch.setattr(confinement, "_read", read)
    assert obstacle() == problem
    assert not can_refuse()


# Real peers

_CONNECT = """
import socket, sys
connection = socket.socket(socket.AF_UNIX)
connection.connect(sys.argv[1])
connection.sendall(b'{"command":"dump"}\\n')
sys.stdin.read()
"""


@contextmanager
def peer(path: Path, *prefix: str) -> Iterator[tuple[socket.socket, subprocess.Popen[bytes]]]:
    """The server's end of a connection, and the process that has made it and sent a request."""
    command = [*prefix, sys.executable, "-c", _CONNECT, str(path)]
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(path))
        listener.listen()
        listener.settimeout(LIMIT)
        with subprocess.Popen(command, stdin=subprocess.PIPE) as process:
            connection, _ = listener.accept()
            with connection:
                yield connection, process
            process.kill()


@pytest.fixture(params=["pidfd", "older kernel"])
def kernel(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """This kernel, and what it would be without SO_PEERPIDFD."""
    if request.param == "older kernel":
        monkeypatch.setattr(confinement, "_SO_PEERPIDFD", 9999)


@linux
def test_a_free_peer(runtime: Path, kernel: None) -> None:
    """It is answered, as far as it goes."""
    if not can_be_refused():
        pytest.skip("this process has NoNewPrivs, and so have its children")
    with peer(runtime / "s") as (connection, _):
        assert why_refused(connection, boot_time()) is None


@linux
def test_a_confined_peer(runtime: Path, kernel: None) -> None:
    """It is known as one."""
    with peer(runtime / "s", *NO_NEW_PRIVS) as (connection, _):
        assert why_refused(connection, boot_time()) == CONFINED


@linux
@pytest.mark.parametrize("reaped", [True, False])
def test_a_peer_that_is_gone(runtime: Path, kernel: None, reaped: bool) -> None:
    """Nothing is known of it, whether its parent has noticed or not."""
    with peer(runtime / "s") as (connection, process):
        process.kill()
        os.waitid(os.P_PID, process.pid, os.WEXITED | (0 if reaped else os.WNOWAIT))
        assert why_refused(connection, boot_time()) == UNSEEN


@linux
def test_a_number_that_another_process_got(runtime: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where only numbers are known, a process that is younger than the connection is not it."""
    monkeypatch.setattr(confinement, "_SO_PEERPIDFD", 9999)
    with peer(runtime / "s") as (connection, process):
        started = start_time(Path(f"/proc/{process.pid}/stat").read_bytes())
        assert why_refused(connection, started) in (None, CONFINED)
        assert why_refused(connection, started - 0.1) == UNSEEN


@linux
def test_exits_while_it_is_looked_at(runtime: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What was read may be another process's by now, so it does not count."""
    with peer(runtime / "s") as (connection, process):

        def read(pid: int | str, name: str) -> bytes:
            content = Path(f"/proc/{pid}/{name}").read_bytes()
            process.kill()
            process.wait()
            return content

        monkeypatch.setattr(confinement, "_read", read)
        assert why_refused(connection, boot_time()) == UNSEEN


@linux
def test_no_descriptor_is_left(runtime: Path, kernel: None) -> None:
    """However it ends."""
    with peer(runtime / "s") as (connection, process):
        before = os.listdir("/proc/self/fd")
        why_refused(connection, boot_time())
        process.kill()
        process.wait()
        why_refused(connection, boot_time())
        assert os.listdir("/proc/self/fd") == before


@linux
def test_this_process_is_its_own_peer() -> None:
    """It is trusted with what it has, whatever it is and whatever may be seen of it."""
    ours, theirs = socket.socketpair()
    with ours, theirs:
        assert why_refused(ours, -1) is None


@linux
@pytest.mark.parametrize("number", [1, 13, 92, 107])
def test_a_kernel_that_does_not_tell(number: int) -> None:
    """Nobody is seen then."""

    class Mute:
        def getsockopt(self, _level: int, _name: int, _size: int, /) -> bytes:
            raise OSError(number, os.strerror(number))

    assert why_refused(Mute(), boot_time()) == UNSEEN


@linux
def test_no_descriptors(runtime: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """That says nothing about the peer, and nothing about /proc."""

    def read(*_where: object) -> bytes:
        raise OSError(errno.EMFILE, os.strerror(errno.EMFILE))

    monkeypatch.setattr(confinement, "_read", read)
    with peer(runtime / "s") as (connection, _), pytest.raises(OSError, match="Too many open"):
        why_refused(connection, boot_time())
    with pytest.raises(SystemFailureError, match="cannot read /proc/self/status: too many open"):
        obstacle()


@linux
@pytest.mark.parametrize("allowed", [False, True])
@pytest.mark.parametrize("prefix", [(), NO_NEW_PRIVS], ids=["free", "confined"])
def test_server(runtime: Path, prefix: tuple[str, ...], allowed: bool) -> None:
    """A confined client gets no variables, unless it is allowed; it is an event, and no use."""
    if not can_be_refused():
        pytest.skip("this process has NoNewPrivs, so its servers refuse nobody")
    refused = bool(prefix) and not allowed
    events: list[Event] = []

    async def serve(listener: socket.socket) -> bool:
        over = trio.Event()

        def take(event: Event) -> None:
            events.append(event)
            over.set()

        watchdog = Watchdog(300)
        await hold(
            trio.SocketListener(trio.socket.from_stdlib_socket(listener)),
            protocol.encode_response({"A": "1"}),
            watchdog,
            wait_for_signal=over.wait,
            on_event=take,
            allow_confined=allowed,
        )
        return watchdog.touched.is_set()

    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(runtime / "s"))
        listener.listen()
        command = [*prefix, sys.executable, "-c", _CONNECT, str(runtime / "s")]
        with subprocess.Popen(command, stdin=subprocess.PIPE) as process:
            extended = trio.run(serve, listener)
            process.kill()
    (event,) = events
    assert event.outcome is (Outcome.REFUSED if refused else Outcome.ANSWERED)
    assert event.refused_to == (CONFINED if refused else None)
    assert (event.answered is None) == refused
    assert event.pid == process.pid
    assert extended != refused


@linux
async def test_a_listener_of_another_kind() -> None:
    """Its clients have no process that the kernel would name: who made it decides."""
    answers: list[bytes] = []
    listener = (await trio.open_tcp_listeners(0, host="127.0.0.1"))[0]
    over = trio.Event()
    response = protocol.encode_response({"A": "1"})
    async with trio.open_nursery() as nursery:

        async def ask() -> None:
            port = listener.socket.getsockname()[1]
            async with await trio.open_tcp_stream("127.0.0.1", port) as client:
                await client.send_all(b'{"command":"dump"}\n')
                answers.append(await client.receive_some())
            over.set()

        nursery.start_soon(ask)
        await hold(listener, response, Watchdog(300), wait_for_signal=over.wait)
    assert answers == [response]
