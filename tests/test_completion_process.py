"""The completion scripts: in the shells themselves, and against the parser."""

from __future__ import annotations

import argparse
import os
import re
import shlex
import shutil
import subprocess
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

import pytest

from hotenv.cli import completion
from hotenv.cli.commandline import build_parser
from hotenv.cli.completion import SHELLS
from hotenv.cli.main import main
from hotenv.handover.formats import FORMATS
from hotenv.handover.wellknown import GROUPS
from hotenv.intake.rules import FORMATS as INPUT_FORMATS
from processes import HOTENV, LIMIT, Terminal

README = (Path(__file__).parent.parent / "README.rst").read_text()
SCRIPTS = completion._SCRIPTS

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
    "help sess": "help sessions",
    "run --bin in": "run --bin inner",
    "run -- made-u": "run -- made-up",
    "run --isolated made-u": "run --isolated made-up",
    "serve -- made-u": "serve -- made-up",
    "serve --strict -- made-u": "serve --strict -- made-up",
    "serve --from no": "serve --from notes.txt",
    "serve --from=no": "serve --from=notes.txt",
    "serve made-u": "serve made-u",
    "serve --strict made-u": "serve --strict made-u",
    "serve made-up no": "serve made-up no",
    "guard -- made-u": "guard -- made-up",
    "guard --fs-readonly -- made-u": "guard --fs-readonly -- made-up",
    "guard --allow-write no": "guard --allow-write notes.txt",
    "run --no-network --allow-unix=no": "run --no-network --allow-unix=notes.txt",
    "serve run made-u": "serve run made-u",
    "dump -- made-u": "dump -- made-u",
    "-- made-u": "-- made-u",
    "run --pass @net --iso": "run --pass @net --isolated",
    "run --pass=A@n": "run --pass=A@n",
    "run --pass @net made-u": "run --pass @net made-up",
    "run --pass=@net --pass=@tls made-u": "run --pass=@net --pass=@tls made-up",
    "run --define A=b@c:d made-u": "run --define A=b@c:d made-up",
    "--tak": "--tak",
    **{f"run --pass {group[:2]}": f"run --pass {group}" for group in GROUPS},
    **{f"run --pass={group[:2]}": f"run --pass={group}" for group in GROUPS},
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
    "run made-up zz": "run made-up zz",
    "run --pass @net made-up al": "run --pass @net made-up alpha",
    "run --pass=@net --pass=@tls made-up al": "run --pass=@net --pass=@tls made-up alpha",
    "run --define A=b@c:d made-up al": "run --define A=b@c:d made-up alpha",
    "serve -- made-up al": "serve -- made-up alpha",
    "serve --strict -- made-up al": "serve --strict -- made-up alpha",
    "serve --timeout 5m -- made-up al": "serve --timeout 5m -- made-up alpha",
    "serve --timeout=5m -- made-up al": "serve --timeout=5m -- made-up alpha",
    "-C . serve -qt5m -- made-up al": "-C . serve -qt5m -- made-up alpha",
    "serve -- made-up --ga": "serve -- made-up --gamma",
    "serve -- made-up --help al": "serve -- made-up --help alpha",
    "serve -- made-up run al": "serve -- made-up run alpha",
    "serve -- made-up --timeout al": "serve -- made-up --timeout alpha",
    "serve -- made-up --stri": "serve -- made-up --stri",
    "serve -- made-up zz": "serve -- made-up zz",
    "serve made-up al": "serve made-up al",
    "guard -- made-up al": "guard -- made-up alpha",
    "guard --allow-write . --fs-readonly -- made-up al": (
        "guard --allow-write . --fs-readonly -- made-up alpha"
    ),
    "guard --fs-readonly=. -- made-up al": "guard --fs-readonly=. -- made-up alpha",
    "run --fs-readonly -- made-up al": "run --fs-readonly -- made-up alpha",
    "serve -- hotenv run -- made-up al": "serve -- hotenv run -- made-up alpha",
    "serve made-up -- made-u": "serve made-up -- made-u",
}
"""The same, where what is completed is the command's: not an option of hotenv's, nor a file."""

