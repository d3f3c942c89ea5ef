"""--allow-udp: datagrams to what is excepted (hotenv.guards.datagrams, hotenv.guards.messages)."""

from __future__ import annotations

import errno
import signal
import socket
from collections.abc import Iterator
from pathlib import Path

import pytest

from guarded import PYTHON, Result, freely, guard, needs_compiler, needs_guards
from guarded import probe as probe  # a fixture
from namespaces import INSIDE, OUTSIDE, Cable, cable, needs_namespaces
from processes import HOTENV, LIMIT, wait_until

pytestmark = needs_guards

UDP = ["--allow-localhost", "--allow-udp"]


def python(script: str, *words: str, cwd: Path) -> Result:
    """Run ``script`` with UDP on this machine."""
    return guard(*UDP, "--", PYTHON, "-c", script, *words, cwd=cwd)


@pytest.fixture
def server() -> Iterator[socket.socket]:
    """A server on this machine that runs without a guard."""
    with socket.socket(type=socket.SOCK_DGRAM) as one:
        one.bind(("127.0.0.1", 0))
        one.settimeout(LIMIT)
        yield one


def something_came(server: socket.socket) -> bool:
    """Whether there is a datagram."""
    try:
        server.recv(10)
    except BlockingIOError:
        return False
    return True


BOTH_ENDS = """
import socket
for family, host in ((2, "127.0.0.1"), (2, "127.1.2.3"), (10, "::1"), (10, "::ffff:127.0.0.1")):
    if family == 10 and not socket.has_dualstack_ipv6():
        continue
    server, client = socket.socket(family, 2), socket.socket(family, 2)
    for one in (server, client):
        one.settimeout(60)
        if family == 10:
            one.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 0)
    server.bind((host, 0))
    where = server.getsockname()
    assert client.sendto(b"one", where) == 3
    data, peer = server.recvfrom(10)
    assert data == b"one"
    assert server.sendmsg([b"t", b"wo"], [], 0, peer) == 3
    assert client.recvfrom(10)[0] == b"two"
    client.connect(where)
    assert client.send(b"three") == 5 and server.recv(10) == b"three"
    service = [(socket.IPPROTO_IP, socket.IP_TOS, bytes(4))] if family == 2 else []
    assert client.sendmsg([b"four"], service) == 4
    assert server.recv(10) == b"four"
    assert client.sendmsg([b""]) == 0 and server.recv(10) == b""
    assert client.getpeername() == where
print("done")
"""


def test_server_and_client(tmp_path: Path) -> None:
    """Both in the guard, with and without an address in each call."""
    result = python(BOTH_ENDS, cwd=tmp_path)
    assert (result.status, result.out, result.blocked) == (0, "done\n", []), result


@needs_compiler
@pytest.mark.parametrize("how", ["sendto", "sendmsg", "sendmmsg", "connect"])
def test_outside_server(how: str, probe: str, server: socket.socket, tmp_path: Path) -> None:
    """A server of this machine that runs without a guard."""
    port = str(server.getsockname()[1])
    result = guard(*UDP, "--", probe, "udp", port, how, cwd=tmp_path)
    assert (result.status, result.blocked) == (0, []), result
    assert server.recv(10) == b"x"


ELSEWHERE = """
import errno, socket
def sends(family, host, port):
    one = socket.socket(family, 2)
    yield lambda: one.connect((host, port))
    yield lambda: one.sendto(b"x", (host, port))
    yield lambda: one.sendmsg([b"x"], [], 0, (host, port))
    if port != 53:
        yield lambda: one.bind((host, port))
for family, host, port in (
    (2, "0.0.0.0", 9), (10, "::", 9), (2, "192.0.2.1", 9), (2, "127.0.0.1", 53), (10, "::1", 53),
    (2, "169.254.169.254", 9), (2, "255.255.255.255", 9), (2, "224.0.0.1", 9), (2, "10.77.0.2", 9),
):
    for number, send in enumerate(sends(family, host, port)):
        try:
            send()
        except OSError as error:
            assert error.errno == errno.EPERM, (host, number, error)
        else:
            print(host, number)
print("done")
"""


