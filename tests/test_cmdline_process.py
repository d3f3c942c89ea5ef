"""No value on a command line, ever: all command lines of the system are watched meanwhile."""

from __future__ import annotations

import shlex
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from processes import HOTENV, Terminal, hotenv, wait_until

TYPED = "c4n4ry-typed-6f1e"
HOST = "c4n4ry-host-93ab"
LITERAL = "c4n4ry-literal-07d2"
ANY = b"c4n4ry-"
CONTRACT = f"TYPED=?\nHOST=${{CANARY_OF_HOST}}\nLITERAL={LITERAL}\nALL=${{TYPED}}${{HOST}}\n"

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")


class Watch:
    """Reads every ``/proc/*/cmdline`` again and again."""

    def __init__(self) -> None:
        self.rounds = 0
        self.found: set[bytes] = set()
        self.seen: set[bytes] = set()
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._look)

    def _look(self) -> None:
        while not self._over.is_set():
            for path in Path("/proc").glob("[0-9]*/cmdline"):
                try:
                    line = path.read_bytes()
                except OSError:
                    continue  # it has ended
                if ANY in line:
                    self.found.add(line)
                if b"hotenv" in line:
                    self.seen.add(line)
            self.rounds += 1

    def next_round(self) -> None:
        """Return when everything that runs now has been looked at."""
        rounds = self.rounds
        wait_until(lambda: self.rounds >= rounds + 2, "two rounds")

    @contextmanager
    def watching(self) -> Iterator[None]:
        """It looks while the block runs."""
        self._thread.start()
        try:
            yield
        finally:
            self._over.set()
            self._thread.join()


def test_the_watch_finds_what_is_there() -> None:
    """A value on a command line would be seen."""
    watch = Watch()
    with watch.watching():
        command = [sys.executable, "-c", "input()", TYPED]
        with subprocess.Popen(command, stdin=subprocess.PIPE) as process:
            wait_until(lambda: watch.found, "the canary")
            process.communicate(b"\n")


def test_no_value_on_a_command_line(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Typed, from the host or in the text: neither serve nor run nor dump passes it on like that."""
    monkeypatch.setenv("CANARY_OF_HOST", HOST)
    (folder / "contract").write_text(CONTRACT)
    watch = Watch()
    with watch.watching():
        script = f"exec {shlex.join(HOTENV)} serve -p < contract"
        terminal = Terminal(["sh", "-c", script], folder)
        terminal.expect(b"hotenv: TYPED: ")
        watch.next_round()  # the process that asks is among them
        terminal.type(f"{TYPED}\n".encode())
        terminal.expect(b"serving 4 variables")
        shown = hotenv("dump", cwd=folder).stdout.decode().splitlines()
        started = subprocess.Popen(
            [*HOTENV, "run", "--", "sh", "-c", 'echo "$ALL"; read -r _'],
            cwd=folder,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
        )
        assert started.stdout is not None
        assert started.stdout.readline().decode() == f"{TYPED}{HOST}\n"
        watch.next_round()
        started.communicate(b"\n")
        assert hotenv("serve", "--check", "-p", cwd=folder, stdin=CONTRACT.encode()).stdout
        terminal.type(b"\x03")
        assert terminal.wait() == 0
    expected = [f"ALL={TYPED}{HOST}", f"HOST={HOST}", f"LITERAL={LITERAL}", f"TYPED={TYPED}"]
    assert shown == expected
    assert any(b"serve" in line for line in watch.seen)
    assert watch.found == set()
