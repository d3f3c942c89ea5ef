"""--no-network, and the Unix sockets that every guard closes: real programs, and odd calls."""

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

from guarded import PYTHON, freely, guard, needs_compiler, needs_guards, on_x86_64
from guarded import probe as probe  # a fixture
from hotenv.errors import SystemFailureError
from hotenv.guards.inherited import check_inherited
from hotenv.guards.policy import Guard
from processes import HOTENV, needs

pytestmark = [needs_guards, needs_compiler]


@contextmanager
def listening() -> Iterator[tuple[int, socket.socket]]:
    """A port on this machine that listens for TCP, and for UDP; what came to the latter."""
    with socket.socket() as tcp, socket.socket(type=socket.SOCK_DGRAM) as udp:
        tcp.bind(("127.0.0.1", 0))
        tcp.listen(64)
        port = tcp.getsockname()[1]
        udp.bind(("127.0.0.1", port))
        udp.setblocking(False)
        yield port, udp


@contextmanager
def unix_listener(path: str, kind: int = socket.SOCK_STREAM) -> Iterator[socket.socket]:
    """A Unix socket at ``path`` that takes what comes."""
    with socket.socket(socket.AF_UNIX, kind) as listener:
        listener.bind(path.replace("@", "\0", 1) if path.startswith("@") else path)
        if kind != socket.SOCK_DGRAM:
            listener.listen(64)
        listener.setblocking(False)
        yield listener


def nothing_came(listener: socket.socket) -> bool:
    """Whether nobody sent or connected."""
    try:
        if listener.type == socket.SOCK_DGRAM:
            listener.recv(1)
        else:
            listener.accept()[0].close()
    except BlockingIOError:
        return True
    return False


