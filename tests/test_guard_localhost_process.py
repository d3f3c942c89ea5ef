"""--allow-localhost: TCP to this machine works as without a guard, and nothing else does."""

from __future__ import annotations

import errno
import os
import socket
import subprocess
import sys
import threading
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from guarded import PYTHON, freely, guard, needs_compiler, needs_guards, open_directory
from guarded import probe as probe  # a fixture
from hotenv.guards import syscalls as k
from namespaces import OUTSIDE, cable, needs_namespaces
from processes import HOTENV, LIMIT, needs, wait_until

pytestmark = needs_guards

LOCAL = "--allow-localhost"


@contextmanager
def listening(host: str = "127.0.0.1", backlog: int = 64) -> Iterator[socket.socket]:
    """A socket that listens on this machine; it can be asked whether anybody came."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    with socket.socket(family) as listener:
        listener.bind((host, 0))
        listener.listen(backlog)
        listener.setblocking(False)
        yield listener


def port_of(listener: socket.socket) -> str:
    """As a word."""
    return str(listener.getsockname()[1])


def free_port() -> str:
    """A port that nobody has, and that is given to nobody who does not ask for it."""
    for port in range(20_000 + os.getpid() % 10_000, 32_000):
        with socket.socket() as one, suppress(OSError):
            one.bind(("127.0.0.1", port))
            return str(port)
    raise AssertionError("there is none")


def somebody_came(listener: socket.socket) -> bool:
    """Whether there was a connection."""
    try:
        listener.accept()[0].close()
    except BlockingIOError:
        return False
    return True


def python(script: str, *words: str, cwd: Path, guards: list[str] | None = None) -> tuple[int, str]:
    """Run ``script`` under the exception; the status, and what it said."""
    guards = [LOCAL] if guards is None else guards
    result = guard(*guards, "--", PYTHON, "-c", script, *words, cwd=cwd)
    return result.status, result.out + result.err


BOTH_ENDS = """
import socket, sys, threading
for family, host in ((2, "127.0.0.1"), (2, "127.1.2.3"), (10, "::1"), (10, "::ffff:127.0.0.1")):
    if family == 10 and not socket.has_dualstack_ipv6():
        continue
    server = socket.socket(family)
    if family == 10:
        server.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 0)
    server.bind((host, 0))
    server.listen()
    client = socket.socket(family)
    client.connect(server.getsockname())
    one, peer = server.accept()
    assert peer == client.getsockname()
    client.sendall(b"hello")
    assert one.recv(5) == b"hello"
    try:
        client.connect(server.getsockname())
    except OSError as error:
        assert error.errno == 106, error  # EISCONN
    else:
        raise SystemExit("connected twice")
print("done")
"""


def test_server_and_client(tmp_path: Path) -> None:
    """Both in the guard, at each spelling of this machine."""
    assert python(BOTH_ENDS, cwd=tmp_path) == (0, "done\n")


@needs_compiler
@pytest.mark.parametrize("host", ["127.0.0.1", "::1"])
def test_outside_server(host: str, tmp_path: Path) -> None:
    """A server of this machine that runs without a guard."""
    with listening(host) as server:
        script = f"import socket; socket.create_connection(({host!r}, {port_of(server)}))"
        assert python(script, cwd=tmp_path) == (0, "")
        assert somebody_came(server)


@needs_compiler
@pytest.mark.parametrize(
    ("words", "what"),
    [
        (["mptcp", "PORT"], "socket"),
        (["udp", "PORT", "sendto"], "send"),
        (["udp", "PORT", "sendmsg"], "send"),
        (["udp", "PORT", "sendmmsg"], "send"),
        (["fast open", "PORT"], "send"),
        (["bind", "0"], "bind"),
        (["listen"], "listen"),
        (["multicast"], "setsockopt"),
        (["socket", "2", "3", "1"], "socket"),  # raw
        (["socket", "2", "2", "136"], "socket"),  # UDP-Lite
        (["socket", "2", "1", "132"], "socket"),  # SCTP
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_what_stays_closed(words: list[str], what: str, probe: str, tmp_path: Path) -> None:
    """All but TCP to an address of the loopback interface."""
    with listening() as server:
        words = [word.replace("PORT", port_of(server)) for word in words]
        without = freely(probe, *words, cwd=tmp_path)
        if without:
            pytest.skip(f"not possible here: {errno.errorcode.get(without)}")
        while somebody_came(server):
            pass
        result = guard(LOCAL, "--", probe, *words, cwd=tmp_path)
        assert not somebody_came(server)
    assert (result.status, result.counted) == (2, [what]), result


ELSEWHERE = """
import errno, socket, sys
for family, host in ((2, "0.0.0.0"), (10, "::"), (10, "::ffff:0.0.0.0"), (10, "::127.0.0.1"),
                     (2, "169.254.169.254"), (2, "10.77.0.1"), (10, "fe80::1"), (2, "128.0.0.1")):
    for call in ("connect", "bind"):
        one = socket.socket(family)
        try:
            getattr(one, call)((host, int(sys.argv[1])))
        except OSError as error:
            assert error.errno == errno.EPERM, (host, call, error)
        else:
            print(call, host)
