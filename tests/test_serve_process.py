"""`hotenv serve` as a process: its life, its end and what it leaves behind."""

from __future__ import annotations

import fcntl
import os
import re
import shlex
import signal
import socket
import struct
import subprocess
import sys
import termios
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from hotenv.intake.sources import StandardInput
from hotenv.session.marker import format_marker
from processes import (
    HOTENV,
    LIMIT,
    Terminal,
    fill,
    finish,
    freeze,
    hotenv,
    is_clean,
    needs,
    said,
    serving,
    socket_path,
    start_serve,
    wait_until,
    with_limits,
)


def test_ready_line_tells_how_many_how_long_and_where(directory: Path) -> None:
    """When it is ready, serve says so in one line."""
    with serving(directory, b"A=1\nB=2\n", "-t", "90") as server:
        server.send_signal(signal.SIGTERM)
        code, words = finish(server)
    assert code == 0
    first, *rest = words.splitlines()
    assert first.startswith("hotenv: serving 2 variables ")
    assert "1m30s" in first
    assert str(directory) in first
    assert rest == []


def test_quiet_says_nothing(directory: Path) -> None:
    """--quiet silences the ready line and the request log."""
    with serving(directory, b"A=1\n", "--quiet") as server:
        assert hotenv("dump", cwd=directory).stdout == b"A=1\n"
        server.send_signal(signal.SIGINT)
        assert finish(server) == (0, "")


def test_quiet_keeps_warnings_and_errors(directory: Path) -> None:
    """--quiet hides neither that a line sets nothing nor why it does not start."""
    with serving(directory, b"A=1\nB\n", "-q") as server:
        assert said(hotenv("serve", "-q", cwd=directory)).startswith("hotenv: ")
        server.send_signal(signal.SIGINT)
        code, words = finish(server)
    assert code == 0
    assert words.splitlines() == [
        "hotenv: warning: standard input: line 2: name without '=' sets nothing"
    ]


@pytest.mark.parametrize(("option", "summary"), [((), "sh"), (("--verbose",), r"sh -c :\n x y")])
def test_log_line(directory: Path, option: tuple[str, ...], summary: str) -> None:
    """One line a request: the command's name, or all its words; control characters escaped."""
    with serving(directory, b"A=1\n", *option) as server:
        assert hotenv("run", "--", "sh", "-c", ":\n", "x", "y", cwd=directory).returncode == 0
        assert hotenv("dump", cwd=directory).returncode == 0
        server.send_signal(signal.SIGTERM)
        _, words = finish(server)
    _ready, run, dump = words.splitlines()
    assert run[19:] == f" run {summary}"
    assert dump[19:] == " dump -"


def test_idle_expiry_cleans_up(directory: Path, runtime: Path) -> None:
    """An idle session ends by itself with 0 and leaves nothing but a note."""
    code, words = finish(start_serve(directory, b"A=1\n", "-t", "0.3"))
    assert code == 0
    assert words.splitlines()[-1] == "hotenv: session expired"
    assert is_clean(directory, runtime, expired=True)
    assert hotenv("dump", cwd=directory).returncode == 3


@pytest.mark.parametrize("signum", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT])
def test_signal_cleans_up(directory: Path, runtime: Path, signum: int) -> None:
    """A signal ends it gracefully: exit code 0, nothing left."""
    with serving(directory) as server:
        server.send_signal(signum)
        assert finish(server)[0] == 0
    assert is_clean(directory, runtime)


def test_many_signals_on_the_way_out(directory: Path, runtime: Path) -> None:
    """Signals that keep coming until the process is gone neither hurry it nor spoil its code."""
    with serving(directory) as server:
        while server.poll() is None:
            for signum in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGQUIT):
                server.send_signal(signum)
        assert server.returncode == 0
    assert is_clean(directory, runtime)


def test_ignored_hangup_stays_ignored(directory: Path, runtime: Path) -> None:
    """Under nohup SIGHUP does nothing; SIGTERM still ends it."""
    command = ["sh", "-c", 'trap "" HUP INT; exec "$@"', "sh", *HOTENV]
    with serving(directory, command=command) as server:
        server.send_signal(signal.SIGHUP)
        assert hotenv("dump", cwd=directory).stdout == b"A=1\n"
        server.send_signal(signal.SIGINT)
        assert finish(server)[0] == 0
    assert is_clean(directory, runtime)


