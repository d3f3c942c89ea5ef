"""--no-localhost: the network works as without a guard, but for this machine."""

from __future__ import annotations

import errno
import os
import socket
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

from guarded import PYTHON, Result, freely, guard, needs_compiler, needs_guards
from guarded import probe as probe  # a fixture
from namespaces import INSIDE, OUTSIDE, Cable, cable, needs_namespaces
from processes import HOTENV, LIMIT, wait_until

pytestmark = needs_guards

ELSEWHERE = "--no-localhost"
FAR = "198.51.100.1"
"""An address that nobody has. Nothing is sent to it."""


def own_address(family: int, far: str) -> str:
    """An address of this machine by which others could reach it; empty if it has none."""
    with socket.socket(family, socket.SOCK_DGRAM) as one, suppress(OSError):
        one.connect((far, 9))  # sends nothing
        return str(one.getsockname()[0])
    return ""


OWN = own_address(socket.AF_INET, FAR)
OWN6 = own_address(socket.AF_INET6, "2001:db8::1")
HOSTS = ["127.0.0.1", "127.9.9.9", "0.0.0.0", "::1", "::", "::ffff:127.0.0.1", "own", "own6"]  # noqa: S104 - a way here


def named(host: str) -> str:
    """The address that ``host`` stands for."""
    found = {"own": OWN, "own6": OWN6}.get(host, host)
    if not found:
        pytest.skip("this machine has no address of this kind but loopback")
    return found


@contextmanager
def listening(host: str, kind: int = socket.SOCK_STREAM) -> Iterator[socket.socket]:
    """A server of this machine, at all of its addresses, that runs without a guard."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        server = socket.socket(family, kind)
    except OSError as error:
        pytest.skip(f"no sockets of this family here: {error}")
    with server:
        if family == socket.AF_INET6:
            server.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 0)
        try:
            server.bind(("::" if family == socket.AF_INET6 else "0.0.0.0", 0))  # noqa: S104 - of a test
        except OSError as error:
            pytest.skip(f"no server of this family here: {error}")
        if kind == socket.SOCK_STREAM:
            server.listen()
        server.setblocking(False)
        yield server


def came(server: socket.socket) -> bool:
    """Whether anything did."""
    try:
        if server.type == socket.SOCK_DGRAM:
            server.recv(10)
        else:
            server.accept()[0].close()
    except BlockingIOError:
        return False
    return True


def port_of(server: socket.socket) -> str:
    """As a word."""
    return str(server.getsockname()[1])


def python(script: str, *words: str, cwd: Path, guards: tuple[str, ...] = (ELSEWHERE,)) -> Result:
    """Run ``script`` without this machine. It says itself what is refused."""
    return guard(*guards, "--", PYTHON, "-S", "-c", script, *words, cwd=cwd)


CONNECTING = """
import socket, sys
host, port, kind = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
one = socket.socket(10 if ":" in host else 2, kind)
print(one.connect_ex((host, port)))
if kind == 2:
    one.send(b"x")
"""


@pytest.mark.parametrize("host", HOSTS)
def test_connections(host: str, tmp_path: Path) -> None:
    """No TCP to any address of this machine, however it is written."""
    host = named(host)
    with listening(host) as server:
        words = [PYTHON, "-S", "-c", CONNECTING, host, port_of(server), "1"]
        if freely(*words, cwd=tmp_path) or not came(server):
            pytest.skip("not possible here without a guard, either")
        result = python(*words[3:], cwd=tmp_path)
        assert not came(server)
    assert (result.status, result.out) == (2, f"{errno.EPERM}\n"), result
    assert [(each["what"], each["guard"]) for each in result.blocked] == [
        ("connect", "no-localhost")
    ]
    assert result.blocked[0]["first"] == {"host": host, "port": words[5]}
    assert "allow it with" not in result.err


SENDING = """
import ctypes, errno, socket, struct, sys
libc = ctypes.CDLL(None, use_errno=True)
host, port = sys.argv[1], int(sys.argv[2])
family = 10 if ":" in host else 2

def tried(call, *arguments):
    one = socket.socket(family, 2)
    try:
        call(one, *arguments)
    except OSError as error:
        print(call.__name__, errno.errorcode[error.errno])
    else:
        print(call.__name__, "done")

def sendto(one):
    one.sendto(b"x", (host, port))

def sendmsg(one):
    one.sendmsg([b"x"], [], 0, (host, port))

def connect(one):
    one.connect((host, port))
    one.send(b"x")

def raw(one):  # of one that says AF_UNSPEC, which is the same here
    address = struct.pack("=HH4s8x", 0, socket.htons(port), socket.inet_aton(host))
    if libc.sendto(one.fileno(), b"x", 1, 0, address, 16) < 0:
        raise OSError(ctypes.get_errno(), "")

