"""What the help topic about guards says is so: its examples are run, its lists compared."""

from __future__ import annotations

import pwd
import re
import shlex
import subprocess
from pathlib import Path

import pytest

import hotenv
from guarded import PYTHON, needs_guards
from hotenv.guards import probes, system
from hotenv.guards.fields import is_within
from hotenv.guards.landlock import READABLE_DEVICES
from processes import HOTENV, LIMIT
from readme import SHOP

TOPIC = Path(hotenv.__file__).with_name("topics").joinpath("guards.rst").read_text()

FILES = {
    "greet.py": """
import socket
try:
    socket.create_connection(("127.0.0.1", 9))
except OSError:
    print("no greeting today", flush=True)
""",
    "build.sh": "echo hello > build/greeting\n",
    "tool.py": """
import os
try:
    os.system("ls")
except OSError:
    print("done", flush=True)
""",
}


CONFIGURATION = """\
[guard]
profile = ["net-hermetic", "build"]

[profiles.build]
fs-readonly = true
allow-write = ["build"]
private-tmp = true
"""


@pytest.fixture
def shop(tmp_path: Path, request: pytest.FixtureRequest) -> Path:
    """The directory of the examples."""
    (tmp_path / "build").mkdir()
    (tmp_path / "bin").mkdir()
    if request.node.callspec.params.get("label") == "profiles":
        (tmp_path / "hotenv.toml").write_text(CONFIGURATION)
    for name, text in FILES.items():
        (tmp_path / name).write_text(text)
    (tmp_path / "bin" / "python3").symlink_to(PYTHON)
    program = tmp_path / "bin" / "hotenv"
    program.write_text(f'#!/bin/sh\nexec {shlex.join(HOTENV)} "$@"\n')
    program.chmod(0o755)
    return tmp_path


@needs_guards
@pytest.mark.parametrize("label", ["network", "build", "tool", "profiles"])
def test_examples(label: str, shop: Path) -> None:
    """They show what a terminal would show."""
    block = r"\.\. code:: console\n\n((?: {4}.*\n|\n(?= {4}))+)"
    shown = re.search(rf"\.\. test: {label}\n\n{block}", TOPIC)
    assert shown
    expected = re.sub("(?m)^ {4}", "", shown[1])
    commands = re.findall(r"(?m)^\$ (.*)$", expected)
    script = "".join(
        f"echo {shlex.quote(f'$ {command}')}; (exit $status); {command}; status=$?\n"
        for command in commands
    )
    done = subprocess.run(
        ["sh", "-c", f"status=0\n{script}"],
        cwd=shop,
        env={"PATH": f"{shop}/bin:/usr/bin:/bin", "HOME": str(shop)},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        timeout=LIMIT,
        check=False,
    )
    assert done.stdout.decode().replace(str(shop), SHOP) == expected


def words_of(title: str) -> set[str]:
    """What stands in double backquotes in a section."""
    section = TOPIC.partition(f"\n{title}\n---")[2].partition("\n\n\n")[0]
    return set(re.findall(r"``([^`]+)``", section.replace("\n", " ")))


def test_what_does_not_count() -> None:
    """The list is complete."""
    listed = {each for each in words_of("What is reported") if each.startswith(("/", ".git"))}
    assert listed == {*probes.SOCKETS, *(end for end, _ in probes.FILES)}


def test_what_belongs_to_the_system() -> None:
    """The list is complete, and no environment makes it longer than it says."""
    listed = words_of("What belongs to the system")
    assert listed >= {*system.DIRECTORIES, *READABLE_DEVICES, *(f"~/{x}" for x in system.IN_HOME)}
    paths = {each for each in listed if each.startswith(("/", "~/."))} - {"~/.local"}
    assert paths == {
        *system.DIRECTORIES,
        *READABLE_DEVICES,
        *(f"~/{name}" for name in system.IN_HOME),
    }


@pytest.mark.parametrize("said", [b"", b"/", b"/nowhere", None], ids=str)
def test_home_that_nobody_names(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, said: bytes | None
) -> None:
    """Whatever HOME says, what is above the user's ~/bin is the user's home."""
    entry = pwd.struct_passwd(["me", "x", 1, 1, "", str(tmp_path), "/bin/sh"])
    monkeypatch.setattr(pwd, "getpwuid", lambda _uid: entry)
    (tmp_path / "bin").mkdir()
    env = {b"PATH": bytes(tmp_path / "bin")} | ({} if said is None else {b"HOME": said})
    found = system.readable_system(env, [])
    assert f"{tmp_path}/bin" in found
    assert [path for path in found if is_within(str(tmp_path), [path])] == []


def test_user_without_a_name(monkeypatch: pytest.MonkeyPatch) -> None:
    """Then HOME is all there is to go by."""

    def missing(_uid: int) -> None:
        raise KeyError

    monkeypatch.setattr(pwd, "getpwuid", missing)
    assert "/home/me/.gitconfig" in system.readable_system({b"HOME": b"/home/me"}, [])


def test_readable_system(tmp_path: Path) -> None:
    """What is in the home stays closed, but for programs."""
    home = tmp_path / "home"
    for name in ("bin", "tools", ".local/bin", ".venv/bin"):
        (home / name).mkdir(parents=True)
    path = ":".join([*(f"{home}/{name}" for name in ("bin", "tools", ".local/bin", ".venv/bin"))])
    env = {b"HOME": str(home).encode(), b"PATH": f"{path}:relative:{home}:/tmp:/opt/x/bin".encode()}
    found = {each for each in system.readable_system(env, []) if not each.endswith("python3")}
    assert found - {*system.DIRECTORIES} == {
        *(f"{home}/{name}" for name in (*system.IN_HOME, "bin", "tools", ".venv")),
        *(f"{home}/.local/{name}" for name in ("bin", "lib")),
        "/opt/x",
    }
