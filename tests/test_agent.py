"""What the table agent of a project's file says, converted (hotenv.project.agent)."""

from __future__ import annotations

import tomllib

import pytest

from hotenv.project.agent import Agent
from hotenv.project.agentrules import ALLOW, ASK, DENY
from hotenv.project.tables import check_tables
from readme import block


def agent(**said: object) -> Agent:
    """What such a table says, in a file in /shop."""
    return Agent(check_tables({"agent": said}, "")["agent"], "/shop")


def test_nothing() -> None:
    """Nothing may be run, reached or changed, and somebody waits for two minutes."""
    nothing = agent()
    assert nothing.rules.deny_all
    assert (nothing.network, nothing.write, nothing.only) == ([], [], [])
    assert nothing.ask_timeout == 120.0


def test_everything() -> None:
    """Each key is where it belongs."""
    full = agent(
        **{"allow": ["a"], "ask": ["b"], "deny": ["c"], "only": ["DB_*"], "ask-timeout": "90s"},
        network=["DB.internal:1"],
    )
    decisions = [full.rules.verdict([word]).decision for word in "abcd"]
    assert decisions == [ALLOW, ASK, DENY, DENY]
    assert (full.network, full.only, full.ask_timeout) == (["db.internal:1"], ["DB_*"], 90.0)


def test_paths() -> None:
    """They are absolute, and start where the file is."""
    paths = agent(write=["build", ".", "a/../b/", "..a", "/etc/../tmp"]).write
    assert paths == ["/shop/build", "/shop", "/shop/b", "/shop/..a", "/tmp"]


@pytest.mark.parametrize(
    ("argv", "decision"),
    [
        (["pytest"], ALLOW),
        (["psql", "-c", r"\! sh"], ALLOW),  # of which the text warns
        (["terraform", "apply", "-auto-approve"], ASK),
        (["terraform", "destroy"], DENY),
        (["pytest", "-x"], DENY),
    ],
)
def test_the_example(argv: list[str], decision: str) -> None:
    """That of the topic, and what is said about it."""
    example = agent(**tomllib.loads(block("project agent"))["agent"])
    assert example.rules.verdict(argv).decision == decision
    assert example.network == ["db.internal:5432", "api.example.com"]
    assert (example.write, example.only, example.ask_timeout) == (["/shop/build"], ["DB_*"], 120)
