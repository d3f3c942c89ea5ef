"""What a process does before it touches secrets: no core dump, no debugger of the same user."""

from __future__ import annotations

import ctypes
import os
import resource
import signal
import sys
from contextlib import suppress

_PR_SET_PDEATHSIG = 1
_PR_SET_DUMPABLE = 4


def harden() -> None:
    """Make this process nameable, undumpable and closed to ptrace, for good.

    Its name becomes ``hotenv``, so that ``pkill hotenv`` finds it also as ``python -m hotenv``:
    the file for it is not ours any more once we are not dumpable. Where there is no prctl (macOS)
    the core limit is all.
    """
    with suppress(OSError), open("/proc/self/comm", "w") as file:
        file.write("hotenv")
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    _prctl(_PR_SET_DUMPABLE, 0)


def die_with(parent: int) -> None:
    """End this process when the process ``parent``, which started it, ends in whatever way."""
    _prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent:
        os.kill(os.getpid(), signal.SIGKILL)


def _prctl(option: int, value: int) -> None:
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(option, ctypes.c_ulong(value), 0, 0, 0)
