"""A program that becomes a command for which the kernel refuses some system calls.

As a container's filter does: ``python seccomp.py EPERM NAME[,NAME...] COMMAND [ARG ...]``. The
command has NoNewPrivs, without which only root may have a filter: it is confined.
"""

from __future__ import annotations

import ctypes
import errno
import os
import platform
import struct
import sys
from pathlib import Path

_NUMBERS = {
    "x86_64": {
        "clone": 56,
        "clone3": 435,
        "epoll_create1": 291,
        "fork": 57,
        "landlock_create_ruleset": 444,
        "memfd_secret": 447,
        "mlock": 149,
        "pidfd_open": 434,
        "pidfd_send_signal": 424,
        "prctl": 157,
        "prlimit64": 302,
        "readv": 19,
        "rt_sigtimedwait": 128,
        "setsid": 112,
        "socketpair": 53,
        "timer_create": 222,
        "timer_settime": 223,
        "vfork": 58,
    },
    "aarch64": {
        "clone": 220,
        "clone3": 435,
        "epoll_create1": 20,
        "landlock_create_ruleset": 444,
        "memfd_secret": 447,
        "mlock": 228,
        "pidfd_open": 434,
        "pidfd_send_signal": 424,
        "prctl": 167,
        "prlimit64": 261,
        "readv": 65,
        "rt_sigtimedwait": 137,
        "setsid": 157,
        "socketpair": 199,
        "timer_create": 107,
        "timer_settime": 110,
    },
}.get(platform.machine(), {})
"""Of the system calls, by the machine; one that a machine does not have is in no filter there."""

_PR_SET_SECCOMP, _PR_SET_NO_NEW_PRIVS = 22, 38
_MODE_FILTER = 2
_LOAD, _JUMP_IF_EQUAL, _RETURN = 0x20, 0x15, 0x06  # of <linux/bpf_common.h>
_ALLOW, _ERRNO = 0x7FFF0000, 0x00050000  # of <linux/seccomp.h>


def refusing(names: str, error: str = "EPERM") -> list[str]:
    """The words that make the kernel refuse system calls to the command behind them."""
    return [sys.executable, "-P", str(Path(__file__)), error, names]


def is_possible() -> bool:
    """Whether there are filters here, for this machine."""
    seccomp = Path("/proc/sys/kernel/seccomp/actions_avail")
    return bool(_NUMBERS) and seccomp.exists() and " errno " in seccomp.read_text()


def refuse(names: list[str], number: int) -> None:
    """Let system calls fail with the error ``number`` for this process, for good."""
    unwanted = [_NUMBERS[name] for name in names if name in _NUMBERS]
    program = [(_LOAD, 0, 0, 0)]  # the number of the system call
    program += [(_JUMP_IF_EQUAL, len(unwanted) - at, 0, each) for at, each in enumerate(unwanted)]
    program += [(_RETURN, 0, 0, _ALLOW), (_RETURN, 0, 0, _ERRNO | number)]
    code = ctypes.create_string_buffer(
        b"".join(struct.pack("=HBBI", *instruction) for instruction in program)
    )
    header = struct.pack("@HP", len(program), ctypes.addressof(code))
    prctl = ctypes.CDLL(None, use_errno=True).prctl
    zero = ctypes.c_ulong(0)
    if prctl(_PR_SET_NO_NEW_PRIVS, ctypes.c_ulong(1), zero, zero, zero) or prctl(
        _PR_SET_SECCOMP, ctypes.c_ulong(_MODE_FILTER), header, zero, zero
    ):
        raise OSError(ctypes.get_errno(), "no filter")


if __name__ == "__main__":
    refuse(sys.argv[2].split(","), getattr(errno, sys.argv[1]))
    os.execvp(sys.argv[3], sys.argv[3:])
