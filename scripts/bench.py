"""Measures hotenv against the least that Trio needs for the same work. No test: it judges nothing.

How to read it: a line is a figure. What is compared was measured in turns, in one run, and each
round gave one ratio (of memory, one difference) of hotenv's measure to the other's. The line shows
their median, the quartiles around it, the target if there is one and whether the median reaches
it, and both medians as they are. The last are of this machine at this moment: never compare them
between runs. Quartiles far apart, or on both sides of a target, say that the machine was busy: run
it again. CPU time bears that better than the clock. More is better of requests per second only.
"""

from __future__ import annotations

import argparse
import base64
import importlib.util
import math
import operator
import os
import platform
import re
import resource
import secrets
import select
import shutil
import signal
import socket
import statistics
import subprocess
import sys
import tempfile
import time
import zipfile
from contextlib import ExitStack, contextmanager, suppress
from functools import partial
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, NoReturn

import execkit
import trio

import hotenv
from hotenv import Redactor
from hotenv.shell.processes import descendants

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    Measured = dict[str, float]  # one measurement's values by their names

TIME_LIMIT = 420  # seconds; the sections' own limits come first, unless something hangs
START_LIMIT = 10  # seconds for a server to come up
CHUNK = 64 * 1024

BIN = Path(sys.executable).parent
SETTLE = 12  # seconds until the threads of its start are gone
REST = 20  # seconds for which an idle server is watched
REQUEST = b'{"command":"run","args":["true"]}\n'
ENVIRONMENT = dict(os.environ)

FLOOR = """
import os, trio
async def main(): pass
trio.run(main)
os.execvp("true", ["true"])
"""
THROUGH_TRIO = """
import sys, hotenv.exchange.direct
from hotenv.cli.main import main
hotenv.exchange.direct.exchange = lambda *_: None
main(["run", "--", "true"])
"""
SLEEPER = """
import os, trio
async def main():
    os.write(1, b"ready")
    await trio.sleep_forever()
trio.run(main)
"""


# What every section uses


def variables(count: int) -> str:
    """Dotenv text that sets so many."""
    return "".join(f"VARIABLE_{number}={'x' * 24}\n" for number in range(count))


def in_turns(
    measures: Mapping[str, Callable[[], Measured]], rounds: int, seconds: float
) -> dict[str, list[Measured]]:
    """What each measure gave in each round, after a round to warm up.

    Every other round goes backwards, so that nobody always comes last. Begins no round (but two)
    after ``seconds``.
    """
    results: dict[str, list[Measured]] = {name: [] for name in measures}
    end = time.monotonic() + seconds
    for number in range(rounds + 1):
        if number > 2 and time.monotonic() > end:
            break
        for name in measures if number % 2 else reversed(list(measures)):
            result = measures[name]()
            if number:
                results[name].append(result)
    return results


def head(section: str, results: Mapping[str, Sequence[Measured]]) -> None:
    rounds = min(map(len, results.values()))
    print(f"\n{section} ({rounds} rounds)")
    print(f"  {'':44}median  {'quartiles':14}{'target':9}{'reached':9}medians", flush=True)


def figure(
    label: str,
    ours: Sequence[Measured],
    theirs: Sequence[Measured],
    value: str,
    unit: str,
    *,
    target: tuple[str, float] | None = None,
    by: Callable[[float, float], float] = operator.truediv,
) -> None:
    """Print the line that compares ``value`` of ours and theirs, unless it could not be read."""
    pairs = [(our[value], their[value]) for our, their in zip(ours, theirs, strict=True)]
    if any(math.isnan(part) for pair in pairs for part in pair):
        return
    low, median, high = statistics.quantiles([by(*pair) for pair in pairs], n=4, method="inclusive")
    aim = verdict = ""
    if target:
        sign, limit = target
        aim = f"{sign} {limit:.2f}"
        verdict = "yes" if (median <= limit if sign == "<=" else median >= limit) else "no"
    absolute = " to ".join(brief(statistics.median(part)) for part in zip(*pairs, strict=True))
    spread = f"{low:.2f}..{high:.2f}"
    print(f"  {label:44}{median:6.2f}  {spread:14}{aim:9}{verdict:9}{absolute} {unit}", flush=True)


def brief(value: float) -> str:
    return f"{value:,.0f}" if value >= 100 else f"{value:.1f}"


@contextmanager
def started(words: Sequence[str], directory: Path, given: str) -> Iterator[subprocess.Popen[bytes]]:
    """A process that reads ``given`` and is gone when the block ends."""
    pipe, null = subprocess.PIPE, subprocess.DEVNULL
    with subprocess.Popen(  # noqa: S603 - what is measured are processes
        words, cwd=directory, env=ENVIRONMENT, stdin=pipe, stdout=pipe, stderr=null
    ) as process:
        try:
            if process.stdin:
                process.stdin.write(given.encode())
                process.stdin.close()
            yield process
        finally:
            process.kill()