FILES = {
    "run -- made-up no": "run -- made-up notes.txt",
    "serve -- made-up no": "serve -- made-up notes.txt",
}

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


DONE = b"<done>\r\n"

RECORD = r"""
hotenv() { printf '%s\0' "$@" > ~/bin/words; echo '<done>' > /dev/tty; }
"""
"""Notes the arguments it gets, in bash and zsh."""

RECORD_IN_FISH = """
function hotenv; string join0 -- $argv > ~/bin/words; echo '<done>'; end
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
    entry = re.search(rf"(?m)^{shell}, .*\n {{4}}``([^`]+)``$", README)
    assert entry, f"no line for {shell}"
    return " ".join(entry[1].split())


@pytest.fixture
def home(directory: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A user's directory without settings, the current one, with the command under test on PATH."""
    (directory / "inner").mkdir()
    (directory / "index.txt").touch()
    (directory / "notes.txt").touch()
    (directory / "zz\nz").touch()
    (directory / "bin").mkdir()
    (directory / "bin" / "hotenv").write_text(f'#!/bin/sh\nexec {shlex.join(HOTENV)} "$@"\n')
    (directory / "bin" / "hotenv").chmod(0o755)
    monkeypatch.setenv("PATH", str(directory / "bin"), prepend=os.pathsep)
    monkeypatch.delenv("XDG_CONFIG_HOME", raising=False)
    for name, value in {"HOME": str(directory), "TERM": "dumb", "INPUTRC": os.devnull}.items():
        monkeypatch.setenv(name, value)
    return directory


def press_tab(
    shell: list[str], settings: str, typed: Sequence[str], home: Path
) -> dict[str, list[str]]:
    """The arguments that an interactive shell makes of each of ``typed``, with a Tab at its end."""
    (home / "settings").write_text(f"PS1='$ '\n{settings}\n{RECORD}\nhotenv ready\n")
    terminal = Terminal(shell, home)
    terminal.type(b". ./settings\n")
    result = press_in(terminal, typed, home)
    assert no_command_ran(home)
    return result


def press_in(terminal: Terminal, typed: Sequence[str], home: Path) -> dict[str, list[str]]:
    """The same in a shell that has been started and will say that it is ready."""
    terminal.expect(DONE)
    result = {}
    for line in typed:
        terminal.screen = b""
        terminal.type(f"hotenv {line}\t\n".encode())
        terminal.expect(DONE)
        words = (home / "bin" / "words").read_bytes().decode()
        result[line] = words.removesuffix("\0").split("\0")
    terminal.type(b"exit\n")
    assert terminal.wait() == 0
    return result


def fish_with(settings: str = "") -> str:
    """The program, once the README's line and ``settings`` are in its file of settings."""
    file = Path.home() / ".config" / "fish" / "config.fish"
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(f"{switch_on('fish')}\n{settings}")
    return needs("fish")


def press_in_fish(typed: Sequence[str], home: Path) -> dict[str, list[str]]:
    """The same in fish."""
    terminal = Terminal([fish_with(RECORD_IN_FISH)], home)
    terminal.type(b"hotenv ready\n")
    result = press_in(terminal, typed, home)
    assert no_command_ran(home)
    return result


def no_command_ran(home: Path) -> bool:
    """Whether nothing of a name was executed."""
    return not list(home.rglob("PWNED"))


def lines(words: Mapping[str, list[str]]) -> dict[str, str]:
    """What was typed became these lines, without a last /."""
    return {typed: " ".join(each).removesuffix("/") for typed, each in words.items()}


@built
def test_bash(home: Path) -> None:
    """Without bash-completion, the arguments of a command are files."""
    shell = [needs("bash"), "--norc", "--noprofile", "-i"]
    expected = HOTENV_S_OWN | FILES
    assert lines(press_tab(shell, switch_on("bash") + BASH, [*expected], home)) == expected


