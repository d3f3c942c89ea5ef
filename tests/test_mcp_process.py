"""hotenv mcp with a real desk: what agents get, and what becomes of nonsense."""

from __future__ import annotations

import json
import os
import select
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import pytest

from guarded import needs_guards
from hotenv.desk.human import Watch, answer
from hotenv.desk.place import find_place, places
from hotenv.desk.questions import ONCE
from processes import HOTENV, LIMIT, Terminal, hotenv, said, serving, wait_until, with_limits

pytestmark = [needs_guards, pytest.mark.usefixtures("alone")]

SECRET = "s3cr3t-value-1234"
RULES = """
[agent]
allow = ["printenv *", "cat", "sh -c *", "sleep *"]
ask = ["id"]
deny = ["**"]
"""
CLIENT = str(Path(__file__).with_name("mcpclient.py"))


@pytest.fixture
def shop(tmp_path: Path) -> Iterator[Path]:
    """A project with a session, whose file lets agents run some commands."""
    directory = tmp_path / "shop"
    directory.mkdir()
    (directory / "hotenv.toml").write_text(RULES)
    assert hotenv("allow", cwd=directory).returncode == 0
    with serving(directory, f"TOKEN={SECRET}\nB=2\n".encode()):
        yield directory


def client(
    directory: Path,
    calls: Sequence[tuple[str, object]],
    backend: str = "trio",
    mode: str = "auto",
) -> list[str]:
    """The command line of a client that makes these calls."""
    wanted = {"command": [*HOTENV, "mcp"], "backend": backend, "mode": mode, "calls": calls}
    path = directory / "calls.json"
    path.write_text(json.dumps(wanted))
    return [sys.executable, CLIENT, str(path)]


def run(words: Sequence[str], cwd: Path) -> tuple[Any, str]:
    """What such a command prints, and what is said meanwhile."""
    done = subprocess.run(words, cwd=cwd, capture_output=True, timeout=LIMIT, check=False)
    assert done.returncode == 0, done.stderr.decode()
    return json.loads(done.stdout), done.stderr.decode()


CALLS: list[tuple[str, object]] = [
    ("run", {"argv": ["printenv", "TOKEN"]}),
    ("run", {"argv": ["cat"], "stdin": f"é {SECRET}", "timeout": 50}),
    ("run", {"argv": ["sh", "-c", "echo e >&2; exit 3"]}),
    ("run", {"argv": ["sh", "-c", "pwd"], "cwd": "below"}),
    ("run", {"argv": ["sh", "-c", "kill -9 $$"]}),
    ("run", {"argv": ["sh", "-c", "head -c 100000 /dev/zero | tr '\\\\0' x"]}),
    ("run", {"argv": ["sh", "-c", "sleep 4321.5"], "timeout": 0.8}),
    ("run", {"argv": ["ls"]}),
    ("run", {"argv": ["id"]}),
    ("run", {"argv": ["cat"], "cwd": "/"}),
    ("run", {"argv": ["cat"], "cwd": "none"}),
    ("run", {"argv": ["x" * 100_000] * 50}),
    ("run", {"argv": "ls"}),
    ("variables", {}),
    ("status", {}),
]


def check(results: list[Any], directory: Path) -> None:
    """Look at what has come of CALLS."""
    names, *rest = results
    assert names == ["run", "status", "variables"]
    token, cat, three, pwd, killed, long, late = (each["answer"] for each in rest[:7])
    assert not any(each["error"] for each in rest[:7])
    assert token["stdout"] == "[TOKEN]\n"
    assert cat["stdout"] == "é [TOKEN]"
    assert (three["exit_code"], three["stdout"], three["stderr"]) == (3, "", "e\n")
    assert pwd["stdout"] == f"{directory}/below\n"
    assert killed["exit_code"] == 137
    assert long["truncated"]
    assert "bytes were left out here" in long["stdout"]
    assert long["stdout_missing_bytes"] == 100_000 - 32 * 1024
    assert (late["timed_out"], late["exit_code"]) == (True, 124)
    errors = [each["answer"] for each in rest[7:13]]
    assert all(each["error"] for each in rest[7:13])
    beginnings = (
        "this command is denied by",
        "the user must allow this command",
        f"an agent's commands run only in {directory} and below",
        "cannot use the directory",
        "the command is too long",
        "argv: must be a list",
    )
    for error, beginning in zip(errors, beginnings, strict=True):
        assert error.startswith(beginning)
        assert "\n" not in error
    assert rest[13]["answer"] == {"names": ["B", "TOKEN"]}
    assert rest[14]["answer"] == {"directory": str(directory), "open_questions": 0}
    assert SECRET not in json.dumps(results)


