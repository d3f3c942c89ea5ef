"""What README.rst and the topics say is so: their sessions are run, their lists compared."""

from __future__ import annotations

import os
import re
import subprocess
from pathlib import Path

import pytest

import hotenv as package
from hotenv import errors
from hotenv.cli.commandline import COMMANDS
from hotenv.handover.formats import FORMATS
from hotenv.handover.wellknown import ESSENTIALS, GROUPS, LOADERS
from processes import LIMIT, Terminal, hotenv, is_clean, serving
from readme import README, TEXT, TOPICS, block, play, same_for_all


def test_session_in_two_terminals(shop: Path, runtime: Path) -> None:
    """The variables are typed in one terminal and used in the other, until Ctrl-C."""
    shown = block("first terminal")
    command, prompt, *lines = shown.splitlines(keepends=True)
    terminal = Terminal(["sh", "-c", f"exec {command.removeprefix('$ ')}"], shop)
    terminal.expect(prompt.strip().encode() + b"\r\n")
    for line in lines:
        if re.match("[A-Z_]+=", line):
            terminal.type(line.encode())
    terminal.type(b"\x04")
    terminal.expect(b"hotenv: serving")
    play(block("second terminal"), shop)
    terminal.type(b"\x03")
    assert terminal.wait() == 0
    screen = command + terminal.screen.decode()
    assert same_for_all(screen, shop).rstrip("\n") == same_for_all(shown, shop).rstrip("\n")
    assert is_clean(shop, runtime)


def test_idle_expiry(shop: Path, runtime: Path) -> None:
    """A session ends by itself, and what needs it then says so."""
    play(block("idle expiry"), shop)
    assert is_clean(shop, runtime, expired=True)


def test_classic_mistake(shop: Path) -> None:
    """The shell that hotenv is typed into puts in what it has, which is nothing."""
    with serving(shop, b"GREETING=hello\n"):
        play(block("classic mistake"), shop)


def test_formats(shop: Path) -> None:
    """Each format is shown, and gives what is shown."""
    assert set(re.findall(r"--format (\w+)", block("formats"))) == set(FORMATS)
    with serving(shop, b"GREETING='it\\'s \"me\"'\n"):
        play(block("formats"), shop)


def test_files(shop: Path) -> None:
    """Files instead of variables."""
    with serving(shop, b"GREETING=hello\nDATABASE_URL=postgres://localhost/shop\n"):
        play(block("files"), shop)


def test_isolation(shop: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is passed on and what is not, and what is said about it."""
    git = [name for name in os.environ if name.startswith("GIT_")]
    for name in {*ESSENTIALS, *GROUPS["@ssh-agent"], *git} - {"PATH"}:
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(shop))
    with serving(shop, b"GREETING=hello\nDATABASE_URL=postgres://localhost/shop\n"):
        play(block("isolation"), shop)


@pytest.mark.parametrize(
    ("title", "names"),
    [("essentials", ESSENTIALS), *GROUPS.items(), ("never by a pattern", LOADERS)],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_lists_of_isolation(title: str, names: tuple[str, ...]) -> None:
    """Each list of names is there in full."""
    body = re.search(rf"(?m)^(?:``)?{title}(?:``)?\n((?: {{4}}``.*\n)+)", TOPICS["isolation"])
    assert body, f"no list {title}"
    assert tuple(re.findall("``(.+?)``", body[1])) == names


def test_contract(shop: Path, runtime: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What --check prints is what is shown, and so is the question."""
    session = block("contract")
    monkeypatch.delenv("STAGE_HOST", raising=False)
    text = session.partition("env.contract\n")[2].partition("$ hotenv")[0]
    (shop / "env.contract").write_text(text)
    monkeypatch.setenv("NO_COLOR", "1")
    play(session, shop, terminal=True)
    shown = block("prompt")
    command, question, _ = shown.splitlines(keepends=True)
    terminal = Terminal(["sh", "-c", f"exec {command.removeprefix('$ ')}"], shop)
    terminal.expect(question.strip().encode())
    terminal.type(b"s3cret\n")
    terminal.expect(b"(expires after 5m idle)")
    assert b"postgres://shop:s3cret@localhost/shop\n" in hotenv("dump", cwd=shop).stdout
    terminal.type(b"\x03")
    assert terminal.wait() == 0
    screen = same_for_all(command + terminal.screen.decode(), shop)
    lines = [line.rstrip() for line in screen.splitlines()]
    assert [line for line in lines if " dump -" not in line][:3] == shown.splitlines()
    assert is_clean(shop, runtime)


def test_trio_example(shop: Path, runtime: Path) -> None:
    """The test that is shown passes when pytest runs it."""
    (shop / "test_shop.py").write_text(block("trio"))
    result = subprocess.run(
        ["pytest", "-q", "-W", "error", f"--basetemp={shop / 'inner'}"],
        cwd=shop,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        timeout=LIMIT,
        text=True,
    )
    assert "\n1 passed in " in result.stdout, result.stdout
    assert result.returncode == 0
    assert is_clean(shop, runtime)


def test_exit_codes_are_complete() -> None:
    """Each class of error is listed with its code, and so are the three codes without a class."""
    rows = re.findall(r"(?m)^``(\d+)``(?: \(``(\w+)``\))?\n {4}\S", TOPICS["exit-codes"])
    kinds = errors.HotenvError.__subclasses__()
    classes = {(str(kind.exit_code), kind.__name__) for kind in kinds}
    assert len(classes) == 7
    assert sorted(rows) == sorted(classes | {("0", ""), ("130", ""), ("141", "")})


def test_front_door() -> None:
    """README.rst is short, and says where the rest is: it lists each topic."""
    assert len(README.splitlines()) <= 300
    assert set(re.findall(r"(?m)^``hotenv help (\S+)`` ", README)) == set(TOPICS)


@pytest.mark.parametrize("command", ["", *COMMANDS])
def test_each_option_is_explained(command: str, directory: Path) -> None:
    """What ``--help`` offers is in a topic."""
    plain = {**os.environ, "PYTHON_COLORS": "0"}
    text = hotenv(*command.split(), "--help", cwd=directory, env=plain).stdout.decode()
    listed = " ".join(re.findall(r"(?m)^  (-.*?)(?:  |$)", text))
    options = set(re.findall(r"(?<![\w-])-[\w-]+", listed))
    assert {"-h", "--help"} <= options
    assert {each for each in options if not re.search(rf"``(\w+\s)*{each}\b", TEXT)} == set()


def test_each_public_name_is_mentioned() -> None:
    """What can be imported is in the topics."""
    names = set(package.__all__) - {"__version__"}
    assert {name for name in names if not re.search(rf"\b{name}\b", TEXT)} == set()
