"""--allow-domain: a command reaches some hosts outside, and asks nobody for their names."""

from __future__ import annotations

import errno
import shutil
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import pytest

from guarded import PYTHON, Result, guard, needs_compiler, needs_guards
from guarded import probe as probe  # a fixture
from namespaces import OUTSIDE, Cable, cable, needs_namespaces
from processes import HOTENV

pytestmark = needs_guards

RESOLVER = "10.77.0.53"
SERVER = """
import socket, sys
from http.server import BaseHTTPRequestHandler, HTTPServer
class Handler(BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(200)
        self.end_headers()
        self.wfile.write(b"hello " + self.headers["Host"].partition(":")[0].encode())
    def log_message(self, *_):
        pass
server = HTTPServer(("", int(sys.argv[1])), Handler)
print("ready", flush=True)
server.serve_forever()
"""

DNS = f"""
import socket, sys
from hotenv.guards.dns import Query
addresses = {{"below.test": ["{OUTSIDE}"], "x.below.test": ["{OUTSIDE}"],
    "evil.below.test": ["127.0.0.1", "169.254.169.254"]}}
server = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
server.bind(("127.0.0.1", 53))
print("ready", flush=True)
while True:
    message, client = server.recvfrom(2000)
    query = Query(message)
    with open(sys.argv[1], "a") as file:
        print(query.name, file=file)
    server.sendto(query.answer(addresses.get(query.name), 0), client)
"""


class Outside:
    """An HTTP server at ports 80 and 81 of other machines, with names that hotenv finds."""

    def __init__(self, net: Cable, directory: Path) -> None:
        self.net = net
        self._directory = directory

    def guard(self, *words: str) -> Result:
        """Run hotenv inside."""
        return guard(*words, cwd=self._directory, command=[*self.net.enter, *HOTENV])

    def asked(self) -> set[str]:
        """The names that somebody wanted to know of the resolver of the machine."""
        path = self._directory / "asked"
        return {*path.read_text().split()} if path.exists() else set()


@contextmanager
def server(net: Cable, port: int) -> Iterator[None]:
    """An HTTP server outside."""
    with started([*net.enter_outside, PYTHON, "-c", SERVER, str(port)]):
        yield


@contextmanager
def started(words: Sequence[str]) -> Iterator[None]:
    """A process that is ready, for the length of the block."""
    with subprocess.Popen(words, stdout=subprocess.PIPE) as process:
        try:
            assert process.stdout
            assert process.stdout.readline() == b"ready\n"
            yield
        finally:
            process.terminate()


@pytest.fixture
def outside(tmp_path: Path) -> Iterator[Outside]:
    """Other machines, of which ``good.test`` and ``bad.test`` are names."""
    files = {
        "hosts": f"127.0.0.1 localhost\n169.254.169.254 meta.test\n"
        f"{OUTSIDE} good.test bad.test two.test\n{RESOLVER} two.test\n",
        "resolv.conf": "nameserver 127.0.0.1\noptions timeout:30\n",
        "nsswitch.conf": "hosts: files dns\n",
    }
    with cable(files) as net, server(net, 80), server(net, 81):
        net.run("ip", "link", "set", "lo", "up")
        net.real_address()
        with started([*net.enter, sys.executable, "-c", DNS, str(tmp_path / "asked")]):
            yield Outside(net, tmp_path)


def python(host: str, port: int = 80) -> list[str]:
    """A command that gets a page, without a guard of its own."""
    script = f"""
import urllib.request
print(urllib.request.urlopen("http://{host}:{port}/").read().decode())
"""
    return [PYTHON, "-c", script]


@needs_namespaces
@pytest.mark.parametrize("domain", ["good.test", "GOOD.test.", "good.test:80"])
def test_what_is_allowed(domain: str, outside: Outside) -> None:
    """Its name and a connection, and nothing else by that."""
    result = outside.guard("--allow-domain", domain, "--", *python("good.test"))
    assert (result.status, result.out, result.counted) == (0, "hello good.test\n", []), result
    for option in ([], ["--fs-readonly"], ["--fs-readonly=."]):
        result = outside.guard(*option, "--allow-domain", domain, "--", *python("good.test."))
        assert (result.status, result.counted) == (0, []), result