def in_between(one):  # IPv4 by a socket of IPv6
    address = struct.pack("=HH4s8x", 2, socket.htons(port), socket.inet_aton(host))
    six = socket.socket(10, 2)
    if libc.sendto(six.fileno(), b"x", 1, 0, address, 16) < 0:
        raise OSError(ctypes.get_errno(), "")

calls = [sendto, sendmsg, connect] + ([raw] if family == 2 else [])
for call in calls + ([in_between] if family == 2 and socket.has_dualstack_ipv6() else []):
    tried(call)
"""


@pytest.mark.parametrize("host", HOSTS)
def test_datagrams(host: str, tmp_path: Path) -> None:
    """No UDP, either, in whatever call the address stands."""
    host = named(host)
    with listening(host, socket.SOCK_DGRAM) as server:
        words = [PYTHON, "-S", "-c", SENDING, host, port_of(server)]
        freely(*words, cwd=tmp_path)
        if not came(server):
            pytest.skip("not possible here without a guard, either")
        while came(server):
            pass
        result = python(*words[3:], cwd=tmp_path)
        assert not came(server)
    said = [line.split()[1] for line in result.out.splitlines()]
    assert (result.status, {*said}) == (2, {"EPERM"}), result
    assert result.counted == ["send"]  # a connect by itself sends nothing
    assert result.uncounted == ["connect"]


@needs_compiler
@pytest.mark.parametrize("how", ["sendto", "sendmsg", "sendmmsg", "connect"])
def test_calls(how: str, probe: str, tmp_path: Path) -> None:
    """Of the C library, each by itself."""
    with listening("127.0.0.1", socket.SOCK_DGRAM) as server:
        words = [probe, "udp", port_of(server), how]
        assert freely(*words, cwd=tmp_path) == 0
        assert came(server)
        result = guard(ELSEWHERE, "--keep-status", "--", *words, cwd=tmp_path)
        assert not came(server)
    assert result.status == errno.EPERM, result


@needs_compiler
@pytest.mark.parametrize(
    ("words", "what"),
    [
        (["fast open", "PORT"], "send"),
        (["mptcp", "PORT"], "socket"),
        (["socket", "2", "3", "1"], "socket"),  # raw
        (["socket", "2", "2", "136"], "socket"),  # UDP-Lite
        (["socket", "2", "1", "132"], "socket"),  # SCTP
        (["socket", "2", "6", "33"], "socket"),  # DCCP
        (["socket", "40", "1", "0"], "socket"),  # vsock
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_other_protocols(words: list[str], what: str, probe: str, tmp_path: Path) -> None:
    """They are not there."""
    with listening("127.0.0.1") as server:
        words = [word.replace("PORT", port_of(server)) for word in words]
        if without := freely(probe, *words, cwd=tmp_path):
            pytest.skip(f"not possible here: {errno.errorcode.get(without)}")
        while came(server):
            pass
        result = guard(ELSEWHERE, "--", probe, *words, cwd=tmp_path)
        assert not came(server)
    assert (result.status, result.counted) == (2, [what]), result


@needs_compiler
def test_race_of_connections(probe: str, tmp_path: Path) -> None:
    """An address that another thread exchanges while the call is decided leads nowhere."""
    if not OWN:
        pytest.skip("no route leads out of this machine")
    words = ["race connected", FAR, "9", "127.0.0.1", "9"]
    assert freely(probe, *words, "1000000", cwd=tmp_path) == 0
    result = guard(ELSEWHERE, "--keep-status", "--", probe, *words, "3000", cwd=tmp_path)
    assert result.status == errno.EPERM, result


@needs_compiler
def test_race_of_streams(probe: str, tmp_path: Path) -> None:
    """Likewise, with a server; the other address is one that the kernel refuses by itself."""
    with listening("127.0.0.1") as server:
        words = ["race internet", "-", "9", "127.0.0.1", port_of(server)]
        assert freely(probe, *words, "1000000", cwd=tmp_path) == 0
        while came(server):
            pass
        result = guard(ELSEWHERE, "--keep-status", "--", probe, *words, "3000", cwd=tmp_path)
        assert result.status == errno.EPERM, result
        assert not came(server)


@needs_compiler
def test_race_of_datagrams(probe: str, tmp_path: Path) -> None:
    """Likewise; the other address is one that the kernel refuses, so that nothing is sent there."""
    with listening("127.0.0.1", socket.SOCK_DGRAM) as server:
        words = ["race datagrams", "-", "9", "127.0.0.1", port_of(server)]

        def reached() -> bool:
            freely(probe, *words, "10000", cwd=tmp_path)
            return came(server)

        wait_until(reached, "an exchange in the right moment")
        while came(server):
            pass
        result = guard(ELSEWHERE, "--keep-status", "--", probe, *words, "3000", cwd=tmp_path)
        assert result.status == errno.EPERM, result
        assert not came(server)


OTHERS = """
import array, errno, os, socket, sys, threading