@pytest.mark.parametrize(
    ("backend", "mode"), [("trio", "auto"), ("asyncio", "auto"), ("trio", "legacy")]
)
def test_alone(shop: Path, backend: str, mode: str) -> None:
    """An agent outside of any guard gets a desk of its own, and the user is told what that is."""
    (shop / "below").mkdir()
    results, words = run(client(shop, CALLS, backend, mode), shop)
    check(results, shop)
    assert words.splitlines() == [
        "hotenv: warning: this agent was not started by 'hotenv agent': it can read every value "
        "with 'hotenv dump'"
    ]
    wait_until(lambda: not running("4321.5"), "the command to end")
    wait_until(lambda: not [*places()], "the desk to end")


@pytest.mark.parametrize("backend", ["trio", "asyncio"])
def test_inside(shop: Path, backend: str) -> None:
    """Inside 'hotenv agent' it uses that one's desk, also if the client hands on no variable."""
    (shop / "below").mkdir()
    results, words = run([*HOTENV, "agent", "--", *client(shop, CALLS, backend)], shop)
    check(results, shop)
    assert words == ""
    wait_until(lambda: not [*places()], "the desk to end")


def test_a_human_is_asked(shop: Path) -> None:
    """The client is told, and the command runs once it is allowed."""
    words = client(shop, [("run", {"argv": ["id"]}), ("status", {})])
    process = subprocess.Popen(
        words, cwd=shop, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
    )
    try:
        wait_until(lambda: any(each.is_alive() for each in places()), "the desk")
        place = find_place(str(shop))
        watch = Watch(place)
        while not watch.questions:
            assert select.select([watch], [], [], LIMIT)[0]
            watch.read()
        assert watch.questions[0]["argv"] == ["id"]
        answer(place, watch.questions[0]["number"], ONCE)
        output, _ = process.communicate(timeout=LIMIT)
        watch.close()
    finally:
        process.kill()
    asked = json.loads(output)[1]
    assert asked["answer"]["exit_code"] == 0
    assert asked["told"] == ["waiting for the user's permission (see 'hotenv desk')"]


def test_without_a_session(tmp_path: Path) -> None:
    """The agent is told to ask."""
    (tmp_path / "hotenv.toml").write_text(RULES)
    assert hotenv("allow", cwd=tmp_path).returncode == 0
    results, _ = run(client(tmp_path, [("variables", {}), ("run", {"argv": ["cat"]})]), tmp_path)
    for each in results[1:]:
        assert each["error"]
        assert "only the user can do that" in each["answer"]


def test_without_rules(tmp_path: Path) -> None:
    """There is nothing to serve where no file says what an agent may run."""
    assert f"no hotenv.toml in {tmp_path} or" in said(hotenv("mcp", cwd=tmp_path))
    (tmp_path / "hotenv.toml").write_text(RULES)
    refused = hotenv("mcp", cwd=tmp_path)
    assert refused.returncode == 2
    assert "hotenv allow" in said(refused)
    assert not [*places()]


def test_on_a_terminal(shop: Path) -> None:
    """A human is told what it is for."""
    terminal = Terminal([*HOTENV, "mcp"], shop)
    terminal.expect(b"'hotenv mcp' is for an agent")
    assert terminal.wait() == 2