@needs_namespaces
@pytest.mark.parametrize(
    ("domain", "host", "port"),
    [
        ("good.test:80", "good.test", 81),
        ("ood.test", "good.test", 80),
        ("test", "good.test", 80),
        ("good.test", "bad.test", 80),
        ("good.test", "not-there.test", 80),
        ("good.test", RESOLVER, 80),
        ("meta.test", "meta.test", 80),
        ("meta.test", "169.254.169.254", 80),
        ("2852039166", "2852039166", 80),
        ("good.test", "[::ffff:169.254.169.254]", 80),
        ("localhost", "localhost", 80),
        (".below.test", "xbelow.test", 80),
        (".x.below.test", "below.test", 80),
        ("below.test", "x.below.test", 80),
        (".below.test", "evil.below.test", 80),
        (".below.test:81", "x.below.test", 80),
    ],
)
def test_what_is_not(domain: str, host: str, port: int, outside: Outside) -> None:
    """Other ports, names and addresses; no packet leaves for any of them, nor for a resolver."""
    outside.net.came_out()
    result = outside.guard("--allow-domain", domain, "--", *python(host, port))
    assert result.status in (1, 2), result
    assert "hello" not in result.out
    assert outside.net.came_out() == set()
    allowed = {domain.partition(":")[0].strip("."), "x.below.test", "evil.below.test"}
    assert outside.asked() <= allowed


@needs_namespaces
@pytest.mark.parametrize("host", ["below.test", "x.below.test", "X.Below.test."])
def test_below(host: str, outside: Outside) -> None:
    """The command asks hotenv for the name, and nobody else hears of one that is not allowed."""
    outside.net.came_out()
    result = outside.guard("--allow-domain", ".below.test", "--", *python(host))
    assert (result.status, result.out.lower()) == (0, f"hello {host.lower()}\n"), result
    assert result.counted == []
    assert outside.net.came_out() == {OUTSIDE}
    script = f"import _socket; print(_socket.gethostbyname('secret.{host}x'))"
    words = ["--allow-domain", ".below.test", "--", PYTHON, "-S", "-c", script]
    result = outside.guard(*words)
    assert (result.status, result.counted) == (2, ["look up"]), result
    assert f"blocked look up secret.{host.lower()}x" in result.err
    assert outside.net.came_out() == set()
    assert outside.asked() <= {"below.test", "x.below.test"}


@needs_namespaces
def test_no_other_resolver(outside: Outside) -> None:
    """Neither by UDP, nor at another address, nor where one listens on this machine."""
    script = f"""
import socket
def tried(kind, where):
    try:
        one = socket.socket(socket.AF_INET, kind)
        one.connect((where, 53))
        one.send(b"x" * 40)
    except OSError as error:
        return error.errno
print(tried(socket.SOCK_DGRAM, "127.0.0.1"), tried(socket.SOCK_STREAM, "{OUTSIDE}"),
      tried(socket.SOCK_STREAM, "127.0.0.2"), tried(socket.SOCK_DGRAM, "{RESOLVER}"))
"""
    words = ["--allow-localhost", "--allow-domain", ".below.test", "--", PYTHON, "-c", script]
    result = outside.guard(*words)
    assert result.out == "1 1 1 1\n", result
    assert outside.asked() <= {"below.test"}


@needs_namespaces
def test_only_after_the_name(outside: Outside) -> None:
    """The address can be connected to when it was found for the name, not before."""
    script = f"""
import socket
def connects():
    try:
        socket.create_connection(("{OUTSIDE}", 80)).close()
    except PermissionError:
        return False
    return True
print(connects(), socket.gethostbyname("good.test"), connects())
"""
    result = outside.guard("--allow-domain", "good.test", "--", PYTHON, "-c", script)
    assert (result.status, result.out) == (2, f"False {OUTSIDE} True\n"), result
    assert f"allow it with --allow-domain {OUTSIDE}:80" in result.err


@needs_namespaces
def test_several_addresses(outside: Outside) -> None:
    """A resolver asks by UDP which of them it should use first: that does not count."""
    script = "import socket; print(len(socket.getaddrinfo('two.test', 80, type=1)))"
    result = outside.guard("--allow-domain", "two.test", "--", PYTHON, "-c", script)
    assert (result.status, result.out, result.counted) == (0, "2\n", []), result
    assert "connect" in result.uncounted


@needs_namespaces
def test_an_address(outside: Outside) -> None:
    """By itself, at its port."""
    words = ["--allow-domain", f"{OUTSIDE}:80", "--"]
    assert outside.guard(*words, *python(OUTSIDE)).out == f"hello {OUTSIDE}\n"
    assert outside.guard(*words, *python(OUTSIDE, 81)).status == 2


