"""Lines to a terminal, a pipe or a file that may be slow, full, stopped or gone.

A write that blocks would keep secrets in memory past their deadline. A line that cannot be written
at once is dropped, and the next one that can be says how many were.
"""

from __future__ import annotations

import os
import select
import stat
from contextlib import suppress

_LONGEST = select.PIPE_BUF  # bytes that a pipe takes whole or not at all
_CUT = b"...\n"


class LineWriter:
    """Writes lines to a descriptor of somebody else's, without waiting and without raising."""

    def __init__(self, descriptor: int) -> None:
        """``descriptor`` is not changed and not closed; it may be closed already."""
        self._descriptor = own_description(descriptor)
        self._poll = select.poll()
        self._poll.register(self._descriptor, select.POLLOUT)
        self._dropped = 0

    def write(self, line: str) -> None:
        """Write ``line``, which has no newline, or count it as dropped."""
        if self._dropped and self._put(f"hotenv: {self._dropped} lines could not be written here"):
            self._dropped = 0
        if not self._put(line):
            self._dropped += 1

    def _put(self, line: str) -> bool:
        data = line.encode("utf-8", "backslashreplace") + b"\n"
        if len(data) > _LONGEST:
            data = data[: _LONGEST - len(_CUT)].decode("utf-8", "ignore").encode() + _CUT
        try:
            ready = self._poll.poll(0)
            return bool(ready and ready[0][1] & select.POLLOUT and os.write(self._descriptor, data))
        except OSError:
            return False


def own_description(descriptor: int) -> int:
    """A descriptor to the same terminal or pipe that never blocks, where the system gives one.

    O_NONBLOCK belongs to the open file, which we share with the shell that started us: so open it
    anew. poll() alone is not enough, for a terminal with room for a byte is ready for a line.
    """
    with suppress(OSError):
        mode = os.fstat(descriptor).st_mode
        if stat.S_ISCHR(mode) or stat.S_ISFIFO(mode):
            flags = os.O_WRONLY | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC
            return os.open(f"/proc/self/fd/{descriptor}", flags)
    return descriptor
