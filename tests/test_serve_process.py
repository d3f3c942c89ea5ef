"""`hotenv serve` as a process: its life, its end and what it leaves behind."""

from __future__ import annotations

import os
import shlex
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from hotenv.session.marker import parse_marker
from processes import (
    HOTENV,
    Terminal,
    fill,
    finish,
    hotenv,
    is_clean,
    said,
    serving,
    start_serve,
    wait_until,
)


def test_ready_line_tells_how_many_how_long_and_where(folder: Path) -> None:
    """When it is ready, serve says so in one line."""
    with serving(folder, b"A=1\nB=2\n", "-t", "90") as server:
        server.send_signal(signal.SIGTERM)
        code, words = finish(server)
    assert code == 0
    first, *rest = words.splitlines()
    assert first.startswith("hotenv: serving 2 variables ")
    assert "1m30s" in first
    assert str(folder) in first
    assert rest == []


def test_quiet_says_nothing(folder: Path) -> None:
    """--quiet silences the ready line and the request log."""
    with serving(folder, b"A=1\n", "--quiet") as server:
        assert hotenv("dump", cwd=folder).stdout == b"A=1\n"
        server.send_signal(signal.SIGINT)
        assert finish(server) == (0, "")


def test_quiet_keeps_warnings_and_errors(folder: Path) -> None:
    """--quiet does not hide that a line sets nothing, nor why it does not start."""
    with serving(folder, b"A=1\nB\n", "-q") as server:
        assert said(hotenv("serve", "-q", cwd=folder)).startswith("hotenv: ")
        server.send_signal(signal.SIGINT)
        code, words = finish(server)
    assert code == 0
    assert words.splitlines() == [
        "hotenv: warning: standard input: line 2 has a name without '=' and sets nothing"
    ]


@pytest.mark.parametrize(("option", "summary"), [((), "sh"), (("--verbose",), r"sh -c :\n x y")])
def test_log_line(folder: Path, option: tuple[str, ...], summary: str) -> None:
    """One line a request: the command's name, or all its words; control characters escaped."""
    with serving(folder, b"A=1\n", *option) as server:
        assert hotenv("run", "--", "sh", "-c", ":\n", "x", "y", cwd=folder).returncode == 0
        assert hotenv("dump", cwd=folder).returncode == 0
        server.send_signal(signal.SIGTERM)
        _, words = finish(server)
    _ready, run, dump = words.splitlines()
    assert run[19:] == f" run {summary}"
    assert dump[19:] == " dump -"


def test_idle_expiry_cleans_up(folder: Path, runtime: Path) -> None:
    """Nobody asks: it ends by itself with 0 and leaves nothing."""
    with serving(folder, b"A=1\n", "-t", "0.3") as server:
        code, words = finish(server)
    assert code == 0
    assert words.splitlines()[-1] == "hotenv: its time is over: the session has ended"
    assert is_clean(folder, runtime)
    assert hotenv("dump", cwd=folder).returncode == 3


@pytest.mark.parametrize("signum", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT])
def test_signal_cleans_up(folder: Path, runtime: Path, signum: int) -> None:
    """A signal ends it gracefully: exit code 0, nothing left."""
    with serving(folder) as server:
        server.send_signal(signum)
        assert finish(server)[0] == 0
    assert is_clean(folder, runtime)


def test_many_signals_on_the_way_out(folder: Path, runtime: Path) -> None:
    """Signals that keep coming until the process is gone neither hurry it nor spoil its code."""
    with serving(folder) as server:
        while server.poll() is None:
            for signum in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGQUIT):
                server.send_signal(signum)
        assert server.returncode == 0
    assert is_clean(folder, runtime)


def test_ignored_hangup_stays_ignored(folder: Path, runtime: Path) -> None:
    """Under nohup SIGHUP does nothing; SIGTERM still ends it."""
    command = ["sh", "-c", 'trap "" HUP INT; exec "$@"', "sh", *HOTENV]
    with serving(folder, command=command) as server:
        server.send_signal(signal.SIGHUP)
        assert hotenv("dump", cwd=folder).stdout == b"A=1\n"
        server.send_signal(signal.SIGINT)
        assert finish(server)[0] == 0
    assert is_clean(folder, runtime)


