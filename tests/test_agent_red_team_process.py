"""Agents that try to get at values other than by commands, and commands that show them.

What an agent computes from a value inside of a command that it is allowed to run gets out: nobody
can keep that. It is counted here by itself.
"""

from __future__ import annotations

import base64
import binascii
import json
import os
import re
import resource
import shutil
import signal
import socket
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from urllib.parse import unquote_to_bytes

import pytest

import ways
from agents import (
    SECRET,
    VARIABLES,
    agent,
    desks,
    log_of,
    ours,
    processes_with,
    project,
    running,
    write_project,
)
from guarded import PYTHON, needs_guards, needs_scopes
from processes import HOTENV, LIMIT, hotenv, serving, socket_path, wait_until
from supervision import gone

pytestmark = needs_guards

_LEFT_BEHIND = f"/tmp/hotenv-test-{os.getpid()}"
_HERE = Path(__file__).parent


@pytest.fixture
def shop(tmp_path: Path) -> Path:
    """An empty directory for a project."""
    directory = tmp_path / "shop"
    directory.mkdir()
    return directory


def tell(directory: Path, name: str, text: str) -> None:
    """Write a file that a script waits for, all at once."""
    (directory / f"{name}.new").write_text(text)
    (directory / f"{name}.new").rename(directory / name)


@contextmanager
def services(runtime: Path) -> Iterator[dict[str, object]]:
    """Somebody listens at a path, at an abstract name and at all addresses; and a terminal."""
    with ExitStack() as stack:
        name = f"hotenv-test-{os.getpid()}"
        for address in (f"\0{name}", str(runtime / "bus")):
            one = stack.enter_context(socket.socket(socket.AF_UNIX))
            one.bind(address)
            one.listen()
        addresses = ["127.0.0.1", "127.9.8.7", "0.0.0.0"]  # noqa: S104 - that is an attempt
        tcp = stack.enter_context(socket.create_server(("", 0)))
        port = tcp.getsockname()[1]
        with suppress(OSError):
            six = socket.create_server(("::", port), family=socket.AF_INET6)
            stack.enter_context(six)
            addresses += ["::1", "::"]
        with suppress(OSError):
            found = socket.getaddrinfo(socket.gethostname(), port)
            addresses += {str(each[4][0]) for each in found}
        Path(_LEFT_BEHIND).write_text("of another program")
        stack.callback(os.unlink, _LEFT_BEHIND)
        outer, inner = os.openpty()
        stack.callback(os.close, outer)
        stack.callback(os.close, inner)
        yield {
            "abstract": name,
            "ports": [port],
            "addresses": addresses,
            "terminal": os.ttyname(inner),
        }


def outside(
    directory: Path, runtime: Path, state: Path, more: dict[str, object]
) -> dict[str, object]:
    """What an intruder is told."""
    (place,) = desks(runtime)
    return {
        "sockets": {
            "session": str(socket_path(directory)),
            "answers": str(place / "answers"),
            "bus": str(runtime / "bus"),
        },
        "read": [_LEFT_BEHIND],
        "write": [str(state / "hotenv" / "agent" / "agent.log"), str(place / "about")],
        "hotenv": [*HOTENV],
        "python": sys.executable,
        **more,
    }


