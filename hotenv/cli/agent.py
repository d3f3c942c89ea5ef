"""``hotenv agent``: run an agent that can use secrets without seeing them."""

from __future__ import annotations

import os

TYPE_CHECKING = False
if TYPE_CHECKING:
    import argparse
    from typing import NoReturn

    from hotenv.cli.parser import Parser
    from hotenv.desk.place import Place
    from hotenv.guards.policy import Guard
    from hotenv.project.settings import Project
    from hotenv.session.marker import Marker

_QUERY = "(what an agent does not get)"  # in the log of the session's server
_PROCESSES = "/proc"


def add_options(parser: Parser) -> None:
    """Add the options of the command."""
    from hotenv.cli.desksettings import add_audit
    from hotenv.cli.parser import REMAINDER, SUPPRESS

    parser.usage = "hotenv agent [OPTIONS] -- AGENT [ARG ...]"
    parser.description = (
        "Run AGENT without the session's variables, and out of reach of the session: it can write "
        "only to the project, to its own settings and to a temporary directory, and connect to no "
        "Unix socket and no service on this machine. When AGENT runs 'hotenv run -- COMMAND', "
        "COMMAND runs outside, with the variables, if [agent] in the project's file allows it. "
        "COMMAND may still give a value away: see 'hotenv help agents'."
    )
    parser.epilog = "example: hotenv agent -- claude"
    for option, metavar, text in (
        ("--allow-write", "PATH", "let AGENT change PATH and everything in it"),
        ("--allow-unix", "PATH", "let AGENT connect to the Unix socket PATH, or to any below it"),
        ("--allow-read", "PATH", "let AGENT read PATH, even if it holds credentials"),
        ("--deny-read", "PATH", "keep AGENT from reading PATH and everything in it"),
    ):
        parser.add_argument(
            option, action="append", default=[], metavar=metavar, help=f"{text}; may be repeated"
        )
    parser.add_argument(
        "--allow-localhost",
        action="store_true",
        help="let AGENT connect to services on this machine",
    )
    add_audit(parser)
    parser.add_argument("argv", nargs=REMAINDER, help=SUPPRESS)


def run(args: argparse.Namespace) -> None:
    """Run the agent; does not return."""
    from hotenv.cli.desksettings import project_of_agent
    from hotenv.cli.guards import guarded_command
    from hotenv.desk.place import make_place

    argv = list(guarded_command(args.argv))
    project = project_of_agent()
    place = make_place()
    try:
        _run(args, argv, project, place)
    except BaseException:
        place.remove()
        raise


def _run(args: argparse.Namespace, argv: list[str], project: Project, place: Place) -> NoReturn:
    from hotenv.cli.desksettings import desk_settings, note_problems
    from hotenv.cli.session import ask_or_start
    from hotenv.desk.agents import environment_of
    from hotenv.desk.client import VARIABLE
    from hotenv.desk.reach import check_reach, homes, without_values
    from hotenv.desk.start import start_desk
    from hotenv.desk.terms import terms_of
    from hotenv.exchange.protocol import Request
    from hotenv.guards.run import Options, run_under
    from hotenv.handover.launch import Launch, inherited_environment
    from hotenv.shell.keeper import end_all

    home = homes()[0]
    guard = _guard(args, argv, project, place)
    marker, variables = ask_or_start(Request("run", ["hotenv", "agent", *argv[:1]]), args.words)
    inherited = without_values(inherited_environment(), variables)
    settings = desk_settings(
        project, place, guard.allow_write, inherited, args.audit, _directory_of(marker)
    )
    opened = [os.path.realpath(each) for each in guard.allow_unix if each != place.requests]
    check_reach(terms_of(project.agent, settings).writable, opened, settings.audit)
    life = start_desk(settings)
    note_problems(project, settings)
    own = {name: os.path.join(home, path) for name, path in environment_of(argv[0]).items()}
    env = {
        **{name.encode(): value.encode() for name, value in own.items()},
        **inherited,
        VARIABLE.encode(): os.fsencode(place.requests),
    }

    def ended(status: int, _blocked: int) -> int:
        end_all()  # what is left could read what is typed on the terminal from now on
        os.close(life)
        place.remove()  # the desk does so too, unless it was killed
        return status

    run_under(guard, Launch(argv, env), Options(keep_status=True), {}, told=ended)


def _directory_of(marker: Marker) -> str:
    return os.path.dirname(os.path.realpath(marker.path))


def _guard(args: argparse.Namespace, argv: list[str], project: Project, place: Place) -> Guard:
    """What the agent may not do."""
    from hotenv.cli.guards import existing
    from hotenv.desk.agents import environment_of, settings_of
    from hotenv.desk.reach import homes
    from hotenv.errors import attempt
    from hotenv.guards.policy import Guard

    home = homes()[0]
    folders = [os.path.join(home, each) for each in settings_of(argv[0])]
    for each in (
        *folders,
        *(os.path.join(home, each) for each in environment_of(argv[0]).values()),
    ):
        with attempt(f"create {each}"):
            os.makedirs(each, mode=0o700, exist_ok=True)
    written = [existing(each, "--allow-write") for each in args.allow_write]
    opened = [existing(each, "--allow-unix") for each in args.allow_unix]
    return Guard(
        fs_readonly=True,
        private_tmp=True,
        no_localhost=not args.allow_localhost,
        no_terminals=True,
        deny_read=_unread(args, project),
        allow_write=[project.directory, *folders, *written],
        allow_unix=[place.requests, *opened],
    )


def _unread(args: argparse.Namespace, project: Project) -> list[str]:
    """What the agent may not read: there it could find values, or the way to them.

    The private files of commands are among those that all users share, and the words of commands
    are in /proc. Who can read a file can lock it, and so keep hotenv from writing its log.
    """
    from hotenv.cli.guards import existing, resolved
    from hotenv.desk.agents import CREDENTIALS
    from hotenv.desk.reach import homes, private_directories
    from hotenv.errors import UsageError
    from hotenv.guards.fields import is_within
    from hotenv.session.runtime import SHARED

    allowed = [existing(each, "--allow-read") for each in args.allow_read]
    closed = [os.path.join(home, each) for home in homes() for each in CREDENTIALS]
    closed += [project.input] if "input" in project.session else []
    denied = [*map(resolved, args.deny_read), *private_directories()]
    if args.audit is not None:
        denied.append(resolved(args.audit))
    for path in allowed:
        if above := next((each for each in closed if is_within(path, [each]) and path != each), ""):
            raise UsageError(f"--allow-read {path}: only all of {above} can be allowed")
    return [SHARED, _PROCESSES, *denied, *(each for each in closed if not is_within(each, allowed))]
