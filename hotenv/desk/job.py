"""What the desk makes of an approved request: an environment and a guard."""

from __future__ import annotations

import os

from hotenv.desk.attended import Job
from hotenv.guards.policy import Guard
from hotenv.handover.layers import compose_layers
from hotenv.handover.selection import select

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    from hotenv.desk.programs import Program
    from hotenv.desk.request import Request
    from hotenv.desk.settings import Settings
    from hotenv.project.agent import Agent

_LOCALHOST = "localhost"
_OWN = b"HOTENV_"


def guard_of(agent: Agent) -> Guard:
    """What no command may do that the desk runs, but for what it may change."""
    return Guard(
        no_network=True,
        fs_readonly=True,
        private_tmp=True,
        allow_localhost=_LOCALHOST in agent.network,
        allow_domain=[each for each in agent.network if each != _LOCALHOST],
    )


def words_of(agent: Agent) -> list[str]:
    """What is left open to such a command, for a human."""
    opened = [f"network {each}" for each in agent.network]
    opened += [f"write {each}" for each in agent.write]
    return opened or ["no network, no writing"]


def make_job(
    settings: Settings,
    agent: Agent,
    request: Request,
    program: Program,
    variables: Mapping[str, str],
) -> Job:
    """What is run for ``request``, which is ``program`` with the session's ``variables``.

    Error handling: raises FieldError if the file of the project does not fit them.
    """
    own = {n: v for n, v in settings.inherited.items() if not n.startswith(_OWN)}
    handed = select(dict(variables), agent.only, ())
    child = compose_layers(own, handed, **settings.composition)
    shown = {os.fsencode(n): os.fsencode(v) for n, v in request.environment.items()}
    return Job(
        argv=[program.path, *request.argv[1:]],
        guard=guard_of(agent),
        write=agent.write,
        root=settings.directory,
        environment={**child.variables, **shown},
        files=child.files,
        variables=variables,
    )
