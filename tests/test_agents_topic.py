"""What the help topic about agents says is so: its examples are run, its lists compared."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from agents import environment
from guarded import needs_guards
from hotenv.desk.agents import CREDENTIALS, ENVIRONMENT, SETTINGS
from hotenv.desk.request import PASSED
from processes import hotenv
from readme import TOPICS, block, play


@needs_guards
@pytest.mark.usefixtures("unmeasured")  # what is blocked inside would be reported
def test_examples(shop: Path, runtime: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """They show what a terminal would show: what is hidden, and what gets out all the same."""
    shown = block("agent")
    text = shown.partition("$ cat hotenv.toml\n")[2].partition("$ hotenv")[0]
    (shop / "hotenv.toml").write_text(text)
    monkeypatch.setenv("NO_COLOR", "1")
    monkeypatch.setenv("PATH", environment()["PATH"])  # the tools of shop are in /tmp
    play(shown, shop, terminal=True)
    try:
        play(block("agent inside"), shop)
    finally:
        hotenv("stop", cwd=shop)


def test_agents_and_their_settings() -> None:
    """The list has each agent with its directories, and the variables that it gets."""
    section = (
        TOPICS["agents"].partition("has one\nof these names:\n")[2].partition("These settings")[0]
    )
    items = dict(re.findall(r"(?m)^``(\S+)``\n((?: {4}.*\n)+)", section))
    assert {
        name: tuple(re.findall("``~/(.+?)``", text)) for name, text in items.items()
    } == SETTINGS
    for name, variables in ENVIRONMENT.items():
        assert all(f"``{variable}`` is set to it" in items[name] for variable in variables)


def test_credentials() -> None:
    """Each place that is closed is there."""
    section = (
        TOPICS["agents"].partition("\n``--allow-read PATH``\n")[2].partition("``--deny-read")[0]
    )
    names = {name.removeprefix(".config/") for name in CREDENTIALS}
    assert {name for name in names if f"``{name}``" not in section} == set()


def test_what_is_passed_on() -> None:
    """Each variable of the requester that a command gets is there."""
    section = TOPICS["agents"].partition("\nWhat commands get\n")[2].partition("\n\n\n")[0]
    assert {name for name in (*PASSED, "LC_*") if f"``{name}``" not in section} == set()
