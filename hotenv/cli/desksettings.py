"""What ``agent`` and ``mcp`` tell the desk that they start."""

from __future__ import annotations

import os

from hotenv.errors import UsageError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from hotenv.cli.parser import Parser
    from hotenv.desk.place import Place
    from hotenv.desk.settings import Settings
    from hotenv.project.settings import Project


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
    if project is None or not project.has_agent:
        raise UsageError(
            reason
            or "no table [agent] in hotenv.toml: say there what the agent may run (see 'hotenv "
            "help agents')"
        )
    return project


def desk_settings(
    project: Project,
    place: Place,
    writable: Iterable[str],
    inherited: Mapping[bytes, bytes],
    audit: str | None,
) -> Settings:
    """For a desk at ``place``. ``writable``: what the agent can write. ``audit``: as given."""
    from hotenv.desk.settings import Settings
    from hotenv.session.state import make_state_directory, state_directory

    make_state_directory("agent")
    audit = audit or os.path.join(state_directory("agent"), "agent.log")
    return Settings(
        place=place.path,
        directory=project.directory,
        writable=[os.path.realpath(each) for each in writable],
        audit=os.path.abspath(audit),
        can_ask=_has_terminal(),
        composition=project.composition,
        environment={n.decode("latin-1"): v.decode("latin-1") for n, v in inherited.items()},
        agent=project.agent_table,
    )


def _has_terminal() -> bool:
    try:
        os.close(os.open("/dev/tty", os.O_RDWR))
    except OSError:
        return False
    return True
