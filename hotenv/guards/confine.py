"""A process gives up what its guard forbids, for good and for all that it starts."""

from __future__ import annotations

import errno
import struct

from hotenv import libc
from hotenv.errors import SystemFailureError, attempt
from hotenv.guards import filter as filters
from hotenv.guards import syscalls as k

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from hotenv.guards.bpf import Instruction
    from hotenv.guards.kernel import Kernel
    from hotenv.guards.policy import Guard

_CAPABILITIES = 64
_HEADER = struct.pack("@Ii", k.LINUX_CAPABILITY_VERSION_3, 0)
_NONE = bytes(24)  # two times effective, permitted and inheritable
_INSTRUCTION = struct.Struct("=HBBI")


def shed_privileges(kernel: Kernel) -> None:
    """Give up capabilities, and the way to new ones: what set-user-ID programs give.

    For the supervisor too: what it does for a command it does as the command.
    """
    with attempt("give up privileges"):
        libc.prctl(k.PR_SET_NO_NEW_PRIVS, 1)
        _bound_capabilities()
        libc.system_call(kernel.number("capset"), _HEADER, _NONE)


def _bound_capabilities() -> None:
    try:
        for capability in range(_CAPABILITIES):
            libc.prctl(k.PR_CAPBSET_DROP, capability)
    except OSError:
        return  # there are fewer, or this process may drop none


def apply_filter(guard: Guard, kernel: Kernel, needed: Sequence[str]) -> int | None:
    """Apply the filter of ``guard`` to this thread.

    ``needed``: the options that cannot be kept without a supervisor.

    Returns the descriptor of its listener; None if there is one already, of another guard or
    sandbox around this one.

    Error handling: raises SystemFailureError if the kernel refuses, or if there is a listener and
    one of its own is needed.
    """
    with attempt("filter system calls"):
        try:
            return _load(guard, kernel, k.SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV)
        except OSError as error:
            if error.errno not in (errno.EINVAL, errno.EBUSY):
                raise
            if error.errno == errno.EINVAL:  # before Linux 5.19
                return _load(guard, kernel, k.SECCOMP_FILTER_FLAG_NEW_LISTENER)
        for option in needed:
            raise SystemFailureError(
                f"{option} cannot be used inside another guard or sandbox: the kernel allows only "
                "one supervisor"
            )
        _load(guard, kernel, 0)
    return None


def _load(guard: Guard, kernel: Kernel, listen: int) -> int:
    """``listen``: the flags of the listener, 0 for none."""
    program = filters.build(
        guard,
        kernel.architecture,
        scopes=kernel.scopes,
        truncation=kernel.truncation,
        notify=bool(listen),
    )
    flags = k.SECCOMP_FILTER_FLAG_SPEC_ALLOW
    if listen:
        flags |= k.SECCOMP_FILTER_FLAG_NEW_LISTENER | listen
    return libc.load_filter(
        kernel.number("seccomp"), k.SECCOMP_SET_MODE_FILTER, flags, encoded(program)
    )


def encoded(program: list[Instruction]) -> bytes:
    """``program`` as the kernel takes it."""
    return b"".join(_INSTRUCTION.pack(*instruction) for instruction in program)
