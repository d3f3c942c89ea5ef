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


def add_options(parser: Parser) -> None:
    """Add the options of the command."""
    from hotenv.cli.desksettings import add_audit
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
    from hotenv.cli.desksettings import desk_settings
    from hotenv.desk.agents import environment_of
    from hotenv.desk.client import VARIABLE
    from hotenv.desk.start import start_desk
    from hotenv.guards.run import Options, run_under
    from hotenv.handover.launch import Launch, inherited_environment

    home = os.path.expanduser("~")
    guard = _guard(args, argv, project, place)
    inherited = inherited_environment()
    settings = desk_settings(project, place, guard.allow_write, inherited, args.audit)
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


def _guard(args: argparse.Namespace, argv: list[str], project: Project, place: Place) -> Guard:
    """What the agent may not do."""
    from hotenv.cli.guards import existing
    from hotenv.desk.agents import settings_of
    from hotenv.guards.policy import Guard

    home = os.path.expanduser("~")
    folders = [os.path.join(home, each) for each in settings_of(argv[0])]
    for each in folders:
        os.makedirs(each, mode=0o700, exist_ok=True)
    written = [existing(each, "--allow-write") for each in args.allow_write]
    opened = [existing(each, "--allow-unix") for each in args.allow_unix]
    return Guard(
        fs_readonly=True,
        private_tmp=True,
        allow_write=[project.directory, *folders, *written],
        allow_unix=[place.requests, *opened],
    )
