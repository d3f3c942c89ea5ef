"""The session that a command uses: the nearest one, in this directory or above, or a new one."""

from __future__ import annotations

import os

from hotenv.coredump import forbid_core_dumps
from hotenv.errors import ArtifactError, NoSessionError, RefusedError, UnreachableError, attempt
from hotenv.exchange.answer import ANSWER_TIMEOUT
from hotenv.session.find import find_session

TYPE_CHECKING = False
if TYPE_CHECKING:
    import argparse
    from collections.abc import Sequence
    from typing import Any

    from hotenv.cli.parser import Parser
    from hotenv.exchange.protocol import Request
    from hotenv.session.marker import Marker

_RETRY = 0.05  # seconds between looks for a session


def add_session(parser: Parser) -> None:
    """Add the options that say which session is asked, and how."""
    from hotenv.cli.options import add_above
    from hotenv.durations import parse_duration

    parser.add_argument(
        "--wait",
        type=parse_duration,
        default=0.0,
        metavar="DURATION",
        help="wait up to DURATION in total for a session to answer, and start none",
    )
    parser.add_argument(
        "--no-start",
        action="store_true",
        default=False,
        help="fail if there is no session, even if the project's file says how to start one",
    )
    add_above(parser)
    parser.add_argument(
        "-v",
        "--verbose",
        action="store_true",
        default=False,
        help="say which session is used before COMMAND starts",
    )


def nearest(*, above: bool = False) -> Marker:
    """The marker of the session. Errors are those of finding and reading it."""
    return find_session(above=above)


def ask(
    request: Request,
    wait: float = 0.0,
    *,
    above: bool = False,
) -> tuple[Marker, dict[str, str]]:
    """The session and its variables. It may take ``wait`` seconds to answer.

    Error handling: raises the errors of :func:`hotenv.exchange.client.fetch`.
    """
    forbid_core_dumps()
    if not wait:
        return _ask_now(request, ANSWER_TIMEOUT, above)
    from time import monotonic, sleep

    deadline = monotonic() + wait
    while True:
        remaining = max(_RETRY, deadline - monotonic())
        try:
            return _ask_now(request, min(remaining, ANSWER_TIMEOUT), above)
        except RefusedError:  # it will not change its mind
            raise
        except (NoSessionError, UnreachableError):
            if monotonic() + _RETRY > deadline:
                raise
        sleep(_RETRY)


def _ask_now(request: Request, timeout: float, above: bool) -> tuple[Marker, dict[str, str]]:
    marker = nearest(above=above)
    from hotenv.exchange import direct

    variables = direct.exchange(marker, request, timeout)
    if variables is None:
        from hotenv.exchange.client import exchange_sync

        variables = exchange_sync(marker, request, timeout)
    return marker, variables


def ask_or_start(
    request: Request, words: Sequence[str], *, above: bool = False
) -> tuple[Marker, dict[str, str]]:
    """The session and its variables; it is started if there is none and the project's file says so.

    ``words``: the arguments of this process. Errors are those of :func:`ask`.
    """
    try:
        return ask(request, above=above)
    except (NoSessionError, UnreachableError) as error:
        from hotenv.cli.ondemand import start_session
        from hotenv.project.ondemand import directory_to_start

        start_session(directory_to_start(error, above=above), words)
    return ask(request, above=above)


def session_for(args: argparse.Namespace, request: Request) -> tuple[Marker, dict[str, str]]:
    """The session and its variables for ``request``, as the options of a session say."""
    if args.no_start or args.wait:
        session, variables = ask(request, args.wait, above=args.above)
    else:
        session, variables = ask_or_start(request, args.words, above=args.above)
    if args.verbose:
        say_which(session)
    return session, variables


def composition_of(session: Marker) -> dict[str, Any] | None:
    """What ``session`` says of how commands get its variables, as arguments of compose_layers.

    Error handling: raises ArtifactError if it says something that cannot be read.
    """
    if session.is_composed and session.composition is None:
        from hotenv.session.status import status_path

        raise ArtifactError(
            f"cannot read {status_path(session.socket)}, where the session of "
            f"{os.path.dirname(session.path)} says what commands get: replace it with "
            "'hotenv serve --force'"
        )
    return session.composition


def say_which(marker: Marker) -> None:
    """Say which session a command uses, and how long that lasts from now on."""
    from hotenv.durations import format_duration, format_whole_seconds
    from hotenv.session.clock import boot_time
    from hotenv.session.status import read_status
    from hotenv.stdio import say

    directory = os.path.dirname(marker.path)
    published = read_status(marker.socket)
    until = ""
    if published is not None:
        until = f"expires after {format_duration(published.timeout)} idle"
        if published.end is not None:
            left = max(0.0, published.end - boot_time())
            until += f", in {format_whole_seconds(left)} at the latest"
    say(f"using the session of {directory}{_distance(directory)}{until and f' ({until})'}")


def _distance(directory: str) -> str:
    """How far above the current directory, in words."""
    with attempt("determine the current directory"):
        levels = _depth(os.getcwd()) - _depth(directory)
    return "" if not levels else f", {levels} director{'y' if levels == 1 else 'ies'} above"


def _depth(directory: str) -> int:
    return len([each for each in directory.split("/") if each])
