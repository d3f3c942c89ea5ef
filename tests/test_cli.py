"""The command line, in this process: what it understands, and what it makes of it."""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from pathlib import Path

import attrs
import pytest

from hotenv import __version__
from hotenv.cli import dump, run
from hotenv.cli import session as asking
from hotenv.cli.commandline import COMMANDS, build_parser
from hotenv.cli.main import main
from hotenv.durations import DEFAULT_TIMEOUT
from hotenv.errors import FieldError
from hotenv.exchange.protocol import Request
from hotenv.handover import layers
from hotenv.handover.composition import Composition
from hotenv.handover.launch import Launch
from hotenv.handover.layers import ChildEnvironment, compose_layers
from hotenv.project.tables import DEFAULTS
from hotenv.session.marker import Marker
from processes import hotenv, serving

USAGE = [
    ([], "missing command (see 'hotenv --help')"),
    (["nonsense"], "no such command 'nonsense', choose from serve, run, dump"),
    (["srve"], "no such command 'srve': did you mean 'serve'? (see 'hotenv --help')"),
    (["dump", "--ony", "A"], "'--ony': did you mean '--only'? (see 'hotenv dump --help')"),
    (["run", "-x", "true"], "unrecognized option '-x' (see 'hotenv run --help')"),
    (["serve", "--no"], "unrecognized option '--no': did you mean '--no-interpolate'?"),
    (["dump", "--json"], "unrecognized option '--json' (see 'hotenv dump --help')"),
    (["serve", "--env", "A=secret"], "PATTERN is for names and must not contain '='"),
    (
        ["serve", "A=secret"],
        "unexpected argument 'A=...': put '--' before a command to read its output",
    ),
    (["A=secret"], "no such command 'A=...', choose from serve, run, dump"),
    (["completion"], "missing shell: choose from bash, zsh, fish (see 'hotenv completion --help')"),
    (["completion", "A=secret"], "no such shell 'A=...', choose from bash, zsh, fish (see"),
    (["serve", "--quiet=secret"], "option -q/--quiet does not take an argument (see"),
    (["run", "--explain=secret", "true"], "option --explain does not take an argument (see"),
    (["run", "--defin=A=s", "true"], "'--defin=...': did you mean '--define'? (see"),
    (["run", f"--defin=A={'secret' * 9}", "true"], "'--defin=...': did you mean '--define'? (see"),
    (["dump", "--=secret"], "unrecognized option '--=...' (see 'hotenv dump --help')"),
    (["dump", "--format", "jsno"], "no such format 'jsno': did you mean 'json'? (see"),
    (["status", "--short", "--all"], "--short cannot be used with --all or --json (see"),
    (["status", "--short", "--json"], "--short cannot be used with --all or --json (see"),
    (["serve", "--ready-fd", "2"], "--ready-fd must be a file descriptor number, 3 or higher"),
    (["serve", "--ready-fd", "x"], "--ready-fd must be a file descriptor number, 3 or higher"),
    (["serve", "--ready-fd", "٣"], "--ready-fd must be a file descriptor number, 3 or higher"),
    (["serve", "--ready-fd", "9" * 9], "file descriptor is not open for writing"),
    (["run", "--wait", "0", "--", "true"], "invalid duration '0'"),
    (["serve", "-t", "1d"], "invalid duration '1d'"),
    (["serve", "-t"], "option -t/--timeout requires an argument (see 'hotenv serve --help')"),
    (["-C"], "option -C requires an argument (see 'hotenv --help')"),
    (["dump", "-C"], "option -C requires an argument (see 'hotenv dump --help')"),
    (["serve", "-q", "-v"], "option -v/--verbose cannot be used with -q/--quiet (see"),
    (["serve", "--forc"], "unrecognized option '--forc': did you mean '--force'?"),
    (["serve", "--json"], "--json requires --check (see 'hotenv serve --help')"),
    (["dump", "-\x1b"], r"unrecognized option '-\x1b'"),
    (["dump", "--format", "yaml"], "no such format 'yaml', choose from env, dotenv, json"),
    (["run"], "missing command: use 'hotenv run -- COMMAND [ARG ...]'"),
    (["run", "--"], "missing command: use 'hotenv run -- COMMAND [ARG ...]'"),
    (["run", "--nope", "true"], "unrecognized option '--nope'"),
    (["run", "--isolated"], "missing command: use 'hotenv run -- COMMAND [ARG ...]'"),
    (["run", "--only"], "option --only requires an argument"),
    (["run", "--only", "\ud800", "true"], "invalid argument of option --only (see"),
    (["run", "--define", "secret", "true"], "--define must be NAME=VALUE"),
    (["run", "--bin", "", "true"], "--bin must not be empty"),
    (["run", "--env-file", "env", "true"], "no such format 'env', choose from dotenv, json"),
]


