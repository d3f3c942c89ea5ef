"""Variables that a command gets as files in memory."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from hotenv.errors import SystemFailureError
from hotenv.handover import files
from processes import HOTENV, LIMIT, hotenv, said, serving, wait_until

PYTHON = sys.executable
VALUE = "two\nlines 'and' \"quotes\" \\ ${X} grün\n"
BIG = "v" * 300_000

pytestmark = pytest.mark.skipif(
    not hasattr(os, "memfd_create"), reason="this system has no files in memory"
)


@pytest.fixture
def session(directory: Path) -> Iterator[Path]:
    """A session with a value that no line-based format takes, and one too large for execve."""
    quoted = VALUE.replace("\\", "\\\\").replace("'", "\\'")
    text = f"KEY='{quoted}'\nBIG={BIG}\nUSER_ID=7\n".encode()
    with serving(directory, text, "-q", "--no-interpolate"):
        yield directory


_CHECKS = """
import os, stat, subprocess, sys
path = os.environ["KEY_FILE"]
assert "KEY" not in os.environ
assert path.startswith(f"/proc/{os.getpid()}/fd/"), path
first, second = open(path, "rb").read(), open(path, "rb").read()
assert first == second
status = os.stat(path)
assert stat.S_IMODE(status.st_mode) == 0o400 and status.st_size == len(first)
with open(path, "rb") as file:
    assert file.seek(-1, os.SEEK_END) == len(first) - 1
try:
    with open(path, "r+b") as file:
        file.write(b"x")
    sys.exit("could be written")
except OSError:
    pass
# A grandchild without any descriptor of ours.
third = subprocess.check_output(["cat", path], close_fds=True)
assert third == first
sys.stdout.buffer.write(first)
"""


def test_as_file(session: Path) -> None:
    """The exact bytes, twice, sealed, mode 0400, and within reach of what the command starts."""
    result = hotenv(
        "run", "--as-file", "KEY", "--except", "BIG", "--", PYTHON, "-c", _CHECKS, cwd=session
    )
    assert result.stderr == b""
    assert result.stdout == VALUE.encode()


def test_too_large_for_an_environment(session: Path) -> None:
    """What no environment can hold goes through a file, under a name of one's choice."""
    result = hotenv(
        "run",
        "--as-file",
        "BIG=WHERE",
        "--",
        "sh",
        "-c",
        'wc -c < "$WHERE"; echo "$USER_ID"',
        cwd=session,
    )
    assert result.stdout.split() == [b"300000", b"7"]


def test_env_file(session: Path) -> None:
    """All selected variables in one file, none in the environment; the rest of the words stays."""
    script = "import json, os, sys; a = sys.argv; print(json.load(open(a[1][2:])) == "
    script += f"{{'KEY': {VALUE!r}, 'USER_ID': '7'}}, a[2:], 'USER_ID' in os.environ)"
    result = hotenv(
        "run",
        "--except",
        "BIG",
        "--env-file",
        "json",
        "--",
        PYTHON,
        "-c",
        script,
        "x={}",
        "{",
        "",
        cwd=session,
    )
    assert result.stdout == b"True ['{', ''] False\n"


@pytest.mark.parametrize(
    ("form", "content"),
    [
        ("docker", b"USER_ID=7\n"),
        ("json", b'{"USER_ID": "7"}\n'),
        ("null", b"USER_ID=7\0"),
        ("shell", b"export USER_ID='7'\n"),
        ("dotenv", b"USER_ID='7'\n"),
    ],
)
def test_formats(session: Path, form: str, content: bytes) -> None:
    """Each of the formats of dump."""
    result = hotenv("run", "--only", "USER_ID", "--env-file", form, "cat", "{}", cwd=session)
    assert result.stdout == content


@pytest.mark.parametrize("words", [["true"], ["echo", "{}", "{}"]], ids=str)
def test_placeholder_is_needed(session: Path, words: list[str]) -> None:
    """None or two of {}: a usage error."""
    result = hotenv("run", "--env-file", "json", "--", *words, cwd=session)
    assert result.returncode == 2
    assert "{}" in said(result)


def test_misspelt_name(session: Path) -> None:
    """A name that the session does not have must not start the command."""
    result = hotenv("run", "--as-file", "KYE", "--", "echo", "ran", cwd=session)
    assert result.returncode == 2
    assert said(result) == (
        "hotenv: --as-file KYE: no such variable in the session (after --only and --except)"
    )


def test_what_the_format_cannot_hold(session: Path) -> None:
    """docker has no values with newlines: exit code 8 names the variable."""
    result = hotenv("run", "--only", "KEY", "--env-file", "docker", "cat", "{}", cwd=session)
    assert result.returncode == 8
    assert "KEY" in said(result)


def test_explained(session: Path) -> None:
    """--explain says where it went, and makes nothing."""
    result = hotenv("run", "--isolated", "--as-file", "KEY", "--explain", "--", "true", cwd=session)
    lines = result.stdout.decode().splitlines()
    assert "KEY_FILE\\tfile".replace("\\t", "\t") in lines
    assert "KEY\tabsent\tin the file named by KEY_FILE" in lines


def test_one_more_descriptor_and_no_other(session: Path) -> None:
    """The file is the one exception to: no descriptors of ours."""
    command = [
        "run",
        "--isolated",
        "--except",
        "BIG",
        "--as-file",
        "KEY",
        "--",
        "ls",
        "/proc/self/fd",
    ]
    plain = ["run", "--isolated", "--except", "BIG", "--", "ls", "/proc/self/fd"]
    with_file, without = (hotenv(*words, cwd=session).stdout.split() for words in (command, plain))
    assert len(with_file) == len(without) + 1


def test_gone_with_the_command(session: Path) -> None:
    """After kill -9 there is nothing to clean: it was never anywhere else."""
    script = 'echo "$KEY_FILE"; exec sleep 600'
    words = [*HOTENV, "run", "--except", "BIG", "--as-file", "KEY", "--", "sh", "-c", script]
    with subprocess.Popen(words, cwd=session, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        path = Path(process.stdout.readline().decode().strip())
        assert path.read_text() == VALUE
        process.send_signal(signal.SIGKILL)
        process.wait(LIMIT)
    wait_until(lambda: not path.exists(), "the end of the file")


def test_without_memfd(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where there is none it is an error, and never a file on disk."""
    monkeypatch.delattr(os, "memfd_create")
    with pytest.raises(SystemFailureError, match=r"^in-memory files are not supported"):
        files.memory_file(b"x")


def test_empty_and_large_content() -> None:
    """Every size."""
    for content in (b"", b"x" * 1_000_000):
        path = files.memory_file(content)
        assert Path(path).read_bytes() == content
        os.close(int(Path(path).name))


def test_json_reads_itself(session: Path) -> None:
    """The file is in the format that its name says, for a reader of that format."""
    result = hotenv("run", "--except", "BIG", "--env-file", "json", "cat", "{}", cwd=session)
    assert json.loads(result.stdout) == {"KEY": VALUE, "USER_ID": "7"}
