"""Attempts to connect that never keep the supervisor waiting.

An attempt takes a tick of the kernel's clock at most, as only the supervisor sets how long the
socket waits. A thread then looks for the end by poll(2): the error of an attempt that nobody waits
for any more stays with the socket, where the command finds it.
"""

from __future__ import annotations

import errno
import os
import select
import socket
import struct
import time

from hotenv.guards.verdict import DONE, fails

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from hotenv.guards.listener import Call
    from hotenv.guards.verdict import Verdict

UNFINISHED = (errno.EINPROGRESS, errno.EALREADY)
"""Errors of an attempt that goes on."""

_TIMEOUT = struct.Struct("@ll")  # struct timeval
_INT = 4  # bytes
_HOW_LONG = (socket.SOL_SOCKET, socket.SO_SNDTIMEO)
_SHORTEST = _TIMEOUT.pack(0, 1)
_LOOK = 50  # milliseconds: how often a thread that waits looks for signals
_ERESTARTSYS = 512  # the call is made anew, or fails with EINTR: the kernel decides by the signal


def set_timeout(call: Call) -> Verdict:
    """setsockopt(2) that says how long a connect waits."""
    call.check_socket(call.integer(0))
    size = call.integer(4)
    if size < _INT:
        return fails(errno.EINVAL)
    value = call.memory(call.arguments[3], _TIMEOUT.size)  # of any option, the kernel reads an int
    if size < _TIMEOUT.size:
        return fails(errno.EINVAL)
    if len(value) < _TIMEOUT.size:
        return fails(errno.EFAULT)
    with (
        call.descriptor(call.integer(0)) as duplicate,
        socket.socket(fileno=os.dup(duplicate)) as one,
    ):
        try:
            one.setsockopt(*_HOW_LONG, value)
        except OSError as error:
            return fails(error.errno or errno.EINVAL)
    return DONE


def begin(one: socket.socket, connect: Callable[[socket.socket], int]) -> tuple[int, bytes]:
    """Begin to connect ``one``. Returns the number of the error, or 0, and how long it may wait.

    ``connect``: makes the call, and returns the same number.
    """
    limit = limit_of(one)
    one.setsockopt(*_HOW_LONG, _SHORTEST)
    try:
        return connect(one), limit
    finally:
        one.setsockopt(*_HOW_LONG, limit)


def finish(
    call: Call, one: socket.socket, connect: Callable[[socket.socket], int], limit: bytes
) -> int:
    """How the attempt to connect ``one`` ends, as long as ``call`` waits for that."""
    with one:
        error = wait_until_writable(call, one, limit)
        return errno.EINPROGRESS if error == errno.EAGAIN else error or connect(one)


def wait_until_writable(call: Call, one: socket.socket, limit: bytes) -> int:
    """Wait as long as ``call`` does, and not longer than ``limit``, as :func:`begin` returns it.

    Returns 0, or the number of the error: EAGAIN if it took too long.
    """
    seconds, microseconds = _TIMEOUT.unpack(limit)
    end = time.monotonic() + (seconds + microseconds / 1e6 or float("inf"))
    poll = select.poll()
    poll.register(one, select.POLLOUT)
    while not poll.poll(_LOOK):
        call.confirm()
        if call.is_signalled():
            return _ERESTARTSYS
        if time.monotonic() > end:
            return errno.EAGAIN
    return 0


def limit_of(one: socket.socket) -> bytes:
    """How long ``one`` may wait."""
    return one.getsockopt(*_HOW_LONG, _TIMEOUT.size)
