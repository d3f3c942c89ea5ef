"""Paths as the command means them: from its working directory, and with its own /proc/self."""

from __future__ import annotations

import os

from hotenv.guards import syscalls as k
from hotenv.guards.threads import Vanished

TYPE_CHECKING = False
if TYPE_CHECKING:
    from hotenv.guards.listener import Call

_OWN = {
    b"/dev/stdin": b"/proc/self/fd/0",
    b"/dev/stdout": b"/proc/self/fd/1",
    b"/dev/stderr": b"/proc/self/fd/2",
    b"/etc/mtab": b"/proc/self/mounts",  # on nearly all systems
    b"/proc/mounts": b"/proc/self/mounts",
}


def own_path(call: Call, path: bytes) -> bytes:
    """``path`` with the process of ``call`` in place of "self", which is the supervisor here."""
    path = _OWN.get(path, path)
    if not path.startswith((b"/proc/", b"/dev/")):
        return path
    if path.startswith(b"/proc/net/"):
        path = b"/proc/self" + path[5:]
    if path.startswith(b"/dev/fd/"):
        path = b"/proc/self/fd/" + path[8:]
    for own in (b"/proc/self", b"/proc/thread-self"):
        if path == own or path.startswith(own + b"/"):
            return b"/proc/%d%s" % (call.thread, path[len(own) :])
    return path


def open_path(
    call: Call,
    directory: int,
    path: bytes,
    *,
    follow: bool = True,
    exact: bool = False,
    flags: int = 0,
) -> int:
    """A descriptor (O_PATH) of what ``path`` is to the process of ``call``.

    ``directory``: its descriptor of the directory from which a relative path starts, or AT_FDCWD.
    ``flags``: more of them for open(2).

    ``exact``: for what is done, and not only reported. Links of /proc that are the supervisor's own
    here, such as /proc/self/cwd behind another link, lead nowhere.

    Error handling: raises OSError as open(2) does, and Vanished.
    """
    flags |= k.O_PATH | (0 if follow else os.O_NOFOLLOW)
    if path.startswith(b"/"):
        own = own_path(call, path)
        return call.open(k.AT_FDCWD, path, flags) if exact and own == path else os.open(own, flags)
    if not path:
        raise FileNotFoundError(2, "empty path")
    if directory == k.AT_FDCWD:
        try:
            base = os.open(f"/proc/{call.thread}/cwd", k.O_PATH)
        except OSError:
            raise Vanished from None
        try:
            return call.open(base, path, flags) if exact else os.open(path, flags, dir_fd=base)
        finally:
            os.close(base)
    with call.descriptor(directory) as base:
        return call.open(base, path, flags) if exact else os.open(path, flags, dir_fd=base)


def real_path(descriptor: int) -> str:
    """The path of what ``descriptor`` refers to, without symbolic links."""
    return os.readlink(f"/proc/self/fd/{descriptor}")