def test_kill_then_the_next_commands(directory: Path, runtime: Path) -> None:
    """After kill -9: run says the session is dead (4), serve refuses (10), --force replaces.

    What is advised works, and nothing else is advised.
    """
    with serving(directory) as server:
        server.kill()
        server.wait()
    old = socket_path(directory)
    advice = (
        f"hotenv: cannot reach the server of {directory}/.hotenv ({old}: connection refused): run "
        "'hotenv serve --force' in its directory to start a new session, or 'hotenv prune' to "
        "remove the files of the old one"
    )
    for command in (["run", "--", "true"], ["dump"], ["status"], ["stop"]):
        dead = hotenv(*command, cwd=directory)
        assert (dead.returncode, said(dead)) == (4, advice)
    for options in ([], ["--detach"]):
        refused = hotenv("serve", *options, cwd=directory, stdin=b"A=2\n")
        assert (refused.returncode, said(refused)) == (
            10,
            f"hotenv: {directory}/.hotenv already exists: its session is dead: use --force to "
            "replace it",
        )
    assert socket_path(directory) == old
    server = start_serve(directory, b"A=2\n", "--force")
    wait_until(lambda: socket_path(directory) != old, "the new marker")
    assert hotenv("dump", cwd=directory).stdout == b"A=2\n"
    new = socket_path(directory)
    assert {*(runtime / "hotenv").iterdir()} == {new, new.with_suffix(".json")}
    server.terminate()
    assert finish(server)[0] == 0
    assert is_clean(directory, runtime)


def test_refuses_before_it_reads(directory: Path) -> None:
    """No secrets are typed for nothing: the marker is looked at first."""
    (directory / ".hotenv").write_text("socket=whatever")
    process = subprocess.Popen(
        [*HOTENV, "serve"], cwd=directory, stdin=subprocess.PIPE, stderr=subprocess.PIPE
    )
    assert process.wait(timeout=LIMIT) == 10  # with its standard input still open
    process.communicate()
    assert (directory / ".hotenv").read_text() == "socket=whatever"


TEXTS = {
    "notes": b"remember the milk\n",
    "assignments": b"A=1\nB=2\n",
    "two sockets": b"socket=/a\nsocket=/b\n",
    "empty": b"",
    "binary": bytes(range(256)),
    "huge": b"socket=/a\n" * 10_000,
}
"""Files that are called .hotenv and are no markers."""


@pytest.mark.parametrize("force", [[], ["--force"]], ids=["plain", "force"])
@pytest.mark.parametrize("kind", ["directory", "FIFO", "socket", *TEXTS])
def test_file_that_is_not_a_marker(
    directory: Path, runtime: Path, kind: str, force: list[str]
) -> None:
    """It stays as it was, with --force too: exit code 10, before anything is read."""
    path = directory / ".hotenv"
    if kind == "directory":
        path.mkdir()
        (path / "file").write_text("mine")
    elif kind == "FIFO":
        os.mkfifo(path)
    elif kind == "socket":
        with socket.socket(socket.AF_UNIX) as left:
            left.bind(".hotenv")  # its whole path can be too long
    else:
        path.write_bytes(TEXTS[kind])
    before = path.lstat()
    for options in ([], ["--detach"]):
        result = hotenv("serve", *force, *options, cwd=directory, stdin=b"A=1\n")
        assert (result.returncode, said(result)) == (
            10,
            f"hotenv: {path} already exists and is not a marker: move it elsewhere",
        )
    after = path.lstat()
    assert (after.st_ino, after.st_mode, after.st_mtime_ns) == (
        *(before.st_ino, before.st_mode, before.st_mtime_ns),
    )
    if kind == "directory":
        assert [file.read_text() for file in path.iterdir()] == ["mine"]
    elif kind in TEXTS:
        assert path.read_bytes() == TEXTS[kind]
    assert [each.name for each in directory.iterdir()] == [".hotenv"]
    assert not list(runtime.glob("hotenv/*"))


