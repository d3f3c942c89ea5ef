"""The desk: commands that it runs for an agent."""

from __future__ import annotations

import json
import os
import signal
import subprocess
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from agents import (
    RULES,
    SECRET,
    agent,
    agent_command,
    desks,
    environment,
    log_of,
    ours,
    processes_with,
    project,
    running,
)
from guarded import needs_guards
from processes import HOTENV, Terminal, hotenv, serving, wait_until
from supervision import gone

pytestmark = needs_guards


@pytest.fixture
def shop(tmp_path: Path) -> Iterator[Path]:
    """A project with a session."""
    directory = tmp_path / "shop"
    (directory / "src").mkdir(parents=True)
    with project(directory):
        yield directory


def run(directory: Path, words: str) -> subprocess.CompletedProcess[bytes]:
    """What comes of ``hotenv run -- WORDS`` inside."""
    return agent(directory, f"hotenv run -- {words}")


def test_streams_and_status(shop: Path) -> None:
    """Two outputs, apart from each other, and the exit status."""
    done = run(shop, "sh -c 'echo out; echo err >&2; exit 7'")
    assert (done.returncode, done.stdout, done.stderr) == (7, b"out\n", b"err\n")


def test_the_same_file(shop: Path) -> None:
    """What is written to it through both streams stays in its order."""
    script = "sh -c 'for n in 1 2 3 4 5; do echo o$n; echo e$n >&2; done'"
    done = agent(shop, f"hotenv run -- {script} 2>&1")
    assert done.stdout == b"".join(b"o%d\ne%d\n" % (n, n) for n in range(1, 6))


@pytest.mark.parametrize("signum", [signal.SIGTERM, signal.SIGKILL, signal.SIGSEGV])
def test_killed_commands(shop: Path, signum: signal.Signals) -> None:
    """The requester ends as the command has."""
    done = run(shop, f"sh -c 'kill -{signum} $$'; echo $?")
    assert done.stdout == b"%d\n" % (128 + signum)


def test_input(shop: Path) -> None:
    """Of any size, byte by byte what it was."""
    data = os.urandom(3_000_000)
    done = agent(shop, "hotenv run -- cat", stdin=data)
    assert done.stdout == data


def test_input_in_small_pieces(shop: Path) -> None:
    """However many there are, while the command reads none of them."""
    drip = "import os\nfor _ in range(130_000): os.write(1, b'x')"
    script = f'python3 -c "{drip}" | hotenv run -- sh -c "sleep 1; wc -c"; echo $?'
    assert agent(shop, script).stdout.split() == [b"130000", b"0"]


def test_signals_while_nobody_reads(shop: Path) -> None:
    """They reach the command all the same; after the second one, no reader is waited for."""
    flood = 'trap "exit 5" TERM; echo on >&2; until test -e go; do sleep 0.05; done; yes & wait'
    script = (
        f"mkfifo pipe; exec 3<>pipe; hotenv run -- sh -c '{flood}' >pipe 2>err & first=$!; "
        "until grep -q on err; do sleep 0.05; done; touch go; "
        "until ! kill -TERM $first 2>&-; do sleep 0.1; done; wait $first; echo $?"
    )
    assert agent(shop, script).stdout == b"5\n"


def test_a_signal_at_once(shop: Path) -> None:
    """It ends the command, even if that has not begun."""
    code = (
        "import signal, subprocess\n"
        "for _ in range(10):\n"
        "    one = subprocess.Popen(['hotenv', 'run', '--', 'sh', '-c', 'sleep 60'])\n"
        "    path = f'/proc/{one.pid}/status'\n"
        "    while b'SigCgt:\\t0000000000000000' in open(path, 'rb').read(): pass\n"
        "    one.send_signal(signal.SIGINT)\n"
        "    print(one.wait())\n"
    )
    (shop / "signals.py").write_text(code)
    done = agent(shop, "python3 signals.py")
    assert done.stderr == b""
    assert {*done.stdout.split()} <= {b"-2", b"130"}


