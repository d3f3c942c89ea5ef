"""What becomes of a process when its parent ends, and of its descendants when theirs do.

The kernel sees to it on Linux only.
"""

from __future__ import annotations

import os

from hotenv import libc
from hotenv.lightweight import signal

_PR_SET_PDEATHSIG = 1
_PR_SET_CHILD_SUBREAPER = 36


def die_with(parent: int, signum: int = signal.SIGKILL) -> None:
    """End this process by ``signum`` when its parent, the process ``parent``, ends in whatever way.

    Where the kernel cannot promise that (macOS), it ends if the parent has ended by now.
    """
    _ask_for(_PR_SET_PDEATHSIG, signum)
    if os.getppid() != parent:
        os.kill(os.getpid(), signum)


def outlive_parent() -> None:
    """Take :func:`die_with` back."""
    _ask_for(_PR_SET_PDEATHSIG, 0)


def adopt_orphans() -> None:
    """Become the parent of each descendant whose own parent ends, instead of process 1.

    Where there is no such thing (macOS), process 1 takes them.
    """
    _ask_for(_PR_SET_CHILD_SUBREAPER, 1)


def _ask_for(option: int, value: int) -> None:
    try:
        libc.prctl(option, value)
    except OSError:
        pass
