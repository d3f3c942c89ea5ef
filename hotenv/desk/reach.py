"""What is out of the reach of an agent: what people rely on, and values that lie around."""

from __future__ import annotations

import os
import sys

from hotenv.errors import UsageError
from hotenv.guards.fields import is_within
from hotenv.redaction.values import is_everywhere
from hotenv.session.state import state_directory

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence


def check_reach(writable: Sequence[str]) -> None:
    """Raise UsageError if one of the directories ``writable`` has in it what is out of reach."""
    for what, path, remedy in _out_of_reach():
        for each in writable:
            if is_within(os.path.realpath(path), [each]):
                raise UsageError(f"an agent that can write to {each} could change {what}: {remedy}")


def without_values(
    environment: Mapping[bytes, bytes], variables: Mapping[str, str]
) -> dict[bytes, bytes]:
    """``environment`` without ``variables``, and without their values under another name.

    A session's variables are in it if it comes from ``hotenv run``.
    """
    names = {name.encode() for name in variables}
    values = {value.encode() for value in variables.values() if not is_everywhere(value)}
    return {n: v for n, v in environment.items() if n not in names and v not in values}


def _out_of_reach() -> Iterator[tuple[str, str, str]]:
    """What it is, where, and what to do."""
    install = "install hotenv elsewhere, for instance with pipx"
    package = os.path.dirname(os.path.dirname(__file__))
    for path in (package, sys.prefix, sys.base_prefix, sys.executable):
        yield f"hotenv itself, in {path}", path, install
    allowed = state_directory("allowed")
    yield f"what you have allowed, in {allowed}", allowed, "set XDG_STATE_HOME to another directory"
    home = os.path.expanduser("~")
    yield f"your home, {home}, with what shells read", home, "start the agent in a directory below"