@built
def test_bash_completion(home: Path) -> None:
    """With bash-completion, the command completes its arguments."""
    shell = [needs("bash"), "--norc", "--noprofile", "-i"]
    settings = f". {bash_completion()}\n{switch_on('bash')}{BASH}"
    expected = HOTENV_S_OWN | THE_COMMAND_S
    assert lines(press_tab(shell, settings, [*expected], home)) == expected


@built
def test_zsh(home: Path) -> None:
    """The command completes its arguments."""
    shell = [needs("zsh"), "-f", "-i"]
    settings = f"autoload -Uz compinit\ncompinit -u -D\n{switch_on('zsh')}{ZSH}"
    expected = HOTENV_S_OWN | THE_COMMAND_S
    assert lines(press_tab(shell, settings, [*expected], home)) == expected


@built
def test_fish(home: Path) -> None:
    """The command completes its arguments. What is offered has its help beside it."""
    expected = HOTENV_S_OWN | THE_COMMAND_S
    asked = "".join(f"complete -C {shlex.quote(f'hotenv {line}')}; echo ---\n" for line in expected)
    result = subprocess.run(
        [fish_with(), "-c", f"{FISH}{asked}"],
        cwd=home,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=LIMIT,
    )
    assert result.stderr == ""
    assert result.stdout.startswith("run\trun a command with the session's variables\n")
    offers = result.stdout.split("---\n")[:-1]
    for (typed, line), offer in zip(expected.items(), offers, strict=True):
        words = [each.partition("\t")[0].removesuffix("/") for each in offer.splitlines()]
        assert words == ([] if typed == line else [line.split(" ")[-1]]), typed


def in_fish(typed: str) -> list[str]:
    """What fish offers for ``typed`` after ``hotenv``, and after a tab what it shows beside it."""
    asked = f"complete -C {shlex.quote(f'hotenv {typed}')}"
    result = subprocess.run(
        [fish_with(), "-c", asked], check=True, capture_output=True, text=True, timeout=LIMIT
    )
    return result.stdout.splitlines()


@built
@pytest.mark.parametrize(
    ("typed", "choices"),
    [
        ("dump --format ", FORMATS),
        ("serve --format=", [f"--format={name}" for name in INPUT_FORMATS]),
        ("run --env-file ", [name for name in FORMATS if name != "env"]),
        ("run --pass ", GROUPS),
        ("completion ", SHELLS),
        ("help sess", ["sessions"]),
    ],
)
def test_choices_in_fish(typed: str, choices: Iterable[str], home: Path) -> None:
    """Each choice is shown without the help of its option, which is the same for all."""
    assert in_fish(typed) == [*choices]


@built
def test_option_with_choices_in_fish(home: Path) -> None:
    """The option itself keeps its help."""
    (offer,) = in_fish("dump --form")
    assert offer.startswith("--format\toutput format: env, ")


# Names that would do something if they were not quoted

HOSTILE = {
    "xa": ";>PWNED;#",
    "xb": "$(>PWNED)",
    "xc": "`>PWNED`",
    "xd": "'`>PWNED`'",
    "xe": '"$(>PWNED)"',
    "xf": "\n>PWNED\n",
    "xg": " h  i ",
    "xh": "*",
    "xi": "&>PWNED&",
    "xj": "|>PWNED",
    "xk": ">PWNED<x",
    "xl": "!!!x",
    "xm": "\tx",
    "xn": "\\;>PWNED;\\",
    "xo": "Ä🔑 é",
    "xp": ":q=r@s",
    "xq": "{a,b}[c]?",
    "xr": " ${HOME} ~ %x",
    "xs": "^a^b",
    "-": ";>PWNED;#",
    "~": ";>PWNED;#",
    "#": ";>PWNED;#",
}
"""What is typed of a name, and what follows."""

EVERY_BASH = ["bash", "bash without compopt", "bash with bash-completion"]