def patiently(attempt: Callable[[], object], process: subprocess.Popen[bytes]) -> None:
    """Try ``attempt`` until it succeeds, while ``process`` may still come up."""
    end = time.monotonic() + START_LIMIT
    while True:
        try:
            attempt()
        except OSError:
            if process.poll() is not None or time.monotonic() > end:
                sys.exit(f"bench: a server does not come up: {process.args!r}")
            time.sleep(0.005)
        else:
            return


class Server(NamedTuple):
    """A running server: its process id, and the path of its socket."""

    pid: int
    path: str


@contextmanager
def hotenv_server(directory: Path, *options: str, count: int = 10) -> Iterator[Server]:
    """A session in the new ``directory`` that holds ``count`` variables.

    Its standard error, and so its log, goes to /dev/null.
    """
    directory.mkdir()
    marker = directory / ".hotenv"
    with started([str(BIN / "hotenv"), "serve", *options], directory, variables(count)) as process:
        patiently(marker.lstat, process)
        (path,) = (line[7:] for line in marker.read_text().split("\n") if line[:7] == "socket=")
        yield Server(process.pid, path)


def ask(path: str) -> bytes:
    """The response to one request."""
    with socket.socket(socket.AF_UNIX) as connection:
        connection.connect(path)
        connection.sendall(REQUEST)
        received = b""
        while data := connection.recv(CHUNK):
            received += data
        return received


# startup: whole commands, from before the fork to after the wait

BARE = "python -I -c pass"
SOURCE = '[session]\nsource = ["op", "inject"]\n'
TABLE = '[run]\nisolated = true\nonly = ["VAR*"]\n'
STARTUP_TARGETS = {
    ("hotenv run -- true", BARE): 1.5,
    ("hotenv run -- true", "dotenv run -- true"): 0.3,
    ("hotenv run -- true", "the Trio floor"): 1.15,
    ("in a project", "hotenv run -- true"): 1.05,
    ("with a table [run]", "run --isolated --only"): 1.05,
    ("through a link", BARE): 1.65,
    ("status --short", BARE): 1.5,
    ("run --isolated --only", BARE): 2.7,
    ("dump", BARE): 2.2,
    ("through Trio", "the Trio floor"): 1.15,
}
"""What takes how many times as long as what, at most."""


def startup(root: Path, effort: float) -> None:
    directory = root / "session"
    with (
        hotenv_server(directory, "--quiet"),
        hotenv_server(project(root / "project", SOURCE) / "session", "--quiet"),
        hotenv_server(project(root / "table", TABLE) / "session", "--quiet"),
    ):
        commands = startup_commands(directory)
        measures = {name: partial(run, words, directory) for name, words in commands.items()}
        plain = commands["hotenv run -- true"]
        measures["in a project"] = partial(run, plain, root / "project" / "session")
        measures["with a table [run]"] = partial(run, plain, root / "table" / "session")
        results = in_turns(measures, round(90 * effort), 70 * effort)
    head("startup: time of one command to that of another", results)
    pairs = dict(STARTUP_TARGETS)
    if "direnv exec . true" in commands:
        pairs["hotenv run -- true", "direnv exec . true"] = math.inf
    for (ours, theirs), limit in pairs.items():
        target = None if limit == math.inf else ("<=", limit)
        label = f"{ours} / {theirs}"
        figure(label, results[ours], results[theirs], "clock", "ms", target=target)
        figure(f"{label}, CPU", results[ours], results[theirs], "cpu", "ms")


def project(directory: Path, text: str) -> Path:
    """The new ``directory`` of a project with an allowed file."""
    directory.mkdir()
    (directory / "hotenv.toml").write_text(text)
    (directory / "hotenv.toml").chmod(0o644)
    run([str(BIN / "hotenv"), "allow"], directory)
    return directory


def startup_commands(directory: Path) -> dict[str, list[str]]:
    """The commands to compare; what they read is in ``directory``."""
    hotenv = str(BIN / "hotenv")
    link = directory / "hotenv"
    link.symlink_to(hotenv)
    commands = {
        "hotenv run -- true": [hotenv, "run", "--", "true"],
        "through a link": [str(link), "run", "--", "true"],
        "status --short": [hotenv, "status", "--short"],
        "run --isolated --only": [hotenv, "run", "--isolated", "--only", "VAR*", "--", "true"],
        "dump": [hotenv, "dump"],
        "through Trio": [sys.executable, "-c", THROUGH_TRIO],
        "the Trio floor": [sys.executable, "-c", FLOOR],
        BARE: [sys.executable, "-I", "-c", "pass"],
        "dotenv run -- true": [str(BIN / "dotenv"), "run", "--", "true"],
    }
    text = variables(10)
    (directory / ".env").write_text(text)
    if direnv := shutil.which("direnv"):
        (directory / ".envrc").write_text(text.replace("VARIABLE", "export VARIABLE"))
        run([direnv, "allow", "."], directory)
        commands["direnv exec . true"] = [direnv, "exec", ".", "true"]
    return commands


