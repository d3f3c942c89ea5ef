"""The file descriptors that a process was started with: to let go of them, or to share them."""

from __future__ import annotations

import os
import stat

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable


def open_descriptors() -> Iterable[int]:
    """All that may be open. There can be some above a limit that was lowered later."""
    try:
        return [int(name) for name in os.listdir("/dev/fd")]
    except OSError:  # there is no /proc
        return range(os.sysconf("SC_OPEN_MAX"))


def redirect_to_null(*streams: int) -> None:
    """Let go of standard streams: /dev/null takes their numbers."""
    null = os.open(os.devnull, os.O_RDWR)
    for stream in streams:
        os.dup2(null, stream)
    os.close(null)


def close_inherited() -> None:
    """Close every descriptor above the standard streams that another program would inherit."""
    for descriptor in open_descriptors():
        if descriptor > 2:
            try:
                if os.get_inheritable(descriptor):
                    os.close(descriptor)
            except OSError:  # it was the one for looking
                pass


def reopen_nonblocking(descriptor: int, access: int = os.O_WRONLY) -> int:
    """A descriptor to the same terminal or pipe that never blocks, where the system gives one.

    Else it is ``descriptor`` itself. O_NONBLOCK belongs to the open file, which is shared with the
    shell that started us: so open it anew. poll() alone is not enough, for a terminal with room for
    a byte is ready for a line.
    """
    try:
        mode = os.fstat(descriptor).st_mode
        if stat.S_ISCHR(mode) or stat.S_ISFIFO(mode):
            flags = access | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC
            return os.open(f"/proc/self/fd/{descriptor}", flags)
    except OSError:
        pass
    return descriptor
