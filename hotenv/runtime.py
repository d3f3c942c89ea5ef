"""The runtime base: the private folder in which the sockets of a user's sessions live."""

from __future__ import annotations

import os
import stat
from contextlib import suppress

from hotenv.errors import SystemFailureError, attempt
from hotenv.marker import user

PRIVATE_FOLDER = 0o700


def runtime_base() -> str:
    """``$XDG_RUNTIME_DIR/hotenv``, or ``/tmp/hotenv-UID`` (specification, section 5.1).

    An XDG_RUNTIME_DIR that is empty or relative counts as unset, as the XDG specification says.
    """
    folder = os.environ.get("XDG_RUNTIME_DIR", "")
    if os.path.isabs(folder):
        return os.path.join(folder, "hotenv")
    return f"/tmp/hotenv-{os.geteuid()}"  # noqa: S108 - made private, and refused if it is not ours


def make_runtime_base() -> str:
    """The path of the runtime base, which is there, ours and private when this returns.

    Error handling: raises SystemFailureError if it cannot be made, is no real folder, or belongs
    to somebody else.
    """
    base = runtime_base()
    if "\n" in base:
        raise SystemFailureError(f"XDG_RUNTIME_DIR cannot be used: {base} contains a newline")
    with attempt(f"make the runtime folder {base}", "XDG_RUNTIME_DIR says where it goes"):
        with suppress(FileExistsError):
            os.mkdir(base, PRIVATE_FOLDER)
        _make_private(base)
    return base


def _make_private(base: str) -> None:
    status = os.lstat(base)
    if not stat.S_ISDIR(status.st_mode):
        raise SystemFailureError(f"{base} is not a folder: remove it, or set XDG_RUNTIME_DIR")
    if status.st_uid != os.geteuid():
        raise SystemFailureError(
            f"{base} belongs to {user(status.st_uid)} and not to you, {user(os.geteuid())}: "
            "set XDG_RUNTIME_DIR to a folder of yours"
        )
    if stat.S_IMODE(status.st_mode) != PRIVATE_FOLDER:
        os.chmod(base, PRIVATE_FOLDER)