def test_elsewhere(tmp_path: Path) -> None:
    """All other addresses are closed, and so are resolvers of this machine."""
    result = python(ELSEWHERE, cwd=tmp_path)
    assert (result.status, result.out) == (2, "done\n"), result
    assert {*result.counted} == {"connect", "send", "bind"}


@needs_compiler
def test_race(probe: str, server: socket.socket, tmp_path: Path) -> None:
    """An address that another thread exchanges while the call is decided leads nowhere."""
    port = str(server.getsockname()[1])
    words = ["race datagrams", "127.0.0.1", "9", "0.0.0.0", port]  # noqa: S104 - as in ELSEWHERE
    server.setblocking(False)

    def reached() -> bool:
        freely(probe, *words, "10000", cwd=tmp_path)
        return something_came(server)

    wait_until(reached, "an exchange in the right moment")
    while something_came(server):
        pass
    result = guard(*UDP, "--keep-status", "--", probe, *words, "3000", cwd=tmp_path)
    assert result.status == errno.EPERM, result
    assert not something_came(server)


WAYS = """
import socket, struct, sys
one = socket.socket(type=socket.SOCK_DGRAM)
outside = socket.if_nametoindex("h0")
here = socket.inet_aton("10.77.0.2")
information = struct.pack("=i4s4s", outside, here, bytes(4))
for address in (("127.0.0.1", 9), ("10.77.0.1", 9)):
    try:
        one.sendmsg([b"x"], [(socket.IPPROTO_IP, 8, information)], 0, address)
    except OSError as error:
        print(error.errno)
one.connect(("127.0.0.1", 9))
try:
    one.sendmsg([b"x"], [(socket.IPPROTO_IP, 8, information)])
except OSError as error:
    print(error.errno)
for option in (25, 62):
    try:
        one.setsockopt(socket.SOL_SOCKET, option, b"h0\\0\\0")
    except OSError as error:
        print(error.errno)
one.send(b"x")
"""


@pytest.fixture
def net() -> Iterator[Cable]:
    """This machine, with a way out."""
    with cable() as net:
        net.run("ip", "link", "set", "lo", "up")
        yield net


def inside(net: Cable, *words: str, cwd: Path) -> Result:
    """Run hotenv there."""
    return guard(*words, cwd=cwd, command=[*net.enter, *HOTENV])


@needs_namespaces
def test_other_ways(net: Cable, tmp_path: Path) -> None:
    """Nothing that goes with a datagram leads it out of this machine."""
    net.came_out()
    result = inside(net, *UDP, "--", PYTHON, "-c", WAYS, cwd=tmp_path)
    assert result.out == "1\n" * 5, result
    assert net.came_out() == set()


@needs_namespaces
def test_hosts(net: Cable, tmp_path: Path) -> None:
    """A host is excepted at its port; a socket that is used for it is not one of this machine."""
    script = f"""
import socket
one = socket.socket(type=socket.SOCK_DGRAM)
one.sendto(b"x", ("{OUTSIDE}", 7))
one.connect(("{OUTSIDE}", 7))
one.send(b"x")
for where in (("{OUTSIDE}", 8), ("{INSIDE}", 7), ("127.0.0.1", 7)):
    try:
        one.sendto(b"x", where)
    except PermissionError:
        continue
    print(where)
"""
    net.came_out()
    words = ["--allow-domain", f"{OUTSIDE}:7", "--allow-udp", "--keep-status"]
    result = inside(net, *words, "--", PYTHON, "-c", script, cwd=tmp_path)
    assert (result.status, result.out) == (0, ""), result
    assert net.came_out() == {OUTSIDE}