def running(word: str) -> bool:
    """Whether a process has ``word`` among its arguments."""
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        with suppress(OSError):
            if word.encode() in path.read_bytes().split(b"\0"):
                return True
    return False


def has_ended(pid: int) -> bool:
    """Whether the process is gone, or nobody has looked at its end yet."""
    try:
        return ") Z " in Path(f"/proc/{pid}/stat").read_text()
    except FileNotFoundError:
        return True


HELLO = {
    "protocolVersion": "2025-06-18",
    "capabilities": {},
    "clientInfo": {"name": "raw", "version": "1"},
}


class Raw:
    """``hotenv mcp``, spoken to by hand."""

    def __init__(self, process: subprocess.Popen[bytes]) -> None:
        assert process.stdin is not None
        assert process.stdout is not None
        self.process = process
        self.stdin = process.stdin
        self.stdout = process.stdout
        self._data = b""
        self._id = 1000

    def greet(self) -> None:
        """Begin as clients do."""
        assert "result" in self.ask("initialize", HELLO)
        self.send(b'{"jsonrpc":"2.0","method":"notifications/initialized"}\n')

    def send(self, data: bytes) -> None:
        """Send just this."""
        self.stdin.write(data)
        self.stdin.flush()

    def request(self, method: str, params: object) -> int:
        """Send a request; its number."""
        self._id += 1
        text = {"jsonrpc": "2.0", "id": self._id, "method": method, "params": params}
        self.send(json.dumps(text).encode() + b"\n")
        return self._id

    def ask(self, method: str, params: object) -> dict[str, Any]:
        """The response to a request; others before it are left out."""
        number = self.request(method, params)
        while (told := self.receive()).get("id") != number:
            assert told["jsonrpc"] == "2.0"
        return told

    def receive(self) -> dict[str, Any]:
        """The next message."""
        while b"\n" not in self._data:
            assert select.select([self.stdout], [], [], LIMIT)[0], "no answer"
            piece = os.read(self.stdout.fileno(), 65536)
            assert piece, "no answer any more"
            self._data += piece
        line, _, self._data = self._data.partition(b"\n")
        return dict(json.loads(line))

    @property
    def desk(self) -> int:
        """The process of its desk, which is its only child."""
        pid = self.process.pid
        children = Path(f"/proc/{pid}/task/{pid}/children")
        wait_until(lambda: any(each.is_alive() for each in places()), "the desk")
        (desk,) = map(int, children.read_text().split())
        return desk

    def close(self) -> bytes:
        """There is no more input, and its output is not read any more; what was said."""
        for stream in (self.stdin, self.stdout):
            with suppress(BrokenPipeError):
                stream.close()
        assert self.process.stderr is not None
        words = b""
        if not self.process.stderr.closed:
            with self.process.stderr as stderr:
                words = stderr.read()
        self.process.wait(LIMIT)
        return words

    def end(self) -> tuple[int, list[str]]:
        """There is no more input: the exit code, and what was said, each in a line of hotenv's."""
        with suppress(BrokenPipeError):
            self.stdin.close()
        self.process.wait(LIMIT)
        words = self.close()
        lines = words.decode().splitlines()
        assert all(line.startswith("hotenv: ") for line in lines), lines
        assert lines[0].startswith("hotenv: warning: this agent was not started by")
        return self.process.returncode, lines[1:]