def press_in_any(shell: str, typed: Sequence[str], home: Path) -> dict[str, list[str]]:
    """The arguments that ``shell`` makes of each of ``typed``, with a Tab at its end."""
    if shell == "fish":
        return press_in_fish(typed, home)
    if shell == "zsh":
        settings = f"autoload -Uz compinit\ncompinit -u -D\n{switch_on('zsh')}{ZSH}"
        return press_tab([needs("zsh"), "-f", "-i"], settings, typed, home)
    before = ""
    if shell == "bash without compopt":  # as in bash 3
        before = "enable -n compopt\n"
    elif shell == "bash with bash-completion":
        before = f". {bash_completion()}\n"
    argv = [needs("bash"), "--norc", "--noprofile", "-i"]
    return press_tab(argv, f"{before}{switch_on('bash')}{BASH}", typed, home)


@built
@pytest.mark.parametrize("shell", [*EVERY_BASH, "zsh", "fish"])
def test_hostile_names(shell: str, home: Path) -> None:
    """What is inserted is quoted: nothing of a name is executed, and the command gets all of it.

    Not with a tab in fish, for which a tab starts a description, here and everywhere; nor with a
    newline where bash-completion completes the command, which makes two names of it.
    """
    names = {f"./{typed}": f"./{typed}{rest}" for typed, rest in HOSTILE.items()}
    if shell == "fish":
        del names["./xm"]
    for name in names.values():
        (home / name).touch()
        (home / name).chmod(0o755)
        (home / "dirs" / name).mkdir(parents=True)
    in_command = dict(names)
    if shell == "bash with bash-completion":
        del in_command["./xf"]
    expected = {f"serve --log {each}": ["serve", "--log", name] for each, name in names.items()}
    for each in [*in_command][:6] if shell == "fish" else in_command:  # fish looks for descriptions
        expected[f"run -- {each}"] = ["run", "--", names[each]]
    expected["run -- cat " + "\t ".join(in_command)] = ["run", "--", "cat", *in_command.values()]
    half = len(names) // 2
    first, second = [*names][:half], [*[*names][half:], "./xf"]
    expected["run " + "\t ".join(f"--bin=dirs/{each}" for each in first)] = [
        "run",
        *(f"--bin=dirs/{names[each]}" for each in first),
    ]
    expected["\t ".join(f"-C dirs/{each}" for each in second)] = [
        word for each in second for word in ("-C", f"dirs/{names[each]}")
    ]

    result = press_in_any(shell, list(expected), home)
    for typed, arguments in result.items():
        assert [each.removesuffix("/") for each in arguments] == expected[typed], typed


@built
@pytest.mark.parametrize("shell", [*EVERY_BASH, "zsh", "fish"])
def test_words_that_the_user_quotes(shell: str, home: Path) -> None:
    """Quotes, ~ and variables that are typed count, and what is inserted fits to them."""
    for directory in (home, home / "sub;>PWNED;#", home / "dirs"):
        directory.mkdir(exist_ok=True)
        (directory / "my file;>PWNED").touch()
        (directory / "my file;>PWNED").chmod(0o755)
    (home / "dirs" / "my dir;>PWNED").mkdir()
    (home / "dirs" / "$v;>PWNED").mkdir()
    (home / "dirs" / "b\\n").mkdir()
    (home / "dirs" / "b\\nx").touch()
    name, path = "my file;>PWNED", f"{home}/my file;>PWNED"
    expected = {
        "serve --log 'my f": ["serve", "--log", name],
        'serve --log "my f': ["serve", "--log", name],
        "serve --log my\\ f": ["serve", "--log", name],
        "serve --log=my": ["serve", f"--log={name}"],
        "serve --log ~/my": ["serve", "--log", path],
        "serve --log $HOME/my": ["serve", "--log", path],
        "serve --log ./su\tm": ["serve", "--log", f"./sub;>PWNED;#/{name}"],
        "-C dirs/my\\ d": ["-C", "dirs/my dir;>PWNED/"],
        "-C ~/dirs/my\\ d": ["-C", f"{home}/dirs/my dir;>PWNED/"],
        "run --bin $HOME/dirs/my\\ d": ["run", "--bin", f"{home}/dirs/my dir;>PWNED/"],
        "run --bin=dirs/\\$": ["run", "--bin=dirs/$v;>PWNED/"],
        "run -- ~/my": ["run", "--", path],
        "run -- ./my\\ f": ["run", "--", f"./{name}"],
        "run -- cat 'my f": ["run", "--", "cat", name],
    }
    if shell != "bash with bash-completion":  # it offers nothing where a command is quoted
        expected["run -- './my f"] = ["run", "--", f"./{name}"]
    if shell != "bash without compopt":  # it offers files as well
        expected["-C dirs/b"] = ["-C", "dirs/b\\n/"]
    if shell == "zsh":  # removes the slash before what ends a word
        expected = {each: [word.rstrip("/") for word in expected[each]] for each in expected}
    assert press_in_any(shell, list(expected), home) == expected