def test_no_directory_any_more(shop: Path) -> None:
    """That is not the fault of the desk."""
    done = agent(shop, "mkdir gone; cd gone; rmdir ../gone; hotenv run -- true")
    assert done.returncode == 8
    assert b"cannot use the current directory" in done.stderr


def test_too_long(shop: Path) -> None:
    """One line says so."""
    script = (
        "set --; for n in $(seq 15); do set -- $(printf '%060000d' 0 | sed s/0/\u00e9/g) $@; done; "
    )
    done = agent(shop, script + "hotenv run -- cat $@")
    assert done.returncode == 2
    assert b"the command is too long (limit 4194304 bytes)" in done.stderr


def test_another_session(tmp_path: Path) -> None:
    """Only that of the start counts, although the agent can remove its marker."""
    child = tmp_path / "child"
    (child / "sub").mkdir(parents=True)
    rules = 'allow = ["sh -c *"]'
    with (
        serving(tmp_path, b"PARENT=parent-prod-7777\n", "-q"),
        project(child, rules),
        serving(child / "sub", b"SUB=sub-value-5555\n", "-q"),
    ):
        script = "hotenv run -- sh -c 'printenv PARENT SUB API_TOKEN | rev'"
        moved = agent(child, f"mv .hotenv h; {script}; echo $?; mv h .hotenv")
        below = agent(child / "sub", f"{script}; hotenv status")
    assert (moved.stdout, b"no .hotenv in %s" % os.fsencode(child) in moved.stderr) == (
        b"3\n",
        True,
    )
    assert below.stdout.splitlines() == [
        b"5555-eulav-bus", b"directory\t%s" % os.fsencode(child), b"variable\tSUB"
    ]  # fmt: skip


def test_only_in_place_of_another(tmp_path: Path) -> None:
    """What [agent] says of variables counts, and not what [run] does."""
    directory = tmp_path / "shop"
    directory.mkdir()
    with project(directory, RULES + "only = ['OTHER']", "[run]\nonly = ['API_*']\n"):
        done = agent(directory, "hotenv run -- env; hotenv status")
    assert b"OTHER=[OTHER]" in done.stdout
    assert b"API_TOKEN" not in done.stdout


def test_input_that_nobody_reads(shop: Path) -> None:
    """The command ends before it was read."""
    done = agent(shop, "head -c 5000000 /dev/zero | hotenv run -- sh -c 'exit 3'; echo $?")
    assert done.stdout == b"3\n"


def test_output_that_nobody_reads(shop: Path) -> None:
    """The command gets SIGPIPE, as without a desk."""
    done = agent(shop, "(hotenv run -- sh -c 'exec yes'; echo $? >&2) | head -n 1")
    assert (done.stdout, done.stderr) == (b"y\n", b"141\n")


def test_output_that_cannot_be_written(shop: Path) -> None:
    """It is lost, which no status of the command would tell."""
    done = agent(shop, "hotenv run -- sh -c 'echo a' >/dev/full; echo $?")
    assert done.stdout == b"8\n"
    assert b"hotenv: cannot write to standard output: no space left on device\n" in done.stderr


@pytest.mark.parametrize(
    "words",
    [
        "printenv API_TOKEN",
        "sh -c 'echo $API_TOKEN >&2' 2>&1",
        'sh -c \'printf %s "$API_TOKEN" | od -An -tx1 | tr -d " \\n"; echo\'',
    ],
)
def test_values_are_redacted(shop: Path, words: str) -> None:
    """On both streams, also encoded as usual."""
    assert run(shop, words).stdout == b"[API_TOKEN]\n"


def test_the_environment_is_the_desks(shop: Path) -> None:
    """Of the requester the command gets how text is shown; nothing else, and no desk."""
    done = agent(
        shop,
        "FOO=evil TERM=dumb BASH_ENV=/evil PATH=$PWD:$PATH hotenv run -- env",
        KEPT="of the user",
    )
    names = dict(line.split(b"=", 1) for line in done.stdout.splitlines() if b"=" in line)
    assert names[b"KEPT"] == b"of the user"
    assert names[b"TERM"] == b"dumb"
    assert names[b"API_TOKEN"] == b"[API_TOKEN]"
    assert not {b"FOO", b"BASH_ENV", b"HOTENV_DESK"} & {*names}
    assert os.fsencode(shop) not in names[b"PATH"].split(b":")


