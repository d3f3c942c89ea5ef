"""desk.programs: which program a request means, and never one that the agent could have made."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from hotenv.desk.hardlinks import HardLinks
from hotenv.desk.programs import are_out_of_reach, find, path_without, steps_to
from hotenv.errors import SystemFailureError, UsageError


@pytest.fixture
def tools(tmp_path: Path) -> Path:
    """A directory on the PATH, with a program and a script."""
    directory = tmp_path / "tools"
    directory.mkdir()
    for name, text in (("tool", "#!/bin/sh\n"), ("script", f"#!{directory}/tool\n")):
        (directory / name).write_text(text)
        (directory / name).chmod(0o755)
    (tmp_path / "shop").mkdir()
    return directory


def found(name: str, tools: Path, *writable: Path) -> str:
    """The path of the program, or why there is none."""
    places = [str(each) for each in (tools.parent / "shop", *writable)]
    try:
        return find(name, {b"PATH": os.fsencode(tools)}, places, HardLinks(places)).path
    except (UsageError, SystemFailureError) as error:
        return str(error)


def test_a_program(tools: Path) -> None:
    """What is on the PATH, by its name."""
    assert found("tool", tools) == f"{tools}/tool"
    assert found("script", tools) == f"{tools}/script"
    assert "command not found" in found("none", tools)
    assert "use the name of a program" in found("./tool", tools)


@pytest.mark.parametrize("writable", [".", "tool"])
@pytest.mark.parametrize("name", ["tool", "script"])
def test_one_that_can_be_changed(tools: Path, name: str, writable: str) -> None:
    """The file, what is around it, and its interpreter."""
    assert "for an agent, which can change" in found(name, tools, tools / writable)


def test_one_that_can_be_replaced(tools: Path) -> None:
    """A link on the way to it."""
    shop = tools.parent / "shop"
    (shop / "real").mkdir()
    os.rename(tools / "tool", shop / "real" / "tool")
    (tools / "tool").symlink_to(shop / "real" / "tool")
    assert f"which can change {shop}" in found("tool", tools)


def test_a_hard_link(tools: Path) -> None:
    """To a file of which the agent has another name."""
    os.link(tools / "tool", tools.parent / "shop" / "mine")
    assert f"{tools}/tool is a hard link to" in found("tool", tools)
    assert f"{tools}/tool is a hard link to" in found("script", tools)


def test_steps(tmp_path: Path) -> None:
    """All that could be replaced on the way, through links."""
    (tmp_path / "a").mkdir()
    (tmp_path / "a" / "file").write_text("")
    (tmp_path / "b").symlink_to("a/../a")
    steps = [*steps_to(f"{tmp_path}/b/./file")]
    assert steps[-4:] == [f"{tmp_path}/{each}" for each in ("b", "a", "a", "a/file")]
    (tmp_path / "loop").symlink_to("loop")
    assert len([*steps_to(f"{tmp_path}/loop/x")]) < 100


def test_places_of_code(tmp_path: Path) -> None:
    """They count only if it is certain that the agent cannot have made what is there."""
    shop = tmp_path / "shop"
    shop.mkdir()
    (tmp_path / "link").symlink_to(shop)
    writable = [str(shop)]
    for value, is_safe in (
        (b"/usr/lib/x:/opt", True),
        (b"hook.js", False),
        (b"/opt:", False),
        (b"/opt;%s" % os.fsencode(shop), False),
        (b"/opt/x.so %s/evil.so" % os.fsencode(shop), False),
        (b"/opt/x.so /opt/y.so", True),
        (b"--require /opt/x.js", False),
        (b"%s/x" % os.fsencode(shop), False),
        (b"%s" % os.fsencode(shop), False),
        (b"%s/link/x" % os.fsencode(tmp_path), False),
        (b"/opt/..%s/x" % os.fsencode(shop), False),
    ):
        assert are_out_of_reach(value, writable) is is_safe, value
    assert path_without(b"/bin:.:%s/link:" % os.fsencode(tmp_path), writable) == b"/bin"
    assert path_without(b"", writable) == b"/usr/bin:/bin"