OTHERS = """
import array, os, signal, socket, sys, threading
one, other = socket.socketpair()
read, write = os.pipe()
socket.send_fds(one, [b"x"], [read, write])
data, (mine, yours), *_ = socket.recv_fds(other, 10, 2)
os.write(yours, b"hello")
assert os.read(read, 5) == b"hello"

big = bytes(range(256)) * 8192
got = bytearray()
def collect():
    while piece := other.recv(65536):
        got.extend(piece)
reader = threading.Thread(target=collect)
reader.start()
sent = 0
while sent < len(big):
    sent += one.sendmsg([big[sent:sent + 1000], big[sent + 1000:]])
one.shutdown(socket.SHUT_WR)
reader.join()
assert got == big

packets, others = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
sender = threading.Thread(target=lambda: [packets.sendmsg([big[:50000]]) for _ in range(20)])
sender.start()
for _ in range(20):
    assert others.recv(100000) == big[:50000]
sender.join()

one, other = socket.socketpair()
one.setblocking(False)
try:
    while True:
        one.sendmsg([big])
except BlockingIOError:
    pass
assert one.sendmsg([], []) == 0
other.close()
try:
    one.sendmsg([b"x"])
except BrokenPipeError:
    print("broken")
signal.signal(signal.SIGPIPE, signal.SIG_DFL)
try:
    one.sendmsg([b"x"], [], socket.MSG_NOSIGNAL)
except BrokenPipeError:
    print("still here", flush=True)
one.sendmsg([b"x"])
print("not reached")
"""


def test_other_sockets(tmp_path: Path) -> None:
    """What is sent on them is sent by hotenv, too, as the kernel would."""
    result = python(OTHERS, cwd=tmp_path)
    assert (result.status, result.out) == (-signal.SIGPIPE, "broken\nstill here\n"), result
    assert result.blocked == []


MISTAKES = """
import ctypes, errno, os, socket
libc = ctypes.CDLL(None, use_errno=True)
one, other = socket.socketpair()
datagrams = socket.socket(type=socket.SOCK_DGRAM)
def tried(call, *words):
    ctypes.set_errno(0)
    done = call(*words)
    return done if done >= 0 else errno.errorcode[ctypes.get_errno()]
def header(*words):
    return (ctypes.c_size_t * 8)(*words)
print(tried(libc.sendmsg, one.fileno(), None, 0))
print(tried(libc.sendmsg, 99, header(), 0))
print(tried(libc.sendmsg, os.open("/dev/null", os.O_RDWR), header(), 0))
print(tried(libc.sendmsg, one.fileno(), header(0, 0, 1, 1, 0, 0, 0), 0))
print(tried(libc.sendmsg, one.fileno(), header(0, 0, 1, 5000, 0, 0, 0), 0))
print(tried(libc.sendmmsg, one.fileno(), header(), 0, 0))
big = ctypes.create_string_buffer(1 << 19)
part = (ctypes.c_size_t * 2)(ctypes.addressof(big), 1 << 19)
print(tried(libc.sendmsg, datagrams.fileno(), header(0, 0, ctypes.addressof(part), 1), 0))
part[1] = 1
print(tried(libc.sendmsg, datagrams.fileno(), header(0, 0, ctypes.addressof(part), 1), 0))
print(tried(libc.sendmsg, datagrams.fileno(), header(0, 0, ctypes.addressof(part), 1), 0x4000000))
control = (ctypes.c_size_t * 2)(5, 0)
print(tried(libc.sendmsg, one.fileno(),
    header(0, 0, ctypes.addressof(part), 1, ctypes.addressof(control), 16), 0))
part[1] = 3
two = (ctypes.c_size_t * 16)(0, 0, ctypes.addressof(part), 1, 0, 0, 0, 0,
                             0, 0, ctypes.addressof(part), 1)
print(tried(libc.sendmmsg, one.fileno(), two, 2, 0), two[7], two[15])
"""


def test_mistakes(tmp_path: Path) -> None:
    """They are the same errors as without a guard. Of several messages, the first is sent."""
    result = python(MISTAKES, cwd=tmp_path)
    errors = ["EFAULT", "EBADF", "ENOTSOCK", "EFAULT", "EMSGSIZE", "0", "EMSGSIZE", "EDESTADDRREQ"]
    assert result.out.split() == [*errors, "ENOBUFS", "EINVAL", "1", "3", "0"], result
    assert result.blocked == []


def test_alone(tmp_path: Path) -> None:
    """It is about what other options except."""
    result = guard("--no-network", "--allow-udp", "--", "true", cwd=tmp_path)
    assert result.status == 2
    words = "--allow-udp has no effect without --allow-localhost or --allow-domain"
    assert result.err == f"hotenv: {words}\n"
