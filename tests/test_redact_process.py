"""``hotenv redact``, the filter."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from processes import HOTENV, LIMIT, Terminal, hotenv, said, serving

TOKEN = "s3cr3t/Val+ue=42"
TEXT = f"TOKEN={TOKEN}\nDATABASE=postgres://db\nPORT=5432\nEMPTY=\n".encode()
WARNING = (
    b"hotenv: warning: not redacted, as too short or too common: PORT (use --redact-short to "
    b"redact them too)\n"
)


@pytest.fixture
def session(directory: Path) -> Iterator[Path]:
    """A directory with a session."""
    with serving(directory, TEXT):
        yield directory


def test_filter(session: Path) -> None:
    """Values become names, everything else stays, and one line names what is not hidden."""
    result = hotenv("redact", cwd=session, stdin=b"a s3cr3t/Val+ue=42\0\xff 5432\r\n")
    assert (result.returncode, result.stderr) == (0, WARNING)
    assert result.stdout == b"a [TOKEN]\0\xff 5432\r\n"


def test_short_values(session: Path) -> None:
    """They are hidden too if that is asked for."""
    result = hotenv("redact", "--redact-short", cwd=session, stdin=b"port 5432\n")
    assert (result.returncode, result.stdout, result.stderr) == (0, b"port [PORT]\n", b"")


def test_selection(session: Path) -> None:
    """Only some variables; a pattern that matches none is a usage error."""
    text = f"{TOKEN} postgres://db".encode()
    result = hotenv("redact", "--only", "D*", cwd=session, stdin=text)
    assert (result.stdout, result.stderr) == (f"{TOKEN} [DATABASE]".encode(), b"")
    result = hotenv("redact", "--except", "D*", "--except", "P*", cwd=session, stdin=text)
    assert (result.stdout, result.stderr) == (b"[TOKEN] postgres://db", b"")
    result = hotenv("redact", "--only", "X", cwd=session, stdin=text)
    assert result.returncode == 2
    assert said(result) == "hotenv: --only 'X': no matching variable in the session"


def test_without_a_session(directory: Path) -> None:
    """Nothing comes out that could have a value."""
    result = hotenv("redact", cwd=directory, stdin=TOKEN.encode())
    assert result.returncode == 3
    said(result)


def test_a_reader_that_goes_away(session: Path) -> None:
    """The filter ends as others do, and so ends what writes to it."""
    read, write = os.pipe()
    os.close(read)
    with open(write, "wb") as output:
        result = subprocess.run(
            [*HOTENV, "redact", "--only", "TOKEN"],
            cwd=session,
            input=b"text\n",
            stdout=output,
            stderr=subprocess.PIPE,
            timeout=LIMIT,
        )
    assert (result.returncode, result.stderr) == (141, b"")


def test_input_that_cannot_be_read(session: Path) -> None:
    """One line says so."""
    file = os.open(session / "file", os.O_WRONLY | os.O_CREAT)
    try:
        result = subprocess.run(
            [*HOTENV, "redact", "--only", "TOKEN"],
            cwd=session,
            stdin=file,
            capture_output=True,
            timeout=LIMIT,
        )
    finally:
        os.close(file)
    assert result.returncode == 8
    assert said(result) == "hotenv: cannot read standard input: bad file descriptor"


def test_a_prompt_appears(session: Path) -> None:
    """What may be the beginning of a value does not wait for more."""
    program = "printf 'what s3c'; read -r line; printf 'r3t/%s' \"$line\""
    words = f"{{ {program}; }} | {' '.join(HOTENV)} redact --only TOKEN"
    terminal = Terminal(["sh", "-c", words], session)
    terminal.expect(b"what s3c")
    terminal.type(b"Val+ue=42\n")
    terminal.expect(b"[TOKEN]")
    assert terminal.wait() == 0
