"""What a command sends by sendmsg(2) or to an address, hotenv sends for it: with ``--allow-udp``.

So it does with ``--no-localhost``: which of them it is, decides what may be sent.

The rules of the game: where a message goes, and by which way, stands in the command's memory, and
can change after a look at it. A number can stand for a socket of another kind by then. So while the
command has sockets for UDP that are open, none of these calls goes on in the kernel, whatever it is
about: the supervisor reads the message once, and sends that on its own duplicate of the socket.
"""

from __future__ import annotations

import array
import errno
import os
import signal
import socket
import stat
import sys
import time
from contextlib import ExitStack

from hotenv.guards import syscalls as k
from hotenv.guards.attempts import limit_of, wait_until_writable
from hotenv.guards.messages import LENGTH_AT, read_buffer, read_message
from hotenv.guards.verdict import ANSWERED, DONE, fails

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from hotenv.guards.destinations import Destination
    from hotenv.guards.elsewhere import Elsewhere
    from hotenv.guards.internet import Internet
    from hotenv.guards.later import Later
    from hotenv.guards.listener import Call
    from hotenv.guards.messages import Message
    from hotenv.guards.verdict import Verdict

_CREDENTIALS = (socket.SOL_SOCKET, k.SCM_CREDENTIALS)
_PAUSE = 0.01  # seconds
_AT_ONCE, _QUIETLY, _ZEROCOPY = socket.MSG_DONTWAIT, socket.MSG_NOSIGNAL, 0x4000000
_KEPT = socket.MSG_OOB | socket.MSG_DONTROUTE | socket.MSG_EOR | k.MSG_MORE | k.MSG_CONFIRM


class Datagrams:
    """Sends for the command what ``rules`` let through, and on what is connected."""

    def __init__(self, rules: Internet | Elsewhere, later: Later) -> None:
        self._rules, self._later = rules, later

    def sendto(self, call: Call, address: bytes) -> Verdict:
        """sendto(2) to ``address``."""
        message = read_buffer(call, call.arguments[1], call.arguments[2], address)
        return self._send(call, message, call.integer(3), lambda sent: sent)

    def sendmsg(self, call: Call) -> Verdict:
        """sendmsg(2)."""
        message = read_message(call, call.arguments[1])
        return self._send(call, message, call.integer(2), lambda sent: sent)

    def sendmmsg(self, call: Call) -> Verdict:
        """sendmmsg(2): the first message. It may send fewer than it is given."""
        if not call.integer(2):
            return DONE
        start = call.arguments[1]
        message = read_message(call, start)

        def sent(size: int) -> int:
            call.write(start + LENGTH_AT, size.to_bytes(4, sys.byteorder))
            return 1

        return self._send(call, message, call.integer(3), sent)

    def _send(
        self, call: Call, message: Message, flags: int, value: Callable[[int], int]
    ) -> Verdict:
        """``value``: what the call returns when so many bytes were sent."""
        call.check_socket(call.integer(0))
        with call.descriptor(call.integer(0)) as duplicate:
            if not stat.S_ISSOCK(os.fstat(duplicate).st_mode):
                return fails(errno.ENOTSOCK)
            one = socket.socket(fileno=os.dup(duplicate))
        with one:
            if verdict := _failed(one, message, flags) or self._rules.refusal(one, message, flags):
                return verdict
            where = self._rules.destination(one, message.address)
            error = _attempt(call, one, message, flags, where, value)
            if error == errno.EAGAIN and os.get_blocking(one.fileno()) and not flags & _AT_ONCE:
                kept = one.dup()
                return self._later.answer(
                    call, lambda: _wait(call, kept, message, flags, where, value)
                )
        return ANSWERED if error is None else fails(error)


def _failed(one: socket.socket, message: Message, flags: int) -> Verdict | None:
    """The verdict on what hotenv cannot send; None if it can."""
    if flags & _ZEROCOPY:  # it would be hotenv's memory: programs go on without
        return fails(errno.ENOBUFS)
    if not message.whole and one.type != socket.SOCK_STREAM:
        return fails(errno.EMSGSIZE)
    kinds = [(level, kind) for level, kind, _ in message.control]
    if one.family == socket.AF_UNIX and _CREDENTIALS in kinds:  # they would be those of hotenv
        return fails(errno.EPERM)
    return None


def _attempt(
    call: Call,
    one: socket.socket,
    message: Message,
    flags: int,
    where: Destination | None,
    value: Callable[[int], int],
) -> int | None:
    """Send it without waiting. Returns the number of the error; None if ``call`` is answered."""
    there = [] if where is None else [where]
    try:
        with ExitStack() as stack:
            control = [_passed(call, stack, *each) for each in message.control]
            sent = one.sendmsg([message.data], control, flags & _KEPT | _AT_ONCE | _QUIETLY, *there)
    except BrokenPipeError:
        if one.type == socket.SOCK_STREAM and not flags & _QUIETLY:
            os.kill(call.process(), signal.SIGPIPE)
        return errno.EPIPE
    except OSError as error:
        return error.errno or errno.EIO
    call.succeed(value(sent))
    return None


def _passed(
    call: Call, stack: ExitStack, level: int, kind: int, data: bytes
) -> tuple[int, int, bytes]:
    """Control data for hotenv's own call: descriptors have other numbers here."""
    if (level, kind) != (socket.SOL_SOCKET, socket.SCM_RIGHTS):
        return level, kind, data
    theirs = array.array("i", data[: len(data) // 4 * 4])
    ours = [stack.enter_context(call.descriptor(number)) for number in theirs]
    return level, kind, array.array("i", ours).tobytes()


def _wait(
    call: Call,
    one: socket.socket,
    message: Message,
    flags: int,
    where: Destination | None,
    value: Callable[[int], int],
) -> int | None:
    """As :func:`_attempt`, when there is room; in a thread."""
    with one:
        while not (failed := wait_until_writable(call, one, limit_of(one))):
            error = _attempt(call, one, message, flags, where, value)
            if error != errno.EAGAIN:
                return error
            call.confirm()
            time.sleep(_PAUSE)  # there is room, but not for all of a message that is not a stream's
    return failed