@built
@pytest.mark.parametrize("shell", EVERY_BASH)
def test_redirection_in_bash(shell: str, home: Path) -> None:
    """What is redirected to is a file as well."""
    (home / "xa;>PWNED;#").touch()
    (home / "xf\n>PWNED").touch()
    before = {path.name for path in home.iterdir()}
    typed = ["serve >xf", "serve < xa", "serve 2> xf", "serve --quiet <xf"]
    assert [*press_in_any(shell, typed, home).values()] == [["serve"]] * 3 + [["serve", "--quiet"]]
    assert {path.name for path in home.iterdir()} == before | {"settings", ".bash_history"}


@built
@pytest.mark.parametrize("shell", ["bash", "bash without compopt"])
def test_names_of_commands_in_bash(shell: str, home: Path) -> None:
    """Of a command on PATH all of its name is inserted, and nothing if it has several lines."""
    for name in ("zqa;>PWNED;#", "zqf-x\nzqf-x", "zqo-plain"):
        (home / "bin" / name).touch()
        (home / "bin" / name).chmod(0o755)
    expected = {
        "run -- zqa": ["run", "--", "zqa;>PWNED;#"],
        "run -- 'zqo": ["run", "--", "zqo-plain"],
        "run -- zqf": ["run", "--", "zqf"],
    }
    assert press_in_any(shell, list(expected), home) == expected


@built
def test_command_in_bash_that_is_called_like_a_directory(home: Path) -> None:
    """In bash without bash-completion, a command does not get the slash of a directory."""
    (home / "made-up").mkdir()
    expected = {"run -- made-u": ["run", "--", "made-up"]}
    assert press_in_any("bash", list(expected), home) == expected


@built
@pytest.mark.parametrize("kind", ["-f", "-d", "-c"])
def test_command_in_bash_that_takes_names(kind: str, home: Path) -> None:
    """bash-completion's functions do not quote what 'complete -f' and the like offer."""
    name = "xa;>PWNED;#"
    if kind == "-d":
        (home / name).mkdir()
    else:
        (home / name).touch()
        (home / name).chmod(0o755)
    shell = [needs("bash"), "--norc", "--noprofile", "-i"]
    settings = f". {bash_completion()}\n{switch_on('bash')}\ncomplete {kind} made-up"
    typed = ["run -- made-up ./xa", "run -- bin/made-up ./xa"]
    for words in press_tab(shell, settings, typed, home).values():
        assert words[3:] == [f"./{name}" + ("/" if kind == "-d" else "")]


# Against the parser


def options_of(parser: argparse.ArgumentParser) -> set[str]:
    """The options that ``parser`` has."""
    return {
        option
        for action in parser._actions
        for option in action.option_strings
        if action.help != argparse.SUPPRESS
    }


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
    directory: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    """In a source tree there are no scripts: it says so, and what to do."""
    monkeypatch.setattr(completion, "_SCRIPTS", directory / "completions")
    assert main(["completion", "zsh"]) == 8
    output, words = capfd.readouterr()
    assert output == ""
    assert words == (
        f"hotenv: cannot read {directory}/completions/hotenv.zsh: no such file or directory "
        "(install hotenv to create it, for example with 'pip install .')\n"
    )
