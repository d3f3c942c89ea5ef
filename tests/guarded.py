"""Run commands under guards, and the program that tries what a guard forbids."""

from __future__ import annotations

import json
import platform
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from hotenv.guards.kernel import this_kernel
from processes import HOTENV, LIMIT

_SOURCE = Path(__file__).with_name("probe.c")


def _lacking() -> str:
    """Why commands cannot be guarded here, in the words of hotenv; empty if they can."""
    tried = subprocess.run([*HOTENV, "guard", "--", "true"], capture_output=True, check=False)
    return tried.stderr.decode().strip()


LACKING = _lacking()
needs_guards = pytest.mark.skipif(bool(LACKING), reason=LACKING)
needs_scopes = pytest.mark.skipif(
    bool(LACKING) or not this_kernel().scopes, reason="Landlock has no scopes here"
)
needs_compiler = pytest.mark.skipif(not shutil.which("cc"), reason="cc is not installed")
on_x86_64 = pytest.mark.skipif(platform.machine() != "x86_64", reason="of x86-64 only")

PYTHON = "/usr/bin/python3" if Path("/usr/bin/python3").exists() else sys.executable
"""A Python that every user can execute, and that is no shim which starts another one."""


@cache
def compiled(directory: str, *, static: bool) -> str:
    """The path of the program that tries one thing, in ``directory``."""
    path = f"{directory}/probe"
    flags = ["-static"] if static else []
    subprocess.run(
        ["cc", "-w", "-pthread", *flags, "-o", path, str(_SOURCE)], check=True, capture_output=True
    )
    return path


@pytest.fixture(scope="session")
def probe() -> Iterator[str]:
    """The path of the program, which any user can execute: pytest's own directory is closed."""
    with open_directory() as directory:
        yield compiled(str(directory), static=False)


@contextmanager
def open_directory() -> Iterator[Path]:
    """A directory that every user may look into, for the length of the block."""
    directory = Path(tempfile.mkdtemp(prefix="hg", dir="/tmp"))
    directory.chmod(0o755)
    yield directory
    shutil.rmtree(directory)


class Result:
    """How a command under a guard ended, and what was said about it."""

    def __init__(self, done: subprocess.CompletedProcess[bytes], report: Path) -> None:
        self.status = done.returncode
        self.out = done.stdout.decode()
        self.err = done.stderr.decode()
        text = report.read_text() if report.exists() else ""
        lines: list[dict[str, Any]] = [json.loads(line) for line in text.splitlines()]
        self.blocked = lines[:-1]
        self.end = lines[-1] if lines else None

    @property
    def counted(self) -> list[str]:
        """What was blocked and counts."""
        return [each["what"] for each in self.blocked if each["counts"]]

    @property
    def uncounted(self) -> list[str]:
        """What was blocked and does not count."""
        return [each["what"] for each in self.blocked if not each["counts"]]

    def __repr__(self) -> str:
        return f"{self.status} {self.out!r} {self.err!r} {self.blocked} {self.end}"


def guard(
    *words: str,
    cwd: Path,
    command: Sequence[str] = HOTENV,
    stdin: bytes = b"",
    env: Mapping[str, str] | None = None,
    pass_fds: Sequence[int] = (),
) -> Result:
    """Run ``hotenv guard`` with ``words`` to its end."""
    report = cwd / "report.json"
    report.unlink(missing_ok=True)
    done = subprocess.run(
        [*command, "guard", "--report", str(report), *words],
        cwd=cwd,
        input=stdin,
        env=env,
        capture_output=True,
        timeout=LIMIT,
        pass_fds=pass_fds,
    )
    return Result(done, report)


def freely(*words: str, cwd: Path) -> int:
    """Run ``words`` without a guard; the exit status."""
    return subprocess.run(words, cwd=cwd, capture_output=True, timeout=LIMIT).returncode
