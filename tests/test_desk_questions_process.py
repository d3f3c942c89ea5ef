"""hotenv desk: a human answers what an agent asks for."""

from __future__ import annotations

import os
import re
import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from agents import RULES, agent, agent_command, environment, project, running, write_project
from guarded import needs_guards
from processes import HOTENV, Terminal, hotenv, said, wait_until

pytestmark = needs_guards

WAIT = "hotenv run -- id -u"


@pytest.fixture
def shop(tmp_path: Path) -> Iterator[Path]:
    """A project with a session."""
    directory = tmp_path / "shop"
    directory.mkdir()
    with project(directory):
        yield directory


def listed(directory: Path) -> list[str]:
    """The open questions."""
    return hotenv("desk", "--list", cwd=directory).stdout.decode().splitlines()


class Agent(Terminal):
    """An agent in a terminal."""

    def __init__(self, directory: Path, script: str) -> None:
        super().__init__(agent_command(script=script), directory)


@pytest.fixture(autouse=True)
def _path(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", environment()["PATH"])


@pytest.mark.parametrize(
    ("words", "shown"),
    [
        (["allow", "1"], f"\r\n{os.getuid()}\r\n0\r\n"),
        (["deny", "1"], "hotenv: the user denied this command\r\n2\r\n"),
    ],
    ids=["allow", "deny"],
)
def test_an_answer(shop: Path, words: list[str], shown: str) -> None:
    """The command runs, or it does not."""
    terminal = Agent(shop, f"{WAIT}; echo $?")
    terminal.expect(b"waiting for the user to answer question 1")
    assert listed(shop) == [f"1\tid -u\t{shop}"]
    assert hotenv("desk", *words, cwd=shop).returncode == 0
    assert terminal.wait() == 0
    assert terminal.screen.decode().endswith(shown)
    assert listed(shop) == []


def test_for_as_long_as_the_agent(shop: Path) -> None:
    """The same is not asked about again; other words are."""
    terminal = Agent(shop, f"{WAIT} && {WAIT} && hotenv run -- id -g")
    terminal.expect(b"waiting")
    assert hotenv("desk", "allow", "1", "--session", cwd=shop).returncode == 0
    terminal.expect(f"{os.getuid()}\r\n{os.getuid()}\r\n".encode())
    wait_until(lambda: listed(shop), "the next question")
    assert "id -g" in listed(shop)[0]
    number = listed(shop)[0].partition("\t")[0]
    assert hotenv("desk", "deny", number, cwd=shop).returncode == 0
    assert terminal.wait() == 2


@contextmanager
def asking(directory: Path) -> Iterator[tuple[Terminal, subprocess.Popen[bytes], Path]]:
    """A terminal with ``hotenv desk``, and an agent that asks when the file is there."""
    go = directory / "go"
    script = f"while ! test -e go; do sleep 0.05; done; {WAIT}"
    with running(directory, script) as process:
        wait_until(lambda: hotenv("desk", "--list", cwd=directory).returncode == 0, "the desk")
        terminal = Terminal([*HOTENV, "desk"], directory)
        terminal.expect(b"(q: quit)\r\n")
        yield terminal, process, go


@pytest.mark.parametrize(("key", "code"), [(b"y", 0), (b"s", 0), (b"n", 2)])
def test_keys(shop: Path, key: bytes, code: int) -> None:
    """A human sees what is asked, with a bell, and presses a key."""
    with asking(shop) as (terminal, process, go):
        go.touch()
        terminal.expect(b"q: quit ")
        assert b"\a" in terminal.screen
        assert b"1: id -u\r\n" in terminal.screen
        asks = re.search(rb"in (.+), asked by process ([0-9]+)\r\n", terminal.screen)
        assert asks
        assert asks[1] == os.fsencode(shop)
        assert b"run\0--\0id\0-u" in Path(f"/proc/{int(asks[2])}/cmdline").read_bytes()
        terminal.type(key)
        out, _ = process.communicate()
        assert process.returncode == code
        assert (out == b"%d\n" % os.getuid()) == (code == 0)
        assert terminal.wait() == 4
        assert b"the desk has ended" in terminal.screen


def test_what_is_typed_ahead(shop: Path) -> None:
    """Is no answer: the question was not shown yet."""
    with asking(shop) as (terminal, process, go):
        terminal.type(b"yyy")
        go.touch()
        terminal.expect(b"q: quit ")
        terminal.type(b"x")
        assert len(listed(shop)) == 1
        terminal.type(b"n")
        process.communicate()
        assert process.returncode == 2
        assert terminal.wait() == 4


def test_too_long_to_be_read(shop: Path) -> None:
    """A human who cannot see all of a command is not asked about it."""
    terminal = Agent(shop, "hotenv run -- id $(head -c 1200 /dev/zero | tr '\\0' x); echo $?")
    assert terminal.wait() == 0
    assert b"limit 1200 characters" in terminal.screen
    assert terminal.screen.endswith(b"\r\n2\r\n")


def test_quit(shop: Path) -> None:
    """The question stays open for others; the terminal is as it was."""
    with asking(shop) as (terminal, process, go):
        go.touch()
        terminal.expect(b"q: quit ")
        terminal.type(b"q")
        assert terminal.wait() == 0
        assert len(listed(shop)) == 1
        assert hotenv("desk", "allow", "1", cwd=shop).returncode == 0
        process.communicate()
        assert process.returncode == 0


def test_keys_reload(shop: Path) -> None:
    """What the file says now counts then."""
    with asking(shop) as (terminal, process, go):
        write_project(shop, 'allow = ["id **"]')
        terminal.type(b"r")
        terminal.expect(b"the desk now uses the project's file as it is")
        go.touch()
        assert process.communicate()[0] == b"%d\n" % os.getuid()
        assert terminal.wait() == 4


def test_no_terminal(shop: Path) -> None:
    """The agent is refused at once, and humans are told what to use."""
    assert b"no terminal to ask on" in agent(shop, WAIT).stderr
    with running(shop, "exec sleep 600"):
        wait_until(lambda: hotenv("desk", "--list", cwd=shop).returncode == 0, "the desk")
        assert "needs a terminal" in said(hotenv("desk", cwd=shop))
        assert "no open question 7" in said(hotenv("desk", "allow", "7", cwd=shop))
        assert hotenv("desk", "reload", cwd=shop).stderr == (
            b"hotenv: the desk now uses the project's file as it is\n"
        )


@pytest.mark.parametrize(
    ("words", "what"),
    [
        ("allow", "missing ID: use 'hotenv desk allow ID'"),
        ("allow x", "ID must be a number"),
        ("--agent x", "PID must be a number"),
        ("--list reload", "--list cannot be used with reload"),
        ("--session deny 1", "--session requires allow"),
        ("reload 1", "unexpected argument '1'"),
        ("foo", "no such order 'foo', choose from allow, deny, reload"),
    ],
)
def test_orders_that_are_none(tmp_path: Path, words: str, what: str) -> None:
    """Whether or not there is an agent."""
    result = hotenv("desk", *words.split(), cwd=tmp_path)
    assert result.returncode == 2
    assert what in said(result)


def test_no_agent(shop: Path) -> None:
    """There is nothing to answer."""
    result = hotenv("desk", "--list", cwd=shop)
    assert result.returncode == 3
    assert "no agent is running" in said(result)


def test_it_takes_too_long(tmp_path: Path) -> None:
    """After ask-timeout the command is refused."""
    directory = tmp_path / "shop"
    directory.mkdir()
    with project(directory, RULES + 'ask-timeout = "1s"'):
        terminal = Agent(directory, f"{WAIT}; echo $?")
        assert terminal.wait() == 0
    assert b"did not answer in time" in terminal.screen
    assert terminal.screen.endswith(b"\r\n2\r\n")


def test_the_requester_ends(shop: Path) -> None:
    """What it asked for is asked no more."""
    terminal = Agent(shop, f"{WAIT} & exec sleep 3600")
    terminal.expect(b"waiting")
    assert len(listed(shop)) == 1
    os.kill(terminal.pid, signal.SIGTERM)
    assert terminal.wait() == -signal.SIGTERM


def test_reload(shop: Path) -> None:
    """A change of the file counts when it is allowed and a human says so."""
    script = "read x; hotenv run -- uname; read x; hotenv run -- uname; read x; hotenv run -- uname"
    terminal = Agent(shop, script)
    wait_until(lambda: hotenv("desk", "--list", cwd=shop).returncode == 0, "the desk")
    path = shop / "hotenv.toml"
    path.write_text("[agent]\ndeny = ['uname']\n allow = ['true']\n")
    terminal.type(b"\n")
    terminal.expect(b"waiting")
    assert hotenv("desk", "allow", "1", cwd=shop).returncode == 0
    terminal.expect(b"Linux\r\n")
    assert "has changed since it was allowed" in said(hotenv("desk", "reload", cwd=shop))
    assert hotenv("allow", cwd=shop).returncode == 0
    terminal.type(b"\n")
    terminal.expect(b"question 2 in 'hotenv desk'\r\n")
    wait_until(lambda: listed(shop), "the question")
    assert hotenv("desk", "allow", "2", cwd=shop).returncode == 0
    assert hotenv("desk", "reload", cwd=shop).returncode == 0
    terminal.type(b"\n")
    assert terminal.wait() == 2
    assert b"denied by the pattern 'uname' in [agent] of hotenv.toml" in terminal.screen


def test_reload_while_it_waits(shop: Path) -> None:
    """What counts then is asked anew, or not asked any more."""
    terminal = Agent(shop, f"{WAIT}; echo first $?; {WAIT}; echo second $?")
    terminal.expect(b"question 1 in")
    desk = Terminal([*HOTENV, "desk"], shop)
    desk.expect(b"no network, no writing")
    write_project(shop, "ask = ['id **']\nnetwork = ['example.com']")
    desk.type(b"r")
    desk.expect(b"2: id -u")
    desk.expect(b"network example.com, no writing")
    assert b"no longer waiting" in desk.screen
    desk.type(b"n")  # it may be for the one before
    desk.expect(b"press it again")
    desk.type(b"y")
    terminal.expect(b"first 0")
    terminal.expect(b"question 3 in")
    write_project(shop, "deny = ['id **']\nallow = ['true']")
    assert hotenv("desk", "reload", cwd=shop).returncode == 0
    terminal.expect(b"denied by the pattern 'id **'")
    assert terminal.wait() == 0
    assert b"second 2" in terminal.screen
    assert desk.wait() == 4


def test_interrupted_while_it_waits(shop: Path) -> None:
    """Ctrl-C ends the requester, and the question."""
    terminal = Agent(shop, f"trap 'echo caught' INT; {WAIT}; echo $?; exec sleep 3600")
    terminal.expect(b" in 'hotenv desk'\r\n")
    terminal.type(b"\x03")
    terminal.expect(b"130\r\n")
    assert listed(shop) == []
    os.kill(terminal.pid, signal.SIGTERM)
    terminal.wait()
