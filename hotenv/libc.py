"""The one place for ctypes: functions of the C library that Python does not have.

Each raises OSError as Python's own do; with ENOSYS where the system has no such function.
"""

from __future__ import annotations

import ctypes
import errno
import mmap
import os
import struct
import sys

_libc = ctypes.CDLL(None, use_errno=True)

_MEMFD_SECRET = 447  # the number of the system call on every architecture of Linux but alpha
_SIGEVENT = struct.Struct("@Pii48x")  # sigevent(7): value, signal, kind of notification
_SIGEV_SIGNAL = 0
_ITIMERSPEC = struct.Struct("@4l")  # timer_settime(2): interval and time, seconds and nanoseconds
_AT_FDCWD, _AT_EMPTY_PATH = -100, 0x1000  # statx(2): the current directory; the descriptor itself
_STATX_BTIME = 0x800
_STATX = struct.Struct("@I76xqI164x")  # struct statx: which fields are set, the birth's two
_SOCK_FPROG = struct.Struct("@HP")  # seccomp(2): number of instructions, pointer to them
_INSTRUCTION = 8  # bytes
_PR_SET_NAME = 15
_PT_DENY_ATTACH = 31  # macOS: ptrace(2)


def prctl(option: int, value: int) -> None:
    """prctl(2) of Linux, for the options that take one number."""
    zero = ctypes.c_ulong(0)
    _call("prctl", option, ctypes.c_ulong(value), zero, zero, zero, system="linux")


def rename_process(name: bytes) -> None:
    """prctl(PR_SET_NAME) of Linux: the name of the calling thread, up to 15 bytes."""
    zero = ctypes.c_ulong(0)
    _call("prctl", _PR_SET_NAME, ctypes.c_char_p(name), zero, zero, zero, system="linux")


def system_call(number: int, *arguments: int | bytes | None) -> int:
    """syscall(2) of Linux, for calls that the C library has no function for.

    ``number`` is that of this architecture. Bytes are passed as a pointer to them; None is NULL.
    """
    words = [ctypes.c_long(each) if isinstance(each, int) else each for each in arguments]
    return _call("syscall", ctypes.c_long(number), *words, system="linux")


def load_filter(number: int, operation: int, flags: int, program: bytes) -> int:
    """seccomp(2) of Linux, which is call ``number``: apply a filter of ``program`` to this thread.

    Returns what the call does: with flags for it, the descriptor of a listener.
    """
    code = ctypes.create_string_buffer(program, len(program))
    header = _SOCK_FPROG.pack(len(program) // _INSTRUCTION, ctypes.addressof(code))
    return system_call(number, operation, flags, header)


def secret_memory(size: int) -> memoryview:
    """``size`` bytes that only this process can read: memfd_secret(2) of Linux, mapped for good.

    No descriptor is left through which another process could map them too.
    """
    descriptor = _call("syscall", ctypes.c_long(_MEMFD_SECRET), os.O_CLOEXEC, system="linux")
    try:
        os.ftruncate(descriptor, size)
        address = _map(size, descriptor)
    finally:
        os.close(descriptor)
    return memoryview((ctypes.c_char * size).from_address(address)).cast("B")


def _map(size: int, descriptor: int) -> int:
    """mmap(2), which Python's own does with a duplicate of ``descriptor`` that it keeps."""
    function = _libc.mmap
    function.restype = ctypes.c_void_p
    function.argtypes = (
        *(ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int, ctypes.c_int, ctypes.c_int),
        ctypes.c_long,
    )
    protection, flags = mmap.PROT_READ | mmap.PROT_WRITE, mmap.MAP_SHARED
    address: int | None = function(None, size, protection, flags, descriptor, 0)
    if address is None or address == ctypes.c_void_p(-1).value:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))
    return address


def mlock(memory: mmap.mmap) -> None:
    """mlock(2): keep ``memory`` out of swap."""
    address = ctypes.addressof(ctypes.c_char.from_buffer(memory))
    _call("mlock", ctypes.c_void_p(address), ctypes.c_size_t(len(memory)))


def deny_attach() -> None:
    """ptrace(PT_DENY_ATTACH) of macOS: no debugger may attach to this process."""
    _call("ptrace", _PT_DENY_ATTACH, 0, ctypes.c_void_p(0), 0, system="darwin")


def birth(file: str | int) -> int:
    """When a file was created, a path or a descriptor, in nanoseconds: statx(2) of Linux.

    The error is ENOSYS too where the file system does not know.
    """
    at, path = (_AT_FDCWD, os.fsencode(file)) if isinstance(file, str) else (file, b"")
    answer = ctypes.create_string_buffer(_STATX.size)
    _call("statx", at, path, _AT_EMPTY_PATH, _STATX_BTIME, answer, system="linux")
    fields, seconds, nanoseconds = _STATX.unpack(answer)
    if not fields & _STATX_BTIME:
        raise OSError(errno.ENOSYS, f"statx: {os.strerror(errno.ENOSYS)}")
    return int(seconds * 10**9 + nanoseconds)


class Timer:
    """A timer of the kernel, which sends this process a signal: timer_create(2) of Linux.

    It is not inherited by a child process, and works on while this process is stopped.
    """

    def __init__(self, clock: int, signum: int) -> None:
        """``clock``: one of time.CLOCK_*. Nothing is sent until :meth:`set`."""
        event = _SIGEVENT.pack(0, signum, _SIGEV_SIGNAL)
        self._id = ctypes.c_void_p()
        _call("timer_create", clock, event, ctypes.byref(self._id), system="linux")
        self._set = _libc.timer_settime

    def set(self, seconds: float) -> None:
        """Send the signal once, in ``seconds``, and not when it would have been sent so far."""
        whole = int(seconds)
        nanoseconds = max(1, int((seconds - whole) * 1e9))  # 0 would be: never
        self._set(self._id, 0, _ITIMERSPEC.pack(0, 0, whole, nanoseconds), None)


def _call(name: str, *args: object, system: str | None = None) -> int:
    """``system``: the only one where ``args`` mean what they should."""
    function = getattr(_libc, name, None) if system in (None, sys.platform) else None
    if function is None:
        raise OSError(errno.ENOSYS, f"{name}: {os.strerror(errno.ENOSYS)}")
    result = int(function(*args))
    if result < 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))
    return result
