"""Users: whose a file or a process is, and how an error names them.

In a user namespace every user that is not mapped into it appears as one and the same, the overflow
uid. If that is how the caller appears too, it says nothing: then no user counts as the same.
"""

from __future__ import annotations

import os
import sys

from hotenv.errors import SystemFailureError

_ROOT = 0
_UID_DIGITS = 10
_OVERFLOW_UID = 65534  # where there is no /proc to ask
_ALL_USERS = [b"0", b"0", b"4294967295"]


def is_ours(uid: int) -> bool:
    """Whether ``uid``, as the kernel reports it, is the caller's.

    Error handling: raises SystemFailureError if that cannot be known.
    """
    return _is_same(uid, os.geteuid())


def is_trusted(uid: int) -> bool:
    """The same, or that it is the user's for whom sudo runs us as root."""
    return is_ours(uid) or _is_same(uid, sudo_uid())


def is_root() -> bool:
    """Whether the caller is root, whom no permission binds."""
    return is_of_system(os.geteuid())


def is_of_system(uid: int) -> bool:
    """Whether ``uid`` is root's, who could change everything anyway."""
    return uid == _ROOT


def _is_same(uid: int, other: int | None) -> bool:
    if uid == other and uid == _overflow_uid() and not _maps_all_users():
        raise SystemFailureError(
            f"cannot tell users apart: uid {uid} stands for every user that this user namespace "
            "does not map: run hotenv outside it, or map your user into it"
        )
    return uid == other


def _overflow_uid() -> int:
    content = _content("/proc/sys/kernel/overflowuid")
    return int(content) if content else _OVERFLOW_UID


def _maps_all_users() -> bool:
    content = _content("/proc/self/uid_map")
    if content is None:
        return sys.platform != "linux"
    return content.split() == _ALL_USERS


def _content(path: str) -> bytes | None:
    """None where there is no /proc."""
    try:
        with open(path, "rb", buffering=0) as file:
            return file.read()
    except OSError:
        return None


def sudo_uid() -> int | None:
    """The user for whom sudo runs us as root, if that is what happens."""
    text = os.environ.get("SUDO_UID", "") if os.geteuid() == 0 else ""
    return int(text) if text.isascii() and text.isdigit() and len(text) <= _UID_DIGITS else None


def user(uid: int) -> str:
    """A user as an error names it: ``alice (uid 1000)``."""
    import pwd

    try:
        return f"{pwd.getpwuid(uid).pw_name} (uid {uid})"
    except KeyError:
        return f"uid {uid}"


def not_yours(what: str, owner: int, remedy: str) -> SystemFailureError:
    """The error for a file that another user owns."""
    caller = user(os.geteuid())
    return SystemFailureError(f"{what} is owned by {user(owner)}, not by you, {caller}: {remedy}")
