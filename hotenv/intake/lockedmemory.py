"""The one place where a server keeps secrets: memory that is neither swapped, dumped nor copied.

Where the kernel has memfd_secret(2) (Linux 5.14) not even root can read it through /proc; elsewhere
it is anonymous memory that is locked and left out of core dumps. Both count against RLIMIT_MEMLOCK.
"""

from __future__ import annotations

import ctypes
import mmap
import os
import resource
import sys
from contextlib import suppress

_MEMFD_SECRET = 447  # the number of the system call, the same on all but one old architecture
_libc = ctypes.CDLL(None, use_errno=True)


class LockedMemory:
    """``size`` bytes (1 or more), zero at first. ``view`` is where they are read and written.

    ``locked``: whether the system has promised not to write it to swap.
    """

    def __init__(self, size: int) -> None:
        _use_the_whole_limit()
        secret = _secret_mapping(size)
        if secret is None:
            mapping = mmap.mmap(-1, size, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
            self.locked = _lock(mapping, size)
        else:
            mapping = secret
            self.locked = True
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


def _secret_mapping(size: int) -> mmap.mmap | None:
    if sys.platform != "linux":
        return None
    descriptor = _libc.syscall(_MEMFD_SECRET, os.O_CLOEXEC)
    if descriptor < 0:
        return None
    try:
        os.ftruncate(descriptor, size)
        return mmap.mmap(descriptor, size, flags=mmap.MAP_SHARED)
    except OSError:  # over the limit of locked memory
        return None
    finally:
        os.close(descriptor)


def _lock(mapping: mmap.mmap, size: int) -> bool:
    for advice in ("MADV_DONTDUMP", "MADV_DONTFORK"):
        with suppress(AttributeError, OSError):
            mapping.madvise(getattr(mmap, advice))
    address = ctypes.addressof(ctypes.c_char.from_buffer(mapping))
    return bool(_libc.mlock(ctypes.c_void_p(address), ctypes.c_size_t(size)) == 0)
