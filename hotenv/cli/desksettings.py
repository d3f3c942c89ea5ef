"""What ``agent`` and ``mcp`` tell the desk that they start."""

from __future__ import annotations

import os

from hotenv.errors import UsageError
from hotenv.stdio import say

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from hotenv.cli.parser import Parser
    from hotenv.desk.place import Place
    from hotenv.desk.settings import Settings
    from hotenv.project.settings import Project


_SEE = "(see 'hotenv help project')"


def add_audit(parser: Parser) -> None:
    """Add --audit."""
    parser.add_argument(
        "--audit",
        metavar="FILE",
        default=None,
        help="append each request and its outcome to the audit log FILE (default: agent.log in the "
        "state directory)",
    )


def project_of_agent() -> Project:
    """The project that this directory is in. Raises UsageError if no agent may run anything."""
    from hotenv.project.settings import consult

    project, reason = consult()
    if project is None:
        where = f"no hotenv.toml in {os.getcwd()} or any parent directory"
        raise UsageError(reason or f"{where}: say there what an agent may run {_SEE}")
    if not project.agent_table:
        raise UsageError(f"no table [agent] in {project.path}: say what an agent may run {_SEE}")
    if not project.has_agent:
        raise UsageError(
            f"[agent] in {project.path} lets an agent run nothing: add allow or ask {_SEE}"
        )
    return project


def note_problems(project: Project, settings: Settings) -> None:
    """Say what will not be as it seems."""
    from hotenv.guards.fields import is_within

    for path in project.agent.write:
        if not os.path.exists(path):
            say(f"note: {path} of agent.write is not there: commands cannot create it")
    closed = [project.input] if "input" in project.session else []  # nothing there is changed
    for path in project.own_files:
        if path not in closed and is_within(os.path.realpath(path), settings.writable):
            say(
                f"note: the agent can change {path}, which your session is made from: keep it "
                "outside the project (see 'hotenv help agents')"
            )


def desk_settings(
    project: Project,
    place: Place,
    writable: Iterable[str],
    inherited: Mapping[bytes, bytes],
    audit: str | None,
    session: str = "",
) -> Settings:
    """For a desk at ``place``. ``writable``: what the agent can write. ``audit``: as given.

    ``session``: the directory of the session, for an agent that can write nothing else.
    """
    from hotenv.desk.settings import Settings
    from hotenv.session.state import make_state_directory, state_directory

    make_state_directory("agent")
    audit = audit or os.path.join(state_directory("agent"), "agent.log")
    return Settings(
        place=place.path,
        directory=project.directory,
        session=session,
        writable=[os.path.realpath(each) for each in writable],
        audit=os.path.abspath(audit),
        file=os.path.basename(project.path),
        can_ask=_has_terminal(),
        composition=project.composition,
        environment={n.decode("latin-1"): v.decode("latin-1") for n, v in inherited.items()},
        agent=project.agent_table,
        confined=bool(session),
    )


def _has_terminal() -> bool:
    try:
        os.close(os.open("/dev/tty", os.O_RDWR))
    except OSError:
        return False
    return True