def test_kill_then_the_next_commands(folder: Path, runtime: Path) -> None:
    """After kill -9: run says the session is dead (4), serve refuses (10), --force replaces."""
    with serving(folder) as server:
        server.kill()
        server.wait()
    old = (folder / ".hotenv").read_text()
    dead = hotenv("run", "--", "true", cwd=folder)
    assert dead.returncode == 4
    assert "hotenv serve --force" in said(dead)
    refused = hotenv("serve", cwd=folder, stdin=b"A=2\n")
    assert refused.returncode == 10
    assert "--force" in said(refused)
    assert (folder / ".hotenv").read_text() == old
    server = start_serve(folder, b"A=2\n", "--force")
    wait_until(lambda: (folder / ".hotenv").read_text() != old, "the new marker")
    assert hotenv("dump", cwd=folder).stdout == b"A=2\n"
    new = parse_marker((folder / ".hotenv").read_bytes(), "").removesuffix(".sock")
    left = {str(path) for path in (runtime / "hotenv").iterdir()}
    assert left == {f"{new}.sock", f"{new}.json"}
    server.terminate()
    assert finish(server)[0] == 0
    assert is_clean(folder, runtime)


def test_refuses_before_it_reads(folder: Path) -> None:
    """Nobody types secrets to be refused after: the marker is looked at first."""
    (folder / ".hotenv").write_text("whatever")
    process = subprocess.Popen(
        [*HOTENV, "serve"], cwd=folder, stdin=subprocess.PIPE, stderr=subprocess.PIPE
    )
    assert process.wait(timeout=60) == 10  # with its standard input still open
    process.communicate()
    assert (folder / ".hotenv").read_text() == "whatever"


def test_of_many_starts_one_wins(folder: Path, runtime: Path) -> None:
    """Twenty at once in one folder: one serves, nineteen exit with 10."""
    servers = [start_serve(folder, f"A={n}\n".encode()) for n in range(20)]
    wait_until(lambda: sum(s.poll() is None for s in servers) == 1, "nineteen to give up")
    (winner,) = (n for n, s in enumerate(servers) if s.poll() is None)
    assert hotenv("dump", cwd=folder).stdout == f"A={winner}\n".encode()
    servers[winner].terminate()
    codes = [finish(server)[0] for server in servers]
    assert sorted(codes) == [0] + [10] * 19
    assert is_clean(folder, runtime)


def test_bad_line_creates_nothing(folder: Path, runtime: Path) -> None:
    """A bad line is exit code 7 with its number and none of its text."""
    result = hotenv("serve", cwd=folder, stdin=b"A=1\n=hunter2\n")
    assert result.returncode == 7
    assert "line 2" in said(result)
    assert b"hunter2" not in result.stderr
    assert is_clean(folder, runtime)


@pytest.mark.parametrize(
    "options",
    [["--nonsense"], ["-q", "-v"], ["-t", "0"], ["-t", "soon"], ["extra"], ["--time", "5"]],
    ids=" ".join,
)
def test_usage_error_serves_nothing(folder: Path, runtime: Path, options: list[str]) -> None:
    """Exit code 2, and nothing was read or made."""
    result = hotenv("serve", *options, cwd=folder, stdin=b"A=1\n")
    assert result.returncode == 2
    assert said(result)
    assert is_clean(folder, runtime)


def test_no_interpolation(folder: Path) -> None:
    """--no-interpolate keeps what looks like a reference."""
    with serving(folder, b"A=x${B}y\n", "--no-interpolate"):
        assert hotenv("dump", cwd=folder).stdout == b"A=x${B}y\n"


def test_reads_a_terminal(folder: Path) -> None:
    """On a terminal it says what to do, takes lines until Ctrl-D, and ends at Ctrl-C."""
    terminal = Terminal([*HOTENV, "serve"], folder)
    terminal.expect(b"Ctrl-D")
    terminal.type(b"A=typed\n\x04")
    terminal.expect(b"serving 1 variable ")
    assert hotenv("dump", cwd=folder).stdout == b"A=typed\n"
    terminal.type(b"\x03")
    assert terminal.wait() == 0


def test_interrupt_while_typing(folder: Path, runtime: Path) -> None:
    """Ctrl-C instead of input: 130, no traceback, nothing made."""
    terminal = Terminal([*HOTENV, "serve"], folder)
    terminal.expect(b"Ctrl-D")
    terminal.type(b"A=1\n\x03")
    assert terminal.wait() == 130
    assert b"Traceback" not in terminal.screen
    assert is_clean(folder, runtime)


