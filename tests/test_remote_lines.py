"""remote.lines: what a bash is told."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hotenv.remote import lines
from processes import needs


@needs("bash")
@settings(max_examples=25, deadline=None)
@given(st.binary(max_size=50).map(lambda data: data.replace(b"\0", b"")))
def test_quoted(text: bytes) -> None:
    """A quoted word is one word to bash, and nothing in it means anything."""
    script = b"printf %s " + lines.quoted(text)
    assert subprocess.run(["bash"], input=script, capture_output=True).stdout == text


@needs("bash")
def test_at_once() -> None:
    """They are run, and what comes after them is the next line."""
    script = lines.at_once(b"a='\n'\nb=\xff\n\n") + b'printf %s "[$a$b]"\n'
    assert subprocess.run(["bash"], input=script, capture_output=True).stdout == b"[\n\xff]"


def test_exports() -> None:
    """A line for each variable."""
    assert lines.exports({b"A": b"b c"}) == b"\\builtin export A='b c'\n"
    assert lines.exports({}) == b""


@pytest.mark.parametrize(
    "name", [b"A.B", b"a b", b"1A", b"\xc3\xa9", b"UID", b"_", b"HOTENV_SHELL"]
)
def test_not_settable(name: bytes) -> None:
    """What is no name for bash, and names that it has for itself."""
    found = lines.unsuitable({b"A": b"", name: b"", b"B": b""})
    assert found == (name, "cannot be set on another machine")
    assert lines.unsuitable({b"A": b"", b"_B2": b""}) is None


def test_too_long() -> None:
    """Linux counts the name, what is between them, and the NUL at the end."""
    assert lines.unsuitable({b"LONG": b"x" * 131_066}) is None
    found = lines.unsuitable({b"A": b"", b"LONG": b"x" * 131_067})
    assert found is not None
    assert found[0] == b"LONG"
    assert "limit 131071 bytes" in found[1]


def become(script: bytes, directory: Path) -> subprocess.CompletedProcess[bytes]:
    """Have a bash run ``script`` as the other machine does."""
    words = ["bash", "--norc", "--noprofile", "-c", 'eval "$(cat)"; exit 255', "hotenv"]
    return subprocess.run([*words, str(directory)], input=script, capture_output=True)


@needs("bash")
def test_every_other_name_of_bash(tmp_path: Path) -> None:
    """A command gets the others as they are, whatever bash does with them itself."""
    listed = subprocess.run(["bash", "-c", "compgen -v"], capture_output=True, check=True).stdout
    names = [name for name in listed.split() if lines.unsuitable({name: b""}) is None]
    assert b"IFS" in names
    variables = {name: b"7 " + name for name in names if name != b"PATH"}
    script = lines.single_command([b"/usr/bin/env", b"-0"], variables)
    got = become(script, tmp_path / "a").stdout.split(b"\0")
    assert {name: name + b"=" + value in got for name, value in variables.items()} == dict.fromkeys(
        variables, True
    )


@needs("bash")
def test_a_single_command(tmp_path: Path) -> None:
    """The directory is gone when it starts; its words are its own."""
    (tmp_path / "a").mkdir()
    argv = [b"sh", b"-c", b'printf "<%s>" "$A" "$@" *', b"", b"it's", b"", b"$A"]
    done = subprocess.run(
        ["bash", "-c", 'eval "$(cat)"', "hotenv", str(tmp_path / "a")],
        input=lines.single_command(argv, {b"A": b"'\n'", b"LC_ALL": b"nowhere"}),
        capture_output=True,
        cwd=tmp_path,
    )
    assert done.stdout == b"<'\n'><it's><><$A><*>"
    assert done.stderr == b""


@needs("bash")
@pytest.mark.parametrize("variables", [{}, {b"A": b"b\nc"}])
def test_a_part_of_a_single_command(variables: dict[bytes, bytes], tmp_path: Path) -> None:
    """It runs nothing and does not end well, wherever it ends."""
    script = lines.single_command([b"touch", str(tmp_path / "b").encode()], variables)
    for end in range(len(script)):
        assert become(script[:end], tmp_path / "a").returncode == 255, script[:end]
        assert not any(tmp_path.iterdir())
    assert become(script, tmp_path / "a").returncode == 0
    assert [path.name for path in tmp_path.iterdir()] == ["b"]