@pytest.mark.parametrize(("argv", "words"), USAGE, ids=[ascii(" ".join(argv)) for argv, _ in USAGE])
def test_usage_errors(
    argv: list[str], words: str, directory: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    """Code 2 and one line that says what is wrong."""
    assert main(argv) == 2
    out, err = capfd.readouterr()
    assert out == ""
    assert err.startswith("hotenv: ")
    assert err.count("\n") == 1
    assert words in err
    assert "secret" not in err


@pytest.mark.parametrize("number", ["9" * 5000, "1" + "0" * 5000 + "s", "x" * 5000, "-" * 5000])
@pytest.mark.parametrize(
    "option", ["serve --timeout", "serve --max-age", "serve --ready-fd", "run --wait"]
)
def test_absurd_numbers(
    option: str, number: str, directory: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    """A number of any length is an error of usage, short and without the name of a function."""
    command, option = option.split()
    assert main([command, f"{option}={number}", "true"]) == 2
    words = capfd.readouterr().err
    assert re.match(r"hotenv: (invalid duration '|--ready-fd must be a file descriptor)", words)
    assert len(words) < 200
    assert "_" not in words


MARKER = Marker("/x/.hotenv", "/x/0123abcd.sock", 0)
SESSION = {"A": "1", "AB": "2", "B": "3", "CLÉ": "4"}


@pytest.fixture
def session(monkeypatch: pytest.MonkeyPatch, directory: Path) -> list[tuple[Request, float]]:
    """What a session of SESSION is asked, and how long it may take; nothing is executed."""
    asked: list[tuple[Request, float]] = []

    def execve(*_args: object) -> None:
        raise AssertionError("executed, in place of the tests")

    def ask(request: Request, wait: float = 0.0, **_how: object) -> tuple[Marker, dict[str, str]]:
        asked.append((request, wait))
        return MARKER, dict(SESSION)

    monkeypatch.setattr(dump, "ask", ask)
    monkeypatch.setattr(asking, "ask", ask)
    monkeypatch.setattr(os, "execve", execve)
    return asked


class Executed(BaseException):
    """What was to be executed, instead of that."""

    def __init__(self, launch: Launch) -> None:
        super().__init__()
        self.argv = launch.argv
        self.env = dict(launch.env)
        self.files = dict(launch.files)
        self.env_file = launch.env_file


@pytest.fixture
def executed(
    monkeypatch: pytest.MonkeyPatch, session: list[tuple[Request, float]]
) -> Callable[..., Executed]:
    """What ``hotenv run`` with these words would execute, with a small parent environment."""

    def execute(launch: Launch) -> None:
        raise Executed(launch)

    def run_(*words: str) -> Executed:
        with pytest.raises(Executed) as caught:
            main(["run", *words])
        return caught.value

    monkeypatch.setattr(Launch, "execute", execute)
    environment = {b"PATH": b"/x", b"P": b"p"}
    monkeypatch.setattr(run, "inherited_environment", environment.copy)
    return run_


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--only", "TOKEM"], "--only 'TOKEM': no matching variable in the session"),
        (["--only", "A=secret"], "PATTERN is for names and must not contain '='"),
        (["--except", "A=secret"], "PATTERN is for names and must not contain '='"),
        (["--pass", "@x"], "--pass @x: no such group, choose from @net, @tls, @ssh-agent, @xdg"),
        (["--pass", ""], "--pass: empty name"),
        (["--pass", "A=secret"], "--pass: name contains '='"),
        (["--define", "=secret"], "--define: empty name"),
        (["--define", "A=secret\udcff"], "--define: not valid UTF-8"),
        (["--as-file", ""], "--as-file: empty name"),
        (["--as-file", "=A"], "--as-file: empty name"),
        (["--as-file", "A="], "--as-file: empty name"),
        (["--as-file", "A=B=C"], "--as-file: name contains '='"),
        (["--as-file", "NO"], "--as-file NO: no such variable in the session"),
        (["--as-file", "A", "--except", "A"], "--as-file A: no such variable in the session"),
        (["--env-file", "json"], "--env-file: requires exactly one {} in the command"),
    ],
    ids=lambda value: ascii(" ".join(value)) if isinstance(value, list) else "",
)
def test_fields_are_options(
    words: list[str],
    message: str,
    session: list[tuple[Request, float]],
    capfd: pytest.CaptureFixture[str],
) -> None:
    """What is wrong is said of the option, and before any server is asked if it can be."""
    assert main(["run", *words, "true"]) == 2
    assert capfd.readouterr().err.startswith(f"hotenv: {message}")
    late = "no matching" in message or "no such variable" in message
    assert len(session) == late


