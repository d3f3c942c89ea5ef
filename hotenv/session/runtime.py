"""The runtime base: the private directory in which the sockets of a user's sessions live."""

from __future__ import annotations

import os
import stat

from hotenv.errors import SystemFailureError, attempt
from hotenv.session.marker import SOCKET_PATH_LIMIT
from hotenv.session.owner import is_ours, not_yours
from hotenv.session.status import (
    ID_DIGITS,
    SOCKET_SUFFIX,
    STATUS_SUFFIX,
    is_id,
)
from hotenv.stdio import say

PRIVATE_DIRECTORY = 0o700

LOGINS = "/run/user"
"""Where systemd puts the XDG_RUNTIME_DIR of each user."""

SHARED = "/tmp"  # noqa: S108 - what is made there is private, and refused if not ours
"""Where the runtime base is without XDG_RUNTIME_DIR."""

_NAME = "hotenv"


def runtime_base() -> str:
    """``$XDG_RUNTIME_DIR/hotenv``, or ``/tmp/hotenv-UID`` (specification, section 5.1)."""
    parent = _xdg_runtime_dir()
    return _default_base(os.geteuid()) if parent is None else os.path.join(parent, _NAME)


def runtime_bases() -> list[str]:
    """Every runtime base that can be the caller's, that of the environment first.

    A session may have been started where XDG_RUNTIME_DIR was set otherwise: by cron, su or ssh.
    """
    return list(dict.fromkeys([runtime_base(), *usual_bases(os.geteuid())]))


def usual_bases(uid: int) -> list[str]:
    """Where the runtime base of a user is, unless the environment says otherwise."""
    return [f"{LOGINS}/{uid}/{_NAME}", _default_base(uid)]


def note_missing_directory() -> None:
    """Say so if XDG_RUNTIME_DIR names a directory that is not there, which counts as unset."""
    directory = os.environ.get("XDG_RUNTIME_DIR", "")
    if os.path.isabs(directory) and not os.path.isdir(directory):
        say(f"note: XDG_RUNTIME_DIR={directory} does not exist: using {runtime_base()}")


def _default_base(uid: int) -> str:
    return f"{SHARED}/{_NAME}-{uid}"


def _xdg_runtime_dir() -> str | None:
    """Empty or relative it counts as unset, as XDG's specification says; missing, too."""
    directory = os.environ.get("XDG_RUNTIME_DIR", "")
    return directory if os.path.isabs(directory) and os.path.isdir(directory) else None


def make_runtime_base() -> str:
    """The path of the runtime base, which is there, ours and private when this returns.

    Error handling: raises SystemFailureError if it cannot be created, is not a real directory, is
    owned by another user, or is too long for the path of a socket.
    """
    base = runtime_base()
    if "\n" in base:
        raise SystemFailureError(f"invalid XDG_RUNTIME_DIR: {base} contains a newline")
    size = len(os.fsencode(os.path.join(base, "0" * ID_DIGITS + SOCKET_SUFFIX)))
    if size > SOCKET_PATH_LIMIT:
        raise SystemFailureError(
            f"socket path in {base} too long ({size} bytes, limit {SOCKET_PATH_LIMIT}): set "
            "XDG_RUNTIME_DIR to a shorter path"
        )
    hint = "set XDG_RUNTIME_DIR to use another location"
    with attempt(f"create the runtime directory {base}", hint):
        if (parent := _xdg_runtime_dir()) is not None:
            # After su or sudo -E it can be another user's, and root could even write to it.
            _check_owner(parent, os.stat(parent))
        try:
            os.mkdir(base, PRIVATE_DIRECTORY)
        except FileExistsError:
            pass
        _make_private(base)
    return base


def find_runtime_bases() -> list[str]:
    """The paths of the runtime bases that are there.

    Error handling: raises SystemFailureError if that of the environment is not a real directory, or
    another user's. One that only could be the caller's is passed over then.
    """
    return [base for base in runtime_bases() if _is_there(base, required=base == runtime_base())]


def _is_there(base: str, *, required: bool) -> bool:
    try:
        with attempt(f"access the runtime directory {base}"):
            _check_directory(base)
    except SystemFailureError as error:
        gone = isinstance(error.__cause__, FileNotFoundError | NotADirectoryError)
        if required and not gone:
            raise
        return False
    return True


def sockets_in(base: str) -> list[str]:
    """The paths of the sockets of all sessions in ``base``, gone ones that left a status too."""
    with attempt(f"read the runtime directory {base}"):
        parts = [os.path.splitext(name) for name in os.listdir(base)]
    ids = {stem for stem, suffix in parts if suffix in (SOCKET_SUFFIX, STATUS_SUFFIX)}
    return [os.path.join(base, each + SOCKET_SUFFIX) for each in sorted(ids) if is_id(each)]


def _check_directory(base: str) -> os.stat_result:
    status = os.lstat(base)
    _check_owner(base, status)
    if not stat.S_ISDIR(status.st_mode):
        raise SystemFailureError(
            f"{base} is not a directory: remove it or set XDG_RUNTIME_DIR to another directory"
        )
    return status


def _make_private(base: str) -> None:
    status = _check_directory(base)
    if stat.S_IMODE(status.st_mode) != PRIVATE_DIRECTORY:
        os.chmod(base, PRIVATE_DIRECTORY)


def _check_owner(directory: str, status: os.stat_result) -> None:
    if not is_ours(status.st_uid):
        remedy = "set XDG_RUNTIME_DIR to a directory you own"
        raise not_yours(directory, status.st_uid, remedy)
