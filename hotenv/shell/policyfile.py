"""The file of a policy, which those who send commands cannot change unless the operator can."""

from __future__ import annotations

import os
import stat
import tomllib

from hotenv.errors import SystemFailureError, UsageError, attempt
from hotenv.session.owner import is_of_system, is_ours, not_yours
from hotenv.shell.policy import Policy

_FIELDS = {"allow", "deny", "patterns"}
_LONGEST = 1024 * 1024  # bytes
_WRITABLE_BY_OTHERS = stat.S_IWGRP | stat.S_IWOTH


def load_policy(path: str | os.PathLike[str]) -> Policy:
    """The policy in the TOML file ``path``: ``allow``, ``deny`` and ``patterns``, lists of strings.

    Error handling: raises SystemFailureError if the file cannot be read, or is not the caller's or
    root's alone to change; UsageError if there is anything else in it.
    """
    path = os.fspath(path)
    with attempt(f"read the policy {path}"):
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
        with open(descriptor, "rb") as file:
            _check_file(path, os.fstat(descriptor))
            data = file.read(_LONGEST)
    try:
        fields = tomllib.loads(data.decode())
    except ValueError:
        raise UsageError(f"{path}: a policy must be TOML in UTF-8") from None
    if unknown := sorted(fields.keys() - _FIELDS):
        raise UsageError(f"{path}: unknown keys: {', '.join(unknown)}")
    for name, value in fields.items():
        if not isinstance(value, list):
            raise UsageError(f"{path}: {name} must be a list of strings")
    try:
        return Policy(**fields)
    except UsageError as error:
        raise UsageError(f"{path}: {error}") from None


def _check_file(path: str, status: os.stat_result) -> None:
    if not stat.S_ISREG(status.st_mode) or status.st_size >= _LONGEST:
        raise SystemFailureError(f"{path} is not a regular file of fewer than {_LONGEST} bytes")
    if not is_of_system(status.st_uid) and not is_ours(status.st_uid):
        raise not_yours(path, status.st_uid, "use a policy of your own")
    if status.st_mode & _WRITABLE_BY_OTHERS:
        raise SystemFailureError(f"{path} is writable by others: run 'chmod go-w' on it")