@pytest.mark.parametrize("target", ["marker", "text", "directory", "nothing"])
def test_link_in_place_of_a_marker(directory: Path, runtime: Path, target: str) -> None:
    """--force replaces the link itself, whatever it leads to; without it is left alone."""
    path, other = directory / ".hotenv", directory / "other"
    if target == "directory":
        other.mkdir()
    elif target != "nothing":
        other.write_bytes(format_marker("/gone.sock") if target == "marker" else b"notes")
    content = other.read_bytes() if other.is_file() else None
    path.symlink_to("other")
    refused = hotenv("serve", cwd=directory, stdin=b"A=1\n")
    assert (refused.returncode, said(refused)) == (
        10,
        f"hotenv: {path} already exists: it is a link: use --force to replace the link",
    )
    assert os.readlink(path) == "other"
    server = start_serve(directory, b"A=1\n", "--force")
    wait_until(lambda: not path.is_symlink(), "the new marker")
    assert hotenv("dump", cwd=directory).stdout == b"A=1\n"
    server.terminate()
    assert finish(server)[0] == 0
    assert other.exists() == (target != "nothing")
    assert content is None or other.read_bytes() == content
    other.unlink(missing_ok=True) if target != "directory" else other.rmdir()
    assert is_clean(directory, runtime)


DEAD = "its session is dead: use --force to replace it"
ELSEWHERE = (
    "its session may be alive elsewhere (container, namespace, host): stop it there, or use "
    "--force to replace it"
)


@pytest.mark.parametrize(
    ("content", "remedy"),
    [
        (b"socket=/nowhere/else.sock\n", ELSEWHERE),
        (b"socket=relative\n", DEAD),
        (b"future=1\nsocket=/x\n", DEAD),
    ],
)
def test_any_marker_can_be_replaced(
    directory: Path, runtime: Path, content: bytes, remedy: str
) -> None:
    """Also one whose socket has another form than ours, with --force only."""
    path = directory / ".hotenv"
    path.write_bytes(content)
    refused = hotenv("serve", cwd=directory, stdin=b"A=1\n")
    assert (refused.returncode, said(refused)) == (
        10,
        f"hotenv: {path} already exists: {remedy}",
    )
    assert path.read_bytes() == content
    server = start_serve(directory, b"A=1\n", "--force")
    wait_until(lambda: path.read_bytes() != content, "the new marker")
    assert hotenv("dump", cwd=directory).stdout == b"A=1\n"
    server.terminate()
    assert finish(server)[0] == 0
    assert is_clean(directory, runtime)


