"""What is out of the reach of an agent: what people rely on, and values that lie around."""

from __future__ import annotations

import os
import sys

from hotenv.desk.programs import steps_to
from hotenv.errors import UsageError
from hotenv.guards.fields import is_within
from hotenv.handover.wellknown import ESSENTIALS
from hotenv.redaction.values import is_everywhere
from hotenv.session.runtime import runtime_bases
from hotenv.session.state import state_directory

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence


def check_reach(writable: Sequence[str], sockets: Sequence[str], audit: str) -> None:
    """Raise UsageError if an agent would reach what is out of reach.

    ``writable``: directories in which it can write, and ``sockets``: in which it can connect to
    sockets. ``audit``: the path of its log.
    """
    log = "the log of what it asks for", audit, "keep it elsewhere, by --audit"
    for what, path, remedy in (*_out_of_reach(), log):
        for each in writable:
            if _can_change(path, each):
                raise UsageError(f"an agent that can write to {each} could change {what}: {remedy}")
    for base in map(os.path.realpath, runtime_bases()):
        for each in sockets:
            if is_within(base, [each]) or is_within(each, [base]):
                raise UsageError(
                    f"an agent that can connect to the sockets in {each} could answer its own "
                    "questions: name a socket"
                )


def _can_change(path: str, directory: str) -> bool:
    """Whether who can write to ``directory`` can change ``path``, or put something in its place."""
    above = (os.path.dirname(step) for step in steps_to(path))
    return is_within(os.path.realpath(path), [directory]) or any(
        is_within(each, [directory]) for each in above
    )


def without_values(
    environment: Mapping[bytes, bytes], variables: Mapping[str, str]
) -> dict[bytes, bytes]:
    """``environment`` without the values of ``variables``, whatever their names are there.

    They are in it if it comes from ``hotenv run``. What no program can do without stays.
    """
    own = {(name.encode(), value.encode()) for name, value in variables.items()}
    values = {value.encode() for value in variables.values() if not is_everywhere(value)}
    kept = {name.encode() for name in ESSENTIALS}
    return {
        name: value
        for name, value in environment.items()
        if name in kept or ((name, value) not in own and value not in values)
    }


def _out_of_reach() -> Iterator[tuple[str, str, str]]:
    """What it is, where, and what to do."""
    install = "install hotenv elsewhere, for instance with pipx"
    package = os.path.dirname(os.path.dirname(__file__))
    for path in (package, sys.prefix, sys.base_prefix, sys.executable):
        yield f"hotenv itself, in {path}", path, install
    for base in runtime_bases():
        yield f"the sockets of hotenv, in {base}", base, "name a directory that is not above it"
    allowed = state_directory("allowed")
    yield f"what you have allowed, in {allowed}", allowed, "set XDG_STATE_HOME to another directory"
    home = os.path.expanduser("~")
    yield f"your home, {home}, with what shells read", home, "start the agent in a directory below"