def test_only(shop: Path) -> None:
    """The variables that the project's file names."""
    (shop / "hotenv.toml").write_text(f"[agent]\n{RULES}\nonly = ['OTHER']\n")
    assert hotenv("allow", cwd=shop).returncode == 0
    done = agent(shop, "hotenv run -- printenv API_TOKEN; hotenv run -- printenv OTHER")
    assert done.stdout == b"[OTHER]\n"


@pytest.mark.parametrize(
    ("words", "what"),
    [
        ("true", "no pattern"),
        ("sh script", "no pattern"),
        ("./sh -c true", "no pattern"),
        ("id", "no terminal to ask"),
        ("", "missing command"),
        ("--as-file X -- sh -c true", "no pattern"),
    ],
)
def test_refused(shop: Path, words: str, what: str) -> None:
    """One line, exit code 2, and nothing has run."""
    done = run(shop, words)
    line = done.stderr.decode()
    assert (done.returncode, done.stdout) == (2, b"")
    assert line.startswith("hotenv: ")
    assert line.count("\n") == 1
    assert what in line


@pytest.mark.parametrize(
    "command", ["dump", "stop", "serve", "shell", "allow", "run --only A -- id"]
)
def test_commands_for_nobody_inside(shop: Path, command: str) -> None:
    """What would show or change a session is refused, with what to do instead."""
    done = agent(shop, f"hotenv {command}")
    assert done.returncode == 2
    assert done.stdout == b""
    assert b"hotenv run -- COMMAND" in done.stderr
    assert hotenv("run", "--", "true", cwd=shop).returncode == 0


def test_status(shop: Path) -> None:
    """Where, and names: never a value."""
    done = agent(shop, "hotenv status")
    assert done.stdout.decode().splitlines() == [
        f"directory\t{shop}",
        "variable\tAPI_TOKEN",
        "variable\tOTHER",
    ]


def test_status_for_programs(shop: Path) -> None:
    """The same as JSON; nothing else is there for an agent."""
    done = agent(shop, "hotenv status --json; hotenv status --short; hotenv frob")
    assert json.loads(done.stdout) == {"directory": str(shop), "variables": ["API_TOKEN", "OTHER"]}
    assert b"an agent cannot use 'hotenv status --short'" in done.stderr
    assert b"no such command 'frob'" in done.stderr


def test_folders(shop: Path, state: Path) -> None:
    """A command runs where the requester is, if that is in the project."""
    done = agent(shop, "cd src; hotenv run -- sh -c pwd; cd /; hotenv run -- sh -c pwd")
    assert done.stdout == os.fsencode(shop / "src") + b"\n"
    assert b"run only in %s and below" % os.fsencode(shop) in done.stderr
    assert [line.get("failed") for line in log_of(state)[-3:]] == [None, None, "refused"]


def test_a_link_to_a_folder(shop: Path, tmp_path: Path) -> None:
    """That leads out of the project."""
    (tmp_path / "outside").mkdir()
    done = agent(shop, "ln -s ../outside out; cd out; hotenv run -- sh -c pwd")
    assert (done.returncode, done.stdout) == (2, b"")


def test_programs_that_the_agent_could_have_made(tmp_path: Path) -> None:
    """Nothing is run from where the agent can write."""
    directory = tmp_path / "shop"
    (directory / "bin").mkdir(parents=True)
    tool = directory / "bin" / "tool"
    tool.write_text("#!/bin/sh\necho evil\n")
    tool.chmod(0o755)
    with project(directory, 'allow = ["tool"]'):
        path = f"{directory / 'bin'}:{os.environ['PATH']}"
        script = "export PATH; hotenv run -- tool"
        done = subprocess.run(
            [*agent_words(script)], cwd=directory, env={**os.environ, "PATH": _with(path)},
            capture_output=True, stdin=subprocess.DEVNULL,
        )  # fmt: skip
    assert (done.returncode, done.stdout) == (2, b"")
    assert b"for an agent, which can change" in done.stderr


