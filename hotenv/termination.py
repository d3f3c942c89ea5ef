"""The signals that ask a process to end: asynchronous ones that end it by default. Pure.

Not among them: what a process does wrong itself (SIGSEGV, SIGABRT and the like), and SIGPIPE and
SIGXFSZ, which Python ignores.
"""

from __future__ import annotations

import signal
import sys

_NAMES = ("SIGHUP", "SIGINT", "SIGQUIT", "SIGTERM", "SIGUSR1", "SIGUSR2", "SIGALRM", "SIGVTALRM")
_LIMITS = ("SIGPROF", "SIGXCPU")
_OF_LINUX = ("SIGIO", "SIGPWR", "SIGSTKFLT")  # some of them are ignored by default elsewhere

NEVER_IGNORED = (signal.SIGINT, signal.SIGTERM)
"""Those that end a server even if they were ignored when it was started."""


def _signals() -> tuple[int, ...]:
    names = [*_NAMES, *_LIMITS]
    if sys.platform == "linux":
        names += _OF_LINUX
    named = [getattr(signal, name) for name in names if hasattr(signal, name)]
    # macOS has no real-time signals.
    return (*named, *range(getattr(signal, "SIGRTMIN", 0), getattr(signal, "SIGRTMAX", -1) + 1))


TERMINATION_SIGNALS = _signals()
