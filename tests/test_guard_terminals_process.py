"""--no-terminals: no terminal is opened but the command's own, and none is made."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from guarded import PYTHON, Result, guard, needs_guards
from processes import HOTENV, LIMIT, needs

pytestmark = needs_guards

QUIET = "--no-terminals"

OPENING = """
import errno, os, sys
for path in sys.argv[1:]:
    for flags in (os.O_RDWR, os.O_WRONLY, os.O_RDONLY):
        try:
            os.close(os.open(path, flags | os.O_NOCTTY))
        except OSError as error:
            print(path, errno.errorcode[error.errno])
        else:
            print(path, "open")
"""


@pytest.fixture
def terminal() -> Iterator[str]:
    """One that somebody else has."""
    with pair() as (_, other):
        yield os.ttyname(other)


@contextmanager
def pair() -> Iterator[tuple[int, int]]:
    """Both ends of a new terminal."""
    try:
        ends = os.openpty()
    except OSError as error:
        pytest.skip(f"no terminals here: {error}")
    yield ends
    for end in ends:
        os.close(end)


def opening(*paths: str, cwd: Path, guards: tuple[str, ...] = (QUIET,)) -> tuple[set[str], Result]:
    """What became of opening each of ``paths`` in any way."""
    result = guard(*guards, "--", PYTHON, "-S", "-c", OPENING, *paths, cwd=cwd)
    lines = [line.rpartition(" ") for line in result.out.splitlines()]
    assert len(lines) == 3 * len(paths), result
    return {end for *_, end in lines}, result


def test_other_terminals(terminal: str, tmp_path: Path) -> None:
    """Neither for reading nor for writing, whatever the name; writing is told."""
    (tmp_path / "link").symlink_to(terminal)
    name = os.path.basename(terminal)
    names = (terminal, "link", f"/dev/../dev/pts/{name}", f"/proc/self/root{terminal}")
    found, _ = opening(*names, cwd=tmp_path, guards=())
    assert found == {"open"}
    found, result = opening(*names, cwd=tmp_path)
    assert found == {"EACCES"}, result
    assert (result.status, result.counted) == (2, ["write"])
    assert result.blocked[0]["guard"] == "no-terminals"
    assert result.blocked[0]["first"] == {"path": terminal}
    assert "allow it with" not in result.err


def test_new_terminals(tmp_path: Path) -> None:
    """They would be one more that the user may take for his own."""
    paths = [path for path in ("/dev/ptmx", "/dev/pts/ptmx") if os.path.exists(path)]
    found, result = opening(*paths, cwd=tmp_path)
    assert found == {"EACCES"}, result
    script = "import os; os.openpty()"
    assert guard(QUIET, "--", PYTHON, "-S", "-c", script, cwd=tmp_path).status == 2


def test_consoles_and_keys(tmp_path: Path) -> None:
    """As far as they are here and can be opened at all: nobody is told of what is not there."""
    names = ["console", "tty0", "tty1", "vcs", "vcsa1", "uinput", "input/event0", "input/mice"]
    paths = [f"/dev/{name}" for name in names if os.path.exists(f"/dev/{name}")]
    if not paths:
        pytest.skip("there are none here")
    found, result = opening(*paths, cwd=tmp_path)
    assert found == {"EACCES"}, result


def test_what_stays_open(tmp_path: Path) -> None:
    """Devices that are no terminals, and files, which can be made and changed."""
    script = """
import os
for path in ("/dev/null", "/dev/zero", "/dev/full", "/dev/urandom"):
    open(path, "rb").close()
for path in ("/dev/null", "file", "/proc/self/fd/1"):
    open(path, "w").close()
os.rename("file", "other")
assert os.listdir("/dev/pts") is not None
os.mkdir("new")
open("new/file", "w").close()
print(open("/etc/passwd").readline() != "")
"""
    result = guard(QUIET, "--", PYTHON, "-S", "-c", script, cwd=tmp_path)
    assert (result.status, result.out, result.blocked) == (0, "True\n", []), result


OWN = """
import fcntl, os, sys, termios
os.setsid()
fcntl.ioctl(0, termios.TIOCSCTTY, 0)
os.execvp(sys.argv[1], sys.argv[1:])
"""
MINE = """
import os, sys
for path in ("/dev/tty", "/dev/stdin", "/proc/self/fd/0", os.ttyname(0)):
    os.write(os.open(path, os.O_RDWR), b"hello\\n")
