"""Confined commands get nothing of a session, and are told why and what to do."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from processes import (
    ALONE,
    HOTENV,
    LIMIT,
    NO_NEW_PRIVS,
    can_be_refused,
    finish,
    freeze,
    hotenv,
    needs,
    said,
    serving,
    socket_path,
    wait_until,
)

pytestmark = pytest.mark.skipif(
    not can_be_refused(), reason="only Linux has NoNewPrivs, and a server without it"
)

REMEDY = "run the command outside, or start the session with 'hotenv serve --allow-confined'"
CONFINED = f"is refused to a process with NoNewPrivs, as in a sandbox: {REMEDY}"
UNSEEN = (
    f"is refused to a process that the server cannot see (in another container, or gone): {REMEDY}"
)
WARNING = (
    "hotenv: warning: cannot refuse confined processes (the server has NoNewPrivs itself): they "
    "may get the values too ('--allow-confined' accepts that)\n"
)
IN_SANDBOX = [*NO_NEW_PRIVS, *ALONE]
COMMANDS = [["run", "--", "printenv", "A"], ["dump"], ["run", "--explain", "--", "true"]]


@pytest.mark.parametrize("words", COMMANDS, ids=" ".join)
def test_refused(directory: Path, words: list[str]) -> None:
    """A confined command is told so, at once and also if it would wait; others are answered."""
    with serving(directory):
        for options in ([], ["--wait", "60s"]) if words[0] == "run" else ([],):
            asked = [words[0], *options, *words[1:]]
            result = hotenv(*asked, cwd=directory, command=IN_SANDBOX)
            expected = f"hotenv: the session of {directory} {CONFINED}"
            assert (result.returncode, said(result)) == (4, expected)
        assert b"1" in hotenv("dump", cwd=directory).stdout


@needs("setpriv")
def test_refused_below_setpriv(directory: Path) -> None:
    """The tool that does nothing else."""
    with serving(directory):
        command = ["setpriv", "--no-new-privs", *HOTENV]
        result = hotenv("run", "--", "true", cwd=directory, command=command)
        assert (result.returncode, said(result).partition(" is ")[2]) == (4, CONFINED[3:])


@pytest.mark.parametrize("words", COMMANDS, ids=" ".join)
@pytest.mark.parametrize("mode", [(), ("--detach",)], ids=["foreground", "detached"])
def test_allowed(directory: Path, words: list[str], mode: tuple[str, ...]) -> None:
    """What the message names is what it takes."""
    with serving(directory, b"A=1\n", "-q", "--allow-confined", *mode):
        result = hotenv(*words, cwd=directory, command=IN_SANDBOX)
        assert (result.returncode, result.stderr) == (0, b"")
        assert hotenv("stop", cwd=directory).returncode == 0


def test_it_may_see_that_there_is_one(directory: Path) -> None:
    """Neither the state of a session is a secret, nor that it is not to be replaced."""
    with serving(directory):
        assert hotenv("status", "--short", cwd=directory, command=IN_SANDBOX).returncode == 0
        assert b"alive" in hotenv("status", "--all", cwd=directory, command=IN_SANDBOX).stdout
        result = hotenv("serve", "--if-needed", cwd=directory, command=IN_SANDBOX)
        assert said(result) == f"hotenv: already serving in {directory}"
        assert hotenv("prune", cwd=directory, command=IN_SANDBOX).returncode == 0
        assert hotenv("dump", cwd=directory).stdout == b"A=1\n"


@pytest.mark.parametrize("option", [None, "-v", "-q"])
def test_log(directory: Path, option: str | None) -> None:
    """A refusal is a line, with the process; it is a request's, and so not there with --quiet."""
    options = [] if option is None else [option]
    with serving(directory, b"A=1\n", "--log", "log", *options) as server:
        assert hotenv("dump", cwd=directory, command=IN_SANDBOX).returncode == 4
        server.terminate()
        assert finish(server)[0] == 0
    lines = [line for line in (directory / "log").read_text().splitlines() if "refused" in line]
    if option == "-q":
        assert lines == []
    else:
        (line,) = lines
        words = line[len("2026-02-14 15:04:05 ") :]
        what, _, pid = words.rpartition(" ")
        assert what == "hotenv: refused to a process with NoNewPrivs, as in a sandbox: pid"
        assert pid.isdigit()


@pytest.mark.parametrize("mode", [(), ("--detach",)], ids=["foreground", "detached"])
def test_confined_server(directory: Path, mode: tuple[str, ...]) -> None:
    """It cannot tell its clients apart: it says so once, also with --quiet, and answers them."""
    with serving(directory, b"A=1\n", "-q", *mode, command=IN_SANDBOX) as server:
        for command in (HOTENV, IN_SANDBOX):
            assert hotenv("dump", cwd=directory, command=command).stdout == b"A=1\n"
        assert hotenv("stop", cwd=directory).returncode == 0
        assert finish(server) == (0, WARNING)


MANY_GROUPS = """
import os, sys
os.setgroups(range(10**9, 10**9 + 500))
os.execvp(sys.argv[1], sys.argv[1:])
"""


