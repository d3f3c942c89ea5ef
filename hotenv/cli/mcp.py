"""``hotenv mcp``: what an agent can use secrets with, if it speaks the Model Context Protocol."""

from __future__ import annotations

import os
import sys

from hotenv.errors import SystemFailureError, UsageError
from hotenv.stdio import say

TYPE_CHECKING = False
if TYPE_CHECKING:
    import argparse

    from hotenv.cli.parser import Parser

_MISSING = (
    "hotenv mcp needs the library mcp, version 2: run {python} -m pip install 'mcp>=2,<3' (or pipx "
    "inject hotenv 'mcp>=2,<3')"
)
_ALONE = (
    "warning: this agent was not started by 'hotenv agent': it can read every value with 'hotenv "
    "dump'"
)
_RESTART = "ask the user to start this server again"


def add_options(parser: Parser) -> None:
    """Add the options of the command."""
    from hotenv.cli.desksettings import add_audit

    parser.usage = "hotenv mcp [OPTIONS]"
    parser.description = (
        "Serve the Model Context Protocol on standard input and output: an agent that starts this "
        "gets tools that run commands with the session's variables, if [agent] in the project's "
        "file allows it, and never sees a value. Inside 'hotenv agent' it does what 'hotenv run' "
        "does there. Elsewhere, nothing stops the agent from reading the session itself."
    )
    parser.epilog = "example: claude mcp add hotenv -- hotenv mcp"
    add_audit(parser)


def run(args: argparse.Namespace) -> None:
    """Serve until standard input ends."""
    try:
        from hotenv.desk import mcp
    except ModuleNotFoundError as error:
        raise SystemFailureError(_MISSING.format(python=sys.executable)) from error
    if sys.stdin is not None and sys.stdin.isatty():
        raise UsageError("'hotenv mcp' is for an agent, which starts it: see 'hotenv help agents'")
    from hotenv.desk.parents import desk_of_parents
    from hotenv.desk.visit import Visitor

    if desk := desk_of_parents():
        if args.audit is not None:
            raise UsageError("--audit is for 'hotenv agent': this is inside one")
        mcp.serve(Visitor(desk))
    else:
        _serve_alone(args.audit)


def _serve_alone(audit: str | None) -> None:
    """Serve with a desk of our own, which ends with this process, however that does."""
    from hotenv.cli.desksettings import desk_settings, note_problems, project_of_agent
    from hotenv.desk import mcp
    from hotenv.desk.place import make_place
    from hotenv.desk.start import start_desk
    from hotenv.desk.visit import Visitor
    from hotenv.handover.launch import inherited_environment

    project = project_of_agent()
    place = make_place()
    try:
        writable = [project.directory]  # what else the agent can write is not known
        inherited = inherited_environment()
        settings = desk_settings(project, place, writable, inherited, audit)
        life = start_desk(settings)
        note_problems(project, settings)
        say(_ALONE)
        try:
            mcp.serve(Visitor(place.requests, _RESTART))
        finally:
            os.close(life)
    finally:
        place.remove()
