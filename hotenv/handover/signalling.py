"""Signals for a command."""

from __future__ import annotations

import os


def send(pid: int, signum: int) -> None:
    """kill(2), if the process may be signalled, or the process group ``-pid`` has any left."""
    try:
        os.kill(pid, signum)
    except (PermissionError, ProcessLookupError):  # it has changed its user ID, or ended
        pass
