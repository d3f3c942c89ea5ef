"""`hotenv run` and `hotenv dump` as processes: what the command gets, and what comes back."""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from hotenv.cli import main
from hotenv.exchange import express
from processes import HOTENV, Terminal, finish, hotenv, said, serving, wait_until

PYTHON = sys.executable

_REPORT = r"""
import json, os, sys
status = open("/proc/self/status").read().split("\n")
print(json.dumps({
    "pid": os.getpid(),
    "args": [os.fsencode(a).hex() for a in sys.argv[1:]],
    "signals": [line for line in status if line[:6] in ("SigBlk", "SigIgn")],
    "fds": sorted(os.listdir("/proc/self/fd"), key=int),
    "cwd": os.getcwd(),
    "limits": open("/proc/self/limits").read(),
}))
"""


@pytest.fixture(params=["express", "reference"], autouse=True)
def lane(
    request: pytest.FixtureRequest,
    tmp_path_factory: pytest.TempPathFactory,
    monkeypatch: pytest.MonkeyPatch,
) -> str:
    """Everything here holds with the express lane and with nothing but the client behind it."""
    if request.param == "reference":
        customized = tmp_path_factory.mktemp("site")
        (customized / "sitecustomize.py").write_text(
            "import hotenv.exchange.express\nhotenv.exchange.express.exchange = lambda *_: None\n"
        )
        monkeypatch.setenv("PYTHONPATH", str(customized))
        monkeypatch.setattr(express, "exchange", lambda *_: None)
    return str(request.param)


@pytest.fixture
def session(folder: Path) -> Iterator[Path]:
    """A folder with a session that holds A=1 and some more."""
    with serving(folder, b"A=1\nEMPTY=\nUNI='gr\xc3\xbcn'\nPATH_LIKE='a b'\n", "-q"):
        yield folder


def test_main_job(folder: Path) -> None:
    """pytest, make and dump see the variables, from the folder and from below it."""
    below = folder / "a" / "b"
    below.mkdir(parents=True)
    (below / "test_it.py").write_text(
        "import os\ndef test_it():\n    assert os.environ['URL'] == 'postgres://h/d?x=1'\n"
    )
    (folder / "Makefile").write_text("all:\n\t@echo made with $(URL)\n")
    with serving(folder, b"# comment\n\nexport URL=postgres://h/d?x=1\nEMPTY=\n"):
        tests = hotenv("run", "--", PYTHON, "-m", "pytest", "-q", cwd=below)
        assert tests.returncode == 0
        assert b"1 passed" in tests.stdout
        if shutil.which("make"):
            make = hotenv("run", "--", "make", cwd=folder)
            assert make.stdout == b"made with postgres://h/d?x=1\n"
        dump = hotenv("dump", cwd=below)
        assert dump.stdout == b"EMPTY=\nURL=postgres://h/d?x=1\n"
        assert dump.stderr == b""


_ODD_START = """
trap "" TERM USR1
exec 7</dev/null 0</dev/null
ulimit -n 77
exec "$0" -c '
import os, signal, sys
signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGUSR2])
signal.signal(signal.SIGPIPE, signal.SIG_DFL)
signal.signal(signal.SIGXFSZ, signal.SIG_DFL)
os.execvp(sys.argv[1], sys.argv[1:])
' "$@"
"""