"""


def test_other_addresses(tmp_path: Path) -> None:
    """Those that reach this machine by another name do not, either."""
    with listening() as server:
        status, told = python(ELSEWHERE, port_of(server), cwd=tmp_path)
        assert not somebody_came(server)
    assert status == 2
    assert told.count("blocked") == 2, told  # no more was printed
    assert "--allow-localhost" not in told


def test_resolvers(tmp_path: Path) -> None:
    """One on this machine would carry what it is asked for to others."""
    script = "import socket; socket.create_connection(('127.0.0.53', 53))"
    status, told = python(script, cwd=tmp_path)
    assert status == 2
    assert "blocked connect 127.0.0.53:53 by python3 (no-network)\n" in told


@needs_compiler
def test_race(probe: str, tmp_path: Path) -> None:
    """An address that another thread exchanges while the call is decided leads nowhere."""
    with listening() as server, socket.socket() as decent:
        decent.bind(("127.0.0.1", 0))  # but does not listen: nobody else can get this port
        port, closed = port_of(server), port_of(decent)
        words = ["race internet", "127.0.0.1", closed, "0.0.0.0", port]  # noqa: S104 - the way to this machine that is closed
        assert freely(probe, *words, "1000000", cwd=tmp_path) == 0
        while somebody_came(server):
            pass
        result = guard(LOCAL, "--keep-status", "--", probe, *words, "3000", cwd=tmp_path)
        assert result.status == errno.EPERM, result
        assert not somebody_came(server)


ROUTES = """
import socket, sys
one = socket.socket(int(sys.argv[1]))
one.settimeout(0.2)
try:
    one.setsockopt(int(sys.argv[2]), int(sys.argv[3]), bytes.fromhex(sys.argv[4]))
    one.connect((sys.argv[5], 9))
except OSError:
    pass
"""
HARMLESS = ["1", "9", "01000000"]  # SO_KEEPALIVE
SOURCE_ROUTE = bytes([131, 7, 4, 10, 77, 0, 1, 0]).hex()  # IP_OPTIONS, by way of 10.77.0.1


@needs_namespaces
@pytest.mark.parametrize(
    "words",
    [
        ["2", "0", "4", SOURCE_ROUTE, "127.0.0.1"],
        ["2", "1", "25", b"h0".hex(), "127.0.0.1"],
        ["2", *HARMLESS, "127.0.0.1"],
        ["2", *HARMLESS, OUTSIDE],
    ],
    ids=["source route", "interface", "no loopback interface", "address"],
)
def test_nothing_leaves(words: list[str], tmp_path: Path) -> None:
    """No packet for 127.0.0.1 comes out of a machine, whatever its routes and options."""
    with cable() as outside:
        if words[1:4] != HARMLESS:
            outside.run("ip", "link", "set", "lo", "up")
        outside.run(PYTHON, "-c", ROUTES, *words)
        assert outside.came_out()
        command = [*outside.enter, *HOTENV]
        guard(LOCAL, "--", PYTHON, "-c", ROUTES, *words, cwd=tmp_path, command=command)
        assert outside.came_out() == set()


@needs_namespaces
def test_not_reachable_from_outside(tmp_path: Path) -> None:
    """A server under test is on no address that others know."""
    script = """
import socket
for host in ("10.77.0.2", "0.0.0.0", ""):
    try:
        socket.create_server((host, 0))
    except OSError as error:
        print(error.errno)
server = socket.create_server(("127.0.0.1", 0))
print(socket.create_connection(server.getsockname()).getpeername()[0])
"""
    with cable() as outside:
        outside.run("ip", "link", "set", "lo", "up")
        command = [*outside.enter, *HOTENV]
        result = guard(LOCAL, "--", PYTHON, "-c", script, cwd=tmp_path, command=command)
    assert result.out == f"{errno.EPERM}\n" * 3 + "127.0.0.1\n", result


def test_options(tmp_path: Path) -> None:
    """Those that choose a route are refused, in each level and with bits that an int lacks."""
    script = f"""
