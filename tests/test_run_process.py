"""`hotenv run` and `hotenv dump` as processes: what the command gets, and what comes back."""

from __future__ import annotations

import json
import os
import re
import select
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

from hotenv.cli import session as asking
from hotenv.cli.main import main
from hotenv.exchange import direct
from hotenv.exchange.protocol import Request
from hotenv.session.marker import Marker, format_marker
from processes import (
    HOTENV,
    LIMIT,
    Terminal,
    accepts,
    connect,
    finish,
    hotenv,
    needs,
    said,
    serving,
    socket_path,
    wait_until,
    with_limits,
)

PYTHON = sys.executable

SOCKET = "0123abcd.sock"
"""What a socket of hotenv may be called."""

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


_WITHOUT_DIRECT = """
import sys
from hotenv.exchange import direct
direct.exchange = lambda *_: None
from hotenv.cli.main import main
sys.exit(main())
"""


@pytest.fixture(params=["direct", "reference"])
def lane(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The command with its direct client, and with nothing but the client behind it.

    For tests of what the two do in their own ways. In this process it is the same lane.
    """
    if request.param == "direct":
        return HOTENV
    monkeypatch.setattr(direct, "exchange", lambda *_: None)
    return [PYTHON, "-P", "-c", _WITHOUT_DIRECT]


@pytest.fixture
def session(directory: Path) -> Iterator[Path]:
    """A directory with a session that holds A=1 and some more."""
    with serving(directory, b"A=1\nEMPTY=\nUNI='gr\xc3\xbcn'\nPATH_LIKE='a b'\n", "-q"):
        yield directory


def test_main_job(directory: Path) -> None:
    """pytest, make and dump see the variables, from the directory and from below it."""
    below = directory / "a" / "b"
    below.mkdir(parents=True)
    (below / "test_it.py").write_text(
        "import os\ndef test_it():\n    assert os.environ['URL'] == 'postgres://h/d?x=1'\n"
    )
    (directory / "Makefile").write_text("all:\n\t@echo made with $(URL)\n")
    with serving(directory, b"# comment\n\nexport URL=postgres://h/d?x=1\nEMPTY=\n"):
        tests = hotenv("run", "--", PYTHON, "-m", "pytest", "-q", cwd=below)
        assert tests.returncode == 0
        assert b"1 passed" in tests.stdout
        if shutil.which("make"):
            make = hotenv("run", "--", "make", cwd=directory)
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


_MODULES = "import sys; from hotenv.cli.main import main; sys.exit(main())"


@pytest.mark.parametrize(
    ("code", "loads"),
    [("pass", False), (_MODULES, False), (_WITHOUT_DIRECT, True)],
    ids=["nothing", "direct", "reference"],
)
def test_trio_is_loaded_on_the_long_way_only(
    session: Path, code: str, loads: bool, unmeasured: None
) -> None:
    """The direct client loads none of what takes long; and the other way is really the other."""
    command = [PYTHON, "-P", "-X", "importtime", "-c", code]
    result = hotenv("run", "--", "true", cwd=session, command=command)
    assert result.returncode == 0
    modules = {line.rsplit(b"|", 1)[-1].strip() for line in result.stderr.splitlines()}
    assert (b"hotenv.exchange.direct" in modules) == (code != "pass")
    heavy = {b"trio", b"attr", b"dotenv", b"argparse", b"fnmatch"}
    assert (heavy & modules != set()) == loads


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
    """Same pid, signals, descriptors, limits, directory: all as without hotenv, no more."""
    reports = []
    for prefix in ([], [*HOTENV, "run", "--"]):
        process = subprocess.Popen(
            ["sh", "-c", _ODD_START, PYTHON, *prefix, *probe], cwd=session, stdout=subprocess.PIPE
        )
        out = process.communicate(timeout=LIMIT)[0].decode()
        out = re.sub(rf"\b{process.pid}\b", "PID", out)
        # SigQ counts the signals that wait for any process of this user.
        changing = ("Vm", "Rss", "voluntary", "nonvoluntary", "PPid", "SigQ")
        reports.append([line for line in out.splitlines() if not line.startswith(changing)])
    assert reports[0] == reports[1]
    assert reports[0]


def test_environment_byte_for_byte(directory: Path) -> None:
    """What hotenv inherited, also what is no UTF-8, with the snapshot on top, and nothing else."""
    inherited = {
        b"PATH": os.environb[b"PATH"],
        b"XDG_RUNTIME_DIR": os.environb[b"XDG_RUNTIME_DIR"],
        b"PYTHONPATH": b"/nowhere",
        b"RAW\xff": b"\x80\xff",
        b"A": b"shadowed",
        b"EMPTY": b"",
        b"with space": b"x\ny",
    }
    with serving(directory, "A=grün\nB=2\n".encode(), "-q"):
        for locale in ({}, {b"LC_ALL": b"C"}, {b"LC_ALL": b"en_US.ISO-8859-1"}):
            env = inherited | locale
            result = subprocess.run(
                # Not the script: where its path has a space, it is a shell that starts Python.
                [PYTHON, "-m", "hotenv", "run", "--", "cat", "/proc/self/environ"],
                cwd=directory,
                env=env,
                capture_output=True,
                timeout=LIMIT,
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
        timeout=LIMIT,
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
    result = subprocess.run(["sh", "-c", script], cwd=session, capture_output=True, timeout=LIMIT)
    assert (result.stdout, result.stderr) == (b"y\n", b"")


def test_nested(session: Path) -> None:
    """run under run, with another session in a directory below."""
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


def test_value_too_long(directory: Path) -> None:
    """Exit code 8 names the variable and the limit, and not the value."""
    with serving(directory, b"BIG=" + b"v" * 131_072 + b"\nFITS=" + b"w" * 131_000 + b"\n", "-q"):
        result = hotenv("run", "--", "true", cwd=directory)
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


def test_path_is_the_childs(directory: Path) -> None:
    """The command is looked up in the PATH that the session sets."""
    (directory / "bin").mkdir()
    (directory / "bin" / "mine").write_text("#!/bin/sh\necho mine\n")
    (directory / "bin" / "mine").chmod(0o755)
    with serving(directory, f"PATH={directory}/bin\n".encode(), "-q"):
        assert hotenv("run", "--", "mine", cwd=directory).stdout == b"mine\n"


def test_no_marker(directory: Path) -> None:
    """Exit code 3 says how to start a session."""
    for args in (["run", "true"], ["dump"]):
        result = hotenv(*args, cwd=directory)
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
        [*HOTENV, "dump"], cwd=session, stdout=writer, stderr=subprocess.PIPE, timeout=LIMIT
    )
    os.close(writer)
    assert (result.returncode, result.stderr) == (141, b"")


_ODD_TEXT = (
    'TWO="one\ntwo\\r\n"\n'
    "RED='\x1b[31mred\x1b[0m'\nTAB='a\tb\x08c\x7f'\nC1='\x9b31m\u202edcba'\n"
    "'\u2028]0;TITLE'=x\nUNI='gr\u00fcn \u2713'\n"
)
_ODD_VARIABLES = {
    "C1": "\x9b31m\u202edcba",
    "RED": "\x1b[31mred\x1b[0m",
    "TAB": "a\tb\x08c\x7f",
    "TWO": "one\ntwo\r\n",
    "UNI": "gr\u00fcn \u2713",
    "\u2028]0;TITLE": "x",
}


@pytest.fixture
def odd(directory: Path) -> Iterator[Path]:
    """A directory with a session whose values say things to a terminal."""
    with serving(directory, _ODD_TEXT.encode(), "-q"):
        yield directory


def on_a_terminal(directory: Path, *words: str) -> bytes:
    """What ``hotenv dump`` shows on a terminal, which begins each new line with a return."""
    terminal = Terminal([*HOTENV, "dump", *words], directory)
    assert terminal.wait() == 0
    return terminal.screen


def test_dump_on_a_terminal(odd: Path) -> None:
    """A terminal obeys no value, and has one line for each variable."""
    shown = [
        *(r"C1=\x9b31m\u202edcba", r"RED=\x1b[31mred\x1b[0m", r"TAB=a\tb\x08c\x7f"),
        *(r"TWO=one\ntwo\r\n", "UNI=gr\u00fcn \u2713", r"\u2028]0;TITLE=x"),
    ]
    assert on_a_terminal(odd) == ("\r\n".join(shown) + "\r\n").encode()
    assert on_a_terminal(odd, "--format", "env", "--only", "T*") == (
        ("\r\n".join(shown[2:4]) + "\r\n").encode()
    )


def test_dump_elsewhere(odd: Path) -> None:
    """In pipes and files it is byte for byte what the values are, in the order of the names."""
    expected = "".join(f"{name}={value}\n" for name, value in _ODD_VARIABLES.items()).encode()
    assert hotenv("dump", cwd=odd).stdout == expected
    with open(odd / "out", "wb") as file:
        subprocess.run([*HOTENV, "dump"], cwd=odd, stdout=file, check=True, timeout=LIMIT)
    assert (odd / "out").read_bytes() == expected


@pytest.mark.parametrize("form", ["null", "json", "dotenv"])
def test_other_formats_on_a_terminal(odd: Path, form: str) -> None:
    """What is for programs is the same everywhere."""
    piped = hotenv("dump", "--format", form, cwd=odd).stdout
    assert on_a_terminal(odd, "--format", form) == piped.replace(b"\n", b"\r\n")


@pytest.mark.parametrize("words", ["--help", "--version", "status --help"])
def test_help_on_a_full_disk(directory: Path, words: str) -> None:
    """Help is output like any other."""
    done = subprocess.run(
        ["sh", "-c", f"exec {shlex.join(HOTENV)} {words} >/dev/full"],
        cwd=directory,
        capture_output=True,
        timeout=LIMIT,
    )
    assert (done.returncode, said(done)) == (
        8,
        "hotenv: cannot write to standard output: no space left on device",
    )


@pytest.mark.parametrize("words", [["dump"], ["dump", "--format", "json"]], ids=" ".join)
def test_dump_to_a_slow_reader(directory: Path, words: list[str]) -> None:
    """All of it arrives, also where another process has made the pipe non-blocking."""
    value = b"x" * 1_000_000
    reader, writer = os.pipe()
    os.set_blocking(writer, False)
    with serving(directory, b"A=" + value + b"\n", "-q"):
        client = subprocess.Popen(
            [*HOTENV, *words], cwd=directory, stdout=writer, stderr=subprocess.PIPE
        )
        # The pipe is full before the first byte is read, and has room for some more after that.
        wait_until(lambda: _is_full(writer) or client.poll() is not None, "a full pipe")
        assert client.poll() is None
        os.close(writer)
        with open(reader, "rb", buffering=0) as pipe:
            output = b""
            while piece := pipe.read(1000 if len(output) < 100_000 else 1_000_000):
                output += piece
        assert (client.wait(timeout=LIMIT), client.communicate()[1]) == (0, b"")
    assert output == (b"A=" + value + b"\n" if len(words) == 1 else b'{"A": "%b"}\n' % value)


def _is_full(writer: int) -> bool:
    poll = select.poll()
    poll.register(writer, select.POLLOUT)
    return not poll.poll(0)


@pytest.mark.parametrize("redirection", [">&-", ">/dev/full"])
def test_dump_that_cannot_be_written(session: Path, redirection: str) -> None:
    """Exit code 8: what was asked for was not delivered."""
    result = subprocess.run(
        ["sh", "-c", f"exec {shlex.join(HOTENV)} dump {redirection}"],
        cwd=session,
        capture_output=True,
        timeout=LIMIT,
    )
    assert result.returncode == 8
    assert "standard output" in said(result)


@contextmanager
def answering(directory: Path, path: Path, reply: bytes | None) -> Iterator[socket.socket]:
    """A server that reads what comes and answers ``reply``, or nothing and never (None)."""
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(str(path))
    listener.listen()
    (directory / ".hotenv").write_bytes(format_marker(str(path)))
    (directory / ".hotenv").chmod(0o600)
    done = threading.Event()

    def answer() -> None:
        try:
            connection, _ = listener.accept()
        except OSError:  # no client has come
            return
        with connection:
            while (piece := connection.recv(65536)) and not piece.endswith(b"\n"):
                pass
            if reply is None:
                done.wait(LIMIT)
            else:
                connection.sendall(reply)

    thread = threading.Thread(target=answer)
    thread.start()
    try:
        yield listener
    finally:
        done.set()
        listener.shutdown(socket.SHUT_RDWR)
        thread.join()
        listener.close()


_GOOD = b'{"env":{"A":"1"}}\n'


@pytest.mark.parametrize(
    ("reply", "code"),
    [
        (_GOOD, 0),
        (b'{"env":{},"new":[1]}\n', 0),
        (b"", 4),
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
    directory: Path,
    runtime: Path,
    lane: list[str],
    reply: bytes,
    code: int,
    capfd: pytest.CaptureFixture[str],
) -> None:
    """Something comes out if and only if the answer is right; else one line and the code."""
    with answering(directory, runtime / SOCKET, reply):
        assert main(["dump"]) == code
    out, words = capfd.readouterr()
    if code:
        assert out == ""
        assert words.startswith("hotenv: ")
        assert words[:-1].isprintable()
        assert str(directory / ".hotenv") in words or "INTERNAL" in words
    else:
        assert words == ""


@pytest.mark.parametrize(("reply", "code"), [(_GOOD, 0), (b"junk\n", 9), (b"", 4)], ids=str)
def test_command_runs_only_with_its_variables(
    directory: Path, runtime: Path, lane: list[str], reply: bytes, code: int
) -> None:
    """run executes the command if and only if the answer is right."""
    with answering(directory, runtime / SOCKET, reply):
        result = hotenv("run", "--", "sh", "-c", "echo ran $A", cwd=directory, command=lane)
    assert result.returncode == code
    if code:
        assert said(result)
    else:
        assert result.stdout == b"ran 1\n"


@pytest.mark.parametrize("reply", [None, b""], ids=["silent", "gone"])
def test_no_answer(
    directory: Path,
    runtime: Path,
    lane: list[str],
    reply: bytes | None,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
) -> None:
    """Exit code 4 says which of the two it was: too slow, or gone."""
    monkeypatch.setattr(asking, "ANSWER_TIMEOUT", 0.2 if reply is None else LIMIT)
    with answering(directory, runtime / SOCKET, reply):
        assert main(["dump"]) == 4
    why = "no answer within 0.2 seconds" if reply is None else "the server exited before answering"
    assert f"cannot reach the server of {directory}/.hotenv ({why}): " in capfd.readouterr().err


def test_full_backlog(
    directory: Path,
    runtime: Path,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
) -> None:
    """The direct client does not wait for a place in it, the client behind it does."""
    crowd: list[socket.socket] = []
    answers: list[object] = []
    exchange = direct.exchange

    def exchange_and_make_room(marker: Marker, request: Request, timeout: float) -> object:
        answers.append(exchange(marker, request, timeout))
        for each in crowd:
            each.close()
        server.start()
        return answers[-1]

    def serve() -> None:
        while not served:
            connection, _ = listener.accept()
            with connection:
                if connection.recv(1000):
                    connection.sendall(_GOOD)
                    served.append(True)

    served: list[bool] = []
    server = threading.Thread(target=serve)
    monkeypatch.setattr(direct, "exchange", exchange_and_make_room)
    (directory / ".hotenv").write_bytes(format_marker(str(runtime / SOCKET)))
    (directory / ".hotenv").chmod(0o600)
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(runtime / SOCKET))
        listener.listen(0)
        while True:
            crowd.append(socket.socket(socket.AF_UNIX))
            crowd[-1].setblocking(False)
            try:
                crowd[-1].connect(str(runtime / SOCKET))
            except BlockingIOError:
                break
        assert main(["dump"]) == 0
        server.join(LIMIT)
    assert answers == [None]
    assert capfd.readouterr() == ("A=1\n", "")


def test_interrupted_client(directory: Path, runtime: Path, lane: list[str]) -> None:
    """Ctrl-C while the server is silent: 130 and no traceback."""
    with answering(directory, runtime / SOCKET, None):
        terminal = Terminal([*lane, "dump"], directory)
        _wait_for_connection(runtime / SOCKET)
        terminal.type(b"\x03")
        assert terminal.wait() == 130
    assert b"Traceback" not in terminal.screen


def _wait_for_connection(path: Path) -> None:
    def connected() -> bool:
        return Path("/proc/net/unix").read_text().count(str(path)) > 1

    wait_until(connected, "a connection")


def test_requests_in_flight_get_their_answer_after_a_signal(directory: Path) -> None:
    """SIGTERM while a client is half way through its request: it is answered all the same."""
    command = with_limits({"hotenv.serving.server.GRACE_PERIOD": LIMIT})
    with serving(directory, b"A=1\n", "-q", command=command) as server:
        path = socket_path(directory)
        with connect(directory) as client:
            client.sendall(b'{"command":')
            # Answered in turn: by then the server has taken the first connection too.
            assert hotenv("dump", cwd=directory).returncode == 0
            server.terminate()
            wait_until(lambda: not accepts(path), "the server to stop listening")
            client.sendall(b'"dump"}\n')
            assert client.recv(100) == b'{"env":{"A":"1"}}\n'
        assert finish(server)[0] == 0


# The exit status of what is not the command's failure


FAILURES = {
    "no session": (["--", "true"], "no .hotenv in"),
    "unreachable": (["--", "true"], "unreachable"),
    "no marker": (["--", "true"], "invalid marker"),
    "no such command": (["--", "nothing-of-this-name"], "command not found"),
    "cannot be executed": (["--", "/"], "cannot run '/'"),
    "no such directory": (["-C", "nowhere", "--", "true"], "cannot change to directory nowhere"),
    "no command": ([], "missing command"),
    "wrong option": (["--no-such-option", "--", "true"], "unrecognized option"),
    "wrong argument": (["--define", "A", "--", "true"], "--define must be NAME=VALUE"),
    "wrong name": (["--define", "=x", "--", "true"], "--define"),
    "nothing matches": (["--only", "NOTHING", "--", "true"], "--only"),
}


@pytest.mark.parametrize("what", FAILURES)
def test_failure_status(directory: Path, what: str) -> None:
    """Whatever fails before the command starts has that status, and is said as ever."""
    arguments, words = FAILURES[what]
    if what in ("unreachable", "no marker"):
        (directory / ".hotenv").write_bytes(
            b"x" if what == "no marker" else format_marker(f"{directory}/gone/{SOCKET}")
        )
        (directory / ".hotenv").chmod(0o600)
        result = hotenv("run", "--failure-status", "125", *arguments, cwd=directory)
    elif what == "no session":
        result = hotenv("run", "--failure-status", "125", *arguments, cwd=directory)
    else:
        with serving(directory):
            result = hotenv("run", "--failure-status", "125", *arguments, cwd=directory)
    assert result.returncode == 125
    assert words in said(result) or what == "unreachable"


@pytest.mark.parametrize("code", [0, 1, 4, 125])
def test_the_commands_own_status_stays(directory: Path, code: int) -> None:
    """It has started."""
    with serving(directory):
        args = ("--failure-status=99", "--", "sh", "-c", f"exit {code}")
        assert hotenv("run", *args, cwd=directory).returncode == code


@pytest.mark.parametrize("word", ["0", "256", "-1", "x", "", "1.5", "\u0661", "0" * 5000 + "1"])
def test_no_status(directory: Path, word: str) -> None:
    """0 would say that it had worked, and there is nothing above 255."""
    result = hotenv("run", f"--failure-status={word}", "--", "true", cwd=directory)
    assert result.returncode == 2
    assert said(result) == "hotenv: --failure-status must be a number from 1 to 255"


def test_status_of_one_command_line_only(directory: Path) -> None:
    """Of the next one in the same process it is as ever."""
    assert main(["run", "--failure-status", "7", "--", "true"]) == 7
    assert main(["run", "--", "true"]) == 3


@needs("git")
def test_git_bisect(directory: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A commit that cannot be tested is skipped, and not blamed for what is hotenv's failure."""
    monkeypatch.setenv("HOME", str(directory))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(directory))
    script = """
        git init -q . && git config user.name a && git config user.email a@b
        for n in 1 2 3 4 5 6; do
            test $n -lt 4 && echo 0 >status || echo 1 >status
            echo $n >number && git add status number && git commit -q -m $n
        done
        git bisect start HEAD HEAD~5
        # the one in the middle has no session
        cat >../test <<'END'
if test "$(cat number)" = 3; then cd /; fi
exec "$@" run --failure-status 125 -- sh -c 'exit "$(cat status)"'
END
        git bisect run sh ../test "$@"
    """
    place = directory / "place"
    place.mkdir()
    with serving(place):
        done = subprocess.run(
            ["sh", "-c", script, "sh", *HOTENV], cwd=place, capture_output=True, text=True
        )
    assert "skip" in done.stdout, done
    assert "There are only 'skip'ped commits left to test" in done.stdout + done.stderr
    assert "is the first bad commit" not in done.stdout