try:
    os.open(sys.argv[1], os.O_RDWR)
except PermissionError:
    os.write(0, b"closed\\n")
"""


def test_own_terminal(terminal: str, tmp_path: Path) -> None:
    """It can be opened again, by any name; others cannot."""
    with pair() as (keeper, own):
        command = [*HOTENV, "guard", QUIET, "--keep-status", "--", PYTHON, "-c", MINE, terminal]
        done = subprocess.run(
            [PYTHON, "-S", "-c", OWN, *command],
            cwd=tmp_path,
            stdin=own,
            capture_output=True,
            timeout=LIMIT,
        )
        assert (done.returncode, done.stdout) == (0, b""), done
        assert os.read(keeper, 1000) == b"hello\r\n" * 4 + b"closed\r\n"
    assert f"blocked write {terminal} by python".encode() in done.stderr


def test_descriptors_of_others(terminal: str, tmp_path: Path) -> None:
    """A process of the command has got one opened; another one cannot open it by that."""
    script = """
import os, subprocess, sys
inherited = int(sys.argv[1])
path = f"/proc/{os.getpid()}/fd/{inherited}"
os.write(os.open(path, os.O_RDWR), b"mine\\n")  # it was inherited by all
child = subprocess.run([sys.executable, "-c", sys.argv[2], sys.argv[3]])
sys.exit(child.returncode)
"""
    with pair() as (keeper, own):
        words = [PYTHON, "-c", script, str(own), OPENING, terminal]
        result = guard(QUIET, "--keep-status", "--", *words, cwd=tmp_path, pass_fds=[own])
        assert os.read(keeper, 1000) == b"mine\r\n"
    assert result.out == f"{terminal} EACCES\n" * 3, result


def test_with_other_guards(terminal: str, tmp_path: Path) -> None:
    """No exception of theirs opens a terminal."""
    for more in (
        ("--fs-readonly", "--allow-write", "/dev"),
        ("--fs-readonly=/dev", "--allow-write", "/dev/pts"),
        ("--deny-read", "/dev/input"),
    ):
        found, result = opening(terminal, "/dev/ptmx", cwd=tmp_path, guards=(QUIET, *more))
        assert found == {"EACCES"}, result
        opened = [each for each in result.blocked if each["first"]["path"].startswith("/dev/")]
        assert {each["guard"] for each in opened} == {"no-terminals"}, result


def test_in_another_guard(terminal: str, tmp_path: Path) -> None:
    """The kernel enforces it without a supervisor."""
    words = ["--", *HOTENV, "guard", QUIET, "--", PYTHON, "-S", "-c", OPENING, terminal]
    assert guard(*words, cwd=tmp_path).out == f"{terminal} EACCES\n" * 3


@needs("unshare")
@needs("mount")
def test_other_mounts(tmp_path: Path) -> None:
    """Terminals that are mounted in another place, too, are closed there."""
    if os.geteuid() != 0:
        pytest.skip("only root can mount")
    (tmp_path / "pts").mkdir()
    (tmp_path / "dev").mkdir()
    words = " ".join([*HOTENV, "guard", QUIET, "--", "sh", "-c"])
    script = f"""
mount -t devpts -o ptmxmode=666 devpts pts && mount --rbind /dev dev || exit 99
: <> pts/ptmx && : <> dev/ptmx && echo before
{words} ': <> pts/ptmx'
{words} ': <> dev/ptmx'
"""
    done = subprocess.run(
        ["unshare", "-m", "sh", "-c", script],
        cwd=tmp_path,
        capture_output=True,
        timeout=LIMIT,
        check=False,
    )
    if done.returncode == 99 or not done.stdout:
        pytest.skip(f"no mounts here: {done.stderr.decode()}")
    assert done.returncode == 2, done
    assert done.stderr.count(b"(no-terminals)") == 2, done