@needs_namespaces
def test_this_machine(outside: Outside) -> None:
    """It is another exception, which goes with this one."""
    script = """
import socket
server = socket.create_server(("127.0.0.1", 0))
socket.create_connection(server.getsockname())
"""
    words = ["--allow-domain", "good.test"]
    assert outside.guard(*words, "--", PYTHON, "-c", script).status == 1
    result = outside.guard(*words, "--allow-localhost", "--", PYTHON, "-c", script)
    assert (result.status, result.blocked) == (0, []), result


@needs_namespaces
def test_where_names_lead(outside: Outside) -> None:
    """Root could say so in files that belong to it, and does not under this guard."""
    script = """
import os
for name in ("hosts", "nsswitch.conf", "resolv.conf"):
    for change in (lambda path: open(path, "r+"), os.unlink):
        try:
            change(f"/etc/{name}")
        except PermissionError:
            continue
        print("changed", name)
try:
    open("/etc/hotenv-test", "x")
    print("made")
    os.unlink("/etc/hotenv-test")
except PermissionError:
    pass
name = f"/tmp/hotenv-test-{os.getpid()}"
open(name, "w").close()
os.rename(name, f"{name}-2")
os.unlink(f"{name}-2")
"""
    for options in ([], ["--fs-readonly", "--allow-write", "/etc", "--allow-write", "/tmp"]):
        words = [*options, "--keep-status", "--allow-domain", "good.test"]
        result = outside.guard(*words, "--", PYTHON, "-c", script)
        assert (result.status, result.out) == (0, ""), result


@needs_compiler
@needs_namespaces
def test_race(probe: str, outside: Outside) -> None:
    """An address that another thread exchanges while the call is decided leads nowhere."""
    words = [probe, "race internet", "192.0.2.1", "80", OUTSIDE, "80", "1000"]
    result = outside.guard("--keep-status", "--allow-domain", "192.0.2.2", "--", *words)
    assert result.status == errno.EPERM
    assert outside.net.came_out() == set()


@needs_namespaces
@pytest.mark.parametrize("tool", ["curl", "node", "c-ares", "busybox", "getent"])
@pytest.mark.parametrize("host", ["good.test", "x.below.test"])
def test_resolvers(tool: str, host: str, outside: Outside) -> None:
    """Of other programs, be it with a C library of their own."""
    script = f"require('dns').resolve4('{host}', (error, found) => console.log(found[0]))"
    commands: dict[str, Sequence[str]] = {
        "curl": ["curl", "-sS", f"http://{host}/"],
        "node": [
            *("node", "-e"),
            f"require('http').get('http://{host}/', one => one.pipe(process.stdout))",
        ],
        "c-ares": ["node", "-e", script],
        "busybox": ["busybox", "wget", "-qO-", f"http://{host}/"],
        "getent": ["getent", "ahosts", host],
    }
    program = commands[tool][0]
    if not shutil.which(program):
        pytest.skip(f"{program} is not installed")
    domains = ["--allow-domain", "good.test", "--allow-domain", ".below.test"]
    result = outside.guard(*domains, "--", *commands[tool])
    expected = OUTSIDE if tool in ("getent", "c-ares") else f"hello {host}"
    assert (result.status, result.counted) == (0, []), result
    assert expected in result.out


def test_the_file(tmp_path: Path) -> None:
    """It has the names of this machine, each time anew; other files are as ever."""
    script = """
import os
for _ in range(2):
    one = os.open("/etc/hosts", os.O_RDONLY | os.O_CLOEXEC)
    assert not os.get_inheritable(one)
    text = os.read(one, 10000).decode()
    assert "192.0.2.1" not in text
    print("localhost" in text, os.read(one, 1))
    try:
        os.write(one, b"x")
    except OSError as error:
        print(error.errno)
print(open("/etc/passwd").read(4))
"""
    result = guard("--allow-domain", "192.0.2.1", "--", PYTHON, "-c", script, cwd=tmp_path)
    assert result.out == f"True b''\n{errno.EBADF}\n" * 2 + "root\n", result


def test_mistakes(tmp_path: Path) -> None:
    """The option is named, and nothing is run."""
    result = guard("--allow-domain", "*.example.com", "--", "echo", "started", cwd=tmp_path)
    assert (result.status, result.out) == (2, "")
    assert "--allow-domain *.example.com: must be HOST or HOST:PORT" in result.err


def test_in_another_guard(tmp_path: Path) -> None:
    """What cannot be decided here is not let through."""
    words = [*HOTENV, "guard", "--allow-domain", "a.test", "--", "true"]
    result = guard("--", *words, cwd=tmp_path)
    assert result.status == 8
    assert "--allow-domain cannot be used inside another guard" in result.err
