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
import math
import operator
import os
import platform
import resource
import select
import shutil
import signal
import socket
import statistics
import subprocess
import sys
import tempfile
import time
from contextlib import ExitStack, contextmanager, suppress
from functools import partial
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, NoReturn

import trio

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    Measured = dict[str, float]  # one measurement's values by their names

TIME_LIMIT = 300  # seconds; the sections' own limits come first, unless something hangs
START_LIMIT = 10  # seconds for a server to come up
CHUNK = 64 * 1024

BIN = Path(sys.executable).parent
REST = 20  # seconds for which a server is watched that nobody asks
REQUEST = b'{"command":"run","args":["true"]}\n'
ENVIRONMENT = dict(os.environ)

FLOOR = """
import os, trio
async def main(): pass
trio.run(main)
os.execvp("true", ["true"])
"""
THROUGH_TRIO = """
import sys, hotenv.exchange.express
from hotenv.cli import main
hotenv.exchange.express.exchange = lambda *_: None
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
def started(words: Sequence[str], folder: Path, given: str) -> Iterator[subprocess.Popen[bytes]]:
    """A process that reads ``given`` and is gone when the block ends."""
    pipe, null = subprocess.PIPE, subprocess.DEVNULL
    with subprocess.Popen(  # noqa: S603 - what is measured are processes
        words, cwd=folder, env=ENVIRONMENT, stdin=pipe, stdout=pipe, stderr=null
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
def hotenv_server(folder: Path, *options: str, count: int = 10) -> Iterator[Server]:
    """A session in the new ``folder`` that holds ``count`` variables.

    Its standard error, and so its log, goes to /dev/null.
    """
    folder.mkdir()
    marker = folder / ".hotenv"
    with started([str(BIN / "hotenv"), "serve", *options], folder, variables(count)) as process:
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


STARTUP_TARGETS = {
    "the Trio floor": ("<=", 1.15),
    "python -I -c pass": ("<=", 2.5),
    "dotenv run -- true": ("<=", 0.5),
}


# startup: hotenv run, from before the fork to after the wait


def startup(root: Path, effort: float) -> None:
    folder = root / "session"
    with hotenv_server(folder, "--quiet"):
        commands = startup_commands(folder)
        measures = {name: partial(run, words, folder) for name, words in commands.items()}
        results = in_turns(measures, round(90 * effort), 55 * effort)
    head("startup: time of hotenv run -- true to that of ...", results)
    ours = results.pop("hotenv")
    through_trio = results.pop("through Trio")
    status = results.pop("status --short")
    for name, theirs in results.items():
        figure(name, ours, theirs, "clock", "ms", target=STARTUP_TARGETS.get(name))
        figure(f"{name}, CPU time", ours, theirs, "cpu", "ms")
    figure(
        "through Trio, to the Trio floor",
        through_trio,
        results["the Trio floor"],
        "clock",
        "ms",
        target=("<=", 1.15),
    )
    figure("status --short, to hotenv run", status, ours, "clock", "ms")


def startup_commands(folder: Path) -> dict[str, list[str]]:
    """The commands to compare; what they read is in ``folder``."""
    commands = {
        "hotenv": [str(BIN / "hotenv"), "run", "--", "true"],
        "status --short": [str(BIN / "hotenv"), "status", "--short"],
        "through Trio": [sys.executable, "-c", THROUGH_TRIO],
        "the Trio floor": [sys.executable, "-c", FLOOR],
        "python -I -c pass": [sys.executable, "-I", "-c", "pass"],
        "dotenv run -- true": [str(BIN / "dotenv"), "run", "--", "true"],
    }
    text = variables(10)
    (folder / ".env").write_text(text)
    if direnv := shutil.which("direnv"):
        (folder / ".envrc").write_text(text.replace("VARIABLE", "export VARIABLE"))
        run([direnv, "allow", "."], folder)
        commands["direnv exec . true"] = [direnv, "exec", ".", "true"]
    return commands


def run(words: Sequence[str], folder: Path) -> Measured:
    null = subprocess.DEVNULL
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    start = time.perf_counter()
    subprocess.run(  # noqa: S603 - see above
        words, cwd=folder, env=ENVIRONMENT, stdin=null, stdout=null, stderr=null, check=True
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
def bare_server(folder: Path, response: bytes) -> Iterator[Server]:
    path = str(folder / "bare.sock")
    words = [sys.executable, __file__, "--serve-bare", path]
    with started(words, folder, response.decode()) as process:
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
    folder = Path(tempfile.mkdtemp(dir=root))
    with hotenv_server(folder / "session") as server:
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
        before = switches(server.pid)
        time.sleep(REST)
        per_minute = (switches(server.pid) - before) * 60 / REST
    print(f"\nrest\n  wake-ups per minute: {per_minute:.0f} (target: at most 20)", flush=True)


def switches(pid: int) -> int:
    """How often the process has gone to sleep of its own will."""
    status = Path(f"/proc/{pid}/status").read_text()
    return int(status.split("\nvoluntary_ctxt_switches:")[1].split()[0])


# snapshots: what more variables cost, per byte that is sent


def snapshots(root: Path, effort: float) -> None:
    with ExitStack() as stack:
        measures = {}
        for count in (10, 1_000, 10_000):
            folder = root / str(count)
            server = stack.enter_context(hotenv_server(folder, "--quiet", count=count))
            measures[f"{count:,} variables"] = partial(cost_of, server, folder)
        results = in_turns(measures, round(30 * effort), 25 * effort)
    few = results.pop("10 variables")
    head("snapshots: cost to that of 10 variables", {"few": few, **results})
    for name, many in results.items():
        figure(f"{name}, bytes sent", many, few, "bytes", "bytes")
        figure(f"{name}, time of a request", many, few, "request", "us")
        figure(f"{name}, time of hotenv dump", many, few, "dump", "ms")
        figure(f"{name}, RSS", many, few, "VmRSS", "MiB")


def cost_of(server: Server, folder: Path) -> Measured:
    start = time.perf_counter()
    size = len(ask(server.path))
    taken = time.perf_counter() - start
    dump = run([str(BIN / "hotenv"), "dump"], folder)["clock"]
    return {"bytes": size, "request": taken * 1e6, "dump": dump, **memory_of(server.pid)}


# composition: what options of hotenv run cost, and how that grows with the environment


def composition(root: Path, effort: float) -> None:
    with ExitStack() as stack:
        measures = {}
        for count in (10, 1_000, 10_000):
            folder = root / str(count)
            stack.enter_context(hotenv_server(folder, "--quiet", count=count))
            for name, options in (("plain", []), ("composed", ["--isolated", "--pass", "LC_*"])):
                # Not run: an environment of 10,000 variables may be too large for the system.
                explain = ["--explain"] if options else []
                words = [str(BIN / "hotenv"), "run", *options, *explain, "--", "true"]
                if options or count < 10_000:
                    measures[f"{name}, {count:,} variables"] = partial(run, words, folder)
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


SECTIONS = {
    "startup": startup,
    "requests": requests,
    "memory": memory,
    "rest": rest,
    "snapshots": snapshots,
    "composition": composition,
    "crowds": crowds,
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
        return serve_bare(args.serve_bare)
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
        for name in ("XDG_RUNTIME_DIR", "XDG_CACHE_HOME", "XDG_CONFIG_HOME", "XDG_DATA_HOME"):
            ENVIRONMENT[name] = root  # the last three are for direnv
        for section in sections:
            SECTIONS[section](Path(tempfile.mkdtemp(dir=root)), effort)


if __name__ == "__main__":
    main()