def agent_words(script: str) -> list[str]:
    """The words of an agent that is ``script``."""
    from agents import agent_command

    return agent_command(script=script)


def _with(path: str) -> str:
    from processes import HOTENV

    return f"{path}:{Path(HOTENV[0]).parent}"


def test_commands_are_guarded(shop: Path) -> None:
    """No writing, no network, no session."""
    done = run(shop, "sh -c 'echo x >evil; echo x >/tmp/evil'; ls")
    assert b"evil\n" not in done.stdout
    assert done.stderr.count(b"fs-readonly") >= 1
    code = 'import socket; socket.create_connection(("127.0.0.1", 9))'
    assert b"no-network" in run(shop, f"python3 -c '{code}'").stderr


def test_what_commands_may_write(tmp_path: Path) -> None:
    """What ``write`` names, where that is, and no link out of the project."""
    directory = tmp_path / "shop"
    (directory / "build").mkdir(parents=True)
    (tmp_path / "outside").mkdir()
    with project(directory, RULES + 'write = ["build"]'):
        assert run(directory, "sh -c 'echo x >build/made'").returncode == 0
        assert (directory / "build" / "made").read_text() == "x\n"
        script = "rm -r build; ln -s ../outside build; hotenv run -- sh -c 'echo x >build/made'"
        done = agent(directory, script)
        assert done.returncode == 8
        assert b"has become a link to %s" % os.fsencode(tmp_path / "outside") in done.stderr
        assert (
            b"leads through a link out of what the agent can write"
            in agent(directory, "true").stderr
        )
    assert [*(tmp_path / "outside").iterdir()] == []


def test_what_commands_may_write_elsewhere(tmp_path: Path) -> None:
    """Also where the agent could put a link in its place."""
    directory, data = tmp_path / "shop", tmp_path / "data"
    for each in (directory, data / "out", tmp_path / "victim"):
        each.mkdir(parents=True)
    with project(directory, RULES + f'write = ["{data}/out"]'):
        script = (
            f"mv {data}/out {data}/old; ln -s {tmp_path}/victim {data}/out; "
            f"hotenv run -- sh -c 'echo x >{tmp_path}/victim/owned'"
        )
        done = agent(directory, script, "--allow-write", str(data))
    assert (data / "old").exists()
    assert b"has become a link" in done.stderr
    assert [*(tmp_path / "victim").iterdir()] == []


def test_the_log(shop: Path, state: Path) -> None:
    """Each request with its words, what was decided, and how it ended; it verifies."""
    before = len(log_of(state)) if (state / "hotenv/agent/agent.log").exists() else 0
    agent(shop, f"hotenv run -- sh -c 'exit 4'; hotenv run -- rm {SECRET}; hotenv run -- id x")
    begun, ended, _, denied, _, refused = log_of(state)[before:]
    assert (begun["what"], begun["words"]) == ("agent", ["sh", "-c", "exit 4"])
    assert (ended["status"], ended["verdict"], ended["pattern"]) == (4, "allow", "sh -c *")
    assert (denied["failed"], denied["verdict"], denied.get("pattern")) == ("refused", "deny", None)
    assert (refused["verdict"], refused["answer"]) == ("ask", "not asked")
    path = str(state / "hotenv" / "agent" / "agent.log")
    assert hotenv("audit", "verify", path, cwd=shop).returncode == 0


def test_no_session_any_more(shop: Path, state: Path) -> None:
    """Nothing is run, which the log has, too."""
    with running(shop, "read x; hotenv run -- sh -c 'echo ran'", stdin=subprocess.PIPE) as process:
        wait_until(lambda: hotenv("desk", "--list", cwd=shop).returncode == 0, "the desk")
        assert hotenv("stop", cwd=shop).returncode == 0
        out, err = process.communicate(b"\n")
        assert (process.returncode, out) == (3, b"")
        assert b"no .hotenv in " in err
        assert b"(only the user can do that: ask)\n" in err
    assert log_of(state)[-1]["failed"] == "refused"