@needs_scopes
def test_an_intruder(shop: Path, runtime: Path, state: Path) -> None:
    """Nothing that it tries works, and nobody whom it tries to reach is disturbed."""
    seconds = f"{os.getpid()}1"
    shutil.copy(_HERE / "intruder.py", shop)
    script = (
        f"hotenv run -- sh -c 'sleep {seconds}; :' & while ! [ -s go ]; do sleep 0.05; done; "
        f'{PYTHON} intruder.py "$(cat go)"'
    )
    write_project(shop, 'allow = ["sh -c *"]')
    with (
        serving(shop, VARIABLES, "-q") as server,
        services(runtime) as found,
        running(shop, script) as process,
    ):
        wait_until(lambda: processes_with(seconds), "the command")
        victims = {
            "server": server.pid,
            "desk": ours(b"hotenv.desk.process", runtime)[0],
            "attendant": ours(b"hotenv.desk.attendant", runtime)[0],
            "command": processes_with(seconds)[0],
            "supervisor": process.pid,
        }
        told = outside(shop, runtime, state, {**found, "processes": victims})
        tell(shop, "go", json.dumps(told))
        output, errors = process.communicate(timeout=LIMIT)
        result = json.loads(output.splitlines()[-1])
        assert result["worked"] == [], errors
        assert len(result["made"]) > 350
        assert SECRET.encode() not in output + errors
        assert server.poll() is None
    path = str(state / "hotenv" / "agent" / "agent.log")
    assert hotenv("audit", "verify", path, cwd=shop).returncode == 0


@needs_scopes
def test_an_intruder_that_the_desk_runs(shop: Path, runtime: Path, state: Path) -> None:
    """What a command does not get, it cannot get elsewhere: ``only`` holds."""
    shutil.copy(_HERE / "intruder.py", shop)
    script = (
        "while ! [ -s go ]; do sleep 0.05; done; "
        f'hotenv run -- {Path(PYTHON).name} intruder.py "$(cat go)"'
    )
    write_project(shop, f'allow = ["{Path(PYTHON).name} **"]\nonly = ["OTHER"]')
    with (
        serving(shop, VARIABLES, "-q") as server,
        services(runtime) as found,
        running(shop, script) as process,
    ):
        wait_until(lambda: desks(runtime), "the desk")
        wait_until(lambda: (desks(runtime)[0] / "answers").exists(), "the desk's sockets")
        victims = {
            "server": server.pid,
            "desk": ours(b"hotenv.desk.process", runtime)[0],
            "supervisor": process.pid,
        }
        more = {**found, "processes": victims, "hotenv": [], "read": []}
        tell(shop, "go", json.dumps(outside(shop, runtime, state, more)))
        output, errors = process.communicate(timeout=LIMIT)
        result = json.loads(output.splitlines()[-1])
        assert result["worked"] == [], errors
        assert server.poll() is None


def test_the_marker(shop: Path, tmp_path: Path) -> None:
    """An agent cannot have another session's variables by what it writes into its own project."""
    other = tmp_path / "other"
    other.mkdir()
    with serving(other, b"PROD=prod-value-9876\n", "-q"), project(shop, 'allow = ["env"]'):
        named = (other / ".hotenv").read_text().strip()
        script = f"""
            mv .hotenv kept
            echo '{named}' >.hotenv; chmod 600 .hotenv; hotenv status; hotenv run -- env
            rm .hotenv; ln -s {other}/.hotenv .hotenv; hotenv status; hotenv run -- env
            rm .hotenv; ln {other}/.hotenv .hotenv; hotenv run -- env
            rm -f .hotenv; mkfifo .hotenv; hotenv run -- env
            rm .hotenv; echo socket=$TMPDIR/00000000.sock >.hotenv; hotenv run -- env
            rm .hotenv; hotenv run -- env
            mv kept .hotenv; hotenv run -- env
        """
        done = agent(shop, script)
    assert b"PROD" not in done.stdout
    assert done.stdout.count(b"API_TOKEN=[API_TOKEN]") == 1


def test_the_file_of_the_project(shop: Path) -> None:
    """What it says now counts when a human has allowed it, and not before."""
    with project(shop, 'allow = ["env"]'):
        script = """
            printf '[agent]\\nallow = ["**"]\\n' >hotenv.toml
            hotenv run -- id; hotenv allow; hotenv desk reload
            HOTENV_DESK= hotenv allow; HOTENV_DESK= hotenv desk reload; hotenv run -- id
            rm hotenv.toml; mkfifo hotenv.toml; hotenv run -- id; hotenv run -- env
        """
        done = agent(shop, script)
    assert b"uid=" not in done.stdout
    assert done.stdout.count(b"API_TOKEN=[API_TOKEN]") == 1


