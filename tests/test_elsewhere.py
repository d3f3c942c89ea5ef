"""cli.elsewhere: what a command gets on another machine."""

from __future__ import annotations

import pytest

from hotenv.cli import elsewhere
from hotenv.errors import FieldError, UsageError
from hotenv.handover.launch import Launch


@pytest.mark.parametrize(
    "name", ["as_file", "env_file", "override", "isolated", "passed", "bins", "no_network"]
)
def test_options_of_this_machine(name: str) -> None:
    """They are refused, whatever else is given."""
    elsewhere.check_options("box", ["only", "excluded", "defined"])
    with pytest.raises(FieldError, match="--host") as raised:
        elsewhere.check_options("box", ["only", name])
    assert raised.value.field == name


def test_no_host() -> None:
    """It is looked at first."""
    with pytest.raises(FieldError, match="ssh") as raised:
        elsewhere.check_options("-v", ["as_file"])
    assert raised.value.field == "host"


def test_what_the_project_says() -> None:
    """What it says of the environment of this machine has no meaning there."""
    there = {"only": ["A"], "excluded": ["B"], "defined": {"C": "1"}}
    assert elsewhere.without_own({**there, "isolated": True, "passed": ["D"]}) == there


@pytest.mark.parametrize(
    ("option", "key"), [({"as_file": {"A": "B"}}, "as-file"), ({"override": False}, "no-override")]
)
def test_what_the_project_cannot_have(option: dict[str, object], key: str) -> None:
    """What would not be done there is no command without it."""
    with pytest.raises(UsageError, match=key):
        elsewhere.without_own(option)


def test_a_name_that_cannot_be_set() -> None:
    """It is told with what to do about it, and without its value."""
    launch = Launch(["true"], {b"A": b"1", b"B.C": b"s3cr3t"})
    with pytest.raises(UsageError, match=r"^B\.C cannot .* leave it out$") as raised:
        elsewhere.launch_on("box", launch)
    assert "s3cr3t" not in str(raised.value)
