"""The state directory: what hotenv keeps for its user beyond sessions and reboots."""

from __future__ import annotations

import os
import stat
from contextlib import suppress

from hotenv.errors import SystemFailureError
from hotenv.session.owner import is_ours, not_yours
from hotenv.session.runtime import PRIVATE_DIRECTORY


def state_directory(name: str) -> str:
    """``$XDG_STATE_HOME/hotenv/NAME``, in ``~/.local/state`` without that variable.

    Error handling: raises SystemFailureError if HOME is relative: a repository could bring its own
    state along.
    """
    state = os.environ.get("XDG_STATE_HOME", "")
    if not os.path.isabs(state):
        state = os.path.expanduser("~/.local/state")
    if not os.path.isabs(state):
        raise SystemFailureError("HOME is not an absolute path: set it, or XDG_STATE_HOME")
    return os.path.join(state, "hotenv", name)


def make_state_directory(name: str) -> None:
    """Create it. Raises SystemFailureError if it is not the user's alone, and OSError."""
    directory = state_directory(name)
    parent = os.path.dirname(directory)
    os.makedirs(os.path.dirname(parent), exist_ok=True)
    for each in (parent, directory):
        with suppress(FileExistsError):
            os.mkdir(each, PRIVATE_DIRECTORY)
        _check(each)


def check_state_directory(name: str) -> None:
    """Raise SystemFailureError if it is not the user's alone, and OSError if it is missing."""
    directory = state_directory(name)
    for each in (os.path.dirname(directory), directory):
        _check(each)


def _check(directory: str) -> None:
    status = os.lstat(directory)
    if not is_ours(status.st_uid):
        raise not_yours(directory, status.st_uid, "set XDG_STATE_HOME to a directory you own")
    if not stat.S_ISDIR(status.st_mode):
        raise SystemFailureError(f"{directory} is not a directory: remove it")
    if status.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
        raise SystemFailureError(f"{directory} is writable by others: run 'chmod 700' on it")
