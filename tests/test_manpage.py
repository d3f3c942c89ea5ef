"""The manual page: it says what --help says, and what reads such pages takes it."""

from __future__ import annotations

import argparse
import os
import re
import shutil
import subprocess
from importlib.metadata import files
from pathlib import Path

import pytest

from hotenv import __version__, errors
from hotenv.arguments import build_parser
from processes import LIMIT


@pytest.fixture(scope="module")
def page() -> Path:
    """The page that was installed with the package."""
    for file in files("hotenv") or ():
        if file.name == "hotenv.1":
            return Path(file.locate()).resolve(strict=True)
    pytest.skip("the page is made when the package is installed")


@pytest.fixture(scope="module")
def text(page: Path) -> str:
    """The source of the page, as it reads."""
    plain = re.sub(r"\\f[BIR]|\\[,/]", "", page.read_text())
    return plain.replace(r"\-", "-").replace(r"\(aq", "'")


def in_help(parser: argparse.ArgumentParser) -> list[tuple[str, str]]:
    """The entries of ``--help``, but for that option itself."""
    expand = argparse.HelpFormatter(parser.prog)._expand_help
    return [
        (
            ", ".join(
                f"{option} {action.metavar}" if action.metavar else option
                for option in action.option_strings
            )
            or str(action.metavar),
            expand(action),
        )
        for action in parser._actions
        if action.help != argparse.SUPPRESS
        and not isinstance(action, (argparse._SubParsersAction, argparse._HelpAction))
    ]


def test_all_that_the_parser_has(text: str) -> None:
    """Each command, option and argument is there in its place, with the words of ``--help``."""
    parser = build_parser()
    (subparsers,) = (a for a in parser._actions if isinstance(a, argparse._SubParsersAction))
    sections = re.findall(r"(?ms)^\.SS hotenv (\S+)\n(.*?)(?=^\.S[SH])", text)
    assert [name for name, _ in sections] == list(subparsers.choices)
    for name, section in sections:
        command = subparsers.choices[name]
        assert re.findall(r"\.TP\n(.*)\n(.*)", section) == in_help(command)
        assert f"\n{command.description}\n" in section
        example = str(command.epilog).removeprefix("example: ")
        assert f".TP\n.B hotenv {name}\n{example}\n" in text
    top, _, _ = text.partition("\nCOMMANDS\n")
    assert re.findall(r"\.TP\n(.*)\n(.*)", top) == in_help(parser)
    assert f"\n{parser.description}\n" in top
    assert "with -h or --help." in text


def test_exit_codes(text: str) -> None:
    """All of them, with what the errors say about themselves."""
    _, _, section = text.partition(".SH EXIT STATUS\n")
    codes = re.findall(r"\.TP\n\.B (\d+)\n(.+)", section)
    kinds = errors.HotenvError.__subclasses__()
    assert {(str(kind.exit_code), str(kind.__doc__).split("\n")[0]) for kind in kinds} < {*codes}
    assert [code for code, _ in codes] == ["0", "2", "3", "4", "7", "8", "9", "10", "130", "141"]


def test_the_same_page_for_the_same_version(text: str) -> None:
    """It has the version, and no date."""
    assert text.startswith(f'.TH HOTENV "1" "" "hotenv {__version__}" "User Commands"\n')


def test_quotes(page: Path) -> None:
    """They can be copied into a shell: what is ' in the source, many show as a curved one."""
    assert "'" not in page.read_text()


@pytest.mark.parametrize(
    "command", ["man --warnings --local-file", "mandoc -Tutf8 -Werror", "groff -man -Tutf8 -ww"]
)
def test_it_can_be_read(command: str, page: Path) -> None:
    """What shows manual pages has nothing against it, and examples come out as they are typed."""
    reader, *options = command.split()
    if not shutil.which(reader):
        pytest.skip(f"no {reader}")
    result = subprocess.run(
        [reader, *options, page],
        env={**os.environ, "LC_ALL": "C.UTF-8", "GROFF_NO_SGR": "1"},
        capture_output=True,
        timeout=LIMIT,
    )
    assert (result.returncode, result.stderr) == (0, b"")
    shown = " ".join(re.sub(r".\x08", "", result.stdout.decode()).split())
    assert "hotenv run -- sh -c 'echo \"$NAME\"'" in shown