@pytest.mark.skipif(os.geteuid() != 0, reason="only root may have other groups")
def test_many_groups(directory: Path) -> None:
    """They stand before what counts in /proc, for the server and for a client."""
    many = [sys.executable, "-P", "-c", MANY_GROUPS]
    with serving(directory, b"A=1\n", "-q", command=[*many, *HOTENV]):
        result = hotenv("dump", cwd=directory, command=[*many, *HOTENV])
        assert (result.returncode, result.stdout) == (0, b"A=1\n")
        result = hotenv("dump", cwd=directory, command=IN_SANDBOX)
        assert (result.returncode, result.stdout) == (4, b"")


def test_confined_server_that_was_allowed(directory: Path) -> None:
    """Then there is nothing to say; and nothing for a check, which serves nobody."""
    with serving(directory, b"A=1\n", "-q", "--allow-confined", command=IN_SANDBOX) as server:
        assert hotenv("dump", cwd=directory).stdout == b"A=1\n"
        server.terminate()
        assert finish(server) == (0, "")
    result = hotenv("serve", "--check", cwd=directory, stdin=b"A=1\n", command=IN_SANDBOX)
    assert (result.returncode, result.stderr) == (0, b"")


_LEAVE = """
import os, socket, sys
connection = socket.socket(socket.AF_UNIX)
connection.connect(sys.argv[1])
connection.sendall(b'{"command":"dump"}\\n')
if os.fork():
    os._exit(0)
sys.stdout.buffer.write(connection.recv(65536))
"""


def test_a_client_that_is_gone(directory: Path) -> None:
    """Whoever holds its connection now gets nothing: it may have been confined."""
    with serving(directory) as server:
        freeze(server)
        command = [sys.executable, "-c", _LEAVE, str(socket_path(directory))]
        with subprocess.Popen(command, stdout=subprocess.PIPE) as client:
            assert client.wait(LIMIT) == 0
            server.send_signal(signal.SIGCONT)
            assert client.stdout is not None
            answer = client.stdout.read()
    assert answer.startswith(b'{"error":"INTERNAL","message":"refused to a process that the server')


_HAND_OVER = """
import os, socket, sys
connection = socket.socket(socket.AF_UNIX)
connection.connect(sys.argv[2])
os.dup2(connection.fileno(), 0)  # and is inherited
if sys.argv[1] == "child":
    os.spawnvp(os.P_WAIT, sys.argv[3], sys.argv[3:])
else:
    os.execvp(sys.argv[3], sys.argv[3:])
"""

_ASK = """
import os
os.write(0, b'{"command":"dump"}\\n')
os.write(1, os.read(0, 65536))
"""


@pytest.mark.parametrize(
    ("heir", "beginning"), [("child", b'{"env":{"A":"1"}}'), ("itself", b'{"error":"INTERNAL",')]
)
def test_a_connection_of_another_process(directory: Path, heir: str, beginning: bytes) -> None:
    """It counts as that of the process that has made it, which may hand over an answer as well.

    What that is when it asks is what counts, and not what it was when it connected.
    """
    with serving(directory):
        command = [sys.executable, "-c", _HAND_OVER, heir, str(socket_path(directory))]
        command += [*NO_NEW_PRIVS, sys.executable, "-c", _ASK]
        done = subprocess.run(command, capture_output=True, timeout=LIMIT)
    assert done.stdout.startswith(beginning)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can make a PID namespace")
@needs("unshare")
def test_another_pid_namespace(directory: Path) -> None:
    """Clients that a server in a container cannot see are refused; those inside are not.

    One outside sees into it, so a client in a container is seen.
    """
    enter = ["unshare", "--pid", "--fork", "--kill-child", "--mount-proc"]
    if subprocess.run([*enter, "true"], capture_output=True).returncode:
        pytest.skip("no PID namespaces here")
    with serving(directory):
        result = hotenv("dump", cwd=directory, command=[*enter, *HOTENV])
        assert (result.returncode, result.stdout) == (0, b"A=1\n")
        result = hotenv("dump", cwd=directory, command=[*enter, *IN_SANDBOX])
        assert said(result) == f"hotenv: the session of {directory} {CONFINED}"
        assert hotenv("stop", cwd=directory).returncode == 0
    for options, code in (((), 4), (("--allow-confined",), 0)):
        with serving(directory, b"A=1\n", *options, command=[*enter, *HOTENV]):
            result = hotenv("dump", cwd=directory)
            assert result.returncode == code
            if code:
                assert said(result) == f"hotenv: the session of {directory} {UNSEEN}"
        wait_until(lambda: hotenv("prune", cwd=directory).returncode == 0, "the server to end")


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can make a PID namespace")
@needs("unshare")
def test_another_proc(directory: Path) -> None:
    """Whose numbers are those of other processes: it says so, and goes by none of them."""
    enter = ["unshare", "--pid", "--fork", "--kill-child"]
    if subprocess.run([*enter, "true"], capture_output=True).returncode:
        pytest.skip("no PID namespaces here")
    with serving(directory, b"A=1\n", "-q", command=[*enter, *HOTENV]) as server:
        assert hotenv("dump", cwd=directory).stdout == b"A=1\n"
        server.kill()
        words = finish(server)[1]
    problem = "/proc shows another PID namespace"
    assert words == WARNING.replace("the server has NoNewPrivs itself", problem)