def test_trio_is_loaded_on_the_long_way_only(
    session: Path, lane: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The express lane loads none of what takes so long; and the other lane is really the other."""
    for name in [name for name in os.environ if name.startswith("COVERAGE_")]:
        monkeypatch.delenv(name)  # what measures would be loaded too
    monkeypatch.setenv("PYTHONPROFILEIMPORTTIME", "1")
    result = hotenv("run", "--", "true", cwd=session)
    assert result.returncode == 0
    modules = {line.rsplit(b"|", 1)[-1].strip() for line in result.stderr.splitlines()}
    assert b"json" in modules
    heavy = {b"trio", b"attr", b"dotenv", b"argparse", b"fnmatch"}
    assert (heavy & modules == set()) == (lane == "express")


@pytest.mark.parametrize(
    "probe",
    [
        ["cat", "/proc/self/status"],
        ["ls", "/proc/self/fd"],
        ["cat", "/proc/self/limits"],
        ["pwd"],
        ["sh", "-c", "echo $$"],
    ],
    ids=" ".join,
)
def test_the_command_is_this_process(session: Path, probe: list[str]) -> None:
    """Same pid, signals, descriptors, limits, folder: all as without hotenv, and nothing more."""
    reports = []
    for prefix in ([], [*HOTENV, "run", "--"]):
        process = subprocess.Popen(
            ["sh", "-c", _ODD_START, PYTHON, *prefix, *probe], cwd=session, stdout=subprocess.PIPE
        )
        out = process.communicate(timeout=60)[0].decode()
        out = re.sub(rf"\b{process.pid}\b", "PID", out)
        # SigQ counts the signals that wait for any process of this user.
        changing = ("Vm", "Rss", "voluntary", "nonvoluntary", "PPid", "SigQ")
        reports.append([line for line in out.splitlines() if not line.startswith(changing)])
    assert reports[0] == reports[1]
    assert reports[0]


def test_environment_byte_for_byte(folder: Path) -> None:
    """What hotenv inherited, also what is no UTF-8, with the snapshot on top, and nothing else."""
    inherited = {
        b"PATH": os.environb[b"PATH"],
        b"XDG_RUNTIME_DIR": os.environb[b"XDG_RUNTIME_DIR"],
        b"PYTHONPATH": os.environb.get(b"PYTHONPATH", b""),
        b"RAW\xff": b"\x80\xff",
        b"A": b"shadowed",
        b"EMPTY": b"",
        b"with space": b"x\ny",
    }
    with serving(folder, "A=grün\nB=2\n".encode(), "-q"):
        for locale in ({}, {b"LC_ALL": b"C"}, {b"LC_ALL": b"en_US.ISO-8859-1"}):
            env = inherited | locale
            result = subprocess.run(
                # Not the script: where its path has a space, it is a shell that starts Python.
                [PYTHON, "-m", "hotenv", "run", "--", "cat", "/proc/self/environ"],
                cwd=folder,
                env=env,
                capture_output=True,
                timeout=60,
            )
            assert result.stderr == b""
            got = dict(entry.split(b"=", 1) for entry in result.stdout.split(b"\0") if entry)
            assert got == env | {b"A": "grün".encode(), b"B": b"2"}


@pytest.mark.parametrize(
    ("given", "gets"),
    [
        (["--", "CMD", "a", "", "--", "-x", "--help"], ["a", "", "--", "-x", "--help"]),
        (["CMD", "-x", "--", "--quiet"], ["-x", "--", "--quiet"]),
        (["--", "CMD", "--", "--"], ["--", "--"]),
        (["CMD", "a b", "$A", "*", b"\xff\xfe"], ["a b", "$A", "*", b"\xff\xfe"]),
        (["CMD", "run", "--", "x"], ["run", "--", "x"]),
    ],
    ids=str,
)
def test_arguments_are_verbatim(
    session: Path, given: list[str | bytes], gets: list[str | bytes]
) -> None:
    """Each word arrives as it was given, empty ones, later -- and undecodable ones too."""
    i = given.index("CMD")
    result = hotenv("run", *given[:i], PYTHON, "-c", _REPORT, *given[i + 1 :], cwd=session)
    args = [bytes.fromhex(word) for word in json.loads(result.stdout)["args"]]
    assert args == [os.fsencode(word) for word in gets]


def test_a_command_whose_name_starts_with_a_dash(session: Path) -> None:
    """After -- the first word is the command, whatever it looks like."""
    (session / "-x").write_text("#!/bin/sh\necho dash $1\n")
    (session / "-x").chmod(0o755)
    result = subprocess.run(
        [*HOTENV, "run", "--", "-x", "--"],
        cwd=session,
        env={**os.environ, "PATH": f"{session}:{os.environ['PATH']}"},
        capture_output=True,
        timeout=60,
    )
    assert result.stdout == b"dash --\n"


@pytest.mark.parametrize("code", [0, 1, 2, 3, 7, 9, 10, 126, 127, 128, 130, 255])
def test_exit_code_is_the_commands(session: Path, code: int) -> None:
    """Its exit code comes back unchanged."""
    assert hotenv("run", "--", "sh", "-c", f"exit {code}", cwd=session).returncode == code


@pytest.mark.parametrize("signum", [signal.SIGKILL, signal.SIGTERM, signal.SIGPIPE, signal.SIGINT])
def test_death_by_signal_is_the_commands(session: Path, signum: int) -> None:
    """It is the process that dies by the signal."""
    result = hotenv("run", "--", "sh", "-c", f"kill -{signum} $$", cwd=session)
    assert result.returncode == -signum


def test_yes_into_head(session: Path) -> None:
    """SIGPIPE has its default back: yes ends when head has enough."""
    script = f"{shlex.join(HOTENV)} run -- yes | head -n 1"
    result = subprocess.run(["sh", "-c", script], cwd=session, capture_output=True, timeout=60)
    assert (result.stdout, result.stderr) == (b"y\n", b"")


def test_nested(session: Path) -> None:
    """run under run, with another session in a folder below."""
    below = session / "below"
    below.mkdir()
    inner = [*HOTENV, "run", "--", "sh", "-c", "echo $A $B"]
    with serving(below, b"B=2\n", "-q"):
        result = hotenv("run", "--", "sh", "-c", 'cd below && exec "$@"', "sh", *inner, cwd=session)
    assert result.stdout == b"1 2\n"


_COUNT = """
import os, signal, sys
signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGINT])
os.write(1, b"ready")
signal.sigwait([signal.SIGINT])
os.write(1, b"caught")
sys.stdin.readline()
os.write(1, b"again" if signal.sigpending() else b"once")
"""


def test_ctrl_c_reaches_the_command_once(session: Path) -> None:
    """The terminal's Ctrl-C is one SIGINT to one process."""
    terminal = Terminal([*HOTENV, "run", "--", PYTHON, "-c", _COUNT], session)
    terminal.expect(b"ready")
    terminal.type(b"\x03")
    terminal.expect(b"caught")
    terminal.type(b"\n")
    terminal.expect(b"once")
    assert terminal.wait() == 0