one, other = socket.socketpair()
read, write = os.pipe()
socket.send_fds(one, [b"x"], [read, write])
data, (mine, yours), *_ = socket.recv_fds(other, 10, 2)
os.write(yours, b"hello")
assert os.read(read, 5) == b"hello"
try:
    one.sendto(b"x", ("127.0.0.1", 9))
except (OSError, TypeError):
    pass

server = socket.create_server(("0.0.0.0", 0))
server.setsockopt(socket.SOL_SOCKET, socket.SO_SNDTIMEO, bytes(16))
receiver = socket.socket(type=socket.SOCK_DGRAM)
receiver.bind(("", 0))
netlink = socket.socket(16, socket.SOCK_RAW, 0)
netlink.bind((0, 0))
question = bytes.fromhex("14000000 16000103 01000000 00000000 00000000")  # RTM_GETADDR
assert netlink.sendto(question, (0, 0)) == 20
assert netlink.recv(65536)[4] in (2, 20)
assert netlink.sendmsg([question], [], 0, (0, 0)) == 20
assert socket.getaddrinfo("127.0.0.1", 80)
stream = socket.socket()
stream.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
for option in ((6, 30, 1), (0, 4, bytes(4))):
    try:
        stream.setsockopt(*option)
    except PermissionError:
        continue
    print(option)
receiver.setsockopt(0, 35, socket.inet_aton("224.0.0.251") + socket.inet_aton("127.0.0.1"))
for where in (("127.0.0.1", 9), ("::1", 9), ("", 0), None):
    try:
        stream.connect(where)
    except (OSError, TypeError):
        continue
print(server.getsockname()[1], flush=True)
connection, peer = server.accept()
connection.sendmsg([b"hel", b"lo"])
assert connection.recv(10) == b"thanks"
assert connection.sendto(b"bye", ("127.0.0.1", 9)) == 3  # the kernel does not look at it
"""


def test_what_stays_open(tmp_path: Path) -> None:
    """Listening and whoever comes, netlink, socket pairs and their descriptors, most options."""
    words = [*HOTENV, "guard", ELSEWHERE, "--keep-status", "--", PYTHON, "-S", "-c", OTHERS]
    with subprocess.Popen(words, cwd=tmp_path, stdout=subprocess.PIPE) as process:
        assert process.stdout
        port = process.stdout.readline().strip()
        assert port, process.wait(LIMIT)
        with socket.create_connection(("127.0.0.1", int(port)), LIMIT) as one:
            assert one.recv(10) == b"hello"
            one.sendall(b"thanks")
            assert one.recv(10) == b"bye"
        assert (process.wait(LIMIT), process.stdout.read()) == (0, b"")


def test_disconnected(tmp_path: Path) -> None:
    """A socket that was connected elsewhere is not connected here after that."""
    script = f"""
import ctypes, errno, socket, sys
libc = ctypes.CDLL(None, use_errno=True)
for port in (int(sys.argv[1]), 53):
    one = socket.socket(type=socket.SOCK_DGRAM)
    one.connect(("{FAR}", 9))
    assert one.getpeername() == ("{FAR}", 9)
    assert libc.connect(one.fileno(), bytes(16), 16) == 0
    print(one.connect_ex(("127.0.0.1", port)))
    one.close()
"""
    if not OWN:
        pytest.skip("no route leads out of this machine")
    with listening("127.0.0.1", socket.SOCK_DGRAM) as server:
        result = python(script, port_of(server), cwd=tmp_path)
        assert not came(server)
    assert result.out == f"{errno.EPERM}\n" * 2, result


def test_inherited(tmp_path: Path) -> None:
    """A socket that is connected already would be a way around it."""
    with listening("127.0.0.1") as server:
        number = server.fileno()
        result = guard(ELSEWHERE, "--", "true", cwd=tmp_path, pass_fds=[number])
    assert result.status == 8
    assert f"would inherit an internet socket as descriptor {number}" in result.err


def test_in_another_guard(tmp_path: Path) -> None:
    """What cannot be decided here is not let through."""
    result = guard("--", *HOTENV, "guard", ELSEWHERE, "--", "true", cwd=tmp_path)
    assert result.status == 8
    assert "--no-localhost cannot be used inside another guard" in result.err


def test_words(tmp_path: Path) -> None:
    """Python programs say which guard it was, and where."""
    (tmp_path / "a.py").write_text("import socket\nsocket.create_connection(('127.0.0.1', 9))\n")
    result = guard(ELSEWHERE, "--", PYTHON, "a.py", cwd=tmp_path)
    assert "hotenv guard --no-localhost blocked connect 127.0.0.1:9\n" in result.err
    assert [each["first"]["at"] for each in result.blocked] == ["a.py:2"]
    assert result.blocked[0]["remedy"] is None


SERVER = f"""
import socket
tcp = socket.create_server(("{OUTSIDE}", 7))
silent = [socket.socket(type=socket.SOCK_DGRAM) for _ in range(2)]
for one, port in zip(silent, (53, 443)):
    one.bind(("{OUTSIDE}", port))
