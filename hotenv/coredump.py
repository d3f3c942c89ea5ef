"""No core dump of a client while it holds values.

The limit is 1 byte and not 0: where cores are piped to a program (core_pattern), Linux enforces the
former only, and to a file it writes no core of that size either.
"""

from __future__ import annotations

import resource

_LIMIT = 1
_before: list[tuple[int, int]] = []


def forbid_core_dumps(restored: tuple[int, int] | None = None) -> None:
    """Lower the soft limit of this process, if it is higher.

    ``restored``: the limits that a command gets, if not those of this process.
    """
    try:
        soft, hard = resource.getrlimit(resource.RLIMIT_CORE)
        if soft == resource.RLIM_INFINITY or soft > _LIMIT:
            resource.setrlimit(resource.RLIMIT_CORE, (_LIMIT, hard))
            _before.append((soft, hard))
    except (OSError, ValueError):
        pass
    if restored is not None:
        _before[:] = [restored]


def core_limits() -> tuple[int, int]:
    """The limits, soft and hard, that a command gets."""
    return _before[-1] if _before else resource.getrlimit(resource.RLIMIT_CORE)


def restore_core_dumps() -> None:
    """Put the limit back, for the command that this process becomes."""
    if _before:
        resource.setrlimit(resource.RLIMIT_CORE, _before.pop())