@pytest.mark.parametrize("name", ["nope", "./nope", "", "/etc/passwd", "./"])
def test_command_that_cannot_be_executed(session: Path, name: str) -> None:
    """Exit code 8 and one line that names it."""
    result = hotenv("run", "--", name, cwd=session)
    assert result.returncode == 8
    assert f"cannot run '{name}'" in said(result)


def test_value_too_long(folder: Path) -> None:
    """Exit code 8 names the variable and the limit, and not the value."""
    with serving(folder, b"BIG=" + b"v" * 131_072 + b"\nFITS=" + b"w" * 131_000 + b"\n", "-q"):
        result = hotenv("run", "--", "true", cwd=folder)
        assert result.returncode == 8
        words = said(result)
        assert "BIG" in words
        assert "FITS" not in words
        assert "131071" in words
        assert "vvv" not in words


def test_script_without_interpreter_line(session: Path) -> None:
    """A script without #! runs under sh."""
    (session / "plain").write_text('echo "plain $A $1"\n')
    (session / "plain").chmod(0o755)
    assert hotenv("run", "./plain", "x", cwd=session).stdout == b"plain 1 x\n"


def test_path_is_the_childs(folder: Path) -> None:
    """The command is looked up in the PATH that the session sets."""
    (folder / "bin").mkdir()
    (folder / "bin" / "mine").write_text("#!/bin/sh\necho mine\n")
    (folder / "bin" / "mine").chmod(0o755)
    with serving(folder, f"PATH={folder}/bin\n".encode(), "-q"):
        assert hotenv("run", "--", "mine", cwd=folder).stdout == b"mine\n"


def test_no_marker(folder: Path) -> None:
    """Exit code 3 says how to start a session."""
    for args in (["run", "true"], ["dump"]):
        result = hotenv(*args, cwd=folder)
        assert result.returncode == 3
        assert "hotenv serve" in said(result)


@pytest.mark.parametrize("args", [["run"], ["run", "--"], ["run", "-x", "true"], ["dump", "x"], []])
def test_usage_error(session: Path, args: list[str]) -> None:
    """Exit code 2, one line."""
    result = hotenv(*args, cwd=session)
    assert result.returncode == 2
    assert said(result)


def test_dump_into_a_closed_pipe(session: Path) -> None:
    """No traceback: the code that a shell shows for SIGPIPE."""
    reader, writer = os.pipe()
    os.close(reader)
    result = subprocess.run(
        [*HOTENV, "dump"], cwd=session, stdout=writer, stderr=subprocess.PIPE, timeout=60
    )
    os.close(writer)
    assert (result.returncode, result.stderr) == (141, b"")


@pytest.mark.parametrize("words", ["--help", "--version", "status --help"])
def test_help_on_a_full_disk(folder: Path, words: str) -> None:
    """Help is output like any other."""
    done = subprocess.run(
        ["sh", "-c", f"exec {shlex.join(HOTENV)} {words} >/dev/full"],
        cwd=folder,
        capture_output=True,
        timeout=60,
    )
    assert (done.returncode, said(done)) == (
        8,
        "hotenv: cannot write to standard output: no space left on device",
    )


@pytest.mark.parametrize("redirection", [">&-", ">/dev/full"])
def test_dump_that_cannot_be_written(session: Path, redirection: str) -> None:
    """Exit code 8: what was asked for was not delivered."""
    result = subprocess.run(
        ["sh", "-c", f"exec {shlex.join(HOTENV)} dump {redirection}"],
        cwd=session,
        capture_output=True,
        timeout=60,
    )
    assert result.returncode == 8
    assert "standard output" in said(result)


