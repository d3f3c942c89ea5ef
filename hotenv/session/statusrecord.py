"""What a server publishes about its session: no value and no name of a variable. Pure.

It is one JSON object on one line. Its last field, the deadline, always takes the same room, so that
a server can write it anew in place after each request.
"""

from __future__ import annotations

import json
import math

from hotenv.errors import ArtifactError

_NONE = type(None)
_KINDS: dict[str, tuple[type, ...]] = {
    "marker": (str,),
    "started": (float,),
    "timeout": (float,),
    "end": (float, _NONE),
    "variables": (int,),
    "log": (str, _NONE),
    "standalone": (bool,),
    "deadline": (float,),
}
_DEADLINE_SIZE = 24  # bytes: any float with all its digits
_END = "}\n"

DEADLINE_OFFSET = -(_DEADLINE_SIZE + len(_END))
"""Where the deadline begins, in bytes from the end of an encoded record."""


class StatusRecord:
    """The facts of one session. For the boot clock see :mod:`hotenv.session.boottime`.

    ``marker``: the path of its marker. ``started``: seconds since 1970. ``timeout``: seconds.
    ``deadline``: when it ends if nobody asks any more, and ``end``: when it ends however often it
    is asked (None: never), by the boot clock. ``variables``: how many it holds. ``log``: the path
    of its log file, if it has one. ``standalone``: whether its server is a process that does
    nothing else, and ends at a signal.
    """

    __slots__ = tuple(_KINDS)

    def __init__(
        self,
        *,
        marker: str,
        started: float,
        timeout: float,
        deadline: float,
        end: float | None,
        variables: int,
        log: str | None,
        standalone: bool,
    ) -> None:
        self.marker = marker
        self.started = started
        self.timeout = timeout
        self.deadline = deadline
        self.end = end
        self.variables = variables
        self.log = log
        self.standalone = standalone


def encode_record(record: StatusRecord) -> bytes:
    """The line that publishes ``record``."""
    fields = {name: getattr(record, name) for name in _KINDS if name != "deadline"}
    text = json.dumps(fields).removesuffix("}")
    return f'{text}, "deadline": '.encode() + encode_deadline(record.deadline) + _END.encode()


def encode_deadline(deadline: float) -> bytes:
    """What takes the place of an earlier deadline, at DEADLINE_OFFSET."""
    return f"{deadline!r:>{_DEADLINE_SIZE}}".encode()


def decode_record(line: bytes) -> StatusRecord:
    """The record that ``line`` publishes. Raises ArtifactError if it is none."""
    try:
        published = json.loads(line)
        fields = {name: published[name] for name in _KINDS}
    except (ValueError, RecursionError, TypeError, KeyError):
        raise ArtifactError("this is no status of a session") from None
    for name, value in fields.items():
        if type(value) not in _KINDS[name] or (type(value) is float and not math.isfinite(value)):
            raise ArtifactError(f'the status of a session has a bad "{name}"')
    return StatusRecord(**fields)
