"""The command line, in this process: what it understands, and the codes of errors."""

from __future__ import annotations

import os
import re
from pathlib import Path

import pytest

from hotenv import __version__, commands, errors
from hotenv.arguments import build_parser
from hotenv.cli import main
from hotenv.exchange.protocol import Request
from hotenv.handover import launch
from hotenv.stdio import reserve_standard_streams


def all_errors() -> list[type[errors.HotenvError]]:
    """Every error that has a code."""
    return [e for e in vars(errors).values() if isinstance(e, type) and hasattr(e, "exit_code")]


@pytest.mark.parametrize("error", all_errors(), ids=lambda error: error.__name__)
def test_an_error_becomes_one_line_and_its_code(
    error: type[errors.HotenvError],
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
) -> None:
    """Whatever a command raises, main returns its code and shows it safely."""

    def fail(_form: str, **_options: object) -> None:
        raise error("what\nhappened\x1b[0m")

    monkeypatch.setattr(commands, "dump", fail)
    assert main(["dump"]) == error.exit_code
    assert capfd.readouterr() == ("", "hotenv: what\\nhappened\\x1b[0m\n")


def test_a_mistake_of_ours_is_one_line_too(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    """No traceback: its lines could quote values. It says where, and nothing that was in hand."""

    def fail(_form: str, **_options: object) -> None:
        raise ValueError("secret")

    monkeypatch.setattr(commands, "dump", fail)
    assert main(["dump"]) == 8
    words = capfd.readouterr().err
    assert "secret" not in words
    assert re.fullmatch(r"hotenv: internal error: ValueError at test_cli.py:\d+.*\n", words)


def test_interrupt(monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> None:
    """Ctrl-C is 130 and says nothing."""

    def interrupt(_form: str, **_options: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(commands, "dump", interrupt)
    assert main(["dump"]) == 130
    assert capfd.readouterr() == ("", "")


@pytest.mark.parametrize(
    ("argv", "words"),
    [
        ([], "COMMAND"),
        (["nonsense"], "there is no 'nonsense': choose from serve, run, dump"),
        (["srve"], "did you mean serve?"),
        (["dump", "--ony", "A"], "--ony, did you mean --only? (see 'hotenv dump --help')"),
        (["run", "-x", "true"], "-x (see 'hotenv run --help')"),
        (["serve", "--no"], "did you mean --no-interpolate?"),
        (["dump", "--json"], "unrecognized: --json (see"),
        (["serve", "A=secret"], "unrecognized: A=... (see"),
        (["A=secret"], "there is no 'A=...': choose from serve, run, dump"),
        (["completion", "A=secret"], "there is no 'A=...': choose from bash"),
        (["serve", "--quiet=secret"], "argument -q/--quiet: takes no value (see"),
        (["run", "--explain=secret", "true"], "argument --explain: takes no value (see"),
        (["run", "--defin=A=s", "true"], "unrecognized: --defin=..., did you mean --define?"),
        (["dump", "--format", "jsno"], "did you mean json?"),
        (["status", "--short", "--all"], "--short goes with no other option"),
        (["serve", "--ready-fd", "2"], "3 or more"),
        (["serve", "--ready-fd", "x"], "3 or more"),
        (["serve", "--ready-fd", "9" * 30], "not open for writing"),
        (["run", "--wait", "0", "--", "true"], "no duration"),
        (["serve", "-t", "1d"], "1d"),
        (["serve", "-t"], "-t"),
        (["serve", "-q", "-v"], "not allowed with"),
        (["serve", "--forc"], "--forc"),
        (["serve", "--json"], "--check"),
        (["dump", "-\x1b"], r"-\x1b"),
        (["dump", "--format", "yaml"], "dotenv"),
        (["run"], "hotenv run -- COMMAND"),
        (["run", "--"], "hotenv run -- COMMAND"),
        (["run", "--nope", "true"], "--nope"),
        (["run", "--isolated"], "hotenv run -- COMMAND"),
        (["run", "--only"], "--only"),
        (["run", "--define", "A", "true"], "--define takes NAME=VALUE"),
        (["run", "--define", "=x", "true"], "an empty name"),
        (["run", "--bin", "", "true"], "--bin takes a folder"),
        (["run", "--bin", "a:b", "true"], "':'"),
        (["run", "--pass", "@x", "true"], "@net, @tls, @ssh-agent, @xdg"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_usage_errors(argv: list[str], words: str, capfd: pytest.CaptureFixture[str]) -> None:
    """Code 2 and one line that says what is wrong."""
    assert main(argv) == 2
    out, err = capfd.readouterr()
    assert out == ""
    assert err.startswith("hotenv: ")
    assert err.count("\n") == 1
    assert words in err
    assert "secret" not in err


def test_version(capfd: pytest.CaptureFixture[str]) -> None:
    """--version is data, on standard output."""
    with pytest.raises(SystemExit) as caught:
        main(["--version"])
    assert caught.value.code == 0
    assert capfd.readouterr() == (f"hotenv {__version__}\n", "")


def test_folder(folder: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """-C goes there first, before the command or after it, one after the other; --bin follows."""
    (folder / "a" / "b").mkdir(parents=True)
    for words in [["-C", "a", "-C", "b", "dump"], ["-C", "a", "dump", "-C", "b"]]:
        os.chdir(folder)
        assert main(words) == 3
        assert f"no .hotenv in {folder}/a/b " in capfd.readouterr().err
    assert main(["-C", "nowhere", "dump"]) == 8
    assert "cannot go to the folder nowhere: " in capfd.readouterr().err


@pytest.mark.parametrize(
    "command", ["", "serve", "run", "dump", "status", "stop", "prune", "completion"]
)
def test_help_has_an_example(command: str, capfd: pytest.CaptureFixture[str]) -> None:
    """Every command's help shows how it is used."""
    with pytest.raises(SystemExit):
        main([*command.split(), "--help"])
    out = capfd.readouterr().out
    assert f"hotenv {command}" in out.split("example:")[1]


def test_defaults_of_serve() -> None:
    """Five minutes, no force, log lines short, interpolation on."""
    args = build_parser().parse_args(["serve"])
    assert args.timeout == 300
    assert (args.force, args.quiet, args.verbose, args.no_interpolate) == (False,) * 4


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
    assert build_parser().parse_args(["run", *words]).words == command


def test_options_of_run(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Options become the fields of a composition: only those that were given, folders absolute."""
    asked: list[object] = []

    def run_composed(_words: object, options: object, *, explain: bool, wait: float) -> None:
        asked.append((options, explain, wait))

    monkeypatch.setattr(commands, "run", lambda words, wait: asked.append((words, wait)))
    monkeypatch.setattr(commands, "run_composed", run_composed)
    for line in [
        "x --isolated",
        "--isolated -- x",
        "--explain x",
        "--wait 1m -- x --wait 2",
        "--wait 2 --isolated x",
        "--only A --only=B* --except C --no-override x",
        "--pass @net --pass D --define E=f=g --define H= --bin b --bin /c/../d x",
    ]:
        assert main(["run", *line.split()]) == 0
    assert asked == [
        (["x", "--isolated"], 0),
        ({"isolated": True}, False, 0),
        ({}, True, 0),
        (["x", "--wait", "2"], 60),
        ({"isolated": True}, False, 2),
        ({"only": ["A", "B*"], "excluded": ["C"], "override": False}, False, 0),
        (
            {
                "passed": ["@net", "D"],
                "defined": [("E", "f=g"), ("H", "")],
                "bins": [f"{folder}/b", "/d"],
            },
            False,
            0,
        ),
    ]


def test_explain_runs_nothing(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str], folder: Path
) -> None:
    """--explain asks as dump does and prints; the same line without it becomes the command."""
    asked: list[Request] = []
    executed: list[tuple[list[str], dict[bytes, bytes]]] = []

    def ask(request: Request, _wait: float) -> dict[str, str]:
        asked.append(request)
        return {"A": "s3cret"}

    monkeypatch.setattr(commands, "_ask", ask)
    monkeypatch.setattr(launch, "inherited_environment", lambda: {b"PATH": b"/x", b"B": b"2"})
    monkeypatch.setattr(launch, "become", lambda words, env: executed.append((words, dict(env))))
    line = ["--isolated", "--pass", "C", "--", "cmd", "--explain"]
    assert main(["run", "--explain", *line]) == 0
    shown = "A\tsession\nC\tabsent\tnot set in the parent\nPATH\tessential\n"
    assert capfd.readouterr() == (shown, "")
    assert executed == []
    main(["run", *line])
    assert executed == [(["cmd", "--explain"], {b"PATH": b"/x", b"A": b"s3cret"})]
    assert asked == [Request("dump"), Request("run", ["cmd", "--explain"])]


def test_standard_streams_are_reserved() -> None:
    """A closed standard stream's number is not given to a file of ours, nor to the command."""
    saved = os.dup(0)
    os.close(0)
    try:
        reserve_standard_streams()
        assert os.path.samestat(os.fstat(0), os.stat(os.devnull))
        assert not os.get_inheritable(0)
    finally:
        os.dup2(saved, 0)
        os.close(saved)


def test_dump_is_sorted_and_raw(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str], folder: Path
) -> None:
    """NAME=value, as the values are."""
    variables = {"b": "x y", "B": "two\nlines", "A": "", "Ä": "ö"}
    monkeypatch.setattr(commands, "_ask", lambda _request: variables)
    assert main(["dump"]) == 0
    assert capfd.readouterr() == ("A=\nB=two\nlines\nb=x y\nÄ=ö\n", "")


def test_dump_of_some(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str], folder: Path
) -> None:
    """--only and --except select; a name that is not there prints nothing."""
    monkeypatch.setattr(commands, "_ask", lambda _request: {"A": "1", "AB": "2", "B": "3"})
    assert main(["dump", "--only", "A*", "--only", "B", "--except", "AB"]) == 0
    assert capfd.readouterr() == ("A=1\nB=3\n", "")
    assert main(["dump", "--only", "A", "--only", "C"]) == 2
    assert capfd.readouterr() == (
        "",
        "hotenv: no variable of the session matches --only 'C'\n",
    )
