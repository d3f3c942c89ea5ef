"""The completion scripts: in the shells themselves, and against the parser."""

from __future__ import annotations

import argparse
import os
import re
import shlex
import shutil
import subprocess
from pathlib import Path

import pytest

from hotenv import commands
from hotenv.arguments import SHELLS, build_parser
from hotenv.cli import main
from processes import HOTENV, LIMIT, Terminal

README = (Path(__file__).parent.parent / "README.rst").read_text()
SCRIPTS = Path(commands.__file__).parent / "completions"

built = pytest.mark.skipif(
    not SCRIPTS.exists(), reason="the scripts are made when the package is installed"
)

HOTENV_S_OWN = {
    "ru": "run",
    "serve --ti": "serve --timeout",
    "run --as": "run --as-file",
    "dump --format js": "dump --format json",
    "dump --format=js": "dump --format=json",
    "run --env-file nu": "run --env-file null",
    "completion z": "completion zsh",
    "run --bin in": "run --bin inner",
    "run -- made-u": "run -- made-up",
    "run --isolated made-u": "run --isolated made-up",
}
"""What is typed after ``hotenv`` before the Tab key, and what it becomes, without a last /."""

THE_COMMAND_S = {
    "run -- made-up al": "run -- made-up alpha",
    "run made-up al": "run made-up alpha",
    "run --isolated -- made-up al": "run --isolated -- made-up alpha",
    "run --only X made-up al": "run --only X made-up alpha",
    "run --only=X -- made-up al": "run --only=X -- made-up alpha",
    "run --define A=1 made-up al": "run --define A=1 made-up alpha",
    "run made-up --ga": "run made-up --gamma",
    "run -- made-up --ga": "run -- made-up --gamma",
    "run -- made-up --help al": "run -- made-up --help alpha",
    "run made-up --isol": "run made-up --isol",
}
"""The same, where what is completed is the command's. The last one would be hotenv's."""

FILES = {"run -- made-up no": "run -- made-up notes.txt"}

BASH = """
complete -W 'alpha beta --gamma' made-up
made-up() { :; }
"""

ZSH = """
made-up() { }
_made_up() { _arguments '--gamma' '--help' '*:letter:(alpha beta)' }
compdef _made_up made-up
zstyle ':completion:*' insert-tab false
"""

FISH = """
function made-up; end
complete -c made-up -f -a 'alpha beta'
complete -c made-up -l gamma
complete -c made-up -l help
"""


def needs(shell: str) -> str:
    """The path of ``shell``, or the test is skipped."""
    path = shutil.which(shell)
    if path is None:
        pytest.skip(f"no {shell}")
    return path


def bash_completion() -> Path:
    """Where bash-completion is, or the test is skipped."""
    shares = os.environ.get("XDG_DATA_DIRS") or "/usr/local/share:/usr/share"
    for share in shares.split(":"):
        path = Path(share) / "bash-completion" / "bash_completion"
        if path.exists():
            return path
    pytest.skip("no bash-completion")


def switch_on(shell: str) -> str:
    """The line that the README has for it."""
    row = re.search(rf"(?m)^{shell} .* ``(.+?)``$", README)
    assert row, f"no line for {shell}"
    return row[1]


