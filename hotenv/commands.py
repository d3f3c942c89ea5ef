"""What the commands do, without a word about how they were typed. Each loads only what it needs."""

from __future__ import annotations

import os

from hotenv.errors import (
    HotenvError,
    NoSessionError,
    SystemFailureError,
    UnreachableError,
    attempt,
)
from hotenv.exchange.protocol import Request
from hotenv.session.marker import find_marker, read_marker

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any

    from hotenv.intake.rules import Rules
    from hotenv.serving.options import ServeOptions

_STDERR = 2
_NO_SESSIONS = "there are no sessions"
_RETRY = 0.05  # seconds between looks for a session


def run(words: Sequence[str], *, wait: float = 0.0) -> None:
    """Become the command ``words``, with the session's variables. Does not return.

    ``wait``: how many seconds it waits for a session that answers.
    """
    from hotenv.handover import childenv, launch

    variables = _ask(Request("run", words), wait)
    launch.become(words, childenv.overlay(launch.inherited_environment(), variables.items()))


def run_composed(
    words: Sequence[str], options: Mapping[str, Any], *, explain: bool, wait: float = 0.0
) -> None:
    """Become ``words`` in an environment that is composed as ``options`` say; does not return then.

    ``options`` are the fields of a Composition. With ``explain``, print how it is composed instead:
    the session is asked as ``dump`` does, for no command gets its variables.
    """
    from hotenv.handover import launch
    from hotenv.handover.composition import Composition, compose
    from hotenv.handover.memfile import memory_file
    from hotenv.handover.placeholder import fill_placeholder, find_placeholder

    composition = Composition(**options)
    if composition.env_file is not None:
        find_placeholder(words)
    variables = _ask(Request("dump") if explain else Request("run", words), wait)
    child = compose(composition, launch.inherited_environment(), variables)
    if explain:
        from hotenv.stdio import write_table

        write_table(child.explanation(), ("NAME", "LAYER", "REMARK"))
    else:
        environment = dict(child.variables)
        for name, content in child.files.items():
            environment[name] = memory_file(content).encode()
        if child.env_file is not None:
            words = fill_placeholder(words, memory_file(child.env_file))
        launch.become(words, environment)


def dump(form: str, *, only: Sequence[str] = (), excluded: Sequence[str] = ()) -> None:
    """Print the session's variables, or those that the patterns select; ``form``: see FORMATS."""
    from hotenv.handover.formats import FORMATS
    from hotenv.stdio import write_output

    variables = _ask(Request("dump"))
    if only or excluded:
        from hotenv.handover.selection import select

        variables = select(variables, only, excluded)
    write_output(FORMATS[form](variables))


def _ask(request: Request, wait: float = 0.0) -> dict[str, str]:
    """The variables of the session here, or above, which may take ``wait`` seconds to answer."""
    if not wait:
        return _ask_now(request)
    from time import monotonic, sleep

    deadline = monotonic() + wait
    while True:
        try:
            return _ask_now(request)
        except (NoSessionError, UnreachableError):
            if monotonic() > deadline:
                raise
        sleep(_RETRY)


def _ask_now(request: Request) -> dict[str, str]:
    marker = read_marker(find_marker())
    from hotenv.exchange import express

    variables = express.exchange(marker, request)
    if variables is None:
        from hotenv.exchange.client import exchange_sync

        variables = exchange_sync(marker, request)
    return variables


def serve(options: ServeOptions) -> None:
    """Serve standard input in the current folder."""
    from hotenv.intake.hardening import harden
    from hotenv.serving.logfile import open_log
    from hotenv.serving.readiness import check_ready_fd
    from hotenv.session.marker import refuse_existing

    with attempt("tell the current folder"):
        folder = os.getcwd()
    # Before anybody types secrets for nothing:
    if not options.force:
        refuse_existing(folder)
    if options.ready_fd is not None:
        check_ready_fd(options.ready_fd)
    log = None if options.log is None else open_log(options.log)
    harden()
    place = os.curdir  # and not its name: that could be another folder's by now
    if options.detach:
        from hotenv.serving.detach import serve_detached

        serve_detached(place, options, log)
    else:
        from hotenv.intake.reader import take_in

        intake = take_in(options.rules, require_locked_memory=options.require_locked_memory)
        from hotenv.serving.output import Output
        from hotenv.serving.process import serve_intake

        output = Output(_STDERR, log, quiet=options.quiet, verbose=options.verbose)
        serve_intake(intake, place, options, output)


def check(rules: Rules, *, json: bool) -> None:
    """Print what would be served of standard input, without any value."""
    from hotenv.intake import dryrun
    from hotenv.intake.hardening import harden

    harden()
    dryrun.check(rules, json=json)


def status_short() -> None:
    """Print how long the session here, or above, lasts; ``?`` if it does not tell."""
    from hotenv.durations import format_whole_seconds
    from hotenv.stdio import write_output
    from hotenv.upkeep.status import idle_left

    left = idle_left(read_marker(find_marker()))
    write_output(b"?\n" if left is None else format_whole_seconds(left).encode() + b"\n")


def status(*, json: bool) -> None:
    """Print what the session here, or above, is and how long it lasts."""
    from hotenv.stdio import write_output, write_table
    from hotenv.upkeep import statusreport
    from hotenv.upkeep.status import status

    report = status(read_marker(find_marker()))
    if json:
        write_output(statusreport.as_json(report).encode())
    else:
        write_table(statusreport.as_facts(report))


def status_all(*, json: bool) -> None:
    """Print a line for each session of this user, and for what is left of dead ones."""
    from hotenv.stdio import say, write_output, write_table
    from hotenv.upkeep import statusreport
    from hotenv.upkeep.sessions import reports

    found = reports()
    if json:
        write_output(statusreport.as_json(found).encode())
    else:
        write_table([statusreport.as_row(report) for report in found], statusreport.HEADER)
        if not found:
            say(_NO_SESSIONS)


def stop() -> None:
    """End the session here, or above."""
    from hotenv.stdio import say
    from hotenv.upkeep.stop import stop

    session = read_marker(find_marker())
    stop(session)
    say(f"ended the session of {session.path}")


def stop_all() -> None:
    """End all sessions of this user, and say which.

    Error handling: raises SystemFailureError if one goes on, after trying all.
    """
    from hotenv.exchange.visit import is_dead
    from hotenv.stdio import say
    from hotenv.upkeep.sessions import live_sessions
    from hotenv.upkeep.stop import stop

    alive = 0
    sessions = live_sessions()
    if not sessions:
        say(_NO_SESSIONS)
    for session in sessions:
        try:
            stop(session)
        except HotenvError as error:
            if not is_dead(session.socket):  # it may have ended by itself
                say(str(error))
                alive += 1
        else:
            say(f"ended the session of {session.path}")
    if alive:
        raise SystemFailureError(f"{alive} of your sessions could not be ended")


def prune() -> None:
    """Remove what dead sessions left in the runtime base, and the marker here or above if dead."""
    from hotenv.stdio import say
    from hotenv.upkeep.prune import prune

    nothing = True
    for path in prune():
        say(f"removed {path}")
        nothing = False
    if nothing:
        say("nothing is left of dead sessions")


def completion(shell: str) -> None:
    """Print the completion script for ``shell``, one of SHELLS, that was made with the package."""
    from hotenv.stdio import write_output

    path = os.path.join(os.path.dirname(__file__), "completions", f"hotenv.{shell}")
    hint = "it is made when hotenv is installed, as by 'pip install .'"
    with attempt(f"read {path}", hint), open(path, "rb") as file:
        script = file.read()
    write_output(script)