@contextmanager
def answering(folder: Path, path: Path, reply: bytes | None) -> Iterator[None]:
    """A server that reads what comes and answers ``reply``, or nothing and never (None)."""
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(str(path))
    listener.listen()
    (folder / ".hotenv").write_text(f"socket={path}\n")
    (folder / ".hotenv").chmod(0o600)
    done = threading.Event()

    def answer() -> None:
        connection, _ = listener.accept()
        with connection:
            while (piece := connection.recv(65536)) and not piece.endswith(b"\n"):
                pass
            if reply is None:
                done.wait(60)
            else:
                connection.sendall(reply)

    thread = threading.Thread(target=answer)
    thread.start()
    try:
        yield
    finally:
        done.set()
        thread.join()
        listener.close()


_GOOD = b'{"env":{"A":"1"}}\n'


@pytest.mark.parametrize(
    ("reply", "code"),
    [
        (_GOOD, 0),
        (b'{"env":{},"new":[1]}\n', 0),
        (b"", 4),
        (None, 4),
        (b"\n", 9),
        (b"junk\n", 9),
        (b"\xff\n", 9),
        (_GOOD[:-1], 9),
        (_GOOD[:7], 9),
        (_GOOD + _GOOD, 9),
        (_GOOD + b"x", 9),
        (b'{"env":{"A":1}}\n', 9),
        (b'{"env":{"A":null}}\n', 9),
        (b'{"env":["A"]}\n', 9),
        (b'{"env":{"":"x"}}\n', 9),
        (b'{"env":{"A=B":"x"}}\n', 9),
        (b'{"env":{"A":"\\u0000"}}\n', 9),
        (b'{"env":{"A":"\\ud800"}}\n', 9),
        (b'{"env":{"A":"1","A":"2"}}\n', 9),
        (b"{}\n", 9),
        (b"[" * 100_000 + b"\n", 9),
        (b'{"error":"BAD_REQUEST","message":"no"}\n', 9),
        (b'{"error":"INTERNAL","message":"\\u001b[2J"}\n', 8),
        (b'{"error":"OTHER","message":"no"}\n', 9),
        (b'{"env":{"A":"1"},"error":"INTERNAL","message":"no"}\n', 9),
    ],
    ids=lambda value: repr(value)[:40],
)
def test_server_that_answers(
    folder: Path, runtime: Path, reply: bytes | None, code: int, capfd: pytest.CaptureFixture[str]
) -> None:
    """Something comes out if and only if the answer is right; else one line and the code."""
    with answering(folder, runtime / "s", reply):
        assert main(["dump"]) == code
    out, words = capfd.readouterr()
    if code:
        assert out == ""
        assert words.startswith("hotenv: ")
        assert words[:-1].isprintable()
        assert str(folder / ".hotenv") in words or "INTERNAL" in words
    else:
        assert words == ""


@pytest.mark.parametrize(("reply", "code"), [(_GOOD, 0), (b"junk\n", 9), (b"", 4)], ids=str)
def test_command_runs_only_with_its_variables(
    folder: Path, runtime: Path, reply: bytes, code: int
) -> None:
    """run executes the command if and only if the answer is right."""
    with answering(folder, runtime / "s", reply):
        result = hotenv("run", "--", "sh", "-c", "echo ran $A", cwd=folder)
    assert result.returncode == code
    if code:
        assert said(result)
    else:
        assert result.stdout == b"ran 1\n"


def test_interrupted_client(folder: Path, runtime: Path) -> None:
    """Ctrl-C while the server is silent: 130 and no traceback."""
    with answering(folder, runtime / "s", None):
        terminal = Terminal([*HOTENV, "dump"], folder)
        _wait_for_connection(runtime / "s")
        terminal.type(b"\x03")
        assert terminal.wait() == 130
    assert b"Traceback" not in terminal.screen


def _wait_for_connection(path: Path) -> None:
    def connected() -> bool:
        return Path("/proc/net/unix").read_text().count(str(path)) > 1

    wait_until(connected, "a connection")


def _accepts(path: str) -> bool:
    with socket.socket(socket.AF_UNIX) as late:
        return late.connect_ex(path) == 0


def test_requests_in_flight_get_their_answer_after_a_signal(folder: Path) -> None:
    """SIGTERM while a client is half way through its request: it is answered all the same."""
    with serving(folder, b"A=1\n", "-q") as server:
        path = (folder / ".hotenv").read_text().strip().removeprefix("socket=")
        with socket.socket(socket.AF_UNIX) as client:
            client.connect(path)
            client.sendall(b'{"command":')
            # Answered in turn: by then the server has taken the first connection too.
            assert hotenv("dump", cwd=folder).returncode == 0
            server.terminate()
            wait_until(lambda: not _accepts(path), "the server to stop listening")
            client.sendall(b'"dump"}\n')
            assert client.recv(100) == b'{"env":{"A":"1"}}\n'
        assert finish(server)[0] == 0
