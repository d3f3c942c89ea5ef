"""The option ``--host`` of ``run`` and ``shell``: what a command gets on another machine."""

from __future__ import annotations

import os

from hotenv.errors import FieldError, UsageError
from hotenv.remote.destination import check_host
from hotenv.remote.lines import unsuitable

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from contextlib import AbstractContextManager
    from typing import Any

    from hotenv.handover.launch import Launch

_THERE = ("only", "excluded", "defined")
_NOT_THERE = {"as_file": "as-file", "override": "no-override"}


def check_options(host: str, given: Iterable[str]) -> None:
    """Raise FieldError if ssh would not take ``host``, or an option only works here."""
    check_host(host)
    for name in given:
        if name not in _THERE:
            raise FieldError(name, "not possible with --host")


def without_own(options: Mapping[str, Any]) -> dict[str, Any]:
    """``options``, some of which the project's file may say, without what is for this machine.

    ``isolated`` and what is passed on are such: no variable of this machine goes there anyway.

    Error handling: raises UsageError if one cannot be followed there.
    """
    for name, key in _NOT_THERE.items():
        if name in options:
            raise UsageError(
                f"the project's file has '{key}', which is for this machine only: take that out of "
                "it, or do without --host"
            )
    return {name: value for name, value in options.items() if name in _THERE}


def check_variables(variables: Mapping[bytes, bytes]) -> None:
    """Raise UsageError if a program there cannot have one of ``variables``."""
    if found := unsuitable(variables):
        name, reason = found
        raise UsageError(f"{os.fsdecode(name)} {reason}: leave it out")


def launch_on(host: str, launch: Launch) -> AbstractContextManager[Launch]:
    """What becomes ``launch`` on ``host``. See :func:`hotenv.remote.single.on_host`.

    Error handling: raises what :func:`check_variables` does, too.
    """
    from hotenv.remote.single import on_host

    check_variables(launch.env)
    return on_host(host, launch)
