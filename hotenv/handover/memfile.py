"""A file that is only in memory, for tools that take a file and not a variable.

It is a sealed memfd of the process that becomes the command, reached as /proc/PID/fd/N: an exec
keeps the process id and this descriptor. Nothing is on disk, nothing has to be cleaned up, and the
file is gone with the command, however it ends.
"""

from __future__ import annotations

import fcntl
import os

from hotenv.errors import SystemFailureError, attempt

_READ_ONLY = 0o400
_SEALS = ("F_SEAL_SEAL", "F_SEAL_SHRINK", "F_SEAL_GROW", "F_SEAL_WRITE")


def memory_file(content: bytes) -> str:
    """The path of a new file that holds exactly ``content`` and cannot be changed.

    Whoever may look into this process's ``/proc/PID/fd`` can open it: its user, and root. Each
    opening starts at the first byte.

    Error handling: raises SystemFailureError if the system has no such files (macOS): never is a
    file on disk made instead.
    """
    if not hasattr(os, "memfd_create"):
        raise SystemFailureError("this system has no files in memory: pass the variable itself")
    with attempt("make a file in memory"):
        descriptor = os.memfd_create("hotenv", os.MFD_ALLOW_SEALING)
        os.set_inheritable(descriptor, True)
        rest = memoryview(content)
        while rest:
            rest = rest[os.write(descriptor, rest) :]
        os.fchmod(descriptor, _READ_ONLY)
        fcntl.fcntl(descriptor, fcntl.F_ADD_SEALS, sum(getattr(fcntl, seal) for seal in _SEALS))
    return f"/proc/{os.getpid()}/fd/{descriptor}"