def run(words: Sequence[str], directory: Path) -> Measured:
    null = subprocess.DEVNULL
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    start = time.perf_counter()
    subprocess.run(  # noqa: S603 - see above
        words, cwd=directory, env=ENVIRONMENT, stdin=null, stdout=null, stderr=null, check=True
    )
    clock = time.perf_counter() - start
    now = resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu = now.ru_utime + now.ru_stime - used.ru_utime - used.ru_stime
    return {"clock": clock * 1000, "cpu": cpu * 1000}


# requests: the server under load, the load being this process


def requests(root: Path, effort: float) -> None:
    with ExitStack() as stack:
        servers = {
            "hotenv": stack.enter_context(hotenv_server(root / "default")),
            "hotenv --quiet": stack.enter_context(hotenv_server(root / "quiet", "--quiet")),
        }
        response = ask(servers["hotenv"].path)
        servers["bare"] = stack.enter_context(bare_server(root, response))
        for clients, count in ((1, 150), (50, 250), (500, 1000)):
            measures = {
                name: partial(load, server, response, clients, count)
                for name, server in servers.items()
            }
            results = in_turns(measures, round(80 * effort), 24 * effort)
            head(f"requests: {clients} at a time, hotenv to a bare Trio server", results)
            bare = results.pop("bare")
            for name, ours in results.items():
                target = (">=", 0.6) if clients <= 50 else None
                figure(f"{name}, requests", ours, bare, "rate", "per second", target=target)
                figure(f"{name}, p50", ours, bare, "p50", "us")
                figure(f"{name}, p99", ours, bare, "p99", "us")
                figure(f"{name}, CPU time per request", ours, bare, "cpu", "us")


@contextmanager
def bare_server(directory: Path, response: bytes) -> Iterator[Server]:
    path = str(directory / "bare.sock")
    words = [sys.executable, __file__, "--serve-bare", path]
    with started(words, directory, response.decode()) as process:
        patiently(partial(ask, path), process)
        yield Server(process.pid, path)


def serve_bare(path: str) -> None:
    """Answer each line with what standard input gave: the least that a Trio server does."""
    response = sys.stdin.buffer.read()

    async def answer(stream: trio.SocketStream) -> None:
        async for data in stream:
            if data.endswith(b"\n"):
                await stream.send_all(response)
                return

    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(path)
        listener.listen(4096)
        listeners = [trio.SocketListener(trio.socket.from_stdlib_socket(listener))]
        trio.run(trio.serve_listeners, answer, listeners)


def load(server: Server, expected: bytes, clients: int, count: int) -> Measured:
    """Send ``count`` requests, ``clients`` at a time."""
    clock = (~server.pid << 3) | 2  # Linux's clock_getcpuclockid(3), which Python does not have
    used = time.clock_gettime(clock)
    start = time.perf_counter()
    try:
        taken = ask_many(server.path, expected, clients, count)
    except OSError as error:
        sys.exit(f"bench: process {server.pid}, a server, was ended by somebody: {error}")
    rate = count / (time.perf_counter() - start)
    cpu = (time.clock_gettime(clock) - used) / count
    percentiles = statistics.quantiles(taken, n=100)
    p50, p99 = percentiles[49], percentiles[98]
    return {"rate": rate, "p50": p50 * 1e6, "p99": p99 * 1e6, "cpu": cpu * 1e6}


def ask_many(path: str, expected: bytes, clients: int, count: int) -> list[float]:
    """The seconds that each of ``count`` requests took, ``clients`` being under way at any time."""
    taken: list[float] = []
    waiting: dict[int, tuple[socket.socket, float, bytearray]] = {}
    with select.epoll() as poll:
        while len(taken) < count:
            while len(waiting) < min(clients, count - len(taken)):
                start = time.perf_counter()
                connection = socket.socket(socket.AF_UNIX)
                connection.connect(path)  # waits while the backlog is full
                connection.sendall(REQUEST)
                waiting[connection.fileno()] = connection, start, bytearray()
                poll.register(connection, select.EPOLLIN)
            for descriptor, _ in poll.poll():
                connection, start, received = waiting[descriptor]
                if data := connection.recv(CHUNK):
                    received += data
                    continue
                taken.append(time.perf_counter() - start)
                del waiting[descriptor]
                connection.close()
                check(received, expected)
    return taken


def check(received: bytes | bytearray, expected: bytes) -> None:
    if received != expected:
        sys.exit("bench: a server gave another response: this is not the work to be measured")


# memory: what the server holds resident


def memory(root: Path, effort: float) -> None:
    measures = {
        "1 request": partial(memory_of_hotenv, root, 1),
        "1,000 requests": partial(memory_of_hotenv, root, 1000),
        "bare": partial(memory_of_sleeper, root),
    }
    results = in_turns(measures, round(15 * effort), 25 * effort)
    head("memory: MiB of hotenv serve above a process that sleeps in Trio", results)
    bare = results.pop("bare")
    for name, ours in results.items():
        target = ("<=", 4.0)
        figure(f"RSS after {name}", ours, bare, "VmRSS", "MiB", target=target, by=operator.sub)
        figure(f"Pss after {name}", ours, bare, "Pss", "MiB", by=operator.sub)


