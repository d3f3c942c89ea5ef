"""``hotenv agent``: run an agent that can use secrets without seeing them."""

from __future__ import annotations

import os

from hotenv.errors import HotenvError, UsageError

TYPE_CHECKING = False
if TYPE_CHECKING:
    import argparse
    from typing import NoReturn

    from hotenv.cli.parser import Parser
    from hotenv.desk.place import Place
    from hotenv.desk.settings import Settings
    from hotenv.guards.policy import Guard
    from hotenv.project.settings import Project

_QUERY = "(what an agent does not get)"  # in the log of the session's server


def add_options(parser: Parser) -> None:
    """Add the options of the command."""
    from hotenv.cli.parser import REMAINDER, SUPPRESS

    parser.usage = "hotenv agent [OPTIONS] -- AGENT [ARG ...]"
    parser.description = (
        "Run AGENT, which gets no values of the session and cannot get at them: it may write only "
        "to the project, to temporary files and to its settings, and reach no Unix socket and no "
        "service of this machine. What it runs with 'hotenv run -- COMMAND' is run for it outside, "
        "with the session's variables, if [agent] in the project's file allows it."
    )
    parser.epilog = "example: hotenv agent -- claude"
    for option, metavar, text in (
        ("--allow-write", "PATH", "let AGENT change PATH and what is in it"),
        ("--allow-unix", "PATH", "let AGENT connect to the Unix socket PATH, or to those in it"),
    ):
        parser.add_argument(
            option, action="append", default=[], metavar=metavar, help=f"{text}; may be repeated"
        )
    parser.add_argument(
        "--allow-localhost",
        action="store_true",
        help="let AGENT connect to services of this machine",
    )
    parser.add_argument(
        "--audit",
        metavar="FILE",
        default=None,
        help="append each request and its outcome to the audit log FILE (default: agent.log in the "
        "state directory)",
    )
    parser.add_argument("argv", nargs=REMAINDER, help=SUPPRESS)


def run(args: argparse.Namespace) -> None:
    """Run the agent; does not return."""
    from hotenv.cli.guards import guarded_command
    from hotenv.desk.place import make_place
    from hotenv.project.settings import consult

    argv = list(guarded_command(args.argv))
    project, reason = consult()
    if project is None or not project.has_agent:
        raise UsageError(
            reason
            or "say in [agent] of hotenv.toml what an agent may run (see 'hotenv help agents')"
        )
    place = make_place()
    try:
        _run(args, argv, project, place)
    except BaseException:
        place.remove()
        raise


def _run(args: argparse.Namespace, argv: list[str], project: Project, place: Place) -> NoReturn:
    from hotenv.desk.agents import environment_of
    from hotenv.desk.client import VARIABLE
    from hotenv.desk.job import writable_by
    from hotenv.desk.reach import check_reach
    from hotenv.desk.start import start_desk
    from hotenv.guards.run import Options, run_under
    from hotenv.handover.launch import Launch, inherited_environment

    home = os.path.expanduser("~")
    guard = _guard(args, argv, project, place)
    inherited = _without_values(inherited_environment())
    settings = _settings(args, project, place, guard, inherited)
    opened = [os.path.realpath(each) for each in guard.allow_unix if each != place.requests]
    check_reach(writable_by(project.agent, settings), opened, settings.audit)
    life = start_desk(settings)
    own = {name: os.path.join(home, path) for name, path in environment_of(argv[0]).items()}
    env = {
        **{name.encode(): value.encode() for name, value in own.items()},
        **inherited,
        VARIABLE.encode(): os.fsencode(place.requests),
    }

    def ended(status: int, _blocked: int) -> int:
        os.close(life)
        place.remove()  # the desk does so too, unless it was killed
        return status

    run_under(guard, Launch(argv, env), Options(keep_status=True), {}, told=ended)


def _without_values(inherited: dict[bytes, bytes]) -> dict[bytes, bytes]:
    """``inherited`` without what the session has: this may be a shell that was started with it."""
    from hotenv.exchange.direct import exchange  # without a thread, which forks and signals hit
    from hotenv.exchange.protocol import Request
    from hotenv.session.find import find_session

    try:
        variables = exchange(find_session(), Request("run", [_QUERY])) or {}
    except HotenvError:
        return inherited  # it is started later, and then nobody here has it
    values = {os.fsencode(name): os.fsencode(value) for name, value in variables.items()}
    usual = (b"PATH", b"HOME")
    return {n: v for n, v in inherited.items() if values.get(n) != v or n in usual}


def _guard(args: argparse.Namespace, argv: list[str], project: Project, place: Place) -> Guard:
    """What the agent may not do."""
    from hotenv.cli.guards import existing
    from hotenv.desk.agents import settings_of
    from hotenv.guards.policy import Guard
    from hotenv.session.runtime import SHARED

    home = os.path.expanduser("~")
    folders = [os.path.join(home, each) for each in settings_of(argv[0])]
    for each in folders:
        os.makedirs(each, mode=0o700, exist_ok=True)
    written = [existing(each, "--allow-write") for each in args.allow_write]
    opened = [existing(each, "--allow-unix") for each in args.allow_unix]
    return Guard(
        fs_readonly=True,
        private_tmp=True,
        no_localhost=not args.allow_localhost,
        no_terminals=True,
        deny_read=[SHARED],
        allow_write=[project.directory, *folders, *written],
        allow_unix=[place.requests, *opened],
    )


def _settings(
    args: argparse.Namespace,
    project: Project,
    place: Place,
    guard: Guard,
    inherited: dict[bytes, bytes],
) -> Settings:
    from hotenv.desk.settings import Settings
    from hotenv.session.state import make_state_directory, state_directory

    make_state_directory("agent")
    audit = args.audit or os.path.join(state_directory("agent"), "agent.log")
    return Settings(
        place=place.path,
        directory=project.directory,
        writable=[os.path.realpath(each) for each in guard.allow_write],
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