_TWICE = [
    ("--as-file A=X --as-file B=X", "--as-file X: duplicate name"),
    ("--as-file A --as-file B=A_FILE", "--as-file A_FILE: duplicate name"),
    ("--as-file A --as-file A", "--as-file A: duplicate name"),
    ("--as-file A=X --as-file A=Y", "--as-file A: duplicate name"),
    ("--as-file A=X --as-file=A=X", "--as-file A: duplicate name"),
    ("--define A=secret --define A=2", "--define A: duplicate name"),
    ("--define A=secret --define=A=secret", "--define A: duplicate name"),
    ("--define X=secret --as-file A=X", "--as-file X: also defined"),
    ("--as-file A --define A_FILE=secret", "--as-file A_FILE: also defined"),
    ("--as-file A=PATH --bin b", "--as-file PATH: directories are prepended to it"),
    ("--as-file A=B", "--as-file B: also a variable of the session: use NAME=OTHER"),
    ("--as-file A=AB --no-override --isolated", "--as-file AB: also a variable of the session"),
    ("--as-file A=B --env-file json {}", "--as-file B: also a variable of the session: use "),
]


@pytest.mark.parametrize("explain", [(), ("--explain",)], ids=["run", "explain"])
@pytest.mark.parametrize(("words", "message"), _TWICE, ids=[words for words, _ in _TWICE])
def test_one_target_twice(
    words: str,
    message: str,
    explain: tuple[str, ...],
    session: list[tuple[Request, float]],
    capfd: pytest.CaptureFixture[str],
) -> None:
    """Options that would lose a value silently are refused, before the session is asked if able."""
    assert main(["run", *explain, *words.split(), "true"]) == 2
    out, err = capfd.readouterr()
    assert out == ""
    assert err.startswith(f"hotenv: {message}")
    assert "secret" not in err
    assert len(session) == ("of the session" in message)


@pytest.mark.parametrize(
    "words",
    [
        "--as-file A=PATH",
        "--as-file A=P",
        "--as-file A=A",
        "--as-file A=B --as-file B=A",
        "--as-file A=B --except B",
        "--as-file A=B --only A",
        "--as-file A --define A=1",
        "--define A=1 --define a=2",
        "--define PATH=/y --bin z",
        "--bin y --bin y",
        "--pass P --pass P --define P=1",
    ],
)
def test_targets_that_are_not_the_same(
    words: str, executed: Callable[..., Executed], capfd: pytest.CaptureFixture[str]
) -> None:
    """What sets each variable once is let through, and --explain agrees on every file."""
    launch = executed(*words.split(), "true")
    assert main(["run", "--explain", *words.split(), "true"]) == 0
    rows = [line.split("\t") for line in capfd.readouterr().out.splitlines()]
    assert {row[0] for row in rows if row[1] == "file"} == {n.decode() for n in launch.files}
    assert len(launch.files) == words.count("--as-file")


def test_a_default_target_that_the_session_has(
    session: list[tuple[Request, float]],
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
) -> None:
    """NAME_FILE of the session is not replaced, unless it goes into a file itself."""
    monkeypatch.setitem(SESSION, "A_FILE", "5")
    assert main(["run", "--explain", "--as-file", "A", "true"]) == 2
    assert capfd.readouterr() == (
        "",
        "hotenv: --as-file A_FILE: also a variable of the session: use NAME=OTHER\n",
    )
    both = ["--as-file", "A", "--as-file", "A_FILE"]
    assert main(["run", "--explain", "--isolated", *both, "true"]) == 0
    shown = capfd.readouterr().out
    assert "A_FILE\tfile\n" in shown
    assert "A_FILE_FILE\tfile\n" in shown


