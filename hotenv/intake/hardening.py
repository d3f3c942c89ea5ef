"""What a process does before it touches secrets: no core dump, no debugger of the same user."""

from __future__ import annotations

import resource
import sys
from contextlib import suppress

from hotenv import libc
from hotenv.errors import SystemFailureError, because
from hotenv.stdio import say

_PR_SET_DUMPABLE = 4


def harden(*, required: bool = False) -> None:
    """Name this process, and permanently disable core dumps and ptrace for it.

    It is named ``hotenv`` so that ``pkill hotenv`` finds it even when run as ``python -m hotenv``.
    The name is set first, because a process that is not dumpable no longer owns the file for it.
    On macOS there is no name to set, and ptrace is disabled by its own means.

    Error handling: warns if that fails, or raises SystemFailureError if it is ``required``.
    """
    with suppress(OSError), open("/proc/self/comm", "w") as file:
        file.write("hotenv")
    try:
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    except (OSError, ValueError):  # the latter is what Python makes of EPERM
        report_unprotected(
            "cannot disable core dumps (the limit cannot be set)",
            "values may be written to disk",
            required=required,
        )
    try:
        if sys.platform == "darwin":
            libc.deny_attach()
        else:
            libc.prctl(_PR_SET_DUMPABLE, 0)
    except OSError as error:
        report_unprotected(
            f"cannot disable debugging by your other processes ({because(error)})",
            "they may read the values",
            required=required,
        )


def report_unprotected(problem: str, consequence: str, *, required: bool) -> None:
    """Warn that secrets are less protected than they could be; also with ``--quiet``.

    Error handling: raises SystemFailureError if the protection is ``required``.
    """
    if required:
        raise SystemFailureError(problem)
    say(f"warning: {problem}: {consequence}")
