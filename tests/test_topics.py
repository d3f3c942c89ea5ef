"""``hotenv help``, and what all its texts have in common."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from hotenv.cli import help as topics
from hotenv.cli.commandline import COMMANDS
from hotenv.cli.main import main
from processes import hotenv, said
from readme import DOCUMENTS, TEXT, TOPICS


def test_list(capfdbinary: pytest.CaptureFixture[bytes]) -> None:
    """Without a topic, all topics and commands are listed with a line for each."""
    assert main(["help"]) == 0
    listed = dict(re.findall(r"(?m)^  (\S+) +(.+)$", capfdbinary.readouterr().out.decode()))
    assert listed == {topic: topics.title(text) for topic, text in TOPICS.items()} | COMMANDS


@pytest.mark.parametrize("topic", TOPICS)
def test_topic(topic: str, capfdbinary: pytest.CaptureFixture[bytes]) -> None:
    """A topic is printed without what is there for docutils and for the tests."""
    assert main(["help", topic]) == 0
    printed = capfdbinary.readouterr().out.decode()
    kept = [line for line in TOPICS[topic].splitlines() if not line.lstrip().startswith("..")]
    assert [line for line in printed.splitlines() if line] == [line for line in kept if line]
    assert not re.search(r"(?m)^ *\.\. ", printed)
    assert "\n\n\n\n" not in printed


def test_code_stays_a_block() -> None:
    """What marks a block goes, with one empty line: those around the block stay."""
    text = "Text:\n\n.. test: it\n\n.. code:: sh\n\n    a\n\n    b\n\nMore.\n"
    assert topics.readable(text) == "Text:\n\n    a\n\n    b\n\nMore.\n"


@pytest.mark.parametrize("command", COMMANDS)
def test_command(command: str, directory: Path) -> None:
    """The help of a command is that of its --help."""
    asked = hotenv("help", command, cwd=directory)
    assert asked.stdout == hotenv(command, "--help", cwd=directory).stdout
    assert (asked.returncode, asked.stderr) == (0, b"")


def test_unknown_topic(directory: Path) -> None:
    """A misspelt topic is a usage error with a guess."""
    result = hotenv("help", "secruity", cwd=directory)
    assert result.returncode == 2
    assert said(result).startswith("hotenv: no such topic 'secruity': did you mean 'security'?")


def test_missing_file(
    directory: Path, monkeypatch: pytest.MonkeyPatch, capfdbinary: pytest.CaptureFixture[bytes]
) -> None:
    """A topic that cannot be read is an error that names the file."""
    (directory / "gone.rst").symlink_to("nowhere")
    monkeypatch.setattr(topics, "TOPICS", directory)
    assert main(["help", "gone"]) == 8
    message = f"hotenv: cannot read {directory}/gone.rst: no such file or directory"
    assert capfdbinary.readouterr().err.decode() == f"{message} (reinstall hotenv)\n"


@pytest.mark.parametrize("topic", TOPICS)
def test_a_terminal_of_80_columns(topic: str) -> None:
    """Text fits into one, and needs no more than ASCII: it is shown as it is. Code may be wider."""
    blocks = re.findall(r"(?m)^( *)\.\. code:: .*\n((?:\n|\1 {4}.*\n)+)", TOPICS[topic])
    code = {line for _, block in blocks for line in block.splitlines()}
    lines = TOPICS[topic].splitlines()
    assert [line for line in lines if len(line) > 79 and line not in code] == []
    assert TOPICS[topic].isascii()
    assert len(f"  {'exit-codes'}  {topics.title(TOPICS[topic])}") <= 80


@pytest.mark.parametrize("name", DOCUMENTS)
def test_references(name: str) -> None:
    """What a text says to look up is there."""
    named = set(re.findall(r"``hotenv\s+help\s+([a-z-]+)``", DOCUMENTS[name]))
    assert named <= {*TOPICS, *COMMANDS}


def test_each_labelled_block_has_a_test() -> None:
    """A block that is moved or renamed does not lose its test. See test_sources, too."""
    labels = re.findall(r"(?m)^ *\.\. test: ((?!source |prompt ).+)$", TEXT)
    sources = "".join(path.read_text() for path in Path(__file__).parent.glob("test_*.py"))
    assert labels
    assert {label for label in labels if f'"{label}"' not in sources} == set()