def test_bin_is_shown_as_an_option(
    directory: Path, session: list[tuple[Request, float]], capfd: pytest.CaptureFixture[str]
) -> None:
    """A directory that PATH cannot hold is shown as PATH would have it."""
    assert main(["run", "--bin", "a:b", "true"]) == 2
    assert capfd.readouterr().err == (
        f"hotenv: --bin {directory}/a:b: a directory in PATH cannot contain ':'\n"
    )
    assert session == []


def test_dump_says_the_option(
    session: list[tuple[Request, float]], capfd: pytest.CaptureFixture[str]
) -> None:
    """The options that dump shares with run are named there too."""
    assert main(["dump", "--only", "A", "--only", "C"]) == 2
    assert capfd.readouterr() == (
        "",
        "hotenv: --only 'C': no matching variable in the session\n",
    )


OPTIONS = {
    "only": "--only",
    "excluded": "--except",
    "override": "--no-override",
    "isolated": "--isolated",
    "passed": "--pass",
    "defined": "--define",
    "bins": "--bin",
    "as_file": "--as-file",
    "env_file": "--env-file",
}


@pytest.mark.parametrize("item", ["", "@x"])
@pytest.mark.parametrize("field", [field.name for field in attrs.fields(Composition)])
def test_every_field_has_its_option(
    field: str,
    item: str,
    directory: Path,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
) -> None:
    """No field of a composition reaches the user under the name it has in Python."""

    def fail(_args: object) -> None:
        raise FieldError(field, "is wrong", item)

    monkeypatch.setattr(run, "run", fail)
    assert main(["run", "--explain", "true"]) == 2
    shown = f"{OPTIONS[field]} {item}" if item else OPTIONS[field]
    assert capfd.readouterr().err == f"hotenv: {shown}: is wrong\n"


@pytest.mark.parametrize(
    ("words", "names"),
    [
        (["--only", "CL\udcc3\udc89"], ["CLÉ"]),
        (["--only", "CL?"], ["CLÉ"]),
        (["--except", "CL\udcc3\udc89"], ["A", "AB", "B"]),
        (["--except", "CLÉ"], ["A", "AB", "B"]),
    ],
    ids=ascii,
)
def test_selection_in_any_locale(
    words: list[str],
    names: list[str],
    session: list[tuple[Request, float]],
    capfd: pytest.CaptureFixture[str],
) -> None:
    """Where the locale knows no É, its bytes in a pattern are the name's all the same."""
    assert main(["dump", "--format", "null", *words]) == 0
    lines = capfd.readouterr().out.split("\0")[:-1]
    assert [line.partition("=")[0] for line in lines] == names


@pytest.mark.parametrize("letter", ["É", "\udcc3\udc89"], ids=ascii)
def test_names_in_any_locale(
    letter: str, directory: Path, executed: Callable[..., Executed]
) -> None:
    """Every option with a name in it takes the bytes of the command line as UTF-8."""
    launch = executed(
        "--isolated",
        *("--pass", f"P{letter}", "--define", f"D{letter}={letter}", "--bin", f"b{letter}"),
        *("--as-file", f"CL{letter}=F{letter}", "true"),
    )
    encoded = "É".encode()
    assert launch.env == {
        b"PATH": os.fsencode(directory) + b"/b" + encoded + b":/x",
        b"A": b"1",
        b"AB": b"2",
        b"B": b"3",
        b"D" + encoded: encoded,
        b"F" + encoded: b"",
    }
    assert launch.files == {b"F" + encoded: b"4"}


