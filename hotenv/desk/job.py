"""What the desk makes of an approved request: an environment and a guard."""

from __future__ import annotations

import os
from fnmatch import fnmatchcase

from hotenv.desk.attended import Job
from hotenv.desk.programs import are_out_of_reach, path_without
from hotenv.guards.policy import Guard
from hotenv.handover.layers import compose_layers
from hotenv.handover.selection import left_out
from hotenv.handover.wellknown import LOADERS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from hotenv.desk.programs import Program
    from hotenv.desk.request import Request
    from hotenv.desk.terms import Terms
    from hotenv.project.agent import Agent

_LOCALHOST = "localhost"
_LOADERS = (*LOADERS, "NODE_OPTIONS")
_OWN, _PATH = b"HOTENV_", b"PATH"


def guard_of(agent: Agent) -> Guard:
    """What no command may do that the desk runs, but for what it may change.

    It also gets a private directory for temporary files, which outlives a guard that is killed.
    """
    return Guard(
        no_network=True,
        fs_readonly=True,
        no_terminals=True,
        allow_localhost=_LOCALHOST in agent.network,
        allow_domain=[each for each in agent.network if each != _LOCALHOST],
    )


def words_of(agent: Agent) -> list[str]:
    """What is left open to such a command, for a human."""
    network = [f"network {each}" for each in agent.network] or ["no network"]
    return [*network, *([f"write {each}" for each in agent.write] or ["no writing"])]


def _is_loader(name: bytes) -> bool:
    """Whether a variable can load code."""
    return any(fnmatchcase(os.fsdecode(name), pattern) for pattern in _LOADERS)


def names_for(terms: Terms, variables: Mapping[str, str]) -> list[str]:
    """The names of those of the session's ``variables`` that a command gets, sorted.

    Error handling: as for :func:`make_job`.
    """
    composition = _composition(terms)
    without = left_out(variables, composition.get("only", ()), composition.get("excluded", ()))
    return sorted({*variables} - {*without})


def _composition(terms: Terms) -> dict[str, Any]:
    """What ``run`` does in the project, but that [agent] may say which variables there are."""
    only = {"only": terms.agent.only} if terms.agent.only else {}
    return {**terms.settings.composition, **only}


def make_job(terms: Terms, request: Request, program: Program, variables: Mapping[str, str]) -> Job:
    """What is run on ``terms`` for ``request``: ``program``, with the session's ``variables``.

    It finds no program, by its name, that the agent could have made. What loads code comes from
    what hotenv was started with only if it is certain that the agent cannot have made that.

    Error handling: raises FieldError if the file of the project does not fit them.
    """
    agent, settings = terms.agent, terms.settings
    own = {n: v for n, v in settings.inherited.items() if not n.startswith(_OWN)}
    child = compose_layers(own, variables, **_composition(terms))
    found = {
        name: value
        for name, value in child.variables.items()
        if own.get(name) != value or not _is_loader(name) or are_out_of_reach(value, terms.writable)
    }
    found[_PATH] = path_without(found.get(_PATH, b""), terms.writable)
    shown = {os.fsencode(n): os.fsencode(v) for n, v in request.environment.items()}
    return Job(
        argv=[program.path, *request.argv[1:]],
        guard=guard_of(agent),
        write=terms.written,
        environment={**found, **shown},
        files=child.files,
        variables=variables,
    )
