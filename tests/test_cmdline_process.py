"""No value on a command line, ever: all command lines of the system are watched meanwhile."""

from __future__ import annotations

import secrets
import shlex
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from processes import HOTENV, Terminal, hotenv, wait_until

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")

_WATCH = """
import pathlib, sys
words = sys.stdin.readline().encode().split()
seen = set()
while True:
    for path in pathlib.Path("/proc").glob("[0-9]*/cmdline"):
        try:
            line = path.read_bytes()
        except OSError:  # it has ended
            continue
        if line not in seen and any(word in line for word in words):
            seen.add(line)
            print(ascii(line), flush=True)
    print("round", flush=True)
"""


class Watch:
    """What a process of its own finds in every ``/proc/*/cmdline``, which it polls."""

    def __init__(self, report: Path) -> None:
        self._report = report

    def seen(self, word: str) -> list[str]:
        """The command lines with ``word`` in them."""
        return [line for line in self._report.read_text().splitlines() if word in line]

    def look(self) -> None:
        """Return when everything that runs now has been looked at."""
        rounds = len(self.seen("round"))
        wait_until(lambda: len(self.seen("round")) >= rounds + 2, "two rounds")


@contextmanager
def watching(report: Path, *words: str) -> Iterator[Watch]:
    """Watch out for ``words`` while the block runs."""
    with report.open("wb") as file:
        process = subprocess.Popen(
            [sys.executable, "-c", _WATCH], stdin=subprocess.PIPE, stdout=file
        )
    with process:
        assert process.stdin is not None
        process.stdin.write(" ".join(words).encode() + b"\n")
        process.stdin.flush()
        watch = Watch(report)
        try:
            watch.look()
            yield watch
            watch.look()
        finally:
            process.kill()


def test_the_watch_finds_what_is_there(tmp_path: Path) -> None:
    """A value on a command line would be seen."""
    canary = secrets.token_hex(16)
    with watching(tmp_path / "report", canary) as watch:
        command = [sys.executable, "-c", "input()", canary]
        with subprocess.Popen(command, stdin=subprocess.PIPE) as process:
            wait_until(lambda: watch.seen(canary), "the canary")
            process.communicate(b"\n")


RUNS: list[tuple[list[str], str]] = [
    ([], 'printf %s "$ALL"'),
    (["--isolated", "--only", "ALL"], 'printf %s "$ALL"'),
    (["--as-file", "ALL"], 'cat "$ALL_FILE"'),
    (["--env-file", "json"], 'cat "$1"'),
]
"""Each way in which a command gets values: options, and how it shows ALL."""


def test_no_value_on_a_command_line(
    directory: Path, tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Typed, from the environment or in the text: no command passes it on like that."""
    canary = secrets.token_hex(16)
    typed, outer, literal = (f"{canary}-{kind}" for kind in ("typed", "outer", "literal"))
    monkeypatch.setenv("CANARY", outer)
    contract = f"TYPED=?\nOUTER=${{CANARY}}\nLITERAL={literal}\nALL=${{TYPED}}${{OUTER}}\n"
    (directory / "contract").write_text(contract)
    report = tmp_path_factory.mktemp("watch") / "report"
    with watching(report, canary, "hotenv", "sh") as watch:
        script = f"exec {shlex.join(HOTENV)} serve -p < contract"
        terminal = Terminal(["sh", "-c", script], directory)
        terminal.expect(b"hotenv: TYPED: ")
        watch.look()
        terminal.type(f"{typed}\n".encode())
        terminal.expect(b"serving 4 variables")
        watch.look()
        shown = hotenv("dump", cwd=directory).stdout.decode()
        for options, script in RUNS:
            words = ["sh", "-c", f"{script}; echo; read -r _", str(directory), "{}"]
            with subprocess.Popen(
                [*HOTENV, "run", *options, "--", *words],
                cwd=directory,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
            ) as started:
                assert started.stdout is not None
                assert f"{typed}{outer}" in started.stdout.readline().decode()
                watch.look()
                started.communicate(b"\n")
        checked = hotenv("serve", "--check", "-p", cwd=directory, stdin=contract.encode())
        terminal.type(b"\x03")
        assert terminal.wait() == 0
    assert shown == f"ALL={typed}{outer}\nLITERAL={literal}\nOUTER={outer}\nTYPED={typed}\n"
    assert checked.returncode == 0
    assert watch.seen("serve")
    assert watch.seen(str(directory))
    assert watch.seen(canary) == []
