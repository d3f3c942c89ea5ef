"""Projects for agents, and agents that are scripts of a shell."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from processes import HOTENV, LIMIT, hotenv, serving

SECRET = "s3cr3t-Value-1234"
"""The value of API_TOKEN."""

VARIABLES = f"API_TOKEN={SECRET}\nOTHER=another-5678\n".encode()

RULES = """
allow = ["sh -c *", "cat", "printenv *", "env", "sleep *", "python3 -c **"]
ask = ["id **", "uname"]
"""


def write_project(directory: Path, rules: str = RULES, rest: str = "") -> None:
    """Write the file of a project into ``directory``, and allow it."""
    path = directory / "hotenv.toml"
    path.write_text(f"[agent]\n{rules}\n{rest}")
    path.chmod(0o644)
    done = hotenv("allow", cwd=directory)
    assert done.returncode == 0, done.stderr


@contextmanager
def project(directory: Path, rules: str = RULES, rest: str = "") -> Iterator[Path]:
    """A project in ``directory`` with a session."""
    write_project(directory, rules, rest)
    with serving(directory, VARIABLES, "-q"):
        yield directory


_UNMEASURED = "unset COVERAGE_PROCESS_CONFIG COVERAGE_PROCESS_START\n"
"""What is measured writes a file, which is blocked inside."""


def agent_command(*options: str, script: str) -> list[str]:
    """The words that start ``script`` as an agent."""
    return [*HOTENV, "agent", *options, "--", "sh", "-c", _UNMEASURED + script]


def environment(**more: str) -> dict[str, str]:
    """One in which ``hotenv`` is the command that is tested."""
    path = f"{Path(HOTENV[0]).parent}:{os.environ['PATH']}"
    return {**os.environ, "PATH": path, **more}


def agent(
    directory: Path, script: str, *options: str, stdin: bytes = b"", **more: str
) -> subprocess.CompletedProcess[bytes]:
    """Run ``script`` as an agent to its end."""
    return subprocess.run(
        agent_command(*options, script=script),
        cwd=directory,
        input=stdin,
        env=environment(**more),
        capture_output=True,
        timeout=LIMIT,
    )


@contextmanager
def running(
    directory: Path, script: str, *options: str, stdin: int = subprocess.DEVNULL
) -> Iterator[subprocess.Popen[bytes]]:
    """An agent that is running, without a terminal."""
    process = subprocess.Popen(
        agent_command(*options, script=script),
        cwd=directory,
        stdin=stdin,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=environment(),
        start_new_session=True,
    )
    try:
        yield process
    finally:
        if process.poll() is None:
            process.kill()
        process.communicate()


def log_of(state: Path) -> list[dict[str, object]]:
    """The lines of the audit log."""
    text = (state / "hotenv" / "agent" / "agent.log").read_text()
    return [json.loads(line) for line in text.splitlines()]


def desks(runtime: Path) -> list[Path]:
    """The directories of desks."""
    return [*(runtime / "hotenv").glob("desk-*")]


def processes_with(word: str) -> list[int]:
    """The processes that have ``word`` in their command line."""
    return [pid for pid, words in _command_lines() if word.encode() in words.split(b"\0")]


def ours(part: bytes, runtime: Path) -> list[int]:
    """Processes of the test with this ``runtime`` that have ``part`` in their command line."""
    found = []
    for pid, words in _command_lines():
        with suppress(OSError):
            environ = Path(f"/proc/{pid}/environ").read_bytes()
            if part in words and os.fsencode(f"XDG_RUNTIME_DIR={runtime}") in environ:
                found.append(pid)
    return found


def _command_lines() -> Iterator[tuple[int, bytes]]:
    for name in filter(str.isdigit, os.listdir("/proc")):
        with suppress(OSError):  # it has ended meanwhile
            yield int(name), Path(f"/proc/{name}/cmdline").read_bytes()
