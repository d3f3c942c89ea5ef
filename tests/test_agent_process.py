"""hotenv agent: what an agent can do, and its terminal."""

from __future__ import annotations

import fcntl
import os
import shutil
import signal
import struct
import tempfile
import termios
from collections.abc import Iterator
from pathlib import Path

import pytest

from agents import (
    RULES,
    SECRET,
    VARIABLES,
    agent,
    agent_command,
    desks,
    environment,
    processes_with,
    project,
    running,
    write_project,
)
from guarded import needs_guards
from processes import Terminal, hotenv, said, wait_until

pytestmark = needs_guards


@pytest.fixture
def shop(tmp_path: Path) -> Iterator[Path]:
    """A project with a session."""
    directory = tmp_path / "shop"
    directory.mkdir()
    with project(directory):
        yield directory


@pytest.fixture(autouse=True)
def _path(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", environment()["PATH"])


def test_what_it_can_write(shop: Path, tmp_path: Path) -> None:
    """The project, temporary files, and what it is let."""
    (tmp_path / "more").mkdir()
    script = """
        echo x >made; echo x >$TMPDIR/made && rm $TMPDIR/made
        echo x >../outside; echo x >../more/made; echo x >/dev/shm/made-by-an-agent
    """
    done = agent(shop, script, "--allow-write", str(tmp_path / "more"))
    assert (shop / "made").exists()
    assert (tmp_path / "more" / "made").exists()
    assert not (tmp_path / "outside").exists()
    assert not Path("/dev/shm/made-by-an-agent").exists()
    assert done.stderr.count(b"fs-readonly") >= 1


@pytest.mark.parametrize("name", ["claude", "opencode"])
def test_settings_of_well_known_agents(
    shop: Path, tmp_path: Path, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """They are made, and can be written to."""
    home = tmp_path / "home"
    home.mkdir()
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.setenv("PATH", f"{shop}:{os.environ['PATH']}")
    program = shop / name
    program.write_text(
        "#!/bin/sh\nfor each in .claude .config/opencode; do echo x 2>&- >$HOME/$each/made; done\n"
        "echo $CLAUDE_CONFIG_DIR\n"
    )
    program.chmod(0o755)
    done = hotenv("agent", "--", name, cwd=shop, env=dict(os.environ))
    claude, opencode = home / ".claude" / "made", home / ".config" / "opencode" / "made"
    assert (claude.exists(), opencode.exists()) == (name == "claude", name == "opencode")
    assert done.stdout == (f"{home}/.claude\n".encode() if name == "claude" else b"\n")


@pytest.mark.parametrize(
    "what", ["home", "allowed", "no table", "not allowed", "no file", "nothing"]
)
def test_it_does_not_start(
    shop: Path, tmp_path: Path, runtime: Path, what: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where the agent could write what people rely on, or nothing says what it may run."""
    expected = {
        "home": "what your shell reads",
        "allowed": "what hotenv keeps",
        "no table": "no table [agent]",
        "not allowed": "run 'hotenv allow'",
        "no file": "no hotenv.toml in",
        "nothing": "lets an agent run nothing",
    }[what]
    if what == "home":
        monkeypatch.setenv("HOME", str(shop))
    elif what == "allowed":
        monkeypatch.setenv("XDG_STATE_HOME", str(shop / "state"))
        assert hotenv("allow", cwd=shop).returncode == 0
    elif what == "no table":
        (shop / "hotenv.toml").write_text("[guard]\nno-network = true\n")
    elif what == "nothing":
        write_project(shop, "deny = ['**']")
    elif what == "not allowed":
        (shop / "hotenv.toml").write_text("[agent]\nallow = ['**']\n")
    else:
        (shop / "hotenv.toml").unlink()
    result = hotenv("agent", "--", "touch", str(shop / "ran"), cwd=shop)
    assert result.returncode == 2
    assert expected in said(result)
    assert not (shop / "ran").exists()
    assert desks(runtime) == []


def test_what_hotenv_keeps(shop: Path, state: Path, runtime: Path, tmp_path: Path) -> None:
    """Who can read the log could lock it, so that nothing more can be written."""
    log = tmp_path / "log"
    script = (
        f"hotenv run -- true; for each in {runtime}/hotenv {state}/hotenv {log}; do "
        'python3 -c "import fcntl, os, sys; fcntl.flock(os.open(sys.argv[1], 0), 2)" $each '
        "2>&- && echo $each; done; hotenv run -- env >/dev/null && echo ran"
    )
    assert agent(shop, script, "--audit", str(log)).stdout == b"ran\n"
    assert log.exists()


def test_what_is_noted(tmp_path: Path) -> None:
    """What cannot be written yet, and what a session is made from that the agent can change."""
    directory = tmp_path / "shop"
    directory.mkdir()
    (directory / "source.sh").write_text("echo API_TOKEN=1234-abcd\n")
    rules = RULES + "write = ['build']"
    write_project(directory, rules, '[session]\nsource = ["sh", "source.sh"]')
    done = agent(directory, "hotenv run -- printenv API_TOKEN")
    assert done.stdout == b"[API_TOKEN]\n"
    first, second = done.stderr.decode().splitlines()
    assert first == (
        f"hotenv: note: {directory}/build of agent.write is not there: commands cannot create it"
    )
    assert second.startswith(f"hotenv: note: the agent can change {directory}/source.sh, which")
    write_project(directory, RULES, '[session]\ninput = "source.sh"')
    assert agent(directory, "true").stderr == b""
    assert hotenv("stop", cwd=directory).returncode == 0


def test_a_log_that_cannot_be_written(shop: Path, runtime: Path) -> None:
    """An agent without one is not started."""
    done = agent(shop, "echo started", "--audit", "/nowhere/log")
    assert (done.returncode, done.stdout) == (8, b"")
    assert b"/nowhere/log" in done.stderr
    assert desks(runtime) == []


def test_what_it_leaves(shop: Path) -> None:
    """Ends with it: the terminal is the user's then."""
    seconds = f"4321{os.getpid()}"
    done = agent(shop, f"setsid sleep {seconds} & while ! pgrep -f {seconds}; do :; done; exit 3")
    assert done.returncode == 3
    wait_until(lambda: not processes_with(seconds), "the end of what it has left")


def test_the_mounts(shop: Path) -> None:
    """And what else there is of the system in /proc can be read."""
    done = agent(shop, "cat /proc/mounts && cat /etc/mtab && head -1 /proc/net/tcp >/dev/null")
    assert (done.returncode, done.stderr) == (0, b"")
    assert done.stdout.count(b" / ") >= 2


def test_a_place_in_a_closed_one(
    shop: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Cannot be open alone."""
    monkeypatch.setenv("HOME", str(tmp_path))
    (tmp_path / ".ssh").mkdir()
    (tmp_path / ".ssh" / "known_hosts").write_text("")
    done = agent(shop, "echo started", "--allow-read", f"{tmp_path}/.ssh/known_hosts")
    assert (done.returncode, done.stdout) == (2, b"")
    assert b"only all of %s/.ssh can be allowed" % os.fsencode(tmp_path) in done.stderr


def test_its_exit_status(shop: Path) -> None:
    """Is that of hotenv, also by a signal, and whatever was blocked."""
    assert agent(shop, "exit 5").returncode == 5
    assert agent(shop, "echo x >/x; exit 0").returncode == 0
    assert agent(shop, "kill -TERM $$").returncode == -signal.SIGTERM
    result = hotenv("agent", "--", "no-such-program", cwd=shop)
    assert (result.returncode, said(result)) == (
        8,
        "hotenv: cannot run 'no-such-program': command not found",
    )


def test_nothing_is_in_its_environment(shop: Path) -> None:
    """No value, even if hotenv was started with them; and the way to the desk."""
    done = agent(shop, "env", API_TOKEN=SECRET, COPY=SECRET, KEPT="1")
    lines = done.stdout.splitlines()
    assert b"KEPT=1" in lines
    assert not [line for line in lines if line.startswith((b"API_TOKEN=", b"COPY="))]
    assert [line for line in lines if line.startswith(b"HOTENV_DESK=/")]


def test_credentials(shop: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nor can it read those of its user, unless it is let, or what else it is denied."""
    home = Path(tempfile.mkdtemp(prefix="hotenv-home-", dir="/var/tmp"))
    try:
        for name in (".ssh", ".aws", "notes", "public"):
            (home / name).mkdir()
            (home / name / "file").write_text(f"{name}\n")
        monkeypatch.setenv("HOME", str(home))
        # Not because of what is closed beside it: it would not be open for writing anyway.
        said = agent(shop, f"touch {home}/new").stderr
        assert said.endswith(
            b"hotenv: blocked write %s/new by touch (fs-readonly)\n" % os.fsencode(home)
        )
        (home / "rc").write_text("")
        said = agent(shop, f"echo x >>{home}/rc").stderr
        assert said.endswith(b": allow it with --allow-write %s/rc\n" % os.fsencode(home))
        script = f"cat {home}/.ssh/file {home}/.aws/file {home}/notes/file {home}/public/file"
        options = ["--allow-read", f"{home}/.aws", "--deny-read", f"{home}/notes"]
        assert agent(shop, script).stdout == b"notes\npublic\n"
        assert agent(shop, script, *options).stdout == b".aws\npublic\n"
    finally:
        shutil.rmtree(home)


def test_the_input_of_the_session(tmp_path: Path) -> None:
    """Is not for it to read, although it is in the project."""
    directory = tmp_path / "shop"
    directory.mkdir()
    (directory / "secrets.env").write_bytes(VARIABLES)
    write_project(directory, RULES, '[session]\ninput = "secrets.env"\n')
    done = agent(directory, "cat secrets.env; hotenv run -- printenv OTHER; cat hotenv.toml")
    assert done.stdout.startswith(b"[OTHER]\n[agent]")
    assert hotenv("stop", cwd=directory).returncode == 0


def test_a_size(shop: Path) -> None:
    """The command has a terminal as large as the agent's, also when that changes."""
    script = "hotenv run -- sh -c 'test -t 0 && stty size; trap \"stty size\" WINCH; echo on; cat'"
    terminal = Terminal(agent_command(script=script), shop)
    fcntl.ioctl(terminal.fd, termios.TIOCSWINSZ, struct.pack("4H", 33, 77, 0, 0))
    terminal.expect(b"on\r\n")
    assert b"33 77\r\n" in terminal.screen
    fcntl.ioctl(terminal.fd, termios.TIOCSWINSZ, struct.pack("4H", 44, 88, 0, 0))
    terminal.type(b"\x03")
    terminal.wait()


def test_a_key_that_interrupts(shop: Path) -> None:
    """It reaches the command, and the requester ends as that has."""
    script = "trap : INT; hotenv run -- sh -c 'echo on; exec sleep 3600'; echo $?"
    terminal = Terminal(agent_command(script=script), shop)
    terminal.expect(b"on\r\n")
    terminal.type(b"\x03")
    terminal.expect(b"130\r\n")
    assert terminal.wait() == 0


def test_a_key_that_interrupts_a_script(shop: Path) -> None:
    """It ends with the command, and does not go on to the next one."""
    script = "hotenv run -- sh -c 'echo on; exec sleep 3600'; echo went on"
    terminal = Terminal(agent_command(script=script), shop)
    terminal.expect(b"on\r\n")
    terminal.type(b"\x03")
    assert terminal.wait() in (130, -signal.SIGINT)
    assert b"went on" not in terminal.screen


def test_an_interrupt_that_is_no_key(shop: Path) -> None:
    """A command that ends like that by itself ends no script."""
    terminal = Terminal(
        agent_command(script="hotenv run -- sh -c 'kill -2 $$'; echo went on"), shop
    )
    assert terminal.wait() == 0
    assert b"went on" in terminal.screen


@pytest.fixture
def bash(shop: Path) -> Iterator[Terminal]:
    """A shell with jobs as an agent. What is typed ahead is a command's, if one reads."""
    terminal = Terminal(agent_command(script="exec bash --norc -i"), shop)
    terminal.expect(b"bash-")
    yield terminal
    terminal.type(b"exit\n")
    assert terminal.wait() == 0


def prompted(bash: Terminal, text: bytes) -> None:
    """There is a prompt after ``text``."""
    bash.expect(text)
    while b"bash-" not in bash.screen.rpartition(text)[2]:
        assert bash.read()


READING = "hotenv run -- sh -c 'echo on; read x; echo got $x'"


def test_a_key_that_stops(bash: Terminal) -> None:
    """The requester stops with the command, and continues it; so does a script that waits."""
    bash.type(f'sh -c "{READING.replace("$", chr(92) + "$")}; echo end"\n'.encode())
    bash.expect(b"on\r\n")
    bash.type(b"\x1a")
    bash.expect(b"Stopped")
    bash.type(b"fg\n")
    bash.type(b"hello\n")
    prompted(bash, b"got hello\r\nend\r\n")


def test_in_the_background(bash: Terminal) -> None:
    """A command that reads nothing runs to its end; keys are for one that is brought to the front.

    No signal tells the requester of that.
    """
    bash.type(b"hotenv run -- sh -c 'sleep 0; echo ended by itself' & wait; echo waited\n")
    bash.expect(b"\nended by itself\r")
    bash.expect(b"\nwaited\r\n")
    bash.type(f"{READING} &\n".encode())
    bash.expect(b" on\r")
    bash.type(b"fg\n")
    bash.type(b"hello\n")
    prompted(bash, b"got hello\r\n")


def test_the_terminal_is_as_it_was(shop: Path) -> None:
    """After a command that changed its own."""
    script = "stty -a >a; hotenv run -- sh -c 'stty raw -echo'; stty -a >b; cmp a b && echo same"
    terminal = Terminal(agent_command(script=script), shop)
    terminal.expect(b"same\r\n")
    assert terminal.wait() == 0


def test_a_terminal_that_is_closed(shop: Path, runtime: Path) -> None:
    """Nothing is left."""
    terminal = Terminal(agent_command(script="hotenv run -- sh -c 'echo on; sleep 3600'"), shop)
    terminal.expect(b"on\r\n")
    os.close(terminal.fd)
    os.waitpid(terminal.pid, 0)
    wait_until(lambda: not desks(runtime), "the directory of the desk to vanish")


def test_prune(shop: Path, runtime: Path) -> None:
    """What an agent has left that was killed with its desk is removed; nothing that is in use."""
    with running(shop, "exec sleep 3600"):
        wait_until(lambda: hotenv("desk", "--list", cwd=shop).returncode == 0, "the desk")
        assert b"desk-" not in hotenv("prune", cwd=shop).stderr
        assert hotenv("desk", "--list", cwd=shop).returncode == 0
    left = runtime / "hotenv" / "desk-0123abcd"
    left.mkdir(exist_ok=True)
    (left / "about").write_text("{}")
    assert f"removed {left}".encode() in hotenv("prune", cwd=shop).stderr
    assert not left.exists()


def test_two_agents(shop: Path) -> None:
    """In one project, each is named by its process."""
    with running(shop, "exec sleep 3600") as one, running(shop, "exec sleep 3600") as two:
        for each in (one, two):
            wait_until(lambda: listed(shop, each.pid) == 0, "the desk")  # noqa: B023
        result = hotenv("desk", "--list", cwd=shop)
        assert result.returncode == 3
        first, second = sorted([one.pid, two.pid])
        assert said(result).endswith(f"use --agent with one of {first} ({shop}), {second} ({shop})")
        assert listed(shop, 1) == 3


def listed(directory: Path, agent: int) -> int:
    """The exit code of a look at the questions of ``agent``."""
    return hotenv("desk", "--list", "--agent", str(agent), cwd=directory).returncode


def test_two_projects(shop: Path, tmp_path: Path) -> None:
    """Each directory has its desk."""
    other = tmp_path / "other"
    other.mkdir()
    with project(other, RULES), running(shop, "exec sleep 3600"), running(other, "exec sleep 3600"):
        for directory in (shop, other):
            wait_until(
                lambda: hotenv("desk", "--list", cwd=directory).returncode == 0,  # noqa: B023
                "the desk",
            )
        assert hotenv("desk", "--list", cwd=tmp_path).returncode == 3
