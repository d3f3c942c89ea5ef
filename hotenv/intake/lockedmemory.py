"""The one place where a server keeps secrets: memory that is neither swapped, dumped nor copied.

Where the kernel has memfd_secret(2) (Linux 5.14) not even root can read it through /proc; elsewhere
it is anonymous memory that is locked and left out of core dumps. Both count against RLIMIT_MEMLOCK.
"""

from __future__ import annotations

import mmap
import os
import resource
from contextlib import suppress

from hotenv import libc


class LockedMemory:
    """``size`` bytes (1 or more), zero at first. ``view`` is where they are read and written.

    ``locked``: whether the system has promised not to write it to swap.
    """

    def __init__(self, size: int) -> None:
        _use_the_whole_limit()
        try:
            self.view: memoryview = libc.secret_memory(size)
            self.locked: bool = True
        except OSError:  # an older kernel, or over the limit of locked memory
            mapping = mmap.mmap(-1, size, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
            self.locked = _lock(mapping)
            self.view = memoryview(mapping)

    def fill(self, descriptor: int) -> None:
        """Read the whole content from ``descriptor``, straight into place.

        Raises EOFError if it ends too early, OSError if reading fails.
        """
        filled = 0
        while filled < len(self.view):
            count = os.readv(descriptor, [self.view[filled:]])
            if not count:
                raise EOFError
            filled += count

    def wipe(self) -> None:
        """Overwrite it with zeros."""
        self.view[:] = bytes(len(self.view))


def _use_the_whole_limit() -> None:
    """Raise the soft limit of locked memory to the hard one."""
    with suppress(OSError, ValueError):
        _, hard = resource.getrlimit(resource.RLIMIT_MEMLOCK)
        resource.setrlimit(resource.RLIMIT_MEMLOCK, (hard, hard))


def _lock(mapping: mmap.mmap) -> bool:
    for advice in ("MADV_DONTDUMP", "MADV_DONTFORK"):
        with suppress(AttributeError, OSError):
            mapping.madvise(getattr(mmap, advice))
    try:
        libc.mlock(mapping)
    except OSError:
        return False
    return True
