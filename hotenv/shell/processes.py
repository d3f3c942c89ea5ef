"""The processes below another one, as /proc has them."""

from __future__ import annotations

import os

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

_LONGEST = 1024  # bytes of /proc/PID/stat
_GONE = (b"Z", b"X")  # states
_NONE = -1


def descendants(root: int) -> set[int]:
    """The processes below ``root``, a subreaper: what is below it stays there.

    Also those that have ended and wait for their parents to notice.
    """
    parents = dict.fromkeys(map(int, filter(str.isdecimal, os.listdir("/proc"))), _NONE)
    asked = [*parents]
    while asked:
        parents |= {pid: parent_of(pid) for pid in asked}
        # Those whose parent has ended meanwhile have got another one.
        asked = [pid for pid, parent in parents.items() if parents.get(parent) == _NONE]
    below: set[int] = set()
    found = {root}
    while found:
        found = {pid for pid, parent in parents.items() if parent in found}
        below |= found
    return below


def is_chain(pids: Sequence[int]) -> bool:
    """Whether each of these processes has the next one as its only child, and the last one none.

    False if the kernel does not say. This takes less time than a look at all processes.
    """
    for at, pid in enumerate(pids):
        try:
            with open(f"/proc/{pid}/task/{pid}/children", "rb", buffering=0) as file:
                children = file.read(_LONGEST).split()
        except OSError:
            return False
        if children != [b"%d" % child for child in pids[at + 1 : at + 2]]:
            return False
    return True


def parent_of(pid: int) -> int:
    """The process ID of the parent: 0 if it has none here, -1 if there is no such process."""
    return _stat(pid)[1]


def is_running(pid: int) -> bool:
    """Whether the process has not ended."""
    return _stat(pid)[0] not in _GONE


def _stat(pid: int) -> tuple[bytes, int]:
    """The state of the process and the process ID of its parent."""
    try:
        with open(f"/proc/{pid}/stat", "rb", buffering=0) as file:
            state, parent, _ = file.read(_LONGEST).rpartition(b") ")[2].split(None, 2)
    except OSError:
        return _GONE[0], _NONE
    return state, int(parent)
