"""Messages as a command hands them to sendmsg(2) and its like: read once, from its memory."""

from __future__ import annotations

import errno
import struct

from hotenv.guards.addresses import LONGEST_ADDRESS
from hotenv.guards.listener import BadArgument

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from hotenv.guards.listener import Call

_HEADER = struct.Struct("@PIPNPN")  # of msghdr: address, parts and control data, each with its size
_PART = struct.Struct("@PN")  # of iovec
_CONTROL = struct.Struct("@Nii")  # of cmsghdr: length with this, level, type
_ALIGNED = 8  # bytes
_MOST_PARTS = 1024  # UIO_MAXIOV
_LONGEST, _LONGEST_CONTROL = 1 << 18, 1 << 14  # bytes

LENGTH_AT = 56
"""Where in a struct mmsghdr the kernel says how much of the message was sent."""


class Message:
    """``address``: empty if there is none. ``control``: level, type and data of each part."""

    __slots__ = ("address", "control", "data", "whole")

    def __init__(
        self,
        data: bytes,
        address: bytes,
        control: list[tuple[int, int, bytes]] | None = None,
        *,
        whole: bool = True,
    ) -> None:
        """``whole``: whether ``data`` is all of it: more than a socket takes at once is left."""
        self.data: bytes = data
        self.address: bytes = address
        self.control: list[tuple[int, int, bytes]] = control or []
        self.whole: bool = whole


def read_message(call: Call, pointer: int) -> Message:
    """The message behind ``pointer``, a struct msghdr. Raises BadArgument and Vanished."""
    header = _memory(call, pointer, _HEADER.size)
    name, name_size, parts, count, control, control_size = _HEADER.unpack(header)
    if count > _MOST_PARTS:
        raise BadArgument(errno.EMSGSIZE)
    if control_size > _LONGEST_CONTROL:
        raise BadArgument(errno.ENOBUFS)
    address = _memory(call, name, min(name_size, LONGEST_ADDRESS)) if name else b""
    pieces = [*_PART.iter_unpack(_memory(call, parts, count * _PART.size))]
    data, left = b"", _LONGEST
    for start, size in pieces:
        data += _memory(call, start, min(size, left))
        left = _LONGEST - len(data)
    whole = sum(size for _, size in pieces) <= _LONGEST
    its_control = [*_controls(_memory(call, control, control_size))] if control else []
    return Message(data, address, its_control, whole=whole)


def read_buffer(call: Call, pointer: int, size: int, address: bytes) -> Message:
    """The message of sendto(2)."""
    return Message(_memory(call, pointer, min(size, _LONGEST)), address, whole=size <= _LONGEST)


def _memory(call: Call, pointer: int, size: int) -> bytes:
    """Exactly ``size`` bytes. A read of the memory of a process ends where a page is missing."""
    data = call.memory(pointer, size) if size else b""
    if len(data) < size:
        raise BadArgument(errno.EFAULT)
    return data


def _controls(data: bytes) -> Iterator[tuple[int, int, bytes]]:
    at = 0
    while at + _CONTROL.size <= len(data):
        size, level, kind = _CONTROL.unpack_from(data, at)
        if not _CONTROL.size <= size <= len(data) - at:
            raise BadArgument(errno.EINVAL)
        yield level, kind, data[at + _CONTROL.size : at + size]
        at += -(-size // _ALIGNED) * _ALIGNED