@pytest.mark.parametrize(
    ("words", "what"),
    [
        (["tcp", "PORT"], "connect"),
        (["mptcp", "PORT"], "socket"),
        (["udp", "PORT", "sendto"], "send"),
        (["udp", "PORT", "sendmsg"], "send"),
        (["udp", "PORT", "sendmmsg"], "send"),
        (["fast open", "PORT"], "send"),
        (["bind", "0"], "bind"),
        (["listen"], "listen"),
        (["multicast"], "setsockopt"),
        (["socket", "2", "3", "1"], "socket"),  # raw
        (["socket", "16", "3", "9"], "socket"),  # netlink, audit
        (["socket", "17", "3", "768"], "socket"),  # packets
        (["socket", "38", "5", "0"], "socket"),  # AF_ALG
        (["socket", "40", "1", "0"], "socket"),  # vsock
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_ways_out(words: list[str], what: str, probe: str, tmp_path: Path) -> None:
    """Each works without the guard, and under it the kernel does not make the call."""
    with listening() as (port, udp):
        words = [word.replace("PORT", str(port)) for word in words]
        without = freely(probe, *words, cwd=tmp_path)
        if without:
            pytest.skip(f"not possible here: {errno.errorcode.get(without)}")
        if words[0] == "udp":
            assert not nothing_came(udp)
        result = guard("--no-network", "--", probe, *words, cwd=tmp_path)
        assert nothing_came(udp)
    assert (result.status, result.counted) == (2, [what]), result


def test_udp_to_this_machine(probe: str, tmp_path: Path) -> None:
    """To ask which address it would be is what getaddrinfo does; nothing can be sent there."""
    with listening() as (port, udp):
        words = ["udp", str(port), "connect"]
        assert freely(probe, *words, cwd=tmp_path) == 0
        assert not nothing_came(udp)
        result = guard("--no-network", "--", probe, *words, cwd=tmp_path)
        assert nothing_came(udp)
    assert (result.status, result.uncounted) == (errno.EPERM, ["connect"])


SHUT = f"""
import ctypes, socket, struct
one = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
sent = 0
for port in (PORT,):
    address = struct.pack("=HH4s8x", 2, socket.htons(port), socket.inet_aton("127.0.0.1"))
    libc = ctypes.CDLL(None, use_errno=True)
    for _ in range(20):
        one.setsockopt(17, 1, 0)
        try:
            one.send(b"x")
            sent += 1
        except OSError as error:
            assert error.errno in ({errno.EPIPE}, {errno.EDESTADDRREQ}), error
print(sent)
"""


def test_udp_socket_is_shut(tmp_path: Path) -> None:
    """Whatever is not seen by the supervisor, the kernel itself sends nothing from it."""
    with listening() as (port, udp):
        script = SHUT.replace("PORT", str(port))
        result = guard("--no-network", "--", PYTHON, "-c", script, cwd=tmp_path)
        assert (result.status, result.out) == (0, "0\n"), result
        assert nothing_came(udp)


def test_io_uring(probe: str, tmp_path: Path) -> None:
    """There is none, under any guard."""
    if freely(probe, "uring", cwd=tmp_path):
        pytest.skip("this kernel or container has no io_uring")
    assert guard("--", probe, "uring", cwd=tmp_path).status == errno.ENOSYS


@on_x86_64
def test_calls_of_32_bits(probe: str, tmp_path: Path) -> None:
    """A program that makes one is killed; those of x32 are not there."""
    if freely(probe, "old call", cwd=tmp_path):
        pytest.skip("this kernel has no 32-bit calls")
    assert guard("--", probe, "old call", cwd=tmp_path).status == -31  # SIGSYS
    assert guard("--", probe, "x32", cwd=tmp_path).status == errno.ENOSYS


@pytest.mark.parametrize("guards", [["--no-network"], ["--fs-readonly"], ["--no-subprocess"], []])
@pytest.mark.parametrize("kind", ["unix", "seqpacket"])
def test_unix_sockets(
    guards: list[str], kind: str, probe: str, tmp_path: Path, runtime: Path
) -> None:
    """Closed under every guard, by path and by abstract name; the report says how to open one."""
    type_ = socket.SOCK_STREAM if kind == "unix" else socket.SOCK_SEQPACKET
    path = f"{runtime}/x"
    with unix_listener(path, type_) as listener, unix_listener(f"@{path}", type_) as abstract:
        assert freely(probe, kind, path, cwd=tmp_path) == 0
        assert freely(probe, kind, f"@{path}", cwd=tmp_path) == 0
        assert not nothing_came(listener)
        assert not nothing_came(abstract)
        result = guard(*guards, "--", probe, kind, path, cwd=tmp_path)
        assert (result.status, result.counted) == (2, ["connect"]), result
        assert f"--allow-unix {path}" in result.err
        result = guard(*guards, "--", probe, kind, f"@{path}", cwd=tmp_path)
        assert (result.status, result.counted) == (2, ["connect"]), result
        assert nothing_came(listener)
        assert nothing_came(abstract)
        allowed = [*guards, "--allow-unix", str(runtime), "--", probe, kind, path]
        result = guard(*allowed, cwd=tmp_path)
        assert (result.status, result.blocked) == (0, []), result
        assert not nothing_came(listener)


@pytest.mark.parametrize("way", ["pair", "datagram"])
def test_unix_datagrams(way: str, probe: str, tmp_path: Path, runtime: Path) -> None:
    """No socket can send one to an address, be it the end of a pair."""
    path = f"{runtime}/x"
    with unix_listener(path, socket.SOCK_DGRAM) as listener:
        assert freely(probe, way, path, cwd=tmp_path) == 0
        assert not nothing_came(listener)
        result = guard("--", probe, way, path, cwd=tmp_path)
        assert result.status == 2
        assert len(result.counted) == 1
        assert nothing_came(listener)


@pytest.mark.parametrize("internet", ["0", "1"])
def test_race(internet: str, probe: str, tmp_path: Path, runtime: Path) -> None:
    """An address that another thread exchanges while the call is decided leads nowhere."""
    path = f"{runtime}/x"
    with unix_listener(path) as listener:
        assert freely(probe, "race", path, internet, "1000000", cwd=tmp_path) == 0
        assert not nothing_came(listener)
        while not nothing_came(listener):
            pass
        words = ["--keep-status", "--", probe, "race", path, internet, "3000"]
        result = guard(*words, cwd=tmp_path)
        assert result.status == errno.EPERM, result
        assert nothing_came(listener)


def test_links_to_sockets(probe: str, tmp_path: Path, runtime: Path) -> None:
    """What counts is where a path leads."""
    (runtime / "open").mkdir()
    (runtime / "open" / "link").symlink_to("../x")
    with unix_listener(f"{runtime}/x") as listener:
        words = ["--allow-unix", f"{runtime}/open", "--", probe, "unix", f"{runtime}/open/link"]
        assert guard(*words, cwd=tmp_path).status == 2
        assert nothing_came(listener)


def test_binding(probe: str, tmp_path: Path, runtime: Path) -> None:
    """A Unix socket can be bound where an exception says so, and then takes connections."""
    path = f"{runtime}/x"
    result = guard("--", probe, "unix bind", path, cwd=tmp_path)
    assert (result.status, result.counted) == (2, ["bind"]), result
    assert not os.path.exists(path)
    words = ["--allow-unix", str(runtime), "--", probe, "unix bind", path]
    assert guard(*words, cwd=tmp_path).status == 0
    assert os.path.exists(path)
    os.unlink(path)
    assert guard("--fs-readonly", *words, cwd=tmp_path).status == 2
    assert not os.path.exists(path)


SERVER = """
import os, socket, threading
os.umask(0o077)
server = socket.socket(socket.AF_UNIX)
server.bind("x")
server.listen(1)
print(oct(os.stat("x").st_mode & 0o777), server.getsockname())
client = socket.socket(socket.AF_UNIX)
client.settimeout(20)
client.connect("x")
one, _ = server.accept()
client.sendall(b"hello")
print(one.recv(5), os.get_inheritable(client.fileno()))
"""


def test_server_and_client(tmp_path: Path, runtime: Path) -> None:
    """Both in the same guard, with the modes and flags that they asked for."""
    command = [PYTHON, "-c", SERVER]
    words = ["--no-network", "--allow-unix", str(runtime), "--", "env", "-C", str(runtime)]
    result = guard(*words, *command, cwd=tmp_path)
    assert (result.status, result.out) == (0, "0o700 x\nb'hello' False\n"), result


JUNK = """
import ctypes, errno, mmap, os, socket
libc = ctypes.CDLL(None, use_errno=True)
libc.mmap.restype = ctypes.c_void_p
page = mmap.PAGESIZE
mapped = libc.mmap(None, ctypes.c_size_t(2 * page), 3, 0x22, -1, ctypes.c_long(0))
libc.munmap(ctypes.c_void_p(mapped + page), ctypes.c_size_t(page))
internet = b"\\2\\0\\0\\0\\177\\0\\0\\1" + bytes(8)
unix = b"\\1\\0/nonexistent/x\\0"
ctypes.memmove(mapped + page - 8, internet, 8)

def fails(call, *arguments):
    assert getattr(libc, call)(*arguments) == -1
    print(call, errno.errorcode[ctypes.get_errno()])

def sends(number, address, size):
    fails("sendto", number, b"x", ctypes.c_size_t(1), 0, address, size)

file = os.open("/dev/null", os.O_RDONLY)
for family in (socket.AF_INET, socket.AF_UNIX):
    one = socket.socket(family)
    for call in ("connect", "bind"):
        for address in (internet, unix):
            fails(call, -1, address, len(address))
            fails(call, 1000, address, len(address))
            fails(call, file, address, len(address))
            fails(call, one.fileno(), address, -1)
            fails(call, one.fileno(), address, 129)
        for pointer in (1, mapped + page - 8, 1 << 63):
            fails(call, one.fileno(), ctypes.c_void_p(pointer), 16)
fails("listen", -1, 1)
fails("listen", file, 1)
sends(-1, internet, 16)
sends(file, internet, 16)
sends(one.fileno(), ctypes.c_void_p(1), 16)
"""


@pytest.mark.parametrize("guards", [["--no-network"], []], ids=str)
def test_calls_that_fail_anyway(guards: list[str], tmp_path: Path) -> None:
    """They fail as they do without a guard, and nothing was blocked."""
    words = [PYTHON, "-c", JUNK]
    freely = subprocess.run(words, cwd=tmp_path, capture_output=True, check=True).stdout.decode()
    result = guard(*guards, "--", *words, cwd=tmp_path)
    assert (result.status, result.blocked, result.out) == (0, [], freely), result


def test_pairs(tmp_path: Path) -> None:
    """Connected sockets between its own processes are as ever."""
    script = """
import multiprocessing, socket
one, other = socket.socketpair()
process = multiprocessing.get_context("fork").Process(target=lambda: other.sendmsg([b"hello"]))
process.start()
print(one.recv(5))
process.join()
"""
    result = guard("--no-network", "--", PYTHON, "-c", script, cwd=tmp_path)
    assert (result.status, result.out, result.blocked) == (0, "b'hello'\n", []), result


def test_inherited_sockets(tmp_path: Path) -> None:
    """The command is not even started if it would get one that leads out."""
    with socket.socket() as one:
        result = guard("--no-network", "--", "true", cwd=tmp_path, pass_fds=[one.fileno()])
        assert result.status == 8
        assert f"an internet socket as descriptor {one.fileno()}" in result.err
        assert guard("--", "true", cwd=tmp_path, pass_fds=[one.fileno()]).status == 0
    for kind in (socket.SOCK_DGRAM, socket.SOCK_STREAM):
        with socket.socket(socket.AF_UNIX, kind) as one:
            result = guard("--", "true", cwd=tmp_path, pass_fds=[one.fileno()])
            assert result.status == 8
            assert f"as descriptor {one.fileno()}" in result.err
    one, other = socket.socketpair()
    with one, other:
        result = guard("--no-network", "--", "true", cwd=tmp_path, pass_fds=[one.fileno()])
        assert result.status == 0


def test_inherited_tunnel(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """What is written to one is a packet outside."""
    with open(tmp_path / "tunnel", "w") as file:
        os.set_inheritable(file.fileno(), True)
        name = f"/proc/self/fd/{file.fileno()}"
        other = os.readlink
        links = {name: "/dev/net/tun"}
        monkeypatch.setattr(os, "readlink", lambda path: links.get(path) or other(path))
        check_inherited(Guard())
        with pytest.raises(SystemFailureError, match=rf"a TUN/TAP device as .* {file.fileno()}:"):
            check_inherited(Guard(no_network=True))


IN_ANOTHER = """
import os, socket, subprocess, sys
one = socket.socket(socket.AF_UNIX)
os.set_inheritable(one.fileno(), True)
print(one.fileno(), subprocess.run(sys.argv[1:], close_fds=False).returncode)
"""


def test_socket_of_an_outer_guard(tmp_path: Path) -> None:
    """The outer one would connect it by its own exceptions: the inner one only tightens."""
    words = ["--allow-unix", str(tmp_path), "--", PYTHON, "-c", IN_ANOTHER]
    result = guard(*words, *HOTENV, "guard", "--", "true", cwd=tmp_path)
    descriptor, status = result.out.split()
    assert status == "8"
    assert f"a Unix socket without a peer as descriptor {descriptor}: close it first" in result.err
    one, other = socket.socketpair()
    with one, other:
        fds = [one.fileno()]
        words = ["guard", "--", "true"]
        result = guard("--", *HOTENV, *words, cwd=tmp_path, pass_fds=fds)
        assert (result.status, result.counted) == (0, []), result


@needs("curl")
def test_curl(tmp_path: Path) -> None:
    """A tool that reports its failure, and what the guard says about it."""
    with listening() as (port, _):
        url = f"http://127.0.0.1:{port}/"
        result = guard("--no-network", "--trace", "--", "curl", "-sS", url, cwd=tmp_path)
    assert result.status == 2
    assert f"[hotenv] blocked connect host=127.0.0.1 port={port} program=curl pid=" in result.err
    told = f"hotenv: blocked connect 127.0.0.1:{port} by curl (no-network): allow it with "
    assert f"{told}--allow-localhost\n" in result.err


@pytest.mark.parametrize("switch", ["-I", "-S", "-E", "-B"])
def test_python(switch: str, tmp_path: Path) -> None:
    """However it is started, and if it swallows the error."""
    script = """
import _socket
try:
    _socket.socket().connect(("127.0.0.1", 9))
except OSError as error:
    print(error.errno)
"""
    result = guard("--no-network", "--", sys.executable, switch, "-c", script, cwd=tmp_path)
    assert (result.status, result.out) == (2, f"{errno.EPERM}\n"), result
    assert result.blocked[0]["first"] == {"host": "127.0.0.1", "port": "9"}


@needs("bash")
def test_bash(tmp_path: Path) -> None:
    """The shell's own sockets."""
    script = "exec 3<>/dev/tcp/127.0.0.1/9 || true"
    result = guard("--no-network", "--", "bash", "-c", script, cwd=tmp_path)
    assert (result.status, result.counted) == (2, ["connect"]), result


def test_names(tmp_path: Path) -> None:
    """This machine has a name; to ask another one for a name counts."""
    script = "import socket; socket.getaddrinfo('localhost', 1)"
    assert guard("--no-network", "--", PYTHON, "-c", script, cwd=tmp_path).status == 0
