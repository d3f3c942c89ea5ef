"""The file of a project, and the sessions that it starts."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path

import pytest
import trio

import hotenv as hotenv_package
from processes import (
    HOTENV,
    LIMIT,
    Terminal,
    finish,
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
from supervision import gone

GET = "echo asked >>asked; echo A=1; echo AB=2; echo B=3"
PRINT = ("printenv", "A")

Project = Callable[..., Path]


@pytest.fixture
def project(tmp_path: Path, runtime: Path, state: Path) -> Project:
    """Writes the file of a project, allows it, and gives its directory."""

    def write(session: str = 'source = ["sh", "get"]', rest: str = "", *, get: str = GET) -> Path:
        directory = tmp_path / "shop"
        (directory / "src").mkdir(parents=True, exist_ok=True)
        (directory / "get").write_text(get)
        (directory / "hotenv.toml").write_text(f"[session]\n{session}\n{rest}\n")
        (directory / "hotenv.toml").chmod(0o644)
        assert hotenv("allow", cwd=directory).returncode == 0
        return directory

    return write


def run(*args: str, cwd: Path, stdin: bytes = b"") -> subprocess.CompletedProcess[bytes]:
    """Run ``hotenv run``."""
    return hotenv("run", *args, cwd=cwd, stdin=stdin)


def start_run(*args: str, cwd: Path, command: Sequence[str] = HOTENV) -> subprocess.Popen[bytes]:
    """Start ``hotenv run``."""
    return subprocess.Popen(
        [*command, "run", *args],
        cwd=cwd,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )


def asked(directory: Path) -> int:
    """How often the source has been asked."""
    path = directory / "asked"
    return len(path.read_text().splitlines()) if path.exists() else 0


def stop(directory: Path, runtime: Path) -> None:
    """End the session, of which nothing is left."""
    assert hotenv("stop", cwd=directory).returncode == 0
    assert is_clean(directory, runtime)


def in_terminal(directory: Path, *args: str) -> tuple[int, bytes]:
    """The exit code of a hotenv command on a terminal, and what it shows there."""
    terminal = Terminal([*HOTENV, *args], directory)
    code = terminal.wait()
    return code, terminal.screen


# serve


def test_serve_takes_the_source(project: Project, runtime: Path) -> None:
    """On a terminal, and in the directory of the file, wherever it is started."""
    directory = project('source = ["sh", "get"]\ntimeout = "10m"\nmax-age = "8h"')
    code, shown = in_terminal(directory / "src", "serve", "--detach")
    words = f"hotenv: serving 3 variables in {directory} (expires after 10m idle or 8h in total)"
    assert (code, shown.decode()) == (0, f"{words}\r\n")
    stop(directory, runtime)


def test_options_win(project: Project, runtime: Path) -> None:
    """What is given on the command line counts instead."""
    directory = project('source = ["sh", "get"]\ntimeout = "10m"\nmax-age = "8h"')
    _, shown = in_terminal(directory, "serve", "--detach", "-t", "5m", "--max-age", "1h")
    assert b"(expires after 5m idle or 1h in total)" in shown
    stop(directory, runtime)


def test_the_line_of_a_unit(project: Project, runtime: Path) -> None:
    """It has no terminal, and nothing to read. A second time it is done already."""
    directory = project()
    line = [*HOTENV, "-C", str(directory), "serve", "--if-needed", "--detach"]
    for words in (b"serving 3 variables in ", b"already serving in "):
        done = subprocess.run(
            line, cwd="/", stdin=subprocess.DEVNULL, capture_output=True, timeout=LIMIT, check=True
        )
        assert words in done.stderr
    assert asked(directory) == 1
    stop(directory, runtime)


def test_what_is_piped_or_named_is_served(project: Project, runtime: Path) -> None:
    """The file's source is for who names none."""
    directory = project('source = ["sh", "get"]\ntimeout = "10m"')
    (directory / "other.env").write_text("A=other\n")
    for options in (["--from", "other.env"], ["--", "cat", "other.env"], ["--format", "dotenv"]):
        result = hotenv("serve", "--detach", *options, cwd=directory, stdin=b"A=other")
        assert f"serving 1 variable in {directory} (expires after 5m idle)" in str(result.stderr)
        assert hotenv("dump", cwd=directory).stdout == b"A=other\n"
        stop(directory, runtime)
    assert asked(directory) == 0


