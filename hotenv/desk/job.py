"""What the desk makes of an approved request: an environment and a guard."""

from __future__ import annotations

import os
from fnmatch import fnmatchcase

from hotenv.desk.attended import Job
from hotenv.desk.programs import path_without
from hotenv.guards.policy import Guard
from hotenv.handover.layers import compose_layers
from hotenv.handover.selection import select
from hotenv.handover.wellknown import LOADERS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from hotenv.desk.programs import Program
    from hotenv.desk.request import Request
    from hotenv.desk.settings import Settings
    from hotenv.project.agent import Agent

_LOCALHOST = "localhost"
_OWN, _PATH = b"HOTENV_", b"PATH"


def guard_of(agent: Agent) -> Guard:
    """What no command may do that the desk runs, but for what it may change."""
    return Guard(
        no_network=True,
        fs_readonly=True,
        private_tmp=True,
        no_terminals=True,
        allow_localhost=_LOCALHOST in agent.network,
        allow_domain=[each for each in agent.network if each != _LOCALHOST],
    )


def writable_by(agent: Agent, settings: Settings) -> list[str]:
    """Where the agent can write, by itself or by what a command does for it."""
    return [*settings.writable, *map(os.path.realpath, agent.write)]


def words_of(agent: Agent) -> list[str]:
    """What is left open to such a command, for a human."""
    network = [f"network {each}" for each in agent.network] or ["no network"]
    return [*network, *([f"write {each}" for each in agent.write] or ["no writing"])]


def _loads(name: bytes, value: bytes, writable: Sequence[str]) -> bool:
    """Whether a variable that can load code names a place where the agent can write."""
    if not any(fnmatchcase(os.fsdecode(name), pattern) for pattern in LOADERS):
        return False
    is_list = name.endswith((b"PATH", b"LIB"))
    relative = is_list and any(each[:1] != b"/" for each in value.split(b":"))
    return relative or any(os.fsencode(each) in value for each in writable)


def make_job(
    settings: Settings,
    agent: Agent,
    request: Request,
    program: Program,
    variables: Mapping[str, str],
) -> Job:
    """What is run for ``request``, which is ``program`` with the session's ``variables``.

    It finds no program, by its name, that the agent could have made, and loads nothing such because
    of what hotenv was started with.

    Error handling: raises FieldError if the file of the project does not fit them.
    """
    own = {n: v for n, v in settings.inherited.items() if not n.startswith(_OWN)}
    handed = select(dict(variables), agent.only, ())
    child = compose_layers(own, handed, **settings.composition)
    writable = writable_by(agent, settings)
    found = {
        name: value
        for name, value in child.variables.items()
        if own.get(name) != value or not _loads(name, value, writable)
    }
    found[_PATH] = path_without(found.get(_PATH, b""), writable)
    shown = {os.fsencode(n): os.fsencode(v) for n, v in request.environment.items()}
    return Job(
        argv=[program.path, *request.argv[1:]],
        guard=guard_of(agent),
        write=agent.write,
        root=settings.directory,
        environment={**found, **shown},
        files=child.files,
        variables=variables,
    )
