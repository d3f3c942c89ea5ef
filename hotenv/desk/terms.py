"""The terms on which commands run: what a project's file says, and which places that means.

They are held until others count. A link that is put somewhere later does not change them.
"""

from __future__ import annotations

import os

from attrs import frozen

from hotenv.desk.programs import steps_to
from hotenv.desk.settings import Settings
from hotenv.errors import UsageError
from hotenv.guards.fields import is_within
from hotenv.guards.mounts import all_names, read_mounts
from hotenv.project.agent import Agent

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence


@frozen
class Terms:
    """``written``: what commands may change. ``writable``: what the agent can, by itself or so."""

    agent: Agent
    settings: Settings
    written: Sequence[str]
    writable: Sequence[str]


def terms_of(agent: Agent, settings: Settings) -> Terms:
    """Those of ``agent`` in ``settings``.

    Error handling: raises UsageError for what the agent could have led elsewhere by a link.
    """
    written = [_written(path, settings.writable) for path in agent.write]
    # The same place may be mounted elsewhere, too.
    writable = all_names([*settings.writable, *written], read_mounts())
    return Terms(agent, settings, written, writable)


def _written(path: str, writable: Sequence[str]) -> str:
    real = os.path.realpath(path)
    could_be_led = any(is_within(os.path.dirname(step), writable) for step in steps_to(path))
    if could_be_led and not is_within(real, writable):
        raise UsageError(
            f"agent.write: {path} leads through a link out of what the agent can write, to {real}: "
            "name that, or remove the link"
        )
    return real