import ctypes, socket
libc = ctypes.CDLL(None, use_errno=True)
for family in (2, 10):
    for level, options in {k.ROUTES!r}.items():
        for option in options:
            one = socket.socket(family)
            arguments = [ctypes.c_long(each | 1 << 32) for each in (one.fileno(), level, option)]
            assert libc.setsockopt(*arguments, b"x" * 64, 4) == -1
            assert ctypes.get_errno() == {errno.EPERM}, (level, option)
"""
    status, told = python(script, cwd=tmp_path)
    assert status == 2
    assert "Error" not in told, told


JUNK = """
import ctypes, errno, mmap, os, socket, struct
libc = ctypes.CDLL(None, use_errno=True)
libc.mmap.restype = ctypes.c_void_p
page = mmap.PAGESIZE
mapped = libc.mmap(None, ctypes.c_size_t(2 * page), 3, 0x22, -1, ctypes.c_long(0))
libc.munmap(ctypes.c_void_p(mapped + page), ctypes.c_size_t(page))
local = b"\\2\\0\\377\\377\\177\\0\\0\\1"
local6 = b"\\12\\0\\377\\377" + bytes(19) + b"\\1"
ctypes.memmove(mapped + page - 8, local, 8)
file = os.open("/dev/null", os.O_RDONLY)

def tries(name, *arguments):
    ctypes.set_errno(0)
    result = getattr(libc, name)(*arguments)
    print(name, arguments[2:], result, errno.errorcode.get(ctypes.get_errno()))

for family in (socket.AF_INET, socket.AF_INET6):
    for address in (local, local6):
        for name in ("connect", "bind"):
            for size in (-1, 1, 2, 8, 15, 16, 23, 24, 28, 128, 129):
                with socket.socket(family) as one:
                    tries(name, one.fileno(), address + bytes(128), size)
values = [struct.pack("@ll", *each) for each in ((1, 0), (0, 0), (-1, 0), (1, 2000000))]
with socket.socket() as one, socket.socket(socket.AF_UNIX) as other:
    for number in (-1, 1000, file, one.fileno(), other.fileno()):
        for option in (20, 67):
            for value in (*values, None, 1, mapped + page - 8):
                for size in (16, 15, 17, 0, -1):
                    pointer = value if isinstance(value, bytes) else ctypes.c_void_p(value)
                    ctypes.set_errno(0)
                    result = libc.setsockopt(number, 1, option, pointer, size)
                    print(number == -1, option, size, result, ctypes.get_errno())
    print(one.getsockopt(1, 20, 16))
    one.bind(("127.0.0.1", 0))
    for _ in range(2):
        tries("listen", one.fileno(), 1)
    tries("connect", one.fileno(), local + bytes(8), 16)
    tries("bind", one.fileno(), local + bytes(8), 16)
"""


def test_calls_that_fail_anyway(tmp_path: Path) -> None:
    """They fail as they do without a guard, and nothing was blocked."""
    words = [PYTHON, "-c", JUNK]
    freely = subprocess.run(words, cwd=tmp_path, capture_output=True, check=True).stdout.decode()
    result = guard(LOCAL, "--", *words, cwd=tmp_path)
    assert (result.out, result.status, result.counted) == (freely, 0, []), result


FULL = """
import ctypes, errno, os, signal, socket, struct, sys, threading, time

def full():
    # One whose connections hang: its queue is full.
    server = socket.socket()
    server.bind(("127.0.0.1", 0))
    server.listen(0)
    clients = []
    while not is_full(server):
        waiting = queue_of(server)[0]
        clients.append(socket.create_connection(server.getsockname()))
        wait_until(lambda: queue_of(server)[0] > waiting)
    return server, clients

def queue_of(server):
    # Of a socket that listens, these fields of tcp_info are how many wait, and how many may.
    return struct.unpack_from("=II", server.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, 32), 24)

def is_full(server):
    waiting, most = queue_of(server)
    return waiting > most

def connect(one, server, code=ctypes.CDLL(None, use_errno=True)):
    host, port = server.getsockname()
    address = struct.pack("=HH4s8x", 2, socket.htons(port), socket.inet_aton(host))
    ctypes.set_errno(0)
    code.connect(one.fileno(), address, len(address))
    return errno.errorcode.get(ctypes.get_errno(), "OK")

def is_hanging(one):
    # TCP_SYN_SENT
    return one.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, 1) == b"\\2"

def wait_until(condition):
    while not condition():
        time.sleep(0.01)

def when_hanging(one, act):
    def watch():
        wait_until(lambda: is_hanging(one))
        act()
    threading.Thread(target=watch, daemon=True).start()

