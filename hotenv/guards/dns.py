"""Messages of DNS: what is asked, and the answer (RFC 1035, section 4). Pure."""

from __future__ import annotations

import ipaddress
import struct

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

_HEADER = struct.Struct("!HHHHHH")  # id, flags, and how many questions, answers, two more kinds
_QUESTION = struct.Struct("!HH")  # type and class, behind the name
_RECORD = struct.Struct("!HHHIH")  # where the name is, type, class, time to live, length
_IS_ANSWER, _RECURSION = 0x8000, 0x0180  # desired, and available
_OPERATION = 0x7800
_NO_SUCH_NAME = 3  # a code of an error
_NAME_AT = 0xC000 | _HEADER.size
_POINTER = 0xC0
_INTERNET = 1  # a class
_TYPES = {4: 1, 6: 28}
"""A and AAAA, by the version of addresses."""


class Query:
    """One question: ``name``, in lower case and without a final dot, and ``kind``, its type."""

    __slots__ = ("_id", "_question", "kind", "name")

    def __init__(self, message: bytes) -> None:
        """Error handling: raises ValueError for any other message."""
        try:
            self._id, flags, questions, *_ = _HEADER.unpack_from(message)
            labels, end = _labels(message, _HEADER.size)
            kind, class_ = _QUESTION.unpack_from(message, end)
            self.kind: int = kind
            self.name: str = b".".join(labels).decode("ascii").lower()
        except (struct.error, IndexError):
            raise ValueError("cut off") from None
        if flags & (_IS_ANSWER | _OPERATION) or questions != 1 or class_ != _INTERNET:
            raise ValueError("not a question of the kind that is answered")
        self._question = message[_HEADER.size : end + _QUESTION.size]

    def answer(self, addresses: Iterable[str] | None, lasts: int) -> bytes:
        """Those of ``addresses`` that are asked for; that there is no such name, if it is None.

        ``lasts``: for how many seconds it can be used.
        """
        records = [*self._records(addresses or (), lasts)]
        flags = _IS_ANSWER | _RECURSION | (_NO_SUCH_NAME if addresses is None else 0)
        header = _HEADER.pack(self._id, flags, 1, len(records), 0, 0)
        return b"".join([header, self._question, *records])

    def _records(self, addresses: Iterable[str], lasts: int) -> Iterable[bytes]:
        for address in map(ipaddress.ip_address, addresses):
            if _TYPES[address.version] == self.kind:
                data = address.packed
                yield _RECORD.pack(_NAME_AT, self.kind, _INTERNET, lasts, len(data)) + data


def _labels(message: bytes, at: int) -> tuple[list[bytes], int]:
    """The labels of the name at ``at``, and where it ends. In a question, none is elsewhere."""
    labels = []
    while size := message[at]:
        label = message[at + 1 : at + 1 + size]
        if size & _POINTER or b"." in label:
            raise ValueError("not a host name")
        labels.append(label)
        at += 1 + size
    return labels, at + 1