@pytest.mark.parametrize("end", ["by itself", "by a signal", "with its requester"])
def test_temporary_files(shop: Path, end: str) -> None:
    """They vanish with the command, whatever it has left in the background."""
    inner = "echo $API_TOKEN >$TMPDIR/key; echo $TMPDIR; sleep 600 & echo on;"
    inner += " exit 0" if end == "by itself" else " exec sleep 600"
    script = f"hotenv run -- sh -c '{inner}' >out & first=$!; "
    if end == "by a signal":
        script += "while ! grep -q on out; do sleep 0.05; done; kill -TERM $first; "
    elif end == "with its requester":
        script += "while ! grep -q on out; do sleep 0.05; done; kill -KILL $first; "
    agent(shop, script + "wait $first; cat out")
    folder = (shop / "out").read_text().splitlines()[0]
    assert "/hotenv-tmp-" in folder
    wait_until(lambda: not os.path.exists(folder), "the directory to vanish")


@pytest.mark.parametrize("victim", ["desk", "requester", "agent"])
def test_killed(shop: Path, state: Path, runtime: Path, victim: str) -> None:
    """Nothing is left of a command when the desk, its requester or the agent is killed."""
    seconds = f"{os.getpid()}{len(victim)}"
    with running(shop, f"hotenv run -- sh -c 'sleep {seconds} & sleep {seconds}'") as process:
        wait_until(lambda: len(processes_with(seconds)) == 2, "the command")
        commands = processes_with(seconds)
        if victim == "agent":
            process.kill()
        else:
            part = b"hotenv.desk.process" if victim == "desk" else b"run\0--\0sh\0-c\0sleep"
            for pid in ours(part, runtime):
                with suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
        wait_until(lambda: all(map(gone, commands)), "the end of the command")
        if victim == "desk":
            assert b"the desk has ended" in process.communicate()[1]
            assert process.returncode == 4
    wait_until(lambda: not desks(runtime), "the directory of the desk to vanish")
    path = str(state / "hotenv" / "agent" / "agent.log")
    assert hotenv("audit", "verify", path, cwd=shop).returncode == 0


def test_a_hundred_at_once(shop: Path) -> None:
    """Each gets its own output."""
    script = (
        "for n in $(seq 100); do "
        '(hotenv run -- sh -c "echo $n $n" >out$n; echo $? >>out$n) & done; '
        "wait; cat out*"
    )
    lines = agent(shop, script).stdout.splitlines()
    assert sorted(lines) == sorted([b"0"] * 100 + [b"%d %d" % (n, n) for n in range(1, 101)])


def test_nothing_is_left(shop: Path, runtime: Path) -> None:
    """When the agent has ended, its desk has, too."""
    assert agent(shop, "true").returncode == 0
    wait_until(lambda: not desks(runtime), "the directory of the desk to vanish")


def test_a_withdrawn_question(shop: Path, state: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A key that may have been meant for it does not answer the one in its place."""
    monkeypatch.setenv("PATH", environment()["PATH"])
    script = (
        "hotenv run -- id good & first=$!; while ! [ -e next ]; do sleep 0.05; done; "
        "kill $first; wait $first; echo first $?; hotenv run -- id evil; echo second $?"
    )
    user = Terminal(agent_command(script=script), shop)
    user.expect(b"waiting for the user")
    desk = Terminal([*HOTENV, "desk"], shop)
    desk.expect(b"id good")
    (shop / "next").touch()
    desk.expect(b"id evil")
    assert b"no longer waiting" in desk.screen
    desk.type(b"y")
    desk.expect(b"press it again")
    assert b"allowed" not in desk.screen
    desk.type(b"n")
    desk.expect(b"denied")
    user.expect(b"second 2")
    assert b"first 143" in user.screen
    assert [line["failed"] for line in log_of(state)[-3::2]] == ["cancelled", "refused"]
    assert user.wait() == 0
    assert desk.wait() == 4
