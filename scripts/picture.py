"""Draws picture.svg, the session in README.rst: python scripts/picture.py, with hotenv on PATH.

What it shows is what a real session printed, but for its directory and dates; only gpg is a
stand-in. It takes five minutes, because the session expires as it does by default. When hotenv
prints something else, tests/test_picture.py asks for a new picture.
"""

from __future__ import annotations

import html
import os
import re
import subprocess
import tempfile
import time
from pathlib import Path
from typing import NamedTuple

SERVE = "gpg --decrypt .env.gpg | hotenv serve --strict"
COMMANDS = ("hotenv run -- pytest -q", "hotenv run -- make", "hotenv run -- printenv DATABASE_URL")
TOO_LATE = "hotenv run -- make"

FILES = {
    ".env.gpg": "GREETING=hello\nDATABASE_URL=postgres://localhost/shop\n",
    "Makefile": 'greet:\n\t@echo "make says $$GREETING"\n',
    "test_shop.py": "import os\ndef test_greeting(): assert os.environ['GREETING'] == 'hello'\n",
    "bin/gpg": '#!/bin/sh\ncat "$2"\n',
}
SHOP = "/home/you/shop"

COLUMNS = 72
WIDTH, HEIGHT = 7.2, 18  # of a character and of a line, in pixels
MARGIN, GAP = 14, 12
PANEL = COLUMNS * WIDTH + 2 * MARGIN
STEP, REST = 0.8, 2.5  # seconds between two lines, and before the session expires

STYLE = """
rect { fill: #1c2128 }
text { font: 12px ui-monospace, Menlo, Consolas, monospace; fill: #adbac7; white-space: pre }
.typed { fill: #f0f6fc; font-weight: bold }
.late { fill: #f69d50 }
text { animation: show 0.01s both }
@keyframes show { from { opacity: 0 } }
@media (prefers-reduced-motion: reduce) { text { animation: none } }
"""


class Line(NamedTuple):
    """A line on one of the two screens, in the order in which they appear."""

    screen: str  # left or right
    text: str
    kind: str = ""  # of the classes in STYLE


def record(directory: Path) -> list[Line]:
    """What the two terminals show, from a session in ``directory``."""
    for name, content in FILES.items():
        (directory / name).parent.mkdir(exist_ok=True)
        (directory / name).write_text(content)
    (directory / "bin" / "gpg").chmod(0o755)
    path = f"{directory / 'bin'}{os.pathsep}{os.environ['PATH']}"
    env = {**os.environ, "PATH": path, "COLUMNS": str(COLUMNS)}
    log = directory / "log"
    lines = [Line("left", f"$ {SERVE}", "typed")]

    def update() -> None:
        known = sum(line.screen == "left" for line in lines) - 1
        lines.extend(Line("left", text) for text in log.read_text().splitlines()[known:])

    def run(command: str, kind: str = "") -> None:
        lines.append(Line("right", f"$ {command}", "typed"))
        done = subprocess.run(  # noqa: S602 - a line of shell, as it is typed
            command, shell=True, cwd=directory, env=env, capture_output=True, text=True, check=False
        )
        shown = (done.stdout + done.stderr).splitlines()
        lines.extend(Line("right", text, kind) for text in shown)
        update()

    with log.open("w") as stderr:
        server = subprocess.Popen(  # noqa: S602 - the same
            SERVE, shell=True, cwd=directory, env=env, stderr=stderr
        )
    while "serving" not in log.read_text() and server.poll() is None:
        time.sleep(0.01)
    update()
    for command in COMMANDS:
        run(command)
    server.wait()
    update()
    run(TOO_LATE, "late")
    return [line._replace(text=_same_for_all(line.text, directory)) for line in lines]


def _same_for_all(text: str, directory: Path) -> str:
    text = text.replace(str(directory), SHOP)
    text = re.sub(r"^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d ", "2026-02-14 15:04:05 ", text)
    text = re.sub(r"\bat \d\d:\d\d\b", "at 15:09", text)
    return re.sub(r"\bin \d+\.\d+s\b", "in 0.01s", text)


def draw(lines: list[Line]) -> str:
    """The picture: both screens, whose lines appear one after the other."""
    rows = {"left": 0, "right": 0}
    screens: dict[str, list[str]] = {"left": [], "right": []}
    delay = 0.0
    for line in lines:
        delay += REST if "expired" in line.text else STEP
        screens[line.screen].append(_text(line, rows[line.screen], delay))
        rows[line.screen] += len(_wrapped(line.text))
    height = max(rows.values()) * HEIGHT + 2 * MARGIN
    groups = "".join(
        f'<g id="{screen}" transform="translate({place:g})">\n'
        f'<rect width="{PANEL:g}" height="{height}" rx="8"/>\n{"".join(screens[screen])}</g>\n'
        for screen, place in {"left": 0, "right": PANEL + GAP}.items()
    )
    size = f'viewBox="0 0 {2 * PANEL + GAP:g} {height}"'
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" {size}>\n<style>{STYLE}</style>\n{groups}</svg>\n'
    )


def _text(line: Line, row: int, delay: float) -> str:
    top = MARGIN + row * HEIGHT + 12  # of the letters' feet
    parts = "".join(
        f'<tspan x="{MARGIN}" y="{top + number * HEIGHT}">{html.escape(part)}</tspan>'
        for number, part in enumerate(_wrapped(line.text))
    )
    kind = f' class="{line.kind}"' if line.kind else ""
    return f'<text xml:space="preserve"{kind} style="animation-delay: {delay:g}s">{parts}</text>\n'


def _wrapped(text: str) -> list[str]:
    """``text`` in pieces as wide as the screen, as a terminal shows it."""
    return [text[start : start + COLUMNS] for start in range(0, max(len(text), 1), COLUMNS)]


if __name__ == "__main__":
    with tempfile.TemporaryDirectory(dir="/tmp") as shop:
        Path(__file__).with_suffix(".svg").write_text(draw(record(Path(shop))))
