"""The picture in README.rst shows what hotenv prints. See scripts/picture.py."""

from __future__ import annotations

import importlib.util
import re
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest

from processes import hotenv, serving
from readme import block, play, same_for_all

PICTURE = Path(__file__).parent.parent / "scripts" / "picture.svg"
SVG = "{http://www.w3.org/2000/svg}"
VARIABLES = b"GREETING=hello\nDATABASE_URL=postgres://localhost/shop\n"


@pytest.fixture(scope="module")
def screens() -> dict[str, list[str]]:
    """The lines on both screens."""
    root = ET.parse(PICTURE).getroot()  # noqa: S314 - it is ours
    return {
        str(group.get("id")): ["".join(text.itertext()) for text in group.iter(f"{SVG}text")]
        for group in root.iter(f"{SVG}g")
    }


def test_the_session(screens: dict[str, list[str]], shop: Path, tmp_path: Path) -> None:
    """Commands print and are logged as in the picture, up to the end of the session."""
    command, *log = screens["left"]
    assert command.endswith("| hotenv serve --strict")
    last = [number for number, line in enumerate(screens["right"]) if line.startswith("$ ")][-1]
    with (tmp_path / "log").open("w") as stderr, serving(shop, VARIABLES, stderr=stderr.fileno()):
        play("\n".join(screens["right"][:last]) + "\n", shop)
        hotenv("stop", cwd=shop)
    said = same_for_all((tmp_path / "log").read_text(), shop).splitlines()
    expected = same_for_all("\n".join(log), shop).splitlines()
    assert [line for line in said if "stop" not in line] == expected[:-1]


def test_the_end(screens: dict[str, list[str]]) -> None:
    """The session expires, and a command fails, as where README.rst shows that."""
    *_, expired, command, failed = block("idle expiry").splitlines()
    end = "\n".join([screens["left"][-1], *screens["right"][-2:]])
    shown = "\n".join([expired, command, failed])
    assert same_for_all(end, Path("/nowhere")) == same_for_all(shown, Path("/nowhere"))


def test_what_the_script_draws() -> None:
    """The script makes exactly this picture of these lines."""
    spec = importlib.util.spec_from_file_location("picture", PICTURE.with_suffix(".py"))
    assert spec
    assert spec.loader
    script = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(script)
    appearing = [
        (
            float(re.findall(r"[\d.]+", text.get("style", ""))[0]),
            script.Line(group.get("id"), "".join(text.itertext()), text.get("class", "")),
        )
        for group in ET.parse(PICTURE).getroot().iter(f"{SVG}g")  # noqa: S314 - it is ours
        for text in group.iter(f"{SVG}text")
    ]
    assert script.draw([line for _, line in sorted(appearing)]) == PICTURE.read_text()


def test_no_path_of_a_machine(screens: dict[str, list[str]]) -> None:
    """The directory is that of the other sessions."""
    paths = re.findall(r"(?<![\w/:])/[\w./-]+", " ".join(screens["left"] + screens["right"]))
    assert set(paths) == {"/home/you/shop"}