def memory_of_hotenv(root: Path, count: int) -> Measured:
    directory = Path(tempfile.mkdtemp(dir=root))
    with hotenv_server(directory / "session") as server:
        for _ in range(count):
            ask(server.path)
        return memory_of(server.pid)


def memory_of_sleeper(root: Path) -> Measured:
    with started([sys.executable, "-c", SLEEPER], root, "") as process:
        if process.stdout:
            process.stdout.read(len("ready"))
        return memory_of(process.pid)


def memory_of(pid: int) -> Measured:
    """Resident memory in MiB, and the process's share of it; nan for what may not be read."""
    sizes = {"VmRSS": math.nan, "Pss": math.nan}
    for name, file in (("VmRSS", "status"), ("Pss", "smaps_rollup")):
        with suppress(OSError):
            for line in Path(f"/proc/{pid}/{file}").read_text().splitlines():
                if line.startswith(f"{name}:"):
                    sizes[name] = int(line.split()[1]) / 1024
    return sizes


# rest: what it costs to hold and not to be asked


def rest(root: Path, _effort: float) -> None:
    with hotenv_server(root / "session", "--quiet") as server:
        time.sleep(SETTLE)
        before = switches(server.pid)
        time.sleep(REST)
        per_minute = (switches(server.pid) - before) * 60 / REST
    print(f"\nrest\n  wake-ups per minute: {per_minute:.0f} (target: at most 20)", flush=True)


def switches(pid: int) -> int:
    """How often the threads of the process have gone to sleep of their own will."""
    threads = [status.read_text() for status in Path(f"/proc/{pid}/task").glob("*/status")]
    return sum(int(text.split("\nvoluntary_ctxt_switches:")[1].split()[0]) for text in threads)


# snapshots: what more variables cost, per byte that is sent


def snapshots(root: Path, effort: float) -> None:
    with ExitStack() as stack:
        measures = {}
        for count in (10, 1_000, 10_000):
            directory = root / str(count)
            server = stack.enter_context(hotenv_server(directory, "--quiet", count=count))
            measures[f"{count:,} variables"] = partial(cost_of, server, directory)
        results = in_turns(measures, round(30 * effort), 25 * effort)
    few = results.pop("10 variables")
    head("snapshots: cost to that of 10 variables", {"few": few, **results})
    for name, many in results.items():
        figure(f"{name}, bytes sent", many, few, "bytes", "bytes")
        figure(f"{name}, time of a request", many, few, "request", "us")
        figure(f"{name}, time of hotenv dump", many, few, "dump", "ms")
        figure(f"{name}, RSS", many, few, "VmRSS", "MiB")


def cost_of(server: Server, directory: Path) -> Measured:
    start = time.perf_counter()
    size = len(ask(server.path))
    taken = time.perf_counter() - start
    dump = run([str(BIN / "hotenv"), "dump"], directory)["clock"]
    return {"bytes": size, "request": taken * 1e6, "dump": dump, **memory_of(server.pid)}


# composition: what options of hotenv run cost, and how that grows with the environment


def composition(root: Path, effort: float) -> None:
    with ExitStack() as stack:
        measures = {}
        for count in (10, 1_000, 10_000):
            directory = root / str(count)
            stack.enter_context(hotenv_server(directory, "--quiet", count=count))
            for name, options in (("plain", []), ("composed", ["--isolated", "--pass", "LC_*"])):
                # Not run: an environment of 10,000 variables may be too large for the system.
                explain = ["--explain"] if options else []
                words = [str(BIN / "hotenv"), "run", *options, *explain, "--", "true"]
                if options or count < 10_000:
                    measures[f"{name}, {count:,} variables"] = partial(run, words, directory)
        results = in_turns(measures, round(20 * effort), 25 * effort)
    plain = results.pop("plain, 10 variables")
    head("composition: time of hotenv run to that of a plain one", {"plain": plain, **results})
    for name, taken in results.items():
        figure(name, taken, plain, "cpu", "ms")


# crowds: how promptly a client is answered while others misbehave


def crowds(root: Path, effort: float) -> None:
    with hotenv_server(root / "session", "--quiet") as server:
        measures = {
            "alone": partial(time_of_request, server, 0, b""),
            "500 silent connections": partial(time_of_request, server, 500, b""),
            "500 half requests": partial(time_of_request, server, 500, REQUEST[:-1]),
            "20 that send 8 MiB of garbage": partial(time_of_request, server, 20, bytes(1 << 23)),
        }
        results = in_turns(measures, round(20 * effort), 30 * effort)
    alone = results.pop("alone")
    head("crowds: time of a request to that of one alone", {"alone": alone, **results})
    for name, taken in results.items():
        figure(name, taken, alone, "clock", "ms")


