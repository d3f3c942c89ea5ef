"""The manual pages: they say what --help and the topics say, and can be read."""

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
from hotenv.cli.commandline import build_parser
from hotenv.cli.help import read, title, topics
from processes import LIMIT

PAGES = ["hotenv.1", *(f"hotenv-{topic}.7" for topic in topics())]


def installed(name: str) -> Path:
    """The page that was installed with the package, where man looks for it."""
    for file in files("hotenv") or ():
        if file.name == name:
            assert file.parts[-4:] == ("share", "man", f"man{name[-1]}", name)
            return Path(file.locate()).resolve(strict=True)
    pytest.skip("the pages are made when the package is installed")


@pytest.fixture(scope="module")
def text() -> str:
    """The source of hotenv(1), as it reads."""
    plain = re.sub(r"\\f[BIR]|\\[,/]", "", installed("hotenv.1").read_text())
    return plain.replace(r"\-", "-").replace(r"\(aq", "'")


def _argument(action: argparse.Action) -> str:
    return f"[{action.metavar}]" if action.nargs == "?" else str(action.metavar)


def in_help(parser: argparse.ArgumentParser) -> list[tuple[str, str]]:
    """The entries of ``--help``, but for that option itself."""
    expand = argparse.HelpFormatter(parser.prog)._expand_help
    return [
        (
            ", ".join(
                f"{option} {_argument(action)}" if action.metavar else option
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
    assert "\nFor help on a command, run it with -h or --help.\n" in text


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


def test_all_pages_are_referred_to(text: str) -> None:
    """hotenv(1) names the page of each topic."""
    _, _, section = text.partition(".SH SEE ALSO\n")
    assert re.findall(r"\.BR (hotenv\S+) \(7\)", section) == [f"hotenv-{each}" for each in topics()]


@pytest.mark.parametrize("topic", topics())
def test_page_of_a_topic(topic: str) -> None:
    """It has the version, no date, and the title of the topic where apropos looks for it."""
    source = installed(f"hotenv-{topic}.7").read_text().replace("\\-", "-")
    assert f'.TH "hotenv-{topic}" "7" "" "hotenv {__version__}" "hotenv"\n' in source
    assert f".SH Name\nhotenv-{topic} - {title(read(topic))}\n.SH Description\n" in source


@pytest.mark.parametrize("name", PAGES)
def test_quotes(name: str) -> None:
    """They can be copied into a shell: what is ' in the source, many show as a curved one."""
    assert "'" not in installed(name).read_text()


EXAMPLES = {
    "hotenv.1": "hotenv run -- sh -c 'echo \"$NAME\"'",
    "hotenv-formats.7": "hotenv dump --format null | cut -z -d= -f1 | tr '\\0' '\\n'",
    "hotenv-isolation.7": "| --define NAME=VALUE not for secrets |",
}


@pytest.mark.parametrize("name", PAGES)
@pytest.mark.parametrize(
    "command", ["man --warnings --local-file", "mandoc -Tutf8 -Werror", "groff -man -Tutf8 -ww"]
)
def test_it_can_be_read(command: str, name: str) -> None:
    """What shows manual pages has nothing against it, and examples come out as they are typed."""
    reader, *options = command.split()
    if not shutil.which(reader):
        pytest.skip(f"no {reader}")
    result = subprocess.run(
        [reader, *options, installed(name)],
        env={**os.environ, "LC_ALL": "C.UTF-8", "GROFF_NO_SGR": "1"},
        capture_output=True,
        timeout=LIMIT,
    )
    assert (result.returncode, result.stderr) == (0, b"")
    shown = " ".join(re.sub(r".\x08", "", result.stdout.decode()).split())
    assert EXAMPLES.get(name, "hotenv") in shown