def script(path: Path, text: str) -> None:
    """A program."""
    path.write_text(text)
    path.chmod(0o755)


@pytest.mark.parametrize(
    ("first_line", "made"),
    [("#!{shop}/bin/evil", "evil"), ("#!/usr/bin/env evil", "evil"), ("#!/bin/sh", "helper")],
)
def test_programs_behind_programs(
    shop: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, first_line: str, made: str
) -> None:
    """Neither an interpreter nor what a script finds on PATH is one that the agent has made."""
    (shop / "bin").mkdir()
    (tmp_path / "tools").mkdir()
    script(shop / "bin" / made, "#!/bin/sh\necho evil\n")
    script(tmp_path / "tools" / "deploy", f"{first_line.format(shop=shop)}\nhelper\n")
    monkeypatch.setenv("PATH", f"{tmp_path}/tools:{shop}/bin:{os.environ['PATH']}")
    with project(shop, 'allow = ["deploy"]'):
        done = agent(shop, "hotenv run -- deploy")
    assert done.stdout == b""
    assert done.returncode != 0


def test_programs_behind_links(shop: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No link on the way to a program is one that the agent could change, whatever it leads to."""
    tools = tmp_path / "tools"
    tools.mkdir()
    (shop / "link").symlink_to("/bin/true")
    (tools / "deploy").symlink_to(shop / "link")
    (shop / "folder").symlink_to("/bin")
    (tmp_path / "more").symlink_to(shop / "folder")
    monkeypatch.setenv("PATH", f"{tools}:{os.environ['PATH']}:{tmp_path}/more")
    with project(shop, 'allow = ["deploy", "printenv PATH"]'):
        done = agent(shop, "hotenv run -- deploy; hotenv run -- printenv PATH")
    assert b"for an agent, which can change" in done.stderr
    assert os.fsencode(tmp_path / "more") not in done.stdout.strip().split(b":")


def test_what_loads_code(shop: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What hotenv was started with loads nothing that the agent has made into a command."""
    monkeypatch.setenv("PYTHONPATH", str(shop))
    monkeypatch.setenv("NODE_PATH", "modules")
    monkeypatch.setenv("PERL5LIB", "/usr/share/perl5")
    with project(shop, 'allow = ["env"]'):
        done = agent(shop, "hotenv run -- env")
    names = dict(line.split(b"=", 1) for line in done.stdout.splitlines() if b"=" in line)
    assert os.fsencode(shop) not in names.get(b"PYTHONPATH", b"")
    assert b"NODE_PATH" not in names
    assert b"PERL5LIB" in names


@pytest.mark.parametrize(
    "options",
    [
        ("--allow-write", "{runtime}"),
        ("--allow-write", "{runtime}/hotenv"),
        ("--allow-unix", "{runtime}"),
        ("--audit", "log"),
        ("--audit", "link/log"),
    ],
)
def test_out_of_reach(shop: Path, tmp_path: Path, runtime: Path, options: tuple[str, str]) -> None:
    """The sockets of hotenv and the log are not to be opened to an agent by an option."""
    (tmp_path / "logs").mkdir()
    (shop / "link").symlink_to(tmp_path / "logs")
    with project(shop, 'allow = ["env"]'):
        words = [each.format(runtime=runtime) for each in options]
        done = agent(shop, "echo started", *words)
        assert (done.returncode, done.stdout) == (2, b"")
        assert done.stderr.startswith(b"hotenv: an agent that can ")
        assert desks(runtime) == []


_QUITTING = """
import signal, subprocess, sys
command = subprocess.Popen(["hotenv", "run", "--", "sh", "-c", "echo $$; exec sleep 600"],
    stdout=subprocess.PIPE)
command.stdout.readline()
while command.poll() is None:
    command.send_signal(signal.SIGQUIT)
    try:
        command.wait(0.1)
    except subprocess.TimeoutExpired:
        pass
print(command.returncode)
"""


def test_core_dumps(shop: Path) -> None:
    """A signal of the agent does not make a command leave its memory where the agent can read."""
    pattern = Path("/proc/sys/kernel/core_pattern").read_text()
    if pattern.startswith(("|", "/")):
        pytest.skip(f"core dumps go to {pattern.strip()}")
    before = resource.getrlimit(resource.RLIMIT_CORE)
    if before[1] != resource.RLIM_INFINITY:
        pytest.skip("the limit for core dumps cannot be raised")
    (shop / "build").mkdir()
    (shop / "quit.py").write_text(_QUITTING)
    resource.setrlimit(resource.RLIMIT_CORE, (resource.RLIM_INFINITY,) * 2)
    try:
        with project(shop, 'allow = ["sh -c *"]\nwrite = ["build"]'):
            done = agent(shop, f"cd build; {PYTHON} ../quit.py")
    finally:
        resource.setrlimit(resource.RLIMIT_CORE, before)
    assert done.stdout == b"%d\n" % -signal.SIGQUIT
    assert [*(shop / "build").iterdir()] == []


_RACE = """
import os, subprocess, threading
over = threading.Event()
def swap():
    os.symlink("../outside", "evil"); os.mkdir("good")
    while not over.is_set():
        for one, other in (("place", "good"), ("place", "evil")):
            try:
                os.rename(other, one + ".new"); os.rename(one, one + ".old")
                os.rename(one + ".new", one); os.rename(one + ".old", "spare")
            except OSError:
                pass
            for name, other in (("spare", "good"), ("spare", "evil")):
                try:
                    if os.path.islink(name) == (other == "evil"):
                        os.rename(name, other)
                except OSError:
                    pass
os.mkdir("place")
swapper = threading.Thread(target=swap)
swapper.start()
for number in range(8):
    command = ["hotenv", "run", "--", "sh", "-c", "pwd -P; echo x >made"]
    try:
        done = subprocess.run(command, cwd="place", capture_output=True, timeout=60)
        print(done.stdout.decode(), end="")
    except OSError:
        pass
over.set()
swapper.join()
"""


def test_a_race_of_links(shop: Path, tmp_path: Path) -> None:
    """Directories that become links and back: nothing runs, and nothing is written, outside."""
    (tmp_path / "outside").mkdir()
    (shop / "race.py").write_text(_RACE)
    with project(shop, 'allow = ["sh -c *"]\nwrite = ["place"]'):
        done = agent(shop, f"{PYTHON} race.py")
    folders = set(done.stdout.splitlines())
    assert all(each.startswith(os.fsencode(shop)) for each in folders), folders
    assert [*(tmp_path / "outside").iterdir()] == []


_LYING = """
import json, os, socket
here = os.stat("danger")
fields = dict(argv=["pwd"], folder=os.path.abspath("safe"), identity=[here.st_dev, here.st_ino],
    terminal=[], size=[0, 0], joined=False, environment={})
payload = json.dumps(fields).encode()
with socket.socket(socket.AF_UNIX) as one:
    one.connect(os.environ["HOTENV_DESK"])
    one.sendall(b"R" + len(payload).to_bytes(4, "big") + payload)
    while one.recv(65536):
        pass
"""


def test_the_name_of_a_folder(shop: Path, state: Path) -> None:
    """The log has the name that it has, and not one that the agent has given to it."""
    (shop / "danger").mkdir()
    (shop / "safe").symlink_to("danger")
    (shop / "lie.py").write_text(_LYING)
    with project(shop, 'allow = ["pwd"]'):
        assert agent(shop, f"{PYTHON} lie.py").returncode == 0
    assert log_of(state)[-1]["folder"] == str(shop / "danger")


def test_words_of_processes(shop: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A value that a command gives to a program as an argument is not seen by the agent."""
    (tmp_path / "tools").mkdir()
    script(tmp_path / "tools" / "deploy", "#!/bin/sh\nsh -c 'echo ready; read x' $API_TOKEN\n")
    monkeypatch.setenv("PATH", f"{tmp_path}/tools:{os.environ['PATH']}")
    looking = """
        mkfifo out in; hotenv run -- deploy <in >out & exec 3>in; read line <out
        cat /proc/[0-9]*/cmdline | tr '\\0' '\\n'; exec 3>&-; wait
    """
    with project(shop, 'allow = ["deploy"]'):
        done = agent(shop, looking)
    assert done.stdout.count(SECRET.encode()) == 0


@pytest.mark.parametrize("only", ["", 'only = ["OTHER"]'])
def test_values_in_the_environment(shop: Path, monkeypatch: pytest.MonkeyPatch, only: str) -> None:
    """From a shell that was started with the variables, neither agent nor command gets a value."""
    monkeypatch.setenv("API_TOKEN", SECRET)
    monkeypatch.setenv("OTHER", "of the user")
    with project(shop, f'allow = ["env"]\n{only}'):
        done = agent(shop, "env; echo; hotenv run -- env")
    before, after = done.stdout.split(b"\n\n")
    assert SECRET.encode() not in done.stdout
    assert b"OTHER=of the user" in before
    assert (b"API_TOKEN=" in after) == (not only)


_RUDE = """
import array, json, os, socket, subprocess, sys, time
path, here = os.environ["HOTENV_DESK"], os.stat(".")
def connect():
    one = socket.socket(socket.AF_UNIX)
    one.settimeout(10)
    one.connect(path)
    return one
def frame(kind, payload=b""):
    return kind + len(payload).to_bytes(4, "big") + payload
def request(*argv, **other):
    fields = dict(argv=argv, folder=os.getcwd(), identity=[here.st_dev, here.st_ino], terminal=[],
        size=[0, 0], joined=False, environment={})
    return frame(b"R", json.dumps({**fields, **other}).encode())
def number(kind, value):
    return frame(kind, value.to_bytes(4, "big", signed=True))
def send(data):
    with connect() as one:
        try:
            one.sendall(data)
            one.settimeout(0.1)
            while one.recv(65536):
                pass
        except OSError:
            pass
sleep = request("sleep", "600")
for data in (
    b"\\0" * 100, b"GET / HTTP/1.0\\r\\n\\r\\n", b"R\\xff\\xff\\xff\\xff", frame(b"Z"),
    frame(b"Q", b"x"),
    frame(b"R", b"{}"), frame(b"R", b"[" * 100000), frame(b"R", b'{"argv":' + b"[" * 100000),
    frame(b"R", b'{"command": "answer", "number": 1, "said": "once"}'),
    request(), request(""), request(5), request("\\ud800"), request("echo", identity=[-1, 1]),
    request("echo", identity=[10**4000, 1]), request("echo", folder="/"), request("echo", size=[1]),
    request("echo", folder="x" * 5000), request("echo", terminal=5), request("echo\\0"),
    request("echo", environment=[1]), request("echo", "x" * 3000000), sleep[:-3],
    sleep + number(b"S", -1), sleep + number(b"S", 9), sleep + frame(b"S", b"1"),
    sleep + frame(b"W", b"\\xff" * 8), sleep + frame(b"W", bytes(60000)) * 20,
    sleep + b"".join(number(b"L", each) for each in (0, 1, 2, 99)) + frame(b"I", b"x"),
    sleep + frame(b"E") * 20000, sleep + frame(b"I", b"x" * 60000) * 10, request("echo") * 2,
    request("cat", terminal=[0, 1, 2]) + frame(b"I", b"x\\n\\x04") * 100,
    request("cat", joined=True),
):
    send(data)
idle = [connect() for _ in range(int(sys.argv[1]))]
halves = [connect() for _ in range(20)]
for one in halves:
    one.settimeout(0.05)
    try:
        one.sendall(b"R" + (1 << 22).to_bytes(4, "big") + bytes(1 << 20))
    except OSError:
        pass
with connect() as one:  # never reads
    one.sendall(request("yes"))
    with connect() as other:
        other.sendmsg([request("echo")], [(1, 1, array.array("i", [0, 1, 2] * 50))])
        other.recv(1)
    sent = 0
    with connect() as other:
        try:
            other.sendall(sleep)
            while sent < 1_000_000_000:
                sent += other.send(frame(b"W", bytes(60000)))
        except OSError:
            pass
    done = subprocess.run(["hotenv", "run", "--", "echo", "fine"], capture_output=True, timeout=60)
print(sent < 10_000_000, done.stdout, done.stderr)
for stage in range(10):
    one = subprocess.Popen(["hotenv", "run", "--", "sleep", "600"], stderr=subprocess.DEVNULL)
    time.sleep(stage * 0.03)
    one.kill()
    one.wait()
gone = [connect() for _ in range(30)]
for one in gone:
    one.sendall(sleep)
for one in [*gone, *idle, *halves]:
    one.close()
done = subprocess.run(["hotenv", "run", "--", "echo", "fine"], capture_output=True, timeout=60)
print(done.stdout, done.stderr)
"""


def test_rude_requesters(shop: Path, runtime: Path, state: Path) -> None:
    """What is no request, floods and sudden ends: the desk goes on, and nothing is left of them."""
    (shop / "rude.py").write_text(_RUDE)
    with project(shop, 'allow = ["**"]'):
        many = min(800, resource.getrlimit(resource.RLIMIT_NOFILE)[0] - 200)
        with running(
            shop, f"{PYTHON} rude.py {many}; while ! [ -s go ]; do sleep 0.05; done"
        ) as process:
            assert process.stdout is not None
            assert process.stdout.readline() == b"True b'fine\\n' b''\n"
            assert process.stdout.readline() == b"b'fine\\n' b''\n"
            wait_until(lambda: not ours(b"hotenv.desk.attendant", runtime), "all to end")
            tell(shop, "go", "go")
            assert process.wait(LIMIT) == 0
    path = str(state / "hotenv" / "agent" / "agent.log")
    assert hotenv("audit", "verify", path, cwd=shop).returncode == 0


_SHOWING = """
import base64, json, subprocess, sys
from concurrent.futures import ThreadPoolExecutor
def show(argv):
    done = subprocess.run(["hotenv", "run", "--", *argv], stdin=subprocess.DEVNULL,
        capture_output=True, timeout=60)
    return [base64.b64encode(each).decode() for each in (done.stdout, done.stderr)]
ways = json.load(open("ways.json"))
with ThreadPoolExecutor(4) as pool:
    print(json.dumps(dict(zip(ways, pool.map(show, ways.values())))))
"""


def shown(directory: Path, commands: dict[str, list[str]]) -> dict[str, tuple[bytes, bytes]]:
    """What an agent sees of each of ``commands``."""
    (directory / "ways.json").write_text(json.dumps(commands))
    (directory / "show.py").write_text(_SHOWING)
    done = agent(directory, f"{PYTHON} show.py")
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    return {name: (base64.b64decode(o), base64.b64decode(e)) for name, (o, e) in found.items()}


def readings(output: bytes) -> set[bytes]:
    """All that somebody can make of ``output`` who knows the usual notations, without case."""
    found = {output}
    for pattern in (rb"\x1b\[[0-9;]*[A-Za-z]|[\r\b]", rb"\0", rb"\s", rb".\x08", rb"\xe2\x80\x8b"):
        found |= {re.sub(pattern, b"", each) for each in (*found,)}
    for text in (*found,):
        digits = re.sub(rb"\\u00|\\x|%|[:\s]|&#x|;", b"", text)
        for run in re.findall(rb"[0-9a-fA-F]{12,}", digits):
            found |= {binascii.unhexlify(run[s:][: (len(run) - s) // 2 * 2]) for s in (0, 1)}
        found |= {unquote_to_bytes(text), *decoded(text)}
    return {each.lower() for each in found}


def decoded(text: bytes, depth: int = 2) -> Iterator[bytes]:
    """From base64, wherever it starts, and base64 of that."""
    for run in re.findall(rb"[A-Za-z0-9+/_-]{8,}", text) if depth else ():
        plain = run.translate(bytes.maketrans(b"-_", b"+/"))
        for start in range(4):
            piece = plain[start:]
            one = base64.b64decode(piece[: len(piece) // 4 * 4])
            yield one
            yield from decoded(one, depth - 1)


_PIECES = [SECRET[at : at + 6].lower().encode() for at in range(len(SECRET) - 5)]


def is_seen(streams: tuple[bytes, bytes]) -> bool:
    """Whether a piece of the value can be read from what came out."""
    texts = set().union(*map(readings, (*streams, b"".join(streams))))
    return any(piece in text for piece in _PIECES for text in texts)


def test_what_commands_show(shop: Path) -> None:
    """As it is, and in the notations that are hidden: a name, and no piece of the value."""
    (shop / "build").mkdir()
    commands = {**ways.PROGRAMS, **ways.HIDDEN}
    with project(shop, 'allow = ["**"]\nwrite = ["build"]'):
        found = shown(shop, commands)
    assert len(found) == len(commands) >= 60
    assert [name for name, streams in found.items() if is_seen(streams)] == []
    quiet = {name for name, streams in found.items() if b"[API_TOKEN]" not in b"".join(streams)}
    assert quiet <= ways.QUIET


_KILLING = """
import subprocess, time
command, began = ["hotenv", "run", "--", "sh", "-c", f"echo {'x' * 3000}; sleep SECONDS"], []
for number in range(100):
    began += [subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        for _ in range(3)]
    time.sleep(0.2)
    began[-1].kill()
    if any(each.poll() == 4 for each in began):
        break
print([each.wait() for each in began][0])
"""


@pytest.mark.parametrize("delay", [0.0, 0.1, 0.4])
def test_a_killed_desk(shop: Path, runtime: Path, state: Path, delay: float) -> None:
    """At whatever moment: no command is left, no session is open, and the log is intact."""
    seconds = f"{os.getpid()}{int(delay * 100)}7"
    (shop / "many.py").write_text(_KILLING.replace("SECONDS", seconds))
    after = "hotenv run -- env; HOTENV_DESK= hotenv run -- env; HOTENV_DESK= hotenv dump"
    path = state / "hotenv" / "agent" / "agent.log"
    before = len(log_of(state)) if path.exists() else 0
    with project(shop, 'allow = ["**"]'):
        with running(shop, f"{PYTHON} many.py; {after}") as process:
            wait_until(lambda: ours(b"hotenv.desk.process", runtime), "the desk")
            wait_until(lambda: path.exists() and len(log_of(state)) > before, "a command")
            time.sleep(delay)
            attendants = ours(b"hotenv.desk.attendant", runtime)
            for pid in ours(b"hotenv.desk.process", runtime):
                os.kill(pid, signal.SIGKILL)
            wait_until(lambda: all(map(gone, attendants)), "the attendants to end")
            output, errors = process.communicate(timeout=LIMIT)
            assert b"API_TOKEN" not in output
            assert errors.count(b"the desk") >= 1
            wait_until(lambda: not processes_with(seconds), "the commands to end")
            assert ours(b"hotenv.desk", runtime) == []
        assert hotenv("audit", "verify", str(path), cwd=shop).returncode == 0
        assert agent(shop, "hotenv run -- echo again").stdout == b"again\n"
        assert hotenv("audit", "verify", str(path), cwd=shop).returncode == 0