server, clients = full()
one = socket.socket()
"""

INTERRUPTED = """
signal.signal(signal.SIGUSR1, lambda *_: None)
signal.siginterrupt(signal.SIGUSR1, True)
when_hanging(one, lambda: os.kill(os.getpid(), signal.SIGUSR1))
print(connect(one, server), is_hanging(one))
"""
RESTARTED = """
signal.signal(signal.SIGUSR1, lambda *_: print("signal", flush=True))
signal.siginterrupt(signal.SIGUSR1, False)
def act():
    signal.pthread_kill(threading.main_thread().ident, signal.SIGUSR1)
    while clients:
        clients.pop().close()
    server.settimeout(50)
    try:
        while True:
            server.accept()
    except OSError:
        pass
when_hanging(one, act)
print(connect(one, server))
"""
TIMED = """
one.setsockopt(socket.SOL_SOCKET, socket.SO_SNDTIMEO, struct.pack("@ll", 0, 100_000))
print(connect(one, server), one.getsockopt(socket.SOL_SOCKET, socket.SO_SNDTIMEO, 16).hex())
"""
NOT_BLOCKING = """
one.setblocking(False)
print(connect(one, server), connect(one, server), is_hanging(one))
"""
THREADS = """
threads = []
others = [socket.socket() for _ in range(20)]
for each in others:
    thread = threading.Thread(target=connect, args=(each, server), daemon=True)
    thread.start()
wait_until(lambda: all(map(is_hanging, others)))
free = socket.create_server(("127.0.0.1", 0))
print(connect(one, free))
"""
KEYBOARD = """
when_hanging(one, lambda: os.kill(os.getpid(), signal.SIGINT))
try:
    one.connect(server.getsockname())
except KeyboardInterrupt:
    print("interrupted")
"""


@pytest.mark.parametrize(
    ("script", "said"),
    [
        (INTERRUPTED, "EINTR True\n"),
        (RESTARTED, "signal\nOK\n"),
        (TIMED, f"EINPROGRESS {(0).to_bytes(8, 'little').hex()}"),
        (NOT_BLOCKING, "EINPROGRESS EALREADY True\n"),
        (THREADS, "OK\n"),
        (KEYBOARD, "interrupted\n"),
    ],
    ids=["interrupted", "restarted", "timed", "not blocking", "threads", "keyboard"],
)
def test_connects_that_hang(script: str, said: str, tmp_path: Path) -> None:
    """They end as they do without a guard, and hold up nobody."""
    words = [PYTHON, "-c", FULL + script]
    freely = subprocess.run(words, capture_output=True, timeout=LIMIT, check=True).stdout.decode()
    assert freely.startswith(said)
    result = guard(LOCAL, "--", *words, cwd=tmp_path)
    assert (result.status, result.out, result.blocked) == (0, freely, []), result


class Quiet(SimpleHTTPRequestHandler):
    """Serves files, and says nothing."""

    def log_message(self, *_: object) -> None:
        """Nobody reads it."""


@pytest.fixture
def site(tmp_path: Path) -> Iterator[tuple[Path, str]]:
    """A directory, and where it can be got by HTTP."""
    folder = tmp_path / "site"
    folder.mkdir()
    handler = partial(Quiet, directory=str(folder))
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield folder, f"http://localhost:{server.server_port}"
        server.shutdown()
        thread.join()


@needs("curl")
def test_curl(site: tuple[Path, str], tmp_path: Path) -> None:
    """By the name of this machine, which takes no resolver."""
    folder, url = site
    (folder / "hello").write_text("hello")
    result = guard(LOCAL, "--", "curl", "-sS", f"{url}/hello", cwd=tmp_path)
    assert (result.status, result.out, result.counted) == (0, "hello", []), result


@needs("git")
def test_git(site: tuple[Path, str], tmp_path: Path) -> None:
    """A clone by HTTP."""
    folder, url = site
    for words in (
        ["init", "-q", "."],
        ["-c", "user.name=a", "-c", "user.email=a@b", "commit", "-qm", "1", "--allow-empty"],
        ["update-server-info"],
    ):
        subprocess.run(["git", *words], cwd=folder, check=True, capture_output=True)
    result = guard(LOCAL, "--", "git", "clone", "-q", f"{url}/.git", "copy", cwd=tmp_path)
    assert (result.status, result.counted) == (0, []), result
    assert (tmp_path / "copy" / ".git").is_dir()


@pytest.mark.usefixtures("unmeasured")
def test_pip(site: tuple[Path, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A package from an index on this machine, and no other that is set here."""
    folder, url = site
    monkeypatch.setenv("PIP_CONFIG_FILE", os.devnull)
    name = "thing-1.0-py3-none-any.whl"
    (folder / "thing").mkdir()
    (folder / "thing" / "index.html").write_text(f'<a href="{name}">{name}</a>')
    with zipfile.ZipFile(folder / "thing" / name, "w") as wheel:
        about = "thing-1.0.dist-info"
        wheel.writestr(f"{about}/METADATA", "Metadata-Version: 2.1\nName: thing\nVersion: 1.0\n")
        wheel.writestr(f"{about}/WHEEL", "Wheel-Version: 1.0\nTag: py3-none-any\n")
        wheel.writestr(f"{about}/RECORD", "")
    pip = [
        sys.executable,
        "-m",
        "pip",
        "--isolated",
        "download",
        "-q",
        "--no-deps",
        "--no-cache-dir",
    ]
    options = ["--disable-pip-version-check", "--index-url", url, "-d", "got"]
    result = guard(LOCAL, "--", *pip, *options, "thing", cwd=tmp_path)
    assert (result.status, result.counted) == (0, []), result
    assert (tmp_path / "got" / name).exists()