def time_of_request(server: Server, crowd: int, words: bytes) -> Measured:
    """A request that comes after ``crowd`` connections, which send ``words`` as far as they can."""
    with ExitStack() as stack:
        for _ in range(crowd):
            other = stack.enter_context(socket.socket(socket.AF_UNIX))
            other.connect(server.path)
            other.setblocking(False)
            with suppress(OSError):
                other.send(words)
        start = time.perf_counter()
        ask(server.path)
        return {"clock": (time.perf_counter() - start) * 1000}


# guards: what they cost a command

GUARD_TARGETS = {"start": 2.0, "make": 1.1, "pip": 1.1, "computing": 1.02, "system calls": 1.1}
"""How many times as long a command takes with a guard as without, at most."""

REFUSAL_TARGET = 60  # microseconds
REFUSED = """
import os, sys, time
start = time.perf_counter()
for _ in range(int(sys.argv[2])):
    try:
        os.mkdir(sys.argv[1])
    except OSError:
        pass
print((time.perf_counter() - start) / int(sys.argv[2]) * 1e6)
"""
CONNECTING_TARGET = 250  # microseconds
CONNECTING = """
import socket, sys, time
server = socket.create_server(("127.0.0.1", 0))
start = time.perf_counter()
for _ in range(int(sys.argv[1])):
    socket.create_connection(server.getsockname()).close()
    server.accept()[0].close()
print((time.perf_counter() - start) / int(sys.argv[1]) * 1e6)
"""
SANDLOCK = """
import sys
from sandlock import Sandbox
done = Sandbox(fs_readable=["/"], fs_writable=["/"]).run(sys.argv[1:])
sys.stdout.buffer.write(done.stdout)
sys.exit(done.exit_code)
"""
COMPUTING = "sum(number * number for number in range(40_000_000))"
CALLING = "import os\nfor _ in range(5_000_000): os.getppid()"


def guards(root: Path, effort: float) -> None:
    build = make_project(root / "build")
    commands = guarded_commands(build)
    with hotenv_server(root / "session", "--quiet"):
        hotenv = str(BIN / "hotenv")
        commands["start"] = (
            [hotenv, "guard", "--no-network", "--", "true"],
            [hotenv, "run", "--", "true"],
        )
        measures = {}
        for name, (ours, theirs) in commands.items():
            where = root / "session" if name == "start" else build
            measures[f"{name}, guarded"] = partial(run, ours, where)
            measures[name] = partial(run, theirs, where)
        rivals = other_guards()
        tool = [str(BIN / "dotenv"), "--version"]  # a Python program, as one of them takes no other
        for name, words in {"hotenv": [hotenv, "guard", "--no-network", "--"], **rivals}.items():
            measures[f"tool by {name}"] = partial(run, [*words, *tool], build)
        for name, options in (("refused", ["--fs-readonly", "--keep-status"]), ("fails", None)):
            measures[name] = partial(time_of_mkdir, root, options)
        for name, options in (("connects", []), ("connects, guarded", ["--allow-localhost"])):
            measures[name] = partial(time_of_connecting, options)
        results = in_turns(measures, round(20 * effort), 90 * effort)
    head("guards: time of a command with a guard to that without", results)
    for name in commands:
        target = ("<=", GUARD_TARGETS[name])
        figure(name, results[f"{name}, guarded"], results[name], "clock", "ms", target=target)
    for name in rivals:
        label = f"a tool without network, to {name}"
        figure(label, results["tool by hotenv"], results[f"tool by {name}"], "clock", "ms")
    figure(
        "a refusal, beside a call that fails (difference)",
        results["refused"],
        results["fails"],
        "each",
        "us",
        target=("<=", REFUSAL_TARGET),
        by=operator.sub,
    )
    figure(
        "a connection by --allow-localhost, beside one without a guard (difference)",
        results["connects, guarded"],
        results["connects"],
        "each",
        "us",
        target=("<=", CONNECTING_TARGET),
        by=operator.sub,
    )


def other_guards() -> dict[str, list[str]]:
    """Others that keep a command from the network, as far as they are installed here."""
    found = {}
    if (BIN / "hermetic").exists():
        found["hermetic-seal"] = [str(BIN / "hermetic"), "--no-network", "--"]
    if importlib.util.find_spec("sandlock"):
        found["sandlock"] = [sys.executable, "-I", "-c", SANDLOCK]
    return found