def test_a_real_locale(directory: Path) -> None:
    """In the C locale, without any help of Python's, a variable is excluded as elsewhere."""
    bare = {**os.environ, "LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}
    with serving(directory, "CLÉ=1\nA=2\n".encode(), "-q"):
        only = hotenv("dump", "--only", "CLÉ".encode(), cwd=directory, env=bare)
        without = hotenv("dump", "--except", "CLÉ".encode(), cwd=directory, env=bare)
    assert (only.stdout, only.stderr) == ("CLÉ=1\n".encode(), b"")
    assert (without.stdout, without.stderr) == (b"A=2\n", b"")


def test_version(capfd: pytest.CaptureFixture[str]) -> None:
    """--version is data, on standard output."""
    with pytest.raises(SystemExit) as caught:
        main(["--version"])
    assert caught.value.code == 0
    assert capfd.readouterr() == (f"hotenv {__version__}\n", "")


def test_directory(directory: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """-C goes there first, before the command or after it, one after the other; --bin follows."""
    (directory / "a" / "b").mkdir(parents=True)
    for words in [["-C", "a", "-C", "b", "dump"], ["-C", "a", "dump", "-C", "b"]]:
        os.chdir(directory)
        assert main(words) == 3
        assert f"no .hotenv in {directory}/a/b or any" in capfd.readouterr().err
    assert main(["-C", "nowhere", "dump"]) == 8
    assert "cannot change to directory nowhere: no such file or directory" in capfd.readouterr().err


@pytest.mark.parametrize("command", ["", *COMMANDS])
def test_help(command: str, capfd: pytest.CaptureFixture[str]) -> None:
    """The help of every command says in a sentence what it does, and how it is used."""
    with pytest.raises(SystemExit) as caught:
        main([*command.split(), "--help"])
    assert caught.value.code == 0
    text = capfd.readouterr().out
    usage, description, *_ = text.split("\n\n")
    assert usage.startswith(f"usage: hotenv {command}".rstrip())
    assert re.fullmatch(r"[A-Z].*\.", description, re.DOTALL)
    assert f"hotenv {command}" in text.split("example:")[1]


def test_usage_of_run(capfd: pytest.CaptureFixture[str]) -> None:
    """The command to run is shown as what follows the options."""
    with pytest.raises(SystemExit):
        main(["run", "--help"])
    assert capfd.readouterr().out.startswith(
        "usage: hotenv run [OPTIONS] [--] COMMAND [ARG ...]\n\n"
    )


@pytest.mark.parametrize("columns", [60, 140])
@pytest.mark.parametrize("command", ["run", "serve"])
def test_help_is_as_wide_as_the_terminal(
    command: str, columns: int, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    """Text goes to the right edge, and not beyond."""
    monkeypatch.setenv("COLUMNS", str(columns))
    with pytest.raises(SystemExit):
        main([command, "--help"])
    longest = max(map(len, capfd.readouterr().out.splitlines()))
    assert columns - 20 < longest <= columns - 2


def test_headings(capfd: pytest.CaptureFixture[str]) -> None:
    """What is no option is listed under a heading of one word."""
    with pytest.raises(SystemExit):
        main(["completion", "--help"])
    assert "\n\narguments:\n  SHELL " in capfd.readouterr().out


def test_defaults_of_serve() -> None:
    """Five minutes, no force, log lines short, interpolation on."""
    args = build_parser().parse_args(["serve"])
    assert (args.timeout, args.max_age) == (None, None)  # what the project's file says, or these:
    assert (DEFAULT_TIMEOUT, DEFAULTS["session.timeout"]) == (300, "5m")
    assert args.interpolate
    assert (args.force, args.quiet, args.verbose, args.prompt, args.strict) == (False,) * 5


@pytest.mark.parametrize(
    ("words", "command"),
    [
        (["--", "x", "--", "-h"], ["--", "x", "--", "-h"]),
        (["x", "-h", "--version"], ["x", "-h", "--version"]),
        (["--", "--", "x"], ["--", "--", "x"]),
        (["", "x"], ["", "x"]),
        (["--only", "A", "--", "x", "--only", "B"], ["--", "x", "--only", "B"]),
        (["--only", "A", "x", "--only", "B"], ["x", "--only", "B"]),
        (["--isolated", "x", "--", "--isolated"], ["x", "--", "--isolated"]),
        (["--define", "A=--", "--", "x"], ["--", "x"]),
    ],
    ids=str,
)
def test_words_of_run(words: list[str], command: list[str]) -> None:
    """argparse touches nothing from the first word that is no option."""
    assert build_parser().parse_args(["run", *words]).argv == command


@pytest.mark.parametrize(
    ("line", "wait"),
    [("-- x --isolated", 0), ("x --isolated", 0), ("--wait 1m -- x --isolated", 60)],
)
def test_plain_run(
    line: str, wait: float, session: list[tuple[Request, float]], executed: Callable[..., Executed]
) -> None:
    """Without a layer among the options the session is laid over the environment."""
    launch = executed(*line.split())
    assert launch.argv == ["x", "--isolated"]
    names = {b"PATH", b"P", *(name.encode() for name in SESSION)}
    assert launch.env.keys() == names
    assert (launch.files, launch.env_file) == ({}, None)
    assert session == [(Request("run", ["x", "--isolated"]), wait)]


def test_options_of_run(
    directory: Path, monkeypatch: pytest.MonkeyPatch, executed: Callable[..., Executed]
) -> None:
    """Options become those of the layers: only those that were given, directories absolute."""
    asked: list[object] = []

    def record(
        inherited: dict[bytes, bytes], session: dict[str, str], **options: object
    ) -> ChildEnvironment:
        asked.append(options)
        return compose_layers(inherited, session)

    monkeypatch.setattr(layers, "compose_layers", record)
    for line in [
        "--isolated -- x",
        "--wait 2 --isolated x",
        "--only A --only=B* --except C --no-override x",
        "--pass @net --pass D --define E=f=g --define H= --bin b --bin /c/../d x",
        "--as-file A --as-file B=F x",
        "--env-file null x {}",
    ]:
        executed(*line.split())
    assert asked == [
        {"isolated": True},
        {"isolated": True},
        {"only": ["A", "B*"], "excluded": ["C"], "override": False},
        {
            "passed": ["@net", "D"],
            "defined": {"E": "f=g", "H": ""},
            "bins": [f"{directory}/b", "/d"],
        },
        {"as_file": {"A": "A_FILE", "B": "F"}},
        {"env_file": "null"},
    ]


def test_files_of_run(executed: Callable[..., Executed]) -> None:
    """What goes into files is left for the last step, with the placeholder still in its place."""
    launch = executed("--only", "A*", "--as-file", "A", "--env-file", "null", "x", "-f{}")
    assert launch.argv == ["x", "-f{}"]
    assert launch.env == {b"PATH": b"/x", b"P": b"p", b"A_FILE": b""}
    assert launch.files == {b"A_FILE": b"1"}
    assert launch.env_file == b"AB=2\0"


def test_explain_runs_nothing(
    session: list[tuple[Request, float]],
    executed: Callable[..., Executed],
    capfd: pytest.CaptureFixture[str],
) -> None:
    """--explain asks as dump does and prints; the same line without it becomes the command."""
    line = ["--isolated", "--only", "A", "--pass", "C", "--", "cmd", "--explain"]
    assert main(["run", "--explain", *line]) == 0
    shown = (
        "A\tsession\nAB\tabsent\tnot selected by --only\nB\tabsent\tnot selected by --only\n"
        "C\tabsent\tnot set in the environment\nCLÉ\tabsent\tnot selected by --only\n"
        "PATH\tessential\n"
    )
    assert capfd.readouterr() == (shown, "")
    launch = executed(*line)
    assert launch.argv == ["cmd", "--explain"]
    assert launch.env == {b"PATH": b"/x", b"A": b"1"}
    assert session == [(Request("dump"), 0), (Request("run", ["cmd", "--explain"]), 0)]
    assert main(["run", "--explain", "cmd"]) == 0
    assert "P\tinherited\n" in capfd.readouterr().out


def test_dump_is_sorted_and_raw(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str], directory: Path
) -> None:
    """NAME=value, as the values are."""
    variables = {"b": "x y", "B": "two\nlines", "A": "", "Ä": "ö"}
    monkeypatch.setattr(dump, "ask", lambda _request, **_how: (MARKER, variables))
    assert main(["dump"]) == 0
    assert capfd.readouterr() == ("A=\nB=two\nlines\nb=x y\nÄ=ö\n", "")


def test_dump_of_some(
    session: list[tuple[Request, float]], capfd: pytest.CaptureFixture[str]
) -> None:
    """--only and --except select, in every format."""
    assert main(["dump", "--only", "A*", "--only", "B", "--except", "AB"]) == 0
    assert capfd.readouterr() == ("A=1\nB=3\n", "")
    assert main(["dump", "--format", "json", "--except", "[!A]*"]) == 0
    assert capfd.readouterr() == ('{"A": "1", "AB": "2"}\n', "")
    assert session == [(Request("dump"), 0)] * 2