print("ready", flush=True)
while True:
    one, peer = tcp.accept()
    one.sendall(one.recv(10))
    one.close()
"""
CLIENT = f"""
import os, socket
with socket.create_connection(("{OUTSIDE}", 7), 30) as one:
    one.sendmsg([b"he", b"llo"])
    print(one.recv(10))
again = socket.socket()
again.setblocking(False)
print(again.connect_ex(("{OUTSIDE}", 7)) in (0, 115))
one = socket.socket(type=socket.SOCK_DGRAM)
print(one.sendto(b"x", ("{OUTSIDE}", 443)), one.sendmsg([b"x"], [], 0, ("{OUTSIDE}", 443)))
one.connect(("{OUTSIDE}", 53))
print(one.send(b"x"), one.sendmsg([b"x"], [(0, socket.IP_TOS, bytes(4))]))
print(socket.socket(10, 2).sendto(b"x", ("::ffff:{OUTSIDE}", 443)))
for host in ("{INSIDE}", "10.77.0.255"):
    for call in (one.connect, lambda where: one.sendto(b"x", where)):
        try:
            one.setsockopt(socket.SOL_SOCKET, socket.SO_BROADCAST, 1)
            print(call((host, 9)))
        except PermissionError:
            pass
"""


@contextmanager
def outside() -> Iterator[Cable]:
    """Another machine, with a server."""
    with cable({"resolv.conf": "nameserver 127.0.0.53\n"}) as net:
        net.run("ip", "link", "set", "lo", "up")
        net.real_address()
        words = [*net.enter_outside, PYTHON, "-c", SERVER]
        with subprocess.Popen(words, stdout=subprocess.PIPE) as server:
            try:
                assert server.stdout
                assert server.stdout.readline() == b"ready\n"
                yield net
            finally:
                server.terminate()


@needs_namespaces
def test_another_machine(tmp_path: Path) -> None:
    """TCP and UDP to it work; the own address towards it, and broadcast, are closed."""
    with outside() as net:
        command = [*net.enter, *HOTENV]
        words = [ELSEWHERE, "--", PYTHON, "-S", "-c", CLIENT]
        result = guard(*words, cwd=tmp_path, command=command)
        assert net.came_out() == {OUTSIDE}
    lines = ["b'hello'", "True", "1 1", "1 1", "1"]
    assert result.out.splitlines() == lines, result
    assert {each["guard"] for each in result.blocked} == {"no-localhost"}


RESOLVER = """
import socket
one = socket.socket(type=socket.SOCK_DGRAM)
for where in (("127.0.0.53", 53), ("127.0.0.53", 54), ("127.0.0.54", 53)):
    for call in (one.connect, lambda where: one.sendto(b"x", where)):
        try:
            call(where)
        except PermissionError:
            print("closed")
        else:
            print(where)
print(socket.socket().connect_ex(("127.0.0.53", 53)))
"""


@needs_namespaces
def test_resolver(tmp_path: Path) -> None:
    """One on this machine that resolv.conf names is excepted, at its port."""
    with outside() as net:
        command = [*net.enter, *HOTENV]
        words = [ELSEWHERE, "--", PYTHON, "-S", "-c", RESOLVER]
        result = guard(*words, cwd=tmp_path, command=command)
    lines = ["('127.0.0.53', 53)"] * 2 + ["closed"] * 4 + [str(errno.ECONNREFUSED)]
    assert result.out.splitlines() == lines, result


def test_hosts_that_are_here(tmp_path: Path) -> None:
    """With exceptions for hosts, what is this machine stays closed."""
    script = "import socket; socket.create_connection(('127.0.0.1', 9))"
    guards = (ELSEWHERE, "--allow-domain", "127.0.0.1")
    result = python(script, cwd=tmp_path, guards=guards)
    assert [each["guard"] for each in result.blocked] == ["no-localhost"], result
    assert os.strerror(errno.EPERM) in result.err