def guarded_commands(build: Path) -> dict[str, tuple[list[str], list[str]]]:
    """Commands with a guard and without, to be run in the directory ``build``."""
    hotenv = str(BIN / "hotenv")
    readonly = [hotenv, "guard", "--fs-readonly", "--allow-write", str(build), "--private-tmp"]
    offline = [hotenv, "guard", "--no-network"]
    python = [sys.executable, "-I", "-S"]
    pip = ["-m", "pip", "install", "-q", "--no-index", "--no-deps", "--no-compile", "--upgrade"]
    wheels = {
        "pip": (readonly, [sys.executable, *pip, "--target", "out", make_wheel(build)]),
        "computing": (offline, [*python, "-c", COMPUTING]),
        "system calls": (offline, [*python, "-c", CALLING]),
    }
    if shutil.which("make") and shutil.which("cc"):
        wheels["make"] = (readonly, ["make", "-s", "-B"])
    return {name: ([*guard, "--", *words], words) for name, (guard, words) in wheels.items()}


def make_project(directory: Path) -> Path:
    """A program in 40 files of C, and how to make it."""
    directory.mkdir()
    names = [f"part{number}" for number in range(40)]
    for name in names:
        (directory / f"{name}.c").write_text(
            f'#include <stdio.h>\nvoid {name}(void) {{ puts(""); }}'
        )
    objects = " ".join(f"{name}.o" for name in names)
    (directory / "main.c").write_text("int main(void) { return 0; }")
    (directory / "Makefile").write_text(f"program: main.o {objects}\n\tcc -o $@ $^\n")
    return directory


def make_wheel(directory: Path) -> str:
    """A wheel with 200 modules."""
    path = directory / "parts-1.0-py3-none-any.whl"
    about = "parts-1.0.dist-info"
    with zipfile.ZipFile(path, "w") as wheel:
        for number in range(200):
            wheel.writestr(f"parts/part{number}.py", f"NUMBER = {number}\n")
        wheel.writestr(f"{about}/METADATA", "Metadata-Version: 2.1\nName: parts\nVersion: 1.0\n")
        wheel.writestr(
            f"{about}/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
        )
        wheel.writestr(f"{about}/RECORD", "")
    return str(path)


def time_of_mkdir(root: Path, options: Sequence[str] | None) -> Measured:
    """Of each of many: refused to a command with a guard of ``options``, or failing without."""
    guard = [] if options is None else [str(BIN / "hotenv"), "guard", *options, "--"]
    path = root if options is None else root / "refused"
    words = [*guard, sys.executable, "-I", "-S", "-c", REFUSED, str(path), "2000"]
    done = subprocess.run(  # noqa: S603 - the commands are ours
        words, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, env=ENVIRONMENT, check=True
    )
    return {"each": float(done.stdout)}


def time_of_connecting(options: Sequence[str]) -> Measured:
    """Of each of many connections to this machine, with a guard of ``options`` or without."""
    guard = [str(BIN / "hotenv"), "guard", *options, "--"] if options else []
    words = [*guard, sys.executable, "-I", "-S", "-c", CONNECTING, "1000"]
    done = subprocess.run(words, stdout=subprocess.PIPE, env=ENVIRONMENT, check=True)  # noqa: S603
    return {"each": float(done.stdout)}


# shells: what a command costs in a shell that is there

MANY_COMMANDS = 100
MUCH_OUTPUT = 50_000_000  # bytes
MUCH = ("head", "-c", str(MUCH_OUTPUT), "/dev/zero")
SHELLS, COMMANDS = 100, 100  # at once, and in each


def shells(root: Path, effort: float) -> None:
    measures: dict[str, Callable[[], Measured]] = {
        "in a shell": partial(trio.run, time_in_shell),
        "a bash each": time_of_bashes,
        "in execkit's session": time_in_execkit,
    }
    results = in_turns(measures, round(20 * effort), 40 * effort)
    head("shells: time of a command ':' in a shell to that in others", results)
    ours = results.pop("in a shell")
    for name, taken in results.items():
        figure(f"to {name}", ours, taken, "each", "ms")
    print(
        f"  a command takes {brief(1000 * statistics.median(e['each'] for e in ours))} us (<= 1000)"
    )
    measures = {
        "in a shell": partial(trio.run, rate_in_shell),
        "through a pipe": partial(trio.run, rate_through_pipe),
    }
    results = in_turns(measures, round(10 * effort), 40 * effort)
    head("shells: rate of much output in a shell to that of a plain pipe", results)
    ours, theirs = results.values()
    figure("50 MB", ours, theirs, "rate", "MB/s", target=(">=", 0.6))
    trio.run(crowd_of_shells)


async def time_in_shell(host: str | None = None) -> Measured:
    async with hotenv.open_shell(host=host) as shell:
        await shell.run(":")
        start = time.perf_counter()
        for _ in range(MANY_COMMANDS):
            await shell.run(":")
        return {"each": (time.perf_counter() - start) * 1000 / MANY_COMMANDS}


def time_of_bashes() -> Measured:
    start = time.perf_counter()
    for _ in range(MANY_COMMANDS):
        subprocess.run(["bash", "-c", ":"], capture_output=True, check=True)  # noqa: S607 - ours
    return {"each": (time.perf_counter() - start) * 1000 / MANY_COMMANDS}