@pytest.fixture
def home(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A user's folder without settings, the current one, with the command under test on PATH."""
    (folder / "inner").mkdir()
    (folder / "index.txt").touch()
    (folder / "notes.txt").touch()
    (folder / "bin").mkdir()
    (folder / "bin" / "hotenv").write_text(f'#!/bin/sh\nexec {shlex.join(HOTENV)} "$@"\n')
    (folder / "bin" / "hotenv").chmod(0o755)
    monkeypatch.setenv("PATH", str(folder / "bin"), prepend=os.pathsep)
    monkeypatch.delenv("XDG_CONFIG_HOME", raising=False)
    for name, value in {"HOME": str(folder), "TERM": "dumb", "INPUTRC": os.devnull}.items():
        monkeypatch.setenv(name, value)
    return folder


def press_tab(shell: list[str], settings: str, typed: list[str], home: Path) -> dict[str, str]:
    """What an interactive shell makes of each of ``typed``, with a Tab at its end."""
    (home / "settings").write_text(
        f"PS1='$ '\n{settings}\nhotenv() {{ printf '<%s>\\n' \"$*\"; }}\nhotenv ready\n"
    )
    terminal = Terminal(shell, home)
    terminal.type(b". ./settings\n")
    terminal.expect(b"<ready>\r\n")
    result = {}
    for line in typed:
        terminal.screen = b""
        terminal.type(f"hotenv {line}\t\n".encode())
        terminal.expect(b">\r\n")
        shown = re.search(rb"<(.*)>\r\n", terminal.screen)
        assert shown, terminal.screen
        result[line] = shown[1].decode().removesuffix("/")
    terminal.type(b"exit\n")
    assert terminal.wait() == 0
    return result


@built
def test_bash(home: Path) -> None:
    """Without bash-completion, the arguments of a command are files."""
    shell = [needs("bash"), "--norc", "--noprofile", "-i"]
    expected = HOTENV_S_OWN | FILES
    assert press_tab(shell, switch_on("bash") + BASH, [*expected], home) == expected


@built
def test_bash_completion(home: Path) -> None:
    """With bash-completion, the command completes its arguments."""
    shell = [needs("bash"), "--norc", "--noprofile", "-i"]
    settings = f". {bash_completion()}\n{switch_on('bash')}{BASH}"
    expected = HOTENV_S_OWN | THE_COMMAND_S
    assert press_tab(shell, settings, [*expected], home) == expected


@built
def test_zsh(home: Path) -> None:
    """The command completes its arguments."""
    shell = [needs("zsh"), "-f", "-i"]
    settings = f"autoload -Uz compinit\ncompinit -u -D\n{switch_on('zsh')}{ZSH}"
    expected = HOTENV_S_OWN | THE_COMMAND_S
    assert press_tab(shell, settings, [*expected], home) == expected


@built
def test_fish(home: Path) -> None:
    """The command completes its arguments. What is offered has its help beside it."""
    expected = HOTENV_S_OWN | THE_COMMAND_S
    asked = "".join(f"complete -C {shlex.quote(f'hotenv {line}')}; echo ---\n" for line in expected)
    (home / ".config" / "fish" / "completions").mkdir(parents=True)
    subprocess.run([needs("fish"), "-c", switch_on("fish")], check=True, timeout=LIMIT)
    result = subprocess.run(
        [needs("fish"), "-c", f"{FISH}{asked}"],
        cwd=home,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=LIMIT,
    )
    assert result.stderr == ""
    assert result.stdout.startswith("run\trun a command with the environment\n")
    offers = result.stdout.split("---\n")[:-1]
    for (typed, line), offer in zip(expected.items(), offers, strict=True):
        words = [each.partition("\t")[0].removesuffix("/") for each in offer.splitlines()]
        assert words == ([] if typed == line else [line.split(" ")[-1]]), typed


# Against the parser


def options_of(parser: argparse.ArgumentParser) -> set[str]:
    """The options that ``parser`` has."""
    return {option for action in parser._actions for option in action.option_strings}


def in_parser() -> dict[str, set[str]]:
    """The options of each command; those of hotenv itself are under ''."""
    parser = build_parser()
    (subparsers,) = (a for a in parser._actions if isinstance(a, argparse._SubParsersAction))
    options = {name: options_of(command) for name, command in subparsers.choices.items()}
    return {"": options_of(parser)} | options


def in_script(shell: str, text: str) -> dict[str, set[str]]:
    """The same, as a completion script has them."""
    result: dict[str, set[str]] = {}
    if shell == "bash":
        for name, words in re.findall(
            r"(?m)^_shtab_hotenv(?:_(\w+))?_option_strings=\((.*)\)$", text
        ):
            result[name] = set(words.split())
    elif shell == "zsh":
        for name, lines in re.findall(
            r"(?ms)^_shtab_hotenv(?:_(\w+))?_options=\(\n(.*?)^\)$", text
        ):
            specs = re.findall(r"(?m)^ *(.*?)\[", lines)
            result[name] = set(re.findall(r"--?\w[\w-]*", " ".join(specs)))
    else:
        for name, words in re.findall(
            r"(?m)^complete -c hotenv -n '?_shtab_hotenv_using ?(\w*)'? (-[sl] .*?)(?: -d|$)", text
        ):
            short, long = re.findall(r"-s (\S+)", words), re.findall(r"-l (\S+)", words)
            options = [f"-{letter}" for letter in short] + [f"--{word}" for word in long]
            result.setdefault(name, set()).update(options)
    return result


@built
@pytest.mark.parametrize("shell", SHELLS)
def test_all_that_the_parser_has(shell: str) -> None:
    """A script knows all commands and options, and no others. If not: install hotenv again."""
    text = (SCRIPTS / f"hotenv.{shell}").read_text()
    assert in_script(shell, text) == in_parser()


@built
@pytest.mark.parametrize("shell", SHELLS)
def test_syntax(shell: str) -> None:
    """The shell itself has nothing against it."""
    result = subprocess.run(
        [needs(shell), "--no-execute" if shell == "fish" else "-n", SCRIPTS / f"hotenv.{shell}"],
        capture_output=True,
        text=True,
        timeout=LIMIT,
    )
    assert (result.returncode, result.stderr) == (0, "")


def test_package_that_was_not_built(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    """In a source tree there are no scripts: it says so, and what to do."""
    monkeypatch.setattr(commands, "__file__", str(folder / "commands.py"))
    assert main(["completion", "zsh"]) == 8
    output, words = capfd.readouterr()
    assert output == ""
    assert words == (
        f"hotenv: cannot read {folder}/completions/hotenv.zsh: no such file or directory "
        "(it is made when hotenv is installed, as by 'pip install .')\n"
    )