def test_stopped_terminal_does_not_extend_the_session(folder: Path, runtime: Path) -> None:
    """Ctrl-S stops the terminal; requests are answered and the session ends on time."""
    (folder / "input").write_bytes(b"A=1\n")
    script = f"exec {shlex.join(HOTENV)} serve -v -t 2 < input"
    terminal = Terminal(["sh", "-c", script], folder)
    terminal.expect(b"serving")
    terminal.type(b"\x13")
    assert hotenv("run", "--", "true", cwd=folder).returncode == 0
    wait_until(lambda: is_clean(folder, runtime), "the end of the session")
    terminal.type(b"\x11")
    assert terminal.wait() == 0


def test_full_pipe_does_not_extend_the_session(folder: Path, runtime: Path) -> None:
    """Nobody reads the log: requests are answered and the session ends on time."""
    reader, writer = os.pipe()
    fill(writer)
    with serving(folder, b"A=1\n", "-t", "2", stderr=writer) as server:
        assert hotenv("dump", cwd=folder).stdout == b"A=1\n"
        assert finish(server)[0] == 0
    assert is_clean(folder, runtime)
    os.close(reader)
    os.close(writer)


def test_closed_standard_streams(folder: Path) -> None:
    """A closed stderr costs the log and nothing else; a closed stdin is an error."""
    command = ["sh", "-c", 'exec "$@" 2>&-', "sh", *HOTENV]
    with serving(folder, command=command) as server:
        assert hotenv("dump", cwd=folder).stdout == b"A=1\n"
        server.terminate()
        assert finish(server)[0] == 0
    result = subprocess.run(
        ["sh", "-c", 'exec "$@" <&-', "sh", *HOTENV, "serve"],
        cwd=folder,
        capture_output=True,
        timeout=60,
    )
    assert result.returncode == 8
    assert said(result)


def test_stopped_past_its_deadline(folder: Path, runtime: Path) -> None:
    """A request that waited while the process was stopped is not answered after the deadline."""
    with serving(folder, b"A=1\n", "-t", "0.5", "-q") as server:
        server.send_signal(signal.SIGSTOP)
        os.waitid(os.P_PID, server.pid, os.WSTOPPED)
        client = subprocess.Popen(
            [*HOTENV, "dump"], cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE
        )
        assert client.wait(timeout=60) == 4  # waits longer than the session lasts, then gives up
        client.communicate()
        before = _connections(folder)
        client = subprocess.Popen(
            [*HOTENV, "dump"], cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE
        )
        wait_until(lambda: _connections(folder) > before, "the client to be connected")
        server.send_signal(signal.SIGCONT)
        assert client.communicate(timeout=60)[0] == b""
        assert client.returncode == 4
        assert finish(server)[0] == 0
    assert is_clean(folder, runtime)


def _connections(folder: Path) -> int:
    path = (folder / ".hotenv").read_text().strip().removeprefix("socket=")
    return Path("/proc/net/unix").read_text().count(path)


@pytest.mark.parametrize(
    "command", [HOTENV, [sys.executable, "-m", "hotenv"]], ids=["script", "-m"]
)
def test_process_name(folder: Path, command: list[str]) -> None:
    """`pkill hotenv` finds it however it was installed."""
    with serving(folder, command=command) as server:
        assert Path(f"/proc/{server.pid}/comm").read_text() == "hotenv\n"


def test_strange_folder_name_is_never_shown_raw(tmp_path: Path) -> None:
    """A newline or an escape sequence in a folder's name does not reach the terminal."""
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


def test_unwritable_folder(folder: Path) -> None:
    """A folder that cannot take a marker is exit code 8, and nothing stays."""
    result = hotenv("serve", cwd=Path("/proc/self"), stdin=b"A=1\n")
    assert result.returncode == 8
    assert "/proc/" in said(result)


def test_name_on_the_marker_is_what_runs_the_instant_it_appears(folder: Path) -> None:
    """Whoever sees the marker can connect."""
    for n in range(8):
        server = start_serve(folder, f"N={n}\n".encode())
        wait_until((folder / ".hotenv").exists, "the marker")
        assert hotenv("dump", cwd=folder).stdout == f"N={n}\n".encode()
        server.terminate()
        assert finish(server)[0] == 0