def time_in_execkit() -> Measured:
    session = execkit.Session.local()
    session.exec(":")
    start = time.perf_counter()
    for _ in range(MANY_COMMANDS // 10):
        session.exec(":")
    taken = time.perf_counter() - start
    session.close()
    return {"each": taken * 1000 / (MANY_COMMANDS // 10)}


async def rate_in_shell(size: int = MUCH_OUTPUT, host: str | None = None) -> Measured:
    async with hotenv.open_shell(host=host, timeout=None) as shell:
        start = time.perf_counter()
        result = await shell.run(f"head -c {size} /dev/zero")
        taken = time.perf_counter() - start
    all_of_it = len(result.stdout) + result.omitted.stdout.bytes == size
    return {"rate": size / 1e6 / taken if all_of_it else math.nan}


async def rate_through_pipe(words: Sequence[str] = MUCH) -> Measured:
    start = time.perf_counter()
    process = await trio.lowlevel.open_process(words, stdout=subprocess.PIPE)
    size = 0
    if process.stdout is not None:
        async for piece in process.stdout:
            size += len(piece)
    await process.wait()
    return {"rate": size / 1e6 / (time.perf_counter() - start)}


async def crowd_of_shells() -> None:
    before = left_over()
    taken: list[float] = []

    async def use() -> None:
        async with hotenv.open_shell() as shell:
            for _ in range(COMMANDS):
                start = time.perf_counter()
                await shell.run("echo a")
                taken.append((time.perf_counter() - start) * 1000)

    began = time.perf_counter()
    async with trio.open_nursery() as nursery:
        for _ in range(SHELLS):
            nursery.start_soon(use)
    seconds = time.perf_counter() - began
    print(f"\nshells: {SHELLS} at once, {len(taken):,} commands in {seconds:.1f} s")
    median, last = statistics.median(taken), statistics.quantiles(taken, n=100)[-1]
    print(f"  a command, from its call to its result: median {median:.1f} ms, p99 {last:.1f} ms")
    print(f"  left over (descriptors, processes, directories): {left_over() - before}", flush=True)


def left_over() -> int:
    """How much there is that shells could leave."""
    directories = [*Path("/dev/shm").glob("hotenv-*")]  # noqa: S108 - where they are
    return len(os.listdir("/proc/self/fd")) + len(descendants(os.getpid())) + len(directories)


# remote: what a command costs in a shell that is on another machine, which is this one

REMOTE_OUTPUT = 200_000_000  # bytes


def remote(root: Path, effort: float) -> None:
    if not log_in_here(root):
        print("\nremote: nobody can log in to an sshd here")
        return
    with started(["ssh", "-MNS", f"{root}/ssh", "here"], root, "") as master:
        patiently((root / "ssh").stat, master)
        measures: dict[str, Callable[[], Measured]] = {
            "in a shell": partial(trio.run, time_in_shell, "here"),
            "an ssh each": partial(time_of_sessions, root),
        }
        results = in_turns(measures, round(10 * effort), 40 * effort)
        head("remote: time of a command ':' in a shell there to that of another", results)
        ours, theirs = results.values()
        figure("to a session of ssh, the connection is there", ours, theirs, "each", "ms")
        run = f"head -c {REMOTE_OUTPUT} /dev/zero"
        words = ["ssh", "-S", f"{root}/ssh", "here", run]
        measures = {
            "in a shell": partial(trio.run, rate_in_shell, REMOTE_OUTPUT, "here"),
            "through ssh": partial(trio.run, rate_through_pipe, words),
        }
        results = in_turns(measures, round(10 * effort), 60 * effort)
        head("remote: rate of much output in a shell there to that of ssh", results)
        ours, theirs = results.values()
        figure("200 MB", ours, theirs, "rate", "MB/s", target=(">=", 0.8))


def log_in_here(root: Path) -> bool:
    """Let ssh find an sshd of this user as the host ``here``; whether that works."""
    for key in ("host", "user"):
        keygen = ["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", f"{root}/{key}"]
        if not shutil.which(keygen[0]) or subprocess.run(keygen).returncode:  # noqa: S603 - ours
            return False
    (root / "sshd.conf").write_text(
        f"HostKey {root}/host\nAuthorizedKeysFile {root}/user.pub\nStrictModes no\nUsePAM no\n"
        "PrintMotd no\nPrintLastLog no\n"
    )
    (root / "ssh.conf").write_text(
        f"Host here\nProxyCommand /usr/sbin/sshd -i -f {root}/sshd.conf -E {root}/sshd.log\n"
        f"IdentityFile {root}/user\nIdentityAgent none\nUserKnownHostsFile /dev/null\n"
        "StrictHostKeyChecking no\nLogLevel ERROR\n"
    )
    (root / "bin").mkdir()
    ssh = root / "bin/ssh"
    ssh.write_text(f'#!/bin/sh\nexec {shutil.which("ssh")} -F {root}/ssh.conf "$@"\n')
    ssh.chmod(0o700)
    ENVIRONMENT["PATH"] = os.environ["PATH"] = f"{root}/bin:{os.environ['PATH']}"
    words = ["ssh", "here", "true"]
    return not subprocess.run(words, stdin=subprocess.DEVNULL).returncode  # noqa: S603 - ours


def time_of_sessions(root: Path) -> Measured:
    start = time.perf_counter()
    words = ["ssh", "-S", f"{root}/ssh", "here", ":"]
    for _ in range(MANY_COMMANDS // 10):
        subprocess.run(words, check=True)  # noqa: S603 - ours
    return {"each": (time.perf_counter() - start) * 1000 / (MANY_COMMANDS // 10)}


# redaction: how fast a stream without values is made

REDACTED = 8 << 20  # bytes
LINE = b"2026-11-28 14:15:16 INFO worker[17]: /usr/lib/python3/dist-packages/foo.py id=%s 12 ms\n"


def redaction(_root: Path, effort: float) -> None:
    values = {f"NAME_{number:02}": secrets.token_urlsafe(30) for number in range(20)}
    lines = b"".join(LINE % secrets.token_hex(8).encode() for _ in range(REDACTED // len(LINE)))
    pieces = [lines[at : at + 1000] for at in range(0, len(lines), 1000)]
    forms = [form for value in values.values() for form in written(value.encode())]
    matches = b"".join(piece + forms[at % len(forms)] for at, piece in enumerate(pieces))
    expression = re.compile(b"|".join(map(re.escape, forms)))
    takers: dict[str, Callable[[bytes], object]] = {
        "redacted": Redactor(values).feed,
        "re": partial(expression.sub, b"[NAME]"),
        "copied": bytearray,
    }
    texts = {"no value": lines, "a value every 1,000 bytes": matches}
    results = in_turns(
        {
            f"{name}, {text}": partial(rate, take, data)
            for text, data in texts.items()
            for name, take in takers.items()
        },
        round(10 * effort),
        90 * effort,
    )
    head("redaction: MB/s with 20 values in all forms, to re with three forms, to copying", results)
    for text in texts:
        for other in ("re", "copied"):
            ours, theirs = results[f"redacted, {text}"], results[f"{other}, {text}"]
            figure(f"{text}, to {other}", ours, theirs, "rate", "MB/s")


def written(value: bytes) -> tuple[bytes, ...]:
    return value, base64.b64encode(value), value.hex().encode()


def rate(take: Callable[[bytes], object], data: bytes) -> Measured:
    """Of taking all of ``data`` in pieces, by the time of the CPU."""
    start = time.process_time()
    for at in range(0, len(data), CHUNK):
        take(data[at : at + CHUNK])
    return {"rate": len(data) / (time.process_time() - start) / 1e6}


SECTIONS = {
    "startup": startup,
    "requests": requests,
    "memory": memory,
    "rest": rest,
    "snapshots": snapshots,
    "composition": composition,
    "crowds": crowds,
    "guards": guards,
    "shells": shells,
    "redaction": redaction,
    "remote": remote,
}


def stop(signum: int, _frame: object) -> NoReturn:
    """End by an exception, which ends what was started."""
    sys.exit(f"bench: ended by {signal.Signals(signum).name}")


def main() -> None:
    parser = argparse.ArgumentParser(prog="scripts/bench", description="Measure hotenv.")
    parser.add_argument("--quick", action="store_true", help="fewer rounds, rougher figures")
    parser.add_argument("--serve-bare", metavar="PATH", help=argparse.SUPPRESS)
    parser.add_argument("sections", nargs="*", metavar="SECTION", help=", ".join(SECTIONS))
    args = parser.parse_args()
    if args.serve_bare:
        serve_bare(args.serve_bare)
        return
    if unknown := set(args.sections) - set(SECTIONS):
        parser.error(f"no such section: {', '.join(sorted(unknown))}")
    for signum in (signal.SIGALRM, signal.SIGHUP, signal.SIGINT, signal.SIGTERM):
        signal.signal(signum, stop)
    signal.alarm(TIME_LIMIT)
    measure(args.sections or list(SECTIONS), 0.2 if args.quick else 1)


def measure(sections: Sequence[str], effort: float) -> None:
    print(f"hotenv {version('hotenv')}, trio {version('trio')}, Python {platform.python_version()}")
    print(f"{os.cpu_count()} cores, load average {os.getloadavg()[0]:.2f}")
    # Not where TMPDIR says: the path of a socket has to be short.
    with tempfile.TemporaryDirectory(prefix="hotenv-bench-", dir="/tmp") as root:
        for name in (
            "XDG_RUNTIME_DIR",
            "XDG_CACHE_HOME",
            "XDG_CONFIG_HOME",
            "XDG_DATA_HOME",
            "XDG_STATE_HOME",
        ):
            ENVIRONMENT[name] = root  # the last three are for direnv
        for section in sections:
            SECTIONS[section](Path(tempfile.mkdtemp(dir=root)), effort)


if __name__ == "__main__":
    main()