@contextmanager
def raw(directory: Path, command: Sequence[str] = HOTENV) -> Iterator[Raw]:
    """A server that has left nothing behind after the block: no process, and no socket."""
    process = subprocess.Popen(
        [*command, "mcp"],
        cwd=directory,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    server = Raw(process)
    try:
        desk = server.desk
        yield server
    finally:
        process.kill()
        server.close()
    wait_until(lambda: has_ended(desk), "the desk to end")
    assert not [*places()]


def call(number: object, arguments: object) -> bytes:
    """A call of ``run``."""
    params = {"name": "run", "arguments": arguments}
    text = {"jsonrpc": "2.0", "id": number, "method": "tools/call", "params": params}
    return json.dumps(text).encode()


NONSENSE = [
    b"",
    b"junk",
    b"{}",
    b"[]",
    b"null",
    b"0",
    b'"',
    b"\xff\xfe\x00",
    b"\x00",
    b"\r",
    b"{" * 100_000,
    b"[" * 100_000,
    b'{"jsonrpc":"2.0","id":1e999,"method":"ping"}',
    b'{"jsonrpc":"2.0","id":' + b"9" * 5000 + b',"method":"ping"}',
    b'{"jsonrpc":"1.0","id":1,"method":"ping"}',
    b'{"jsonrpc":"2.0","id":null,"method":"ping"}',
    b'{"jsonrpc":"2.0","id":[],"method":"ping"}',
    b'{"jsonrpc":"2.0","id":true,"method":"ping"}',
    b'{"jsonrpc":"2.0","id":"x\\u0000\\ud800","method":"ping"}',
    b'{"jsonrpc":"2.0","id":1,"method":7}',
    b'{"jsonrpc":"2.0","id":1,"method":"none/such"}',
    b'{"jsonrpc":"2.0","id":1,"method":"\\ud800"}',
    b'{"jsonrpc":"2.0","method":"none/such","params":[1]}',
    b'{"jsonrpc":"2.0","id":1,"method":"tools/call"}',
    b'{"jsonrpc":"2.0","id":1,"method":"tools/call","params":[]}',
    b'{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":7}}',
    b'{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"\\u001b"}}',
    b'{"jsonrpc":"2.0","id":1,"method":"initialize","params":{}}',
    b'{"jsonrpc":"2.0","id":1,"result":{}}',
    b'{"jsonrpc":"2.0","id":1,"error":{"code":1,"message":"x"}}',
    b'{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}',
    b'{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":[]}}',
    b'{"jsonrpc":"2.0","method":"notifications/cancelled"}',
    b'[{"jsonrpc":"2.0","id":1,"method":"ping"}]',
    call(1, None),
    call(1, []),
    call(1, {"argv": {}}),
    call(1, {"argv": [[]]}),
    call(1, {"argv": ["cat"], "timeout": "1"}),
    call(1, {"argv": ["cat\0"]}),
    call(1, {"argv": ["\ud800"]}),
    call(1, {"argv": ["\udcff"], "cwd": "\udcff", "stdin": "\udcff"}),
    call(1, {"argv": ["cat"], "cwd": "x" * 10_000}),
    call(1, {"argv": ["cat"] * 1_000_000}),
    call(1, {"argv": ["a\n" * 1000]}),
    call(1, {"x\n": 1, "argv": []}),
    call("1" * 100_000, {"argv": ["sh", "-c", "printf '\\377\\0\\033'"]}),
]


def test_nonsense(shop: Path) -> None:
    """Whatever comes is answered with an error, or not at all, and does not disturb the next."""
    with raw(shop) as server:
        server.greet()
        for each in NONSENSE:
            server.send(each + b"\n")
            assert server.ask("ping", {})["result"] == {}, each[:200]
        assert server.end() == (0, [])


@pytest.mark.parametrize("each", [b"", b"junk\n", b"{", b"\xff", NONSENSE[-1]])
def test_nonsense_first(shop: Path, each: bytes) -> None:
    """Nor does it where a greeting is due; the end may come in the middle of a line."""
    with raw(shop) as server:
        server.send(each)
        assert server.end() == (0, [])


def test_errors(shop: Path) -> None:
    """What is no call of a tool is an error of the protocol, in one line."""
    with raw(shop) as server:
        server.greet()
        for method, params in (
            ("none/such", {}),
            ("tools/call", {"name": "none"}),
            ("tools/call", {"name": 7}),
            ("tools/call", {}),
        ):
            error = server.ask(method, params)["error"]
            assert error["code"] < 0
            assert "\n" not in error["message"]
        assert server.end() == (0, [])


def test_what_is_no_message(shop: Path) -> None:
    """Whoever has sent it does not wait for ever, if it has an ID."""
    with raw(shop) as server:
        server.greet()
        for ident, line in (
            ("a", call("a", {"argv": ["prod-\udcc3"]})),
            (7, b'{"jsonrpc":"1.0","id":7,"method":"ping"}'),
        ):
            server.send(line + b"\n")
            answer = server.receive()
            assert (answer["id"], answer["error"]["code"]) == (ident, -32600)
        assert server.end() == (0, [])


def test_an_endless_line(shop: Path) -> None:
    """Is not kept."""
    with raw(shop, with_limits({"hotenv.desk.lines.LONGEST": 100_000})) as server:
        with suppress(BrokenPipeError):
            server.send(b"x" * 1_000_000)
        code, words = server.end()
        assert (code, len(words)) == (2, 1)
        assert "too long" in words[0]


def test_cancelled(shop: Path) -> None:
    """A call that is cancelled ends its command, and nothing else."""
    with raw(shop) as server:
        server.greet()
        params = {"name": "run", "arguments": {"argv": ["sleep", "4321.25"]}}
        number = server.request("tools/call", params)
        wait_until(lambda: running("4321.25"), "the command")
        cancel = {"method": "notifications/cancelled", "params": {"requestId": number}}
        server.send(json.dumps({"jsonrpc": "2.0", **cancel}).encode() + b"\n")
        wait_until(lambda: not running("4321.25"), "the command to end")
        assert server.ask("ping", {})["result"] == {}
        assert server.end() == (0, [])


@pytest.mark.parametrize("how", ["end", "SIGTERM", "SIGINT", "SIGHUP", "SIGKILL"])
def test_the_end(shop: Path, how: str) -> None:
    """However it ends, so do its desk and the commands."""
    with raw(shop) as server:
        server.greet()
        word = f"4321.{signal.Signals[how] if how != 'end' else 0:03}"
        server.request("tools/call", {"name": "run", "arguments": {"argv": ["sleep", word]}})
        wait_until(lambda: running(word), "the command")
        if how != "end":
            os.kill(server.process.pid, signal.Signals[how])
            server.process.wait(LIMIT)
        code, words = server.end()
        assert code == {"end": 0, "SIGINT": 130}.get(how, -getattr(signal, how, 0))
        assert words == []
        wait_until(lambda: not running(word), "the command to end")


def test_nobody_reads(shop: Path) -> None:
    """It ends with its input, also if nobody takes its answers, and if nobody can."""
    with raw(shop) as server:
        server.greet()
        for _ in range(100):
            server.request("tools/list", {})
        wait_until(lambda: is_full(server.stdout.fileno()), "the pipe to be full")
        server.stdin.close()
        assert server.process.wait(LIMIT) == 0
    with raw(shop) as server:
        server.greet()
        server.stdout.close()
        server.request("tools/list", {})
        assert server.process.wait(LIMIT) == 141


def is_full(pipe: int) -> bool:
    """Whether nothing more has come for a while, and there is something."""
    before = unread(pipe)
    time.sleep(0.3)
    return before == unread(pipe) > 0


def unread(pipe: int) -> int:
    """The bytes in a pipe."""
    import fcntl
    import termios

    return int.from_bytes(fcntl.ioctl(pipe, termios.FIONREAD, bytes(4)), sys.byteorder)


def test_the_desk_is_killed(shop: Path) -> None:
    """Each call says so, and what helps."""
    with raw(shop) as server:
        server.greet()
        desk = server.desk
        os.kill(desk, signal.SIGKILL)
        wait_until(lambda: has_ended(desk), "the desk to end")
        result = server.ask("tools/call", {"name": "status", "arguments": {}})["result"]
        assert result["isError"]
        (text,) = result["content"]
        assert text["text"].endswith("ask the user to start this server again")
        assert server.end() == (0, [])