def test_a_dash_pastes(project: Project, runtime: Path) -> None:
    """--from - is standard input, as ever."""
    directory = project()
    terminal = Terminal([*HOTENV, "serve", "--detach", "--from", "-"], directory)
    terminal.expect(b"enter NAME=value lines")
    terminal.type(b"A=typed\n\x04")
    assert terminal.wait() == 0
    assert hotenv("dump", cwd=directory).stdout == b"A=typed\n"
    stop(directory, runtime)


def test_other_sources(project: Project, runtime: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A file, with its format, below the directory of the project; variables of the environment."""
    monkeypatch.setenv("DB_HOST", "h")
    monkeypatch.setenv("DB_PORT", "5")
    directory = project('input = "src/env.json"\nformat = "json"')
    (directory / "src" / "env.json").write_text('{"A": "a # b"}')
    assert hotenv("allow", cwd=directory).returncode == 0
    assert run(*PRINT, cwd=directory / "src").stdout == b"a # b\n"
    stop(directory, runtime)
    project('env = ["DB_*"]')
    assert run("printenv", "DB_PORT", cwd=directory / "src").stdout == b"5\n"
    assert hotenv("dump", cwd=directory).stdout == b"DB_HOST=h\nDB_PORT=5\n"
    stop(directory, runtime)


@pytest.mark.parametrize(
    ("session", "get", "words"),
    [
        ("strict = true", "echo A=1; echo A=2", b"duplicate name"),
        ("", "echo 'A=${NO_SUCH}'", b"warning: output of 'sh': line 1: reference to an unset"),
        ("no-interpolate = true", "echo 'A=${NO_SUCH}'", b""),
    ],
)
def test_rules(project: Project, session: str, get: str, words: bytes) -> None:
    """How the source is read is the file's affair too."""
    directory = project(f'source = ["sh", "get"]\n{session}', get=get)
    result = run(*PRINT, cwd=directory)
    assert words in result.stderr
    assert bool(words) == bool(result.stderr)
    hotenv("stop", cwd=directory)


def test_check(project: Project) -> None:
    """serve --check lists what the file's source has, and serves nothing."""
    directory = project()
    code, shown = in_terminal(directory, "serve", "--check")
    assert code == 0
    assert b"literal" in shown
    assert not (directory / ".hotenv").exists()


def test_serve_with_a_file_that_is_not_allowed(project: Project, runtime: Path) -> None:
    """It is as if there were none, and that is said, on a terminal only."""
    directory = project()
    assert hotenv("deny", cwd=directory).returncode == 0
    terminal = Terminal([*HOTENV, "serve", "--detach"], directory)
    terminal.expect(b"enter NAME=value lines")
    terminal.type(b"A=typed\n\x04")
    assert terminal.wait() == 0
    note = f"hotenv: note: {directory}/hotenv.toml is not allowed: see 'hotenv config'"
    assert terminal.screen.decode().startswith(note)
    stop(directory, runtime)
    for options, words in (("", note), ("--quiet", "")):
        line = f"echo A=1 | {' '.join(HOTENV)} serve --detach {options}"
        terminal = Terminal(["sh", "-c", line], directory)
        assert terminal.wait() == 0
        assert terminal.screen.decode().startswith(words)
        assert bool(words) == (b"note" in terminal.screen)
        stop(directory, runtime)
    quiet = subprocess.run(
        [*HOTENV, "serve", "--detach"],
        cwd=directory,
        stdin=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        timeout=LIMIT,
    )
    assert b"not allowed" not in quiet.stderr
    stop(directory, runtime)


def test_what_was_checked_is_what_is_started(project: Project) -> None:
    """The start itself looks again: a file that is not allowed never means an empty session."""
    directory = project()
    assert hotenv("deny", cwd=directory).returncode == 0
    result = hotenv("serve", "--on-demand", cwd=directory)
    assert result.returncode == 3
    assert "is not allowed" in said(result)
    assert not (directory / ".hotenv").exists()


# run


def test_run_starts_a_session(project: Project, runtime: Path) -> None:
    """Once: the next command finds it. Nothing is said, and standard input is the command's."""
    directory = project(get=f"{GET}; cat")
    for command in (["--", "cat"], ["cat"], ["--", "sh", "-c", "echo $A$AB; cat"]):
        result = run(*command, cwd=directory / "src", stdin=b"typed\n")
        shown = b"12\n" if "-c" in command else b""
        assert (result.returncode, result.stdout, result.stderr) == (0, shown + b"typed\n", b"")
    assert asked(directory) == 1
    assert (directory / ".hotenv").exists()
    stop(directory, runtime)


def test_pyproject(project: Project, runtime: Path) -> None:
    """The same from [tool.hotenv]."""
    directory = project()
    (directory / "hotenv.toml").unlink()
    text = '[tool.hotenv.session]\nsource = ["sh", "get"]\n'
    (directory / "pyproject.toml").write_text(text)
    (directory / "pyproject.toml").chmod(0o644)
    assert hotenv("allow", cwd=directory).returncode == 0
    assert run(*PRINT, cwd=directory).stdout == b"1\n"
    stop(directory, runtime)


def test_not_allowed(project: Project) -> None:
    """The exit code is that of no session, and the message says what to do."""
    directory = project()
    assert hotenv("deny", cwd=directory).returncode == 0
    result = run("--", *PRINT, cwd=directory)
    assert result.returncode == 3
    assert said(result).endswith(
        f"({directory}/hotenv.toml is not allowed: see 'hotenv config', then run 'hotenv allow')"
    )
    (directory / "get").write_text("echo A=2")
    assert hotenv("allow", cwd=directory).returncode == 0
    (directory / "get").write_text("echo A=evil")
    result = run("--", *PRINT, cwd=directory)
    assert result.returncode == 3
    assert f"has changed since it was allowed ({directory}/get)" in said(result)
    assert asked(directory) == 0


@pytest.mark.parametrize(
    ("session", "options"),
    [
        ('source = ["sh", "get"]', ["--no-start"]),
        ('source = ["sh", "get"]', ["--wait", "0.1s"]),
        ('source = ["sh", "get"]\non-demand = false', []),
        ('timeout = "1m"', []),
    ],
    ids=str,
)
def test_no_start(project: Project, session: str, options: list[str]) -> None:
    """Who does not want it, or waits for another's start, or names no source."""
    directory = project(session)
    result = run(*options, *PRINT, cwd=directory)
    assert result.returncode == 3
    assert said(result).startswith(f"hotenv: no .hotenv in {directory} or any parent directory: ")
    assert "allow" not in said(result)
    assert asked(directory) == 0


def test_a_source_that_fails(project: Project, runtime: Path) -> None:
    """run fails with its words and is not run; --failure-status counts."""
    directory = project(get="echo no touch >&2; exit 3")
    words = b"no touch\nhotenv: 'sh' exited with status 3: nothing is served\n"
    for options, code in (([], 8), (["--failure-status", "125", "--"], 125)):
        result = run(*options, "touch", "ran", cwd=directory)
        assert (result.returncode, result.stdout, result.stderr) == (code, b"", words)
    assert not (directory / "ran").exists()
    assert is_clean(directory, runtime)


def test_text_that_is_invalid(project: Project) -> None:
    """The exit code is that of serve."""
    directory = project(get="echo '='")
    result = run("--", "touch", "ran", cwd=directory)
    assert result.returncode == 7
    assert said(result).startswith("hotenv: output of 'sh': line 1: ")


def test_expired(project: Project, runtime: Path) -> None:
    """Started anew where the file is, though a parent has a session."""
    directory = project()
    start_serve(directory, b"A=old\n", "-t", "0.1s").communicate(timeout=LIMIT)
    with serving(directory.parent, b"A=parent\n"):
        result = run("--no-start", *PRINT, cwd=directory / "src")
        assert result.returncode == 3
        assert f"that of {directory.parent} is not used instead" in said(result)
        assert run(*PRINT, cwd=directory / "src").stdout == b"1\n"
        assert (directory / ".hotenv").exists()
        assert hotenv("stop", cwd=directory).returncode == 0


def test_an_expired_session_below(project: Project, runtime: Path) -> None:
    """One that is nearer than the file is not replaced by the file's."""
    directory = project()
    start_serve(directory / "src", b"A=1\n", "-t", "0.1s").communicate(timeout=LIMIT)
    result = run(*PRINT, cwd=directory / "src")
    assert result.returncode == 3
    assert f"the session of {directory}/src expired" in said(result)
    assert asked(directory) == 0


def test_a_dead_session(project: Project, runtime: Path) -> None:
    """Its marker is replaced."""
    directory = project()
    with serving(directory) as server:
        server.kill()
        server.wait()
    assert run(*PRINT, cwd=directory).stdout == b"1\n"
    assert asked(directory) == 1
    stop(directory, runtime)


def test_a_session_that_may_live_elsewhere(project: Project) -> None:
    """Nobody takes it for dead: the failure is that of the connection."""
    directory = project()
    (directory / ".hotenv").write_text("socket=/no/such/directory/0123abcd.sock\n")
    (directory / ".hotenv").chmod(0o600)
    assert run(*PRINT, cwd=directory).returncode == 4
    assert asked(directory) == 0


def test_the_source_has_the_terminal(project: Project, runtime: Path) -> None:
    """It can ask there, and what is typed for the command is the command's."""
    script = "printf 'PIN? ' >/dev/tty; read pin </dev/tty; echo A=$pin"
    directory = project(get=script)
    terminal = Terminal([*HOTENV, "run", "sh", "-c", "echo got $A; read x; echo $x"], directory)
    terminal.expect(b"PIN? ")
    terminal.type(b"1234\n")
    terminal.expect(b"got 1234")
    terminal.type(b"more\n")
    assert terminal.wait() == 0
    assert terminal.screen.endswith(b"more\r\n")
    stop(directory, runtime)


def test_questions_of_a_contract(project: Project, runtime: Path) -> None:
    """hotenv itself asks them, once."""
    directory = project('input = "env.contract"\nprompt = true\nstrict = true')
    (directory / "env.contract").write_text("A=?The password\nB=b\n")
    assert hotenv("allow", cwd=directory).returncode == 0
    terminal = Terminal([*HOTENV, "run", "sh", "-c", "echo [$A$B]"], directory)
    terminal.expect(b"A (The password): ")
    terminal.type(b"secret\n")
    assert terminal.wait() == 0
    assert b"[secretb]" in terminal.screen
    assert run(*PRINT, cwd=directory).stdout == b"secret\n"
    stop(directory, runtime)


def test_no_terminal(project: Project) -> None:
    """As under cron: a contract cannot be asked, which is said at once."""
    directory = project('input = "env.contract"\nprompt = true')
    (directory / "env.contract").write_text("A=?\n")
    assert hotenv("allow", cwd=directory).returncode == 0
    result = subprocess.run(
        [*HOTENV, "run", "--", "touch", "ran"],
        cwd=directory,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        start_new_session=True,
        timeout=LIMIT,
    )
    assert result.returncode == 8
    assert "terminal" in said(result)
    assert not (directory / "ran").exists()


# Several at once

GATE = "echo asked >>asked; while ! test -e gate; do sleep 0.01; done; echo A=1"
"""A source that takes as long as the test wants."""


def is_waiting(pid: int) -> bool:
    """Whether a run has started its serve, and that has come to where only one goes on."""
    children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    return any(
        link.endswith(".start") for child in children for link in links(Path(f"/proc/{child}/fd"))
    )


def links(directory: Path) -> list[str]:
    """What the descriptors of a process are."""
    found = []
    with suppress(OSError):  # it has ended, or does not show them yet
        for path in directory.iterdir():
            with suppress(OSError):  # it is closed by now
                found.append(os.readlink(path))
    return found


needs_proc = pytest.mark.skipif(sys.platform != "linux", reason="it looks into /proc")


@pytest.mark.usefixtures("unmeasured")
def test_many_at_once(project: Project, runtime: Path) -> None:
    """20 commands start one source, and all of them get its variables."""
    directory = project()
    command = with_limits({"hotenv.exchange.answer.ANSWER_TIMEOUT": LIMIT})
    processes = [start_run(*PRINT, cwd=directory, command=command) for _ in range(20)]
    results = [process.communicate(timeout=LIMIT) for process in processes]
    assert results == [(b"1\n", b"")] * 20
    assert asked(directory) == 1
    stop(directory, runtime)


@needs_proc
def test_a_failure_is_shared(project: Project, runtime: Path) -> None:
    """Who waits fails as the start did, without asking again; who comes later asks again."""
    directory = project(get=f"{GATE}; exit 3")
    first = start_run("touch", "ran", cwd=directory)
    wait_until(lambda: asked(directory), "the source")
    others = [start_run("touch", "ran", cwd=directory) for _ in range(3)]
    wait_until(lambda: all(is_waiting(each.pid) for each in others), "the others")
    (directory / "gate").touch()
    assert finish(first) == (8, "hotenv: 'sh' exited with status 3: nothing is served\n")
    for other in others:
        assert finish(other) == (
            8,
            f"hotenv: cannot start the session of {directory}: another command's "
            "attempt failed with exit code 8\n",
        )
    assert asked(directory) == 1
    assert run("touch", "ran", cwd=directory).returncode == 8
    assert asked(directory) == 2
    assert not (directory / "ran").exists()
    assert is_clean(directory, runtime)


@needs_proc
def test_the_first_is_killed(project: Project, runtime: Path) -> None:
    """Its source ends with it, and the next one asks."""
    directory = project(get=GATE)
    first = start_run(*PRINT, cwd=directory)
    wait_until(lambda: asked(directory), "the source")
    other = start_run(*PRINT, cwd=directory)
    wait_until(lambda: is_waiting(other.pid), "the other")
    first.kill()
    first.communicate()
    wait_until(lambda: asked(directory) == 2, "the source of the other")
    (directory / "gate").touch()
    assert other.communicate(timeout=LIMIT) == (b"1\n", b"")
    stop(directory, runtime)


@needs_proc
def test_the_start_itself_is_killed(project: Project) -> None:
    """Which cannot say so itself: the command does, and is not run."""
    directory = project(get=GATE)
    first = start_run("touch", "ran", cwd=directory)
    wait_until(lambda: asked(directory), "the source")
    (child,) = Path(f"/proc/{first.pid}/task/{first.pid}/children").read_text().split()
    os.kill(int(child), signal.SIGKILL)
    assert finish(first) == (
        8,
        f"hotenv: cannot start the session of {directory}: hotenv serve was killed by signal 9\n",
    )
    assert not (directory / "ran").exists()


@needs_proc
def test_start_timeout(project: Project) -> None:
    """So long who waits waits, and says how to wait longer. The first has all the time."""
    directory = project('source = ["sh", "get"]\nstart-timeout = "0.1s"', get=GATE)
    first = start_run(*PRINT, cwd=directory)
    wait_until(lambda: asked(directory), "the source")
    code, words = finish(start_run(*PRINT, cwd=directory))
    assert code == 4
    assert words.startswith(f"hotenv: the session of {directory} is still being started by another")
    (directory / "gate").touch()
    assert first.communicate(timeout=LIMIT) == (b"1\n", b"")
    assert hotenv("stop", cwd=directory).returncode == 0


@needs_proc
def test_interrupt_of_one_that_waits(project: Project) -> None:
    """It ends that one only."""
    directory = project(get=GATE)
    first = start_run(*PRINT, cwd=directory)
    wait_until(lambda: asked(directory), "the source")
    other = Terminal([*HOTENV, "run", *PRINT], directory)
    wait_until(lambda: is_waiting(other.pid), "the other")
    other.type(b"\x03")
    assert other.wait() == 130
    assert b"hotenv" not in other.screen
    (directory / "gate").touch()
    assert first.communicate(timeout=LIMIT) == (b"1\n", b"")
    assert hotenv("stop", cwd=directory).returncode == 0


@needs_proc
def test_interrupt_of_the_first(project: Project, runtime: Path) -> None:
    """It ends all of them: who waits is told why."""
    directory = project(get=GATE)
    first = Terminal([*HOTENV, "run", *PRINT], directory)
    wait_until(lambda: asked(directory), "the source")
    other = start_run(*PRINT, cwd=directory)
    wait_until(lambda: is_waiting(other.pid), "the other")
    first.type(b"\x03")
    assert first.wait() == 130
    code, words = finish(other)
    assert (code, words.endswith("another command's attempt was interrupted\n")) == (
        8,
        True,
    )
    assert asked(directory) == 1
    assert is_clean(directory, runtime)


def test_interrupt_that_the_source_survives(project: Project, runtime: Path) -> None:
    """The command does not start after Ctrl-C, whatever the source makes of that."""
    script = "trap 'echo caught >&2; go=' INT; go=1; echo ready >&2"
    directory = project(get=f"{script}; while [ $go ]; do sleep 0.01; done; echo A=1")
    terminal = Terminal([*HOTENV, "run", "touch", "ran"], directory)
    terminal.expect(b"ready")
    terminal.type(b"\x03")
    assert terminal.wait() == 130
    assert b"caught" in terminal.screen
    assert not (directory / "ran").exists()
    stop(directory, runtime)


@needs_proc
@pytest.mark.parametrize("session", ['source = ["sh", "get"]', 'env = ["KEPT"]'])
def test_interrupted_at_any_moment(
    project: Project, runtime: Path, session: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No traceback, and no command that starts in spite of it: this one would go on for ever."""
    monkeypatch.setenv("KEPT", "1")
    directory = project(session)
    codes = set()

    def has_begun(pid: int) -> bool:
        """Whether it starts a session, or has done so already."""
        process = Path(f"/proc/{pid}")
        children = (process / "task" / str(pid) / "children").read_text()
        return bool(children) or (process / "comm").read_text() == "sleep\n"

    for moment in range(15):
        terminal = Terminal([*HOTENV, "run", "sleep", "1000000"], directory)
        wait_until(partial(has_begun, terminal.pid), "the start of a session")
        time.sleep(moment * 0.03)  # whichever they are, any of them is right
        terminal.type(b"\x03")
        codes.add(terminal.wait())
        assert terminal.screen == b"^C"
        hotenv("stop", cwd=directory)
        wait_until(lambda: is_clean(directory, runtime), "the end of the server")
    assert codes <= {130, -signal.SIGINT}


# [run]

TABLE = '[run]\nonly = ["A*"]\nisolated = true\npass = ["KEPT"]\n'


def environment(*options: str, cwd: Path) -> dict[str, str]:
    """What a command gets."""
    script = "import json, os; print(json.dumps(dict(os.environ)))"
    result = run(*options, "--", sys.executable, "-Ic", script, cwd=cwd)
    assert result.stderr == b""
    found: dict[str, str] = json.loads(result.stdout)
    return found


@pytest.fixture
def _surroundings(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KEPT", "1")
    monkeypatch.setenv("OTHER", "1")


@pytest.mark.usefixtures("_surroundings")
def test_table_run(project: Project, runtime: Path) -> None:
    """What run does without being told, with and without other options; options win."""
    directory = project(rest=TABLE)
    names = {"A", "AB", "B", "KEPT", "OTHER"}
    assert names & set(environment(cwd=directory / "src")) == {"A", "AB", "KEPT"}
    assert names & set(environment(cwd=directory)) == {"A", "AB", "KEPT"}
    assert names & set(environment("--only", "B", cwd=directory)) == {"B", "KEPT"}
    assert names & set(environment("--pass", "OTHER", cwd=directory)) == {"A", "AB", "OTHER"}
    explained = run("--explain", "true", cwd=directory).stdout.decode()
    assert "B\tabsent" in explained
    stop(directory, runtime)


@pytest.mark.usefixtures("_surroundings")
def test_what_was_published_counts(project: Project, runtime: Path) -> None:
    """The session's server has read the table: the file is not looked for while it lives."""
    directory = project(rest=TABLE)
    assert run("true", cwd=directory).returncode == 0
    (directory / "hotenv.toml").write_text("nonsense")
    assert "B" not in environment(cwd=directory)
    published = json.loads(socket_path(directory).with_suffix(".json").read_text())
    assert published["composition"] == {"only": ["A*"], "isolated": True, "passed": ["KEPT"]}
    stop(directory, runtime)


@pytest.mark.parametrize("damage", [Path.unlink, lambda path: path.write_text("{}")])
def test_what_was_published_is_lost(
    project: Project, runtime: Path, damage: Callable[[Path], object]
) -> None:
    """No command gets more than the table says, with or without other options."""
    directory = project(rest=TABLE)
    assert run("true", cwd=directory).returncode == 0
    published = socket_path(directory).with_suffix(".json")
    damage(published)
    for options in (["--"], ["--define", "X=1"], ["--explain"]):
        result = run(*options, *PRINT, cwd=directory)
        assert result.returncode == 9
        assert said(result).startswith(f"hotenv: cannot read {published}, where the session of ")
    assert hotenv("serve", "--force", "--detach", cwd=directory, stdin=b"A=2").returncode == 0
    assert run("--", *PRINT, cwd=directory).stdout == b"2\n"
    assert hotenv("stop", cwd=directory).returncode == 0


@pytest.mark.usefixtures("_surroundings")
def test_table_run_for_any_session(project: Project, runtime: Path) -> None:
    """Also for one that was piped in; not if the file is not allowed."""
    directory = project(rest=TABLE)
    with serving(directory / "src", b"A=1\nB=2\n"):
        assert "B" not in environment(cwd=directory / "src")
    assert hotenv("deny", cwd=directory).returncode == 0
    with serving(directory, b"A=1\nB=2\n"):
        assert "B" in environment(cwd=directory)


def test_conflicts_with_the_table(project: Project, runtime: Path) -> None:
    """What the table and the options make together is checked too."""
    directory = project(rest='[run]\nas-file = ["A=TARGET"]\n')
    assert run("sh", "-c", 'cat "$TARGET"', cwd=directory).stdout == b"1"
    result = run("--define", "TARGET=x", "true", cwd=directory)
    assert result.returncode == 2
    assert said(result) == "hotenv: --as-file TARGET: also defined"
    stop(directory, runtime)


def test_a_pattern_of_the_table_that_matches_nothing(project: Project, runtime: Path) -> None:
    """The command is not run without its secret, nor with others."""
    directory = project(rest='[run]\nonly = ["TOKEM"]\n')
    for words in (["--", "true"], ["true"]):
        result = run(*words, cwd=directory)
        assert result.returncode == 2
        assert said(result).endswith("only 'TOKEM': no matching variable in the session")
    stop(directory, runtime)


@pytest.mark.parametrize("module", [[sys.executable, "-P", "-m", "hotenv"], None], ids=str)
def test_however_it_was_started(
    project: Project, runtime: Path, module: list[str] | None, tmp_path: Path
) -> None:
    """As a module, as another program, and in another directory with -C."""
    directory = project()
    command = module or with_limits({"hotenv.session.claim.LOOK_EVERY": 5.0})
    result = hotenv("-C", "shop/src", "run", *PRINT, cwd=tmp_path, command=command)
    assert (result.returncode, result.stdout, result.stderr) == (0, b"1\n", b"")
    stop(directory, runtime)


def test_terminate(project: Project, runtime: Path) -> None:
    """A command that is ended while it waits for its source ends the source."""
    directory = project(get=f"echo $$ >pid; {GATE}")
    first = start_run(*PRINT, cwd=directory)
    wait_until(lambda: asked(directory), "the source")
    first.send_signal(signal.SIGTERM)
    assert finish(first)[0] == -signal.SIGTERM
    pid = int((directory / "pid").read_text())
    wait_until(lambda: gone(pid), "the end of the source")


# Python


async def test_open_session(project: Project, runtime: Path) -> None:
    """A program gets the snapshot of the session, and starts one as run does."""
    directory = project()
    for _ in range(2):
        async with hotenv_package.open_session(directory / "src") as snapshot:
            assert snapshot == {"A": "1", "AB": "2", "B": "3"}
    assert asked(directory) == 1
    stop(directory, runtime)


async def test_open_session_here(
    project: Project, runtime: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without an argument it is that of the current directory."""
    directory = project()
    monkeypatch.chdir(directory / "src")
    async with hotenv_package.open_session() as snapshot:
        assert len(snapshot) == 3
    stop(directory, runtime)


async def test_open_session_fails(project: Project, capfd: pytest.CaptureFixture[str]) -> None:
    """The error is of the kind that serve has failed with; serve has said why."""
    directory = project(get="exit 3")
    with pytest.raises(hotenv_package.SystemFailureError, match="failed with exit code 8"):
        async with hotenv_package.open_session(directory):
            pass
    assert "'sh' exited with status 3" in capfd.readouterr().err
    assert hotenv("deny", cwd=directory).returncode == 0
    with pytest.raises(hotenv_package.NoSessionError, match="is not allowed"):
        async with hotenv_package.open_session(directory):
            pass


async def test_open_session_is_cancelled(project: Project, runtime: Path) -> None:
    """The source ends too, and there is no session."""
    directory = project(get=f"echo $$ >pid; {GATE}")
    async with trio.open_nursery() as nursery:

        async def use_session() -> None:
            async with hotenv_package.open_session(directory):
                raise AssertionError("there is none")

        nursery.start_soon(use_session)
        await trio.to_thread.run_sync(wait_until, lambda: asked(directory), "the source")
        nursery.cancel_scope.cancel()
    pid = int((directory / "pid").read_text())
    wait_until(lambda: gone(pid), "the end of the source")
    assert not (directory / ".hotenv").exists()


# With what else there is


def test_audit_log_beside_the_command(project: Project, runtime: Path) -> None:
    """The log of 'serve' is where its user is, although the session is where the file is."""
    directory = project()
    subprocess.run(
        [*HOTENV, "serve", "--detach", "--audit", "log"],
        cwd=directory / "src",
        stdin=subprocess.DEVNULL,
        timeout=LIMIT,
        check=True,
    )
    assert run("--", *PRINT, cwd=directory).stdout == b"1\n"
    stop(directory, runtime)
    assert not (directory / "log").exists()
    (line,) = (directory / "src" / "log").read_text().splitlines()
    assert json.loads(line)["program"] == "printenv"


@needs("bash")
def test_shell_starts_a_session(project: Project, runtime: Path) -> None:
    """As 'run' does, with what the table [run] says."""
    directory = project(rest='[run]\nonly = ["AB"]')
    request = b'{"command": "echo ${A-none} $AB"}\n'
    result = hotenv("shell", "--no-start", cwd=directory, stdin=request)
    assert result.returncode == 3
    result = hotenv("shell", cwd=directory, stdin=request)
    assert json.loads(result.stdout)["stdout"] == "none 2\n", said(result)
    assert asked(directory) == 1
    stop(directory, runtime)


@needs("bash")
def test_shell_passes_files(project: Project, runtime: Path) -> None:
    """Where the table [run] asks for them."""
    directory = project(rest='[run]\nas-file = ["A"]')
    command = b'{"command": "test -s $A_FILE && test -z $A"}\n'
    result = hotenv("shell", cwd=directory, stdin=command)
    assert json.loads(result.stdout)["exit_code"] == 0, said(result)
    stop(directory, runtime)


def test_run_redacted(project: Project, runtime: Path) -> None:
    """The session is there before what is written is looked at."""
    directory = project(get="echo SECRET=a-long-value")
    result = run("--redact", "--", "printenv", "SECRET", cwd=directory)
    assert result.stdout == b"[SECRET]\n", said(result)
    stop(directory, runtime)