@pytest.mark.parametrize("kind", ["directory", "text"])
def test_file_that_appears_while_input_is_read(directory: Path, runtime: Path, kind: str) -> None:
    """What was not there at the start is kept as well."""
    path = directory / ".hotenv"
    process = subprocess.Popen(
        [*HOTENV, "serve", "--force", "--log", "log"],
        cwd=directory,
        stdin=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    wait_until((directory / "log").exists, "the first look at the marker")
    path.mkdir() if kind == "directory" else path.write_text("notes")
    _, words = process.communicate(b"A=1\n", timeout=LIMIT)
    assert (process.returncode, words.decode()) == (
        10,
        f"hotenv: {path} already exists and is not a marker: move it elsewhere\n",
    )
    assert path.is_dir() if kind == "directory" else path.read_text() == "notes"
    assert not list(runtime.glob("hotenv/*"))


def test_of_many_starts_one_wins(directory: Path, runtime: Path) -> None:
    """Ten at once in one directory: one serves, nine exit with 10."""
    servers = [start_serve(directory, f"A={n}\n".encode()) for n in range(10)]
    wait_until(lambda: sum(s.poll() is None for s in servers) == 1, "nine to give up")
    (winner,) = (n for n, s in enumerate(servers) if s.poll() is None)
    assert hotenv("dump", cwd=directory).stdout == f"A={winner}\n".encode()
    servers[winner].terminate()
    codes = [finish(server)[0] for server in servers]
    assert sorted(codes) == [0] + [10] * 9
    assert is_clean(directory, runtime)


def test_bad_line_creates_nothing(directory: Path, runtime: Path) -> None:
    """A bad line is exit code 7 with its number and none of its text."""
    result = hotenv("serve", cwd=directory, stdin=b"A=1\n=hunter2\n")
    assert result.returncode == 7
    assert "line 2" in said(result)
    assert b"hunter2" not in result.stderr
    assert is_clean(directory, runtime)


@pytest.mark.parametrize(
    "options",
    [["--nonsense"], ["-q", "-v"], ["-t", "0"], ["-t", "soon"], ["extra"], ["--time", "5"]],
    ids=" ".join,
)
def test_usage_error_serves_nothing(directory: Path, runtime: Path, options: list[str]) -> None:
    """Exit code 2, and nothing was read or made."""
    result = hotenv("serve", *options, cwd=directory, stdin=b"A=1\n")
    assert result.returncode == 2
    assert said(result)
    assert is_clean(directory, runtime)


def test_no_interpolation(directory: Path) -> None:
    """--no-interpolate keeps what looks like a reference."""
    with serving(directory, b"A=x${B}y\n", "--no-interpolate"):
        assert hotenv("dump", cwd=directory).stdout == b"A=x${B}y\n"


def test_reads_a_terminal(directory: Path) -> None:
    """On a terminal it says what to do, takes lines until Ctrl-D, and ends at Ctrl-C."""
    terminal = Terminal([*HOTENV, "serve"], directory)
    terminal.expect(b"Ctrl-D")
    terminal.type(b"A=typed\n\x04")
    terminal.expect(b"serving 1 variable ")
    assert hotenv("dump", cwd=directory).stdout == b"A=typed\n"
    terminal.type(b"\x03")
    assert terminal.wait() == 0


def test_typed_line_that_is_cut(directory: Path, runtime: Path) -> None:
    """No part of a long line is served: 7, once all of the paste was read, and how to do it."""
    terminal = Terminal(["sh", "-c", f"{shlex.join(HOTENV)} serve; echo code $?; cat"], directory)
    terminal.expect(b"Ctrl-D")
    for line in (b"B=1\n", b"A=" + b"x" * 6000 + b"\n", b"C=" + b"y" * 5000 + b"\n", b"D=1\n"):
        terminal.type(line)
        terminal.expect(line[:20].strip())
    terminal.type(b"\x04")
    terminal.expect(b"code 7")
    terminal.type(b"\x04")
    assert terminal.wait() == 0
    said = terminal.screen.replace(b"\r", b"").split(b"D=1\n")[1]
    assert said == (
        b"hotenv: standard input: line 2: too long for a terminal (limit 4094 bytes): "
        b"pipe it in, or write NAME=? and paste the value with --prompt\n"
        b"code 7\n"
    )
    assert is_clean(directory, runtime)


def test_longest_typed_line(directory: Path) -> None:
    """One that the kernel does not cut is served, however many pieces Ctrl-D makes of it."""
    terminal = Terminal([*HOTENV, "serve"], directory)
    terminal.expect(b"Ctrl-D")
    value = b"x" * 4092 + b"y" * 3000
    for piece in (b"A=" + value[:4092] + b"\x04", value[4092:] + b"\n", b"\x04"):
        terminal.type(piece)
    terminal.expect(b"serving 1 variable ")
    assert hotenv("dump", cwd=directory).stdout == b"A=" + value + b"\n"
    terminal.type(b"\x03")
    assert terminal.wait() == 0


def test_terminal_that_is_not_read_by_line(monkeypatch: pytest.MonkeyPatch) -> None:
    """There the kernel cuts nothing, and there is no limit to what one read gives."""
    controller, terminal = os.openpty()
    modes = termios.tcgetattr(terminal)
    modes[3] &= ~(termios.ICANON | termios.ECHO)
    modes[6][termios.VMIN] = modes[6][termios.VTIME] = 0  # nothing more is the end
    termios.tcsetattr(terminal, termios.TCSANOW, modes)
    text = b"A=" + b"x" * 4093
    os.write(controller, text)
    with open(controller, "rb", buffering=0), open(terminal) as stdin:
        monkeypatch.setattr("sys.stdin", stdin)
        wait_until(lambda: _waiting(terminal) == len(text), "what is typed")
        assert StandardInput("dotenv").read() == text


def _waiting(terminal: int) -> int:
    """Bytes that can be read."""
    (count,) = struct.unpack("i", fcntl.ioctl(terminal, termios.FIONREAD, bytes(4)))
    return int(count)


def test_interrupt_while_typing(directory: Path, runtime: Path) -> None:
    """Ctrl-C instead of input: 130, no traceback, nothing made."""
    terminal = Terminal([*HOTENV, "serve"], directory)
    terminal.expect(b"Ctrl-D")
    terminal.type(b"A=1\n\x03")
    assert terminal.wait() == 130
    assert b"Traceback" not in terminal.screen
    assert is_clean(directory, runtime)


_FORKED = """
import os, signal, sys
signal.signal(signal.SIGINT, signal.default_int_handler)
os.register_at_fork(after_in_child=lambda: os.kill(os.getpid(), signal.SIGINT))
from hotenv.cli.main import main
sys.exit(main())
"""


def test_interrupt_as_the_reader_starts(directory: Path, runtime: Path) -> None:
    """Also where Python can raise nothing, and as a module, whose SIGINT is Python's."""
    process = start_serve(directory, command=[sys.executable, "-P", "-c", _FORKED])
    assert finish(process) == (130, "")
    assert is_clean(directory, runtime)


@pytest.fixture
def full_pipe() -> Iterator[int]:
    """A pipe that takes nothing more, and is not read."""
    reader, writer = os.pipe()
    fill(writer)
    yield writer
    os.close(reader)
    os.close(writer)


def serve_on_a_terminal(directory: Path, *options: str) -> Terminal:
    """A server that serves A=1 and writes to a terminal, which is stopped by Ctrl-S then."""
    (directory / "input").write_bytes(b"A=1\n")
    line = shlex.join([*HOTENV, "serve", "-v", *options])
    terminal = Terminal(["sh", "-c", f"exec {line} < input"], directory)
    terminal.expect(b"serving")
    terminal.type(b"\x13")
    return terminal


def test_stopped_terminal_does_not_extend_the_session(directory: Path, runtime: Path) -> None:
    """Ctrl-S stops the terminal; the session ends on time all the same."""
    terminal = serve_on_a_terminal(directory, "-t", "0.5")
    hotenv("run", "--", "true", cwd=directory)
    wait_until(lambda: is_clean(directory, runtime, expired=True), "the end of the session")
    terminal.type(b"\x11")
    assert terminal.wait() == 0


def test_stopped_terminal_delays_no_request(directory: Path) -> None:
    """Each is answered, although its line in the log cannot be written."""
    terminal = serve_on_a_terminal(directory)
    for _ in range(3):
        assert hotenv("run", "--", "true", cwd=directory).returncode == 0
    assert hotenv("stop", cwd=directory).returncode == 0
    terminal.type(b"\x11")
    assert terminal.wait() == 0


def test_full_pipe_does_not_extend_the_session(
    directory: Path, runtime: Path, full_pipe: int
) -> None:
    """The log is not read; the session ends on time all the same."""
    server = start_serve(directory, b"A=1\n", "-t", "0.5", stderr=full_pipe)
    hotenv("run", "--wait", "0.2", "--", "true", cwd=directory)
    assert finish(server)[0] == 0
    assert is_clean(directory, runtime, expired=True)


def test_full_pipe_delays_no_request(directory: Path, runtime: Path, full_pipe: int) -> None:
    """Each is answered, although its line in the log cannot be written."""
    with serving(directory, b"A=1\n", stderr=full_pipe) as server:
        for _ in range(3):
            assert hotenv("dump", cwd=directory).stdout == b"A=1\n"
        server.terminate()
        assert finish(server)[0] == 0
    assert is_clean(directory, runtime)


def test_closed_standard_streams(directory: Path) -> None:
    """A closed stderr costs the log and nothing else; a closed stdin is an error."""
    command = ["sh", "-c", 'exec "$@" 2>&-', "sh", *HOTENV]
    with serving(directory, command=command) as server:
        assert hotenv("dump", cwd=directory).stdout == b"A=1\n"
        server.terminate()
        assert finish(server)[0] == 0
    result = subprocess.run(
        ["sh", "-c", 'exec "$@" <&-', "sh", *HOTENV, "serve"],
        cwd=directory,
        capture_output=True,
        timeout=LIMIT,
    )
    assert result.returncode == 8
    assert said(result)


def test_stopped_past_its_deadline(directory: Path, runtime: Path) -> None:
    """A request that waited while the process was stopped is not answered after the deadline."""
    with serving(directory, b"A=1\n", "-t", "1", "-q") as server:
        freeze(server)
        client = subprocess.Popen(
            [*with_limits({"hotenv.exchange.answer.ANSWER_TIMEOUT": LIMIT}), "dump"],
            cwd=directory,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
        assert client.communicate(timeout=LIMIT)[0] == b""  # until the kernel continues the server
        assert client.returncode == 4
        assert finish(server)[0] == 0
    assert is_clean(directory, runtime, expired=True)


@pytest.mark.parametrize(
    "command", [HOTENV, [sys.executable, "-m", "hotenv"]], ids=["script", "-m"]
)
def test_process_name(directory: Path, command: list[str]) -> None:
    """`pkill hotenv` finds it however it was installed."""
    with serving(directory, command=command) as server:
        assert Path(f"/proc/{server.pid}/comm").read_text() == "hotenv\n"


def test_strange_directory_name_is_never_shown_raw(tmp_path: Path) -> None:
    """A newline or an escape sequence in a directory's name does not reach the terminal."""
    strange = tmp_path / "a\nb\x1b[31m\udcff"
    strange.mkdir()
    with serving(strange) as server:
        results = [hotenv("serve", cwd=strange)]
        server.send_signal(signal.SIGINT)
        code, words = finish(server)
    results.append(hotenv("run", "true", cwd=strange))
    assert code == 0
    assert words.splitlines()[0].count(r"a\nb\x1b[31m\xff") == 1
    assert [result.returncode for result in results] == [10, 3]
    for result in results:
        assert r"a\nb\x1b[31m\xff" in said(result)


def test_unwritable_directory(directory: Path) -> None:
    """A directory that cannot take a marker is exit code 8, and nothing stays."""
    result = hotenv("serve", cwd=Path("/proc/self"), stdin=b"A=1\n")
    assert result.returncode == 8
    assert "/proc/" in said(result)


def test_name_on_the_marker_is_what_runs_the_instant_it_appears(directory: Path) -> None:
    """Every client that sees the marker can connect."""
    for n in range(4):
        server = start_serve(directory, f"N={n}\n".encode())
        wait_until((directory / ".hotenv").exists, "the marker")
        assert hotenv("dump", cwd=directory).stdout == f"N={n}\n".encode()
        server.terminate()
        assert finish(server)[0] == 0


def test_session_that_is_there(directory: Path) -> None:
    """What is advised for a live one works too: stop, or --force."""
    with serving(directory) as server:
        refused = hotenv("serve", cwd=directory, stdin=b"A=2\n")
        assert (refused.returncode, said(refused)) == (
            10,
            f"hotenv: {directory}/.hotenv already exists: use --force to replace its session, or "
            "run 'hotenv stop' first",
        )
        assert hotenv("stop", cwd=directory).returncode == 0
        assert finish(server)[0] == 0


# What is refused before anybody has typed a secret


def refused_at_once(
    directory: Path, *options: str, command: Sequence[str] = HOTENV
) -> tuple[int, str]:
    """Code and words of a start that ends with its standard input still open."""
    process = subprocess.Popen(
        [*command, "serve", *options], cwd=directory, stdin=subprocess.PIPE, stderr=subprocess.PIPE
    )
    code = process.wait(timeout=LIMIT)
    return code, process.communicate()[1].decode()


LOGS = {
    "marker": ".hotenv",
    "whole path": "{directory}/.hotenv",
    "detour": "../{directory.name}/.hotenv",
    "link": "link-to-marker",
    "marker of another": "other/.hotenv",
    "socket": "{base}/01234567.sock",
    "status": "{base}/01234567.json",
    "new file beside them": "{base}/log",
    "through a link": "link-to-base/log",
    "other base": "{shared}/log",
}


@pytest.mark.parametrize("mode", [(), ("--detach",)], ids=["foreground", "detached"])
@pytest.mark.parametrize("log", LOGS.values(), ids=LOGS)
def test_log_in_place_of_a_sessions_file(
    directory: Path, runtime: Path, log: str, mode: tuple[str, ...]
) -> None:
    """--log never writes to what a session needs: 8, and all is as it was."""
    base = runtime / "hotenv"
    shared = runtime / f"hotenv-{os.geteuid()}"
    for each in (base, shared, directory / "other"):
        each.mkdir(mode=0o700)
    (base / "01234567.json").write_text("a status")
    (directory / "link-to-marker").symlink_to(".hotenv")
    (directory / "link-to-base").symlink_to(base)
    path = log.format(directory=directory, base=base, shared=shared)
    before = [sorted(each.rglob("*")) for each in (directory, runtime)]
    code, words = refused_at_once(directory, "--log", path, *mode, command=with_limits({}))
    assert (code, words) == (
        8,
        f"hotenv: log file {path} belongs to a session: use another file\n",
    )
    assert [sorted(each.rglob("*")) for each in (directory, runtime)] == before
    assert (base / "01234567.json").read_text() == "a status"


@pytest.mark.parametrize("kind", ["itself", "symbolic", "hard"])
def test_log_in_place_of_the_marker_that_is_replaced(directory: Path, kind: str) -> None:
    """With --force there is one, and its session lives on as it was."""
    with serving(directory):
        content = (directory / ".hotenv").read_bytes()
        if kind == "symbolic":
            (directory / "log").symlink_to(".hotenv")
        elif kind == "hard":
            os.link(directory / ".hotenv", directory / "log")
        log = ".hotenv" if kind == "itself" else "log"
        code, words = refused_at_once(directory, "--force", "--log", log)
        assert (code, words) == (
            8,
            f"hotenv: log file {log} belongs to a session: use another file\n",
        )
        assert (directory / ".hotenv").read_bytes() == content
        assert hotenv("dump", cwd=directory).stdout == b"A=1\n"


WIDE = """
import os, stat, sys
from hotenv.cli.main import main
fstat = os.fstat
def wide(descriptor):
    status = fstat(descriptor)
    if not stat.S_ISREG(status.st_mode):
        return status
    return os.stat_result((status.st_mode | 0o777, *status[1:]))
os.fstat = wide
if sys.argv.pop(1) == "named":
    del os.O_TMPFILE
sys.exit(main())
"""


@pytest.mark.parametrize("kind", ["unnamed", "named"])
@pytest.mark.parametrize("options", [[], ["--detach"], ["--force"]], ids=" ".join)
def test_file_system_that_keeps_no_modes(
    directory: Path, runtime: Path, kind: str, options: list[str]
) -> None:
    """Every file in it is open to all: 8, with its kind and what to do; nothing is left."""
    command = [sys.executable, "-P", "-c", WIDE, kind]
    code, words = refused_at_once(directory, *options, command=command)
    assert code == 8
    assert re.fullmatch(
        rf"hotenv: cannot create {directory}/\.hotenv: file system \([a-z0-9.]+\) does not keep "
        r"modes and owners: run 'hotenv serve' on another file system\n",
        words,
    )
    assert is_clean(directory, runtime)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can mount a file system")
@needs("mkfs.vfat")
def test_vfat(directory: Path, runtime: Path) -> None:
    """The same on a real one."""
    image, place = directory / "image", directory / "place"
    image.write_bytes(bytes(2**20))
    subprocess.run(["mkfs.vfat", str(image)], check=True, capture_output=True)
    place.mkdir()
    mount = ["mount", "-o", "loop,umask=0", "-t", "vfat", str(image), str(place)]
    if subprocess.run(mount, capture_output=True).returncode:
        pytest.skip("it cannot be mounted here")
    try:
        code, words = refused_at_once(place)
        assert code == 8
        assert f"cannot create {place}/.hotenv: file system (vfat) does not keep modes" in words
        assert is_clean(place, runtime)
    finally:
        subprocess.run(["umount", place], check=True)


@pytest.mark.parametrize("kind", ["file", "another's"])
def test_runtime_directory_that_cannot_be_used(directory: Path, runtime: Path, kind: str) -> None:
    """It is looked at before the input."""
    base = runtime / "hotenv"
    if kind == "file":
        base.write_text("")
    elif os.geteuid():
        pytest.skip("only root can give it to another user")
    else:
        base.mkdir()
        os.chown(base, 12345, 12345)
    for options in ([], ["--detach"]):
        code, words = refused_at_once(directory, *options)
        assert code == 8
        assert str(base) in words


# Interrupts


def test_interrupted_at_any_moment(directory: Path, runtime: Path) -> None:
    """Ctrl-C while it starts: no traceback, and nothing is left, however early it comes."""
    before = time.monotonic()
    with serving(directory, b"A=1\n", "-q") as server:
        whole = time.monotonic() - before
        server.send_signal(signal.SIGINT)
        assert finish(server) == (0, "")
    codes = set()
    for moment in range(40):
        server = start_serve(directory, b"A=1\n", "-q")
        time.sleep(whole * moment / 40)  # whichever they are, any of them is right
        server.send_signal(signal.SIGINT)
        code, words = finish(server)
        assert words == ""
        codes.add(code)
        assert is_clean(directory, runtime)
    assert codes <= {-signal.SIGINT, 130, 0}
