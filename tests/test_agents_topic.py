"""What the help topic about agents says is so: its examples are run, its lists compared."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from agents import environment
from guarded import needs_guards
from hotenv.desk.agents import ENVIRONMENT, SETTINGS
from hotenv.desk.request import PASSED
from processes import hotenv
from readme import TOPICS, block, play


@needs_guards
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
    """The table has each agent with its directories, shortened where they are in several places."""
    rows = re.search(r"(?m)^=+  =+\n(``aider``(?:.*\n)+?)=+  =+\n", TOPICS["agents"])
    assert rows
    named = re.split(r"(?m)^(?=``)", rows[1])[1:]
    found = {row.split("``")[1]: row for row in named}
    assert set(found) == set(SETTINGS)
    for agent, folders in SETTINGS.items():
        for folder in folders:
            parent = folder.rpartition("/")[0]
            places = found[agent], found["goose"] if "same three" in found[agent] else ""
            assert f"``~/{folder}``" in places[0] or f"``~/{parent}``" in "".join(places)
    assert [*ENVIRONMENT] == ["claude"]
    assert all(name in found["claude"] for name in ENVIRONMENT["claude"])


def test_what_is_passed_on() -> None:
    """Each variable of the requester that a command gets is there."""
    section = TOPICS["agents"].partition("\nWhat commands get\n")[2].partition("\n\n\n")[0]
    assert {name for name in (*PASSED, "LC_*") if f"``{name}``" not in section} == set()
