"""Run a command under the guard that the command line and all other sources make."""

from __future__ import annotations

from hotenv.cli.configuration import options_in_variable, own_sources, sources
from hotenv.cli.guards import HOW
from hotenv.errors import HotenvError
from hotenv.guards.run import Options, run_under
from hotenv.guards.sources import combined

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Any, NoReturn

    from hotenv.audit.commands import CommandAudit
    from hotenv.guards.policy import Guard
    from hotenv.handover.launch import Launch
    from hotenv.handover.streams import Streams

    RunGuarded = Callable[
        [Launch, Mapping[str, str], Streams | None, CommandAudit | None], NoReturn
    ]


def guarding(given: Mapping[str, Any]) -> RunGuarded:
    """What runs a command under the guard that all sources make, and ends as it does.

    It gets the variables of the session, too: their values are not told. And what the command has
    for its standard streams, if not those of hotenv; and what writes to an audit log.

    Error handling: raises UsageError if the options, or another source, are wrong,
    SystemFailureError if the report cannot be written. It is emptied at once: one of an earlier run
    says nothing about this one.
    """
    in_variable = set_in_variable(given)
    others = other_options(given, in_variable)
    if "report" in others:
        from hotenv.guards.reportfile import ReportFile

        others["report"] = ReportFile(others["report"])
    guard, options = make_guard(given, in_variable), Options(**others)

    def run(
        launch: Launch,
        variables: Mapping[str, str],
        streams: Streams | None,
        audit: CommandAudit | None,
    ) -> NoReturn:
        told = audit.ended if audit is not None else None
        try:
            run_under(guard, launch, options, variables, streams=streams, told=told)
        except HotenvError:
            if audit is not None:
                audit.not_started()
            raise

    return run


def set_in_variable(given: Mapping[str, Any]) -> dict[str, Any]:
    """The options in HOTENV_GUARD, unless the command line alone counts."""
    return {} if "exactly" in given else options_in_variable()


def other_options(given: Mapping[str, Any], in_variable: Mapping[str, Any]) -> dict[str, Any]:
    """Those of the options that are no part of the guard."""
    both = {**in_variable, **given}
    return {name: both[name] for name in HOW if name in both}


def make_guard(given: Mapping[str, Any], in_variable: Mapping[str, Any]) -> Guard:
    """The guard that all sources make. Raises UsageError if one of them is wrong."""
    found = own_sources(given) if "exactly" in given else sources(given, in_variable)
    return combined(found)
