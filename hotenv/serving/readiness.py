"""Telling a supervisor that a session answers: a newline on a descriptor, which is closed then."""

from __future__ import annotations

import fcntl
import os
import select
from contextlib import suppress

from hotenv.errors import UsageError


def check_ready_fd(number: int) -> None:
    """Raise UsageError unless the descriptor ``number`` is open for writing.

    No command that is run meanwhile gets it: it could keep it open.
    """
    try:
        writable = fcntl.fcntl(number, fcntl.F_GETFL) & os.O_ACCMODE != os.O_RDONLY
        os.set_inheritable(number, False)
    except (OSError, OverflowError):
        writable = False
    if not writable:
        raise UsageError(
            f"--ready-fd {number}: file descriptor is not open for writing: open it in the shell "
            f"with {number}>FILE"
        )


def tell_ready(number: int) -> None:
    """Write a newline to the descriptor ``number`` and close it. Nobody may listen any more."""
    poll = select.poll()
    poll.register(number, select.POLLOUT)
    with suppress(OSError):
        if poll.poll(0):  # else it is full, and waiting would keep the secrets past their time
            os.write(number, b"\n")
    os.close(number)