@needs("node")
def test_node(tmp_path: Path) -> None:
    """A server and a client in one, which wait for nothing but events."""
    script = """
const server = require("net").createServer(one => one.end("hello"));
server.listen(0, "127.0.0.1", () => {
    const client = require("net").connect(server.address().port, "127.0.0.1");
    client.on("data", data => { console.log(String(data)); server.close(); });
});
"""
    result = guard(LOCAL, "--", "node", "-e", script, cwd=tmp_path)
    assert (result.status, result.out) == (0, "hello\n"), result


@needs("initdb")
@needs("postgres")
@needs("psql")
@needs("setpriv")
def test_database() -> None:
    """A test suite's local PostgreSQL, which runs without a guard, and not as root."""
    as_user = ["setpriv", "--reuid=65534", "--clear-groups"] if os.geteuid() == 0 else []
    with open_directory() as directory:
        data, port = f"{directory}/data", free_port()
        if as_user:
            os.chown(directory, 65534, -1)
        words = [*as_user, "initdb", "-D", data, "-A", "trust", "-U", "tester", "--no-sync"]
        subprocess.run([*words, "--no-locale"], cwd=directory, check=True, capture_output=True)
        words = [*as_user, "postgres", "-D", data, "-h", "127.0.0.1", "-p", port, "-k", "", "-F"]
        with subprocess.Popen(words, cwd=directory, stderr=subprocess.DEVNULL) as server:
            query = ["psql", "-h", "127.0.0.1", "-p", port, "-U", "tester", "-tAc", "select 6*7"]
            try:
                wait_until(lambda: not freely(*query, "postgres", cwd=directory), "it answers")
                result = guard(LOCAL, "--", *query, "postgres", cwd=directory)
            finally:
                server.terminate()
    assert (result.status, result.out, result.counted) == (0, "42\n", []), result


def test_in_another_guard(tmp_path: Path) -> None:
    """What cannot be decided here is not let through."""
    result = guard("--", *HOTENV, "guard", LOCAL, "--", "true", cwd=tmp_path)
    assert result.status == 8
    assert "--allow-localhost cannot be used inside another guard" in result.err


def test_trace(tmp_path: Path) -> None:
    """It shows what an exception allows, and which one; that is no part of the report."""
    script = """
import socket
server = socket.create_server(("127.0.0.1", 0))
socket.create_connection(server.getsockname())
print(server.getsockname()[1])
"""
    result = guard(LOCAL, "--trace", "--", PYTHON, "-S", "-c", script, cwd=tmp_path)
    port = result.out.strip()
    lines = [line.partition(" program=") for line in result.err.splitlines()]
    assert [before for before, *_ in lines] == [
        "[hotenv] allowed bind host=127.0.0.1 port=0",
        f"[hotenv] allowed connect host=127.0.0.1 port={port}",
    ]
    assert all(after.endswith(" reason=allow-localhost") for *_, after in lines)
    assert (result.status, result.blocked) == (0, [])


def test_trace_of_unix_sockets(tmp_path: Path) -> None:
    """Likewise."""
    script = """
import socket
server, client = socket.socket(socket.AF_UNIX), socket.socket(socket.AF_UNIX)
server.bind("socket")
client.connect("socket")
"""
    words = ["--allow-unix", str(tmp_path), "--trace", "--", PYTHON, "-c", script]
    result = guard(*words, cwd=tmp_path)
    for what in ("bind", "connect"):
        line = f"[hotenv] allowed {what} path={tmp_path}/socket program="
        assert line in result.err, result
    assert result.err.count("reason=allow-unix") == 2
