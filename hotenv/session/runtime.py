"""The runtime base: the private folder in which the sockets of a user's sessions live."""

from __future__ import annotations

import os
import re
import stat
from contextlib import suppress

from hotenv.errors import SystemFailureError, attempt
from hotenv.session.marker import user
from hotenv.session.published import SOCKET_SUFFIX, STATUS_SUFFIX

PRIVATE_FOLDER = 0o700

_LEFT = re.compile(f"([0-9a-f]{{8}})({re.escape(SOCKET_SUFFIX)}|{re.escape(STATUS_SUFFIX)})")


def runtime_base() -> str:
    """``$XDG_RUNTIME_DIR/hotenv``, or ``/tmp/hotenv-UID`` (specification, section 5.1)."""
    folder = _xdg_runtime_dir()
    if folder is None:
        return f"/tmp/hotenv-{os.geteuid()}"  # noqa: S108 - made private, refused if not ours
    return os.path.join(folder, "hotenv")


def _xdg_runtime_dir() -> str | None:
    """Empty or relative it counts as unset, as the XDG specification says."""
    folder = os.environ.get("XDG_RUNTIME_DIR", "")
    return folder if os.path.isabs(folder) else None


def make_runtime_base() -> str:
    """The path of the runtime base, which is there, ours and private when this returns.

    Error handling: raises SystemFailureError if it cannot be made, is no real folder, or belongs
    to somebody else.
    """
    base = runtime_base()
    if "\n" in base:
        raise SystemFailureError(f"XDG_RUNTIME_DIR cannot be used: {base} contains a newline")
    with attempt(f"make the runtime folder {base}", "XDG_RUNTIME_DIR says where it goes"):
        if (parent := _xdg_runtime_dir()) is not None:
            # After su or sudo -E it can be another user's, and root could even write to it.
            _check_owner(parent, os.stat(parent))
        with suppress(FileExistsError):
            os.mkdir(base, PRIVATE_FOLDER)
        _make_private(base)
    return base


def find_runtime_base() -> str | None:
    """The path of the runtime base, or None if there is none yet.

    Error handling: raises SystemFailureError if it is no real folder, or somebody else's.
    """
    base = runtime_base()
    with attempt(f"look into the runtime folder {base}"):
        try:
            _check_folder(base)
        except (FileNotFoundError, NotADirectoryError):
            return None
    return base


def sockets_in(base: str) -> list[str]:
    """The paths of the sockets of all sessions in ``base``, gone ones that left a status too."""
    with attempt(f"read the runtime folder {base}"):
        matches = [_LEFT.fullmatch(name) for name in os.listdir(base)]
    ids = {match[1] for match in matches if match}
    return [os.path.join(base, each + SOCKET_SUFFIX) for each in sorted(ids)]


def _check_folder(base: str) -> os.stat_result:
    status = os.lstat(base)
    _check_owner(base, status)
    if not stat.S_ISDIR(status.st_mode):
        raise SystemFailureError(f"{base} is not a folder: remove it, or set XDG_RUNTIME_DIR")
    return status


def _make_private(base: str) -> None:
    status = _check_folder(base)
    if stat.S_IMODE(status.st_mode) != PRIVATE_FOLDER:
        os.chmod(base, PRIVATE_FOLDER)


def _check_owner(folder: str, status: os.stat_result) -> None:
    if status.st_uid != os.geteuid():
        raise SystemFailureError(
            f"{folder} belongs to {user(status.st_uid)} and not to you, {user(os.geteuid())}: "
            "set XDG_RUNTIME_DIR to a folder of yours"
        )
