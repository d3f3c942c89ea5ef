"""``--audit`` and ``hotenv audit``: real commands, several writers, and writers that are killed."""

from __future__ import annotations

import json
import os
import random
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from forkserver import ForkServer
from guarded import needs_guards
from hotenv.audit.verification import INCOMPLETE, INTACT, verify
from hotenv.audit.writer import head_path, read_head
from processes import (
    HOTENV,
    LIMIT,
    NO_NEW_PRIVS,
    can_be_refused,
    finish,
    hotenv,
    needs,
    said,
    serving,
    start_serve,
    wait_until,
)
from supervision import gone, job, only_linux, parent, state

TEXT = b"TOKEN=s3cr3t/Val+ue=42\nOTHER=0ther-value\n"


@pytest.fixture
def session(directory: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A directory with a session, and a state directory of its own."""
    monkeypatch.setenv("XDG_STATE_HOME", str(directory / "state"))
    with serving(directory, TEXT):
        yield directory


def lines(log: Path) -> list[dict[str, object]]:
    """What the log has."""
    return [json.loads(line) for line in log.read_bytes().splitlines()]


def ends(log: Path) -> list[dict[str, object]]:
    """What the log has of the ends of commands: each began with a line that it names."""
    known = {line["seq"]: line for line in lines(log)}
    found = [line for line in known.values() if "began" in line]
    for line in found:
        began = known[line["began"]]
        assert began["outcome"] == "begun"
        same = began.keys() - {"seq", "previous", "outcome"}
        assert {name: began[name] for name in same} == {name: line[name] for name in same}
    assert len(known) == 2 * len(found)
    return found


def verdict(log: Path, *options: str) -> int:
    """The exit code of verify."""
    result = hotenv("audit", "verify", str(log), *options, cwd=log.parent)
    assert said(result).startswith(f"hotenv: {log}: ") or result.returncode == 2
    return result.returncode


def test_commands(session: Path) -> None:
    """Each with its outcome, and without values."""
    log = session / "log"
    run = ["run", "--audit", "log"]
    assert hotenv(*run, "--", "sh", "-c", "exit 3", cwd=session).returncode == 3
    killed = hotenv(
        *run, "-v", "--audit-names", "--", "sh", "-c", "kill $$ # s3cr3t/Val+ue=42", cwd=session
    )
    assert killed.returncode == -signal.SIGTERM
    assert hotenv(*run, "--redact=TOKEN", "--", "no-such-command", cwd=session).returncode == 8
    first, second, third = ends(log)
    assert (first["what"], first["program"], first["status"]) == ("run", "sh", 3)
    assert (first["uid"], first["folder"]) == (os.getuid(), str(session))
    assert not {"words", "names", "blocked"} & first.keys()
    assert second["words"] == ["sh", "-c", "kill $$ # [TOKEN]"]
    assert (second["signal"], second["names"]) == (signal.SIGTERM, ["OTHER", "TOKEN"])
    assert "status" not in second
    assert (third["program"], third["failed"]) == ("no-such-command", "not started")
    assert verdict(log) == 0


@only_linux
def test_a_hotenv_that_is_killed(session: Path) -> None:
    """The command is in the log, as it began before.

    A keeper that notices before the kernel kills it would log the command's end, too: it is held.
    """
    log = session / "log"
    command = [*HOTENV, "run", "--audit", "log", "--", "sh", "-c", "echo $$; exec sleep 1000"]
    with job(command, cwd=session) as started:
        pid = int(started.line())
        keeper = parent(pid)
        os.kill(keeper, signal.SIGSTOP)
        wait_until(lambda: state(keeper) == "T", "the keeper to stop")
        os.kill(started.pid, signal.SIGKILL)
        assert started.wait() == -signal.SIGKILL
        wait_until(lambda: gone(pid), "the end of the command")
    (line,) = lines(log)
    assert (line["program"], line["outcome"]) == ("sh", "begun")
    assert verdict(log) == 0
    shown = hotenv("audit", "show", "log", cwd=session).stdout
    assert shown.endswith(b"\tsh\tbegun\n")


@needs_guards
@pytest.mark.usefixtures("unmeasured")
def test_guards(session: Path) -> None:
    """What was blocked is counted, with and without a session."""
    program = ["--", "sh", "-c", "echo x > file; echo x > file"]
    for command in ("guard", "run"):
        result = hotenv(command, "--audit", "log", "--fs-readonly", *program, cwd=session)
        assert result.returncode == 2
    first, second = ends(session / "log")
    assert (first["what"], first["blocked"]) == ("guard", 2)
    assert (second["what"], second["blocked"]) == ("run", 2)
    assert hotenv("guard", "--audit", "log", "--", "true", cwd=session).returncode == 0
    assert ends(session / "log")[2]["blocked"] == 0


def requests(*commands: str) -> bytes:
    """Lines for a shell."""
    return b"".join(json.dumps({"command": each}).encode() + b"\n" for each in commands)


@needs("bash")
def test_a_shell(session: Path) -> None:
    """Each command, whatever became of it, and no value even if output has them."""
    log = session / "log"
    commands = ("mkdir $TOKEN -p; cd $TOKEN", "exit 3 # s3cr3t/Val+ue=42", "a\0")
    options = ["--audit", "log", "-v", "--audit-names", "--no-redact"]
    done = hotenv("shell", *options, cwd=session, stdin=requests(*commands))
    assert [json.loads(line).get("exit_code") for line in done.stdout.splitlines()] == [0, 3, None]
    first, second, third = ends(log)
    assert (first["what"], first["program"], first["status"]) == ("shell", "bash", 0)
    assert (first["words"], first["names"]) == ([commands[0]], ["OTHER", "TOKEN"])
    assert (second["words"], second["status"]) == (["exit 3 # [TOKEN]"], 3)
    assert (first["folder"], second["folder"]) == (str(session), f"{session}/[TOKEN]")
    assert third["failed"] == "error"
    assert verdict(log) == 0
    assert b"Val+ue" not in log.read_bytes()


@needs("bash")
def test_a_command_of_a_shell_that_is_ended(session: Path) -> None:
    """By its timeout, or with the shell."""
    log = session / "log"
    text = b'{"command": "sleep 1000", "timeout": 0.1}\n{"command": "sleep 1000 & echo; wait"}\n'
    with subprocess.Popen(
        [*HOTENV, "shell", "--audit", "log"],
        cwd=session,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    ) as process:
        assert process.stdin is not None
        process.stdin.write(text)
        process.stdin.flush()
        wait_until(lambda: log.exists() and len(lines(log)) == 3, "the second command")
        process.terminate()
        assert process.wait(LIMIT) == 0
    first, second = ends(log)
    assert (first["status"], first["failed"]) == (124, "timed out")
    assert second["failed"] == "cancelled"
    assert "words" not in first


@needs("bash")
@needs("shfmt")
def test_a_command_that_a_policy_denies(session: Path) -> None:
    """It is in the log, too."""
    (session / "policy").write_text('deny = ["rm"]\n')
    options = ["--audit", "log", "--policy", "policy"]
    hotenv("shell", *options, cwd=session, stdin=requests("rm file"))
    (line,) = ends(session / "log")
    assert line["failed"] == "denied"


@needs("bash")
def test_a_shell_without_its_log(session: Path) -> None:
    """It is told once; if the log is required, nothing is run."""
    (session / "link").symlink_to("elsewhere")
    text = requests("touch done", "true")
    done = hotenv("shell", "--audit", "link", cwd=session, stdin=text)
    assert done.stderr.count(b"not in the audit log: cannot open") == 1
    assert done.stdout.count(b'"exit_code": 0') == 2
    (session / "done").unlink()
    done = hotenv("shell", "--audit", "link", "--audit-required", cwd=session, stdin=text)
    assert done.stdout.count(b'"error": "cannot open') == 2
    assert not (session / "done").exists()


def test_verdicts(session: Path) -> None:
    """Each has its exit code."""
    log = session / "log"
    for _ in range(3):
        hotenv("run", "--audit", "log", "--", "true", cwd=session)
    data = log.read_bytes()
    (head,) = (session / "state/hotenv/audit").iterdir()
    noted = head.read_text().split()[1]
    assert (verdict(log), verdict(log, "--head", noted), verdict(log, "--head", str(head))) == (
        0,
        0,
        0,
    )
    log.write_bytes(data.replace(b'"status":0', b'"status":1', 1))
    assert verdict(log) == 11
    log.write_bytes(data[: data.rindex(b"\n", 0, -1) + 1])
    assert (verdict(log), verdict(log, "--head", noted)) == (12, 12)
    log.write_bytes(data + b'{"what"')
    assert verdict(log) == 13
    log.write_bytes(data)
    head.rename("head")
    assert (verdict(log), verdict(log, "--head", "head")) == (14, 0)
    assert verdict(log, "--head", "log") == 2


def test_show(session: Path) -> None:
    """For people and for programs."""
    log = session / "log"
    hotenv("run", "--audit", "log", "--", "sh", "-c", "exit 3", cwd=session)
    shown = hotenv("audit", "show", "log", cwd=session)
    number, time, *rest = shown.stdout.decode().rstrip("\n").split("\t")
    assert (number, time, rest) == ("2", lines(log)[0]["time"], ["run", "sh", "exited with 3"])
    assert hotenv("audit", "show", "--json", "log", cwd=session).stdout == log.read_bytes()


@pytest.mark.parametrize(
    ("args", "code"),
    [
        (["audit", "show", "nothing"], 8),
        (["audit", "verify", "nothing"], 8),
        (["audit", "check", "log"], 2),
        (["audit", "show", "--head", "x", "log"], 2),
        (["audit", "verify", "--json", "log"], 2),
        (["run", "--audit-required", "--", "true"], 2),
        (["guard", "--audit-required", "--", "true"], 2),
        (["shell", "--audit-required"], 2),
        (["run", "--audit-names", "--", "true"], 2),
    ],
)
def test_errors(args: list[str], code: int, session: Path) -> None:
    """One line each."""
    result = hotenv(*args, cwd=session)
    assert result.returncode == code
    said(result)


def test_a_log_that_cannot_be_written(session: Path) -> None:
    """It is told and the command runs; if it is required, the command does not."""
    Path("link").symlink_to("elsewhere")
    result = hotenv("run", "--audit", "link", "--", "echo", "started", cwd=session)
    assert (result.returncode, result.stdout) == (0, b"started\n")
    assert result.stderr.startswith(b"hotenv: warning: not in the audit log: cannot open ")
    assert result.stderr.count(b"\n") == 1
    required = ["run", "--audit", "link", "--audit-required", "--", "echo", "started"]
    result = hotenv(*required, cwd=session)
    assert result.returncode == 8
    said(result)


def test_a_log_that_is_lost_meanwhile(session: Path) -> None:
    """What is required and was not written is a failure, whatever the command says."""
    program = ["--", "sh", "-c", "rm -r logs"]
    for options, code in (([], 0), (["--audit-required"], 8)):
        Path("logs").mkdir()
        result = hotenv("run", "--audit", "logs/log", *options, *program, cwd=session)
        assert result.returncode == code
        assert result.stderr.count(b"\n") == 1


@only_linux
@pytest.mark.usefixtures("unmeasured")
def test_a_full_disk(session: Path) -> None:
    """A line that does not fit ends no command; the next one that does closes it."""
    import resource

    log = session / "log"
    hotenv("run", "--audit", "log", "--", "true", cwd=session)
    size = log.stat().st_size

    def limit() -> None:
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (size + 20, size + 20))

    result = subprocess.run(
        [*HOTENV, "run", "--audit", "log", "--", "true"],
        cwd=session,
        preexec_fn=limit,
        capture_output=True,
        timeout=LIMIT,
    )
    assert result.returncode == 0
    assert b"not in the audit log" in result.stderr
    assert verdict(log) == 13
    hotenv("run", "--audit", "log", "--", "true", cwd=session)
    assert verdict(log) == 0


_WRITER = f"""
import sys
from hotenv.audit.writer import append
from hotenv.session import lock
lock.LOCK_TIMEOUT = {LIMIT}
for number in range(int(sys.argv[2])):
    append(sys.argv[1], dict(what="run", program=sys.argv[3] * 50, status=number))
"""


def writer(log: Path, count: int, name: str) -> subprocess.Popen[bytes]:
    """A process that writes so many lines."""
    return subprocess.Popen([sys.executable, "-P", "-c", _WRITER, str(log), str(count), name])


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("first", ["begin", "_keep"], ids=["hotenv", "keeper"])
def test_killed_commands(first: str, seed: int, session: Path) -> None:
    """Wherever a process of hotenv is killed: it is never taken for a change or a cut."""
    log = session / "log"
    kept = head_path(str(log))
    command = ("run", "--audit", "log", "--", "true")
    generator = random.Random(seed)  # noqa: S311 - to be repeated
    verdicts = set()
    with ForkServer(session) as forks:
        whole = forks.run(*command, first=first)
        assert whole.code == 0
        for _ in range(50):
            ended = forks.run(*command, at=generator.randint(1, whole.lines), first=first)
            assert "Traceback" not in ended.words
            verdicts.add(verify(log.read_bytes(), read_head(kept)).code)
        assert verdicts <= {INTACT, INCOMPLETE}
        assert forks.run(*command).code == 0
    assert verify(log.read_bytes(), read_head(kept)).code == INTACT


def test_two_writers(session: Path) -> None:
    """All lines of both are there, in one chain."""
    log = session / "log"
    writers = [writer(log, 30, name) for name in "ab"]
    assert [each.wait(LIMIT) for each in writers] == [0, 0]
    programs = [str(line["program"])[0] for line in lines(log)]
    assert (programs.count("a"), programs.count("b")) == (30, 30)
    assert verdict(log) == 0


def test_killed_writers(session: Path) -> None:
    """Wherever they are killed: it is never taken for a change."""
    log = session / "log"
    log.touch()
    for more in (0, 1, 99, 200, 311, 402, 503, 797, 1000, 1301, 1499, 1998):  # bytes
        goal = log.stat().st_size + more
        process = writer(log, 10_000, "k")
        wait_until(lambda goal=goal: log.stat().st_size > goal, "the log to grow")  # type: ignore[misc]
        process.kill()
        process.wait(LIMIT)
        assert verdict(log) in (0, 13)
    assert writer(log, 1, "e").wait(LIMIT) == 0
    assert verdict(log) == 0


@pytest.fixture
def audited(directory: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The log of a server, in a directory without a session."""
    monkeypatch.setenv("XDG_STATE_HOME", str(directory / "state"))
    return directory / "log"


@only_linux
def test_a_server(audited: Path) -> None:
    """Each client that got the variables, by the kernel's word; a status check is none."""
    with serving(audited.parent, TEXT, "--audit", "log") as server:
        pid = hotenv("run", "--", "sh", "-c", "echo $$", cwd=audited.parent).stdout
        assert hotenv("dump", cwd=audited.parent).returncode == 0
        assert hotenv("status", cwd=audited.parent).returncode == 0
        server.terminate()
        assert server.wait(LIMIT) == 0
    first, second = lines(audited)
    assert (first["what"], first["program"], first["pid"]) == ("run", "sh", int(pid))
    assert (first["uid"], first["folder"]) == (os.getuid(), str(audited.parent))
    assert (first["outcome"], second["what"]) == ("answered", "dump")
    assert verdict(audited) == 0


@pytest.mark.skipif(not can_be_refused(), reason="nobody is refused here")
def test_a_refusal(audited: Path) -> None:
    """Who is refused is in the log too."""
    with serving(audited.parent, TEXT, "--audit", "log") as server:
        refused = hotenv("dump", cwd=audited.parent, command=[*NO_NEW_PRIVS, *HOTENV])
        assert refused.returncode == 4
        server.terminate()
        server.wait(LIMIT)
    (line,) = lines(audited)
    assert line["outcome"] == "refused"
    assert line["refused_to"]
    assert line["what"] in ("connect", "dump")
    assert verdict(audited) == 0


def test_a_server_without_its_log(audited: Path) -> None:
    """It says so once and serves on; if the log is required, it does not."""
    for options, code in (([], 0), (["--audit-required"], 8)):
        audited.unlink(missing_ok=True)
        audited.symlink_to("elsewhere")
        process = start_serve(audited.parent, TEXT, "-t", "60", "--audit", "log", *options)
        if not code:
            wait_until((audited.parent / ".hotenv").exists, "the marker")
            assert hotenv("dump", cwd=audited.parent).returncode == 0
            process.terminate()
        ended, words = finish(process)
        assert ended == code
        assert words.count("audit log: cannot open" if not code else "cannot open") == 1


def test_a_required_log_that_is_lost(audited: Path) -> None:
    """The session ends when a line cannot be written."""
    (audited.parent / "logs").mkdir()
    options = ["--audit", "logs/log", "--audit-required"]
    with serving(audited.parent, TEXT, *options) as server:
        shutil.rmtree(audited.parent / "logs")
        hotenv("dump", cwd=audited.parent)
        ended, words = finish(server)
    assert ended == 0
    assert words.count("not in the audit log") == 1
