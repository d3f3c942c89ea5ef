"""What a command inside asks the desk for. Pure."""

from __future__ import annotations

import json
from collections.abc import Mapping

from attrs import asdict, field, frozen

from hotenv.desk import frames
from hotenv.errors import ArtifactError, UsageError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

PASSED = ("TERM", "COLORTERM", "NO_COLOR", "LANG", "COLUMNS", "LINES")
"""Variables of the requester that a command gets, beside those of PASSED_PREFIX."""

PASSED_PREFIX = "LC_"

_NUMBERS = ("COLUMNS", "LINES")
_PLAIN = {*"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_.@+"}
"""Nothing in them is a path, or means anything to a shell: scripts may not quote them."""

_LONGEST_VALUE = 64
_STREAMS = (0, 1, 2)
LARGEST = 10_000
"""Rows or columns of a terminal."""


def passed(environment: Mapping[str, str]) -> dict[str, str]:
    """The variables of ``environment`` that a command gets: no path, and nothing long."""
    return {name: value for name, value in environment.items() if _is_passed(name, value)}


def _is_passed(name: str, value: str) -> bool:
    known = name in PASSED or (name.startswith(PASSED_PREFIX) and name.isidentifier())
    plain = value.isascii() and (value.isdigit() if name in _NUMBERS else not {*value} - _PLAIN)
    return known and plain and len(value) <= _LONGEST_VALUE


@frozen
class Request:
    """A command that is to be run.

    ``argv``: its words. ``folder``: where, with the device and inode of that (``identity``).
    ``terminal``: which of the standard streams are the requester's terminal, and ``size``: the rows
    and columns of that. ``joined``: whether standard output and standard error are the same.
    ``environment``: what the requester has of PASSED.
    """

    argv: tuple[str, ...]
    folder: str
    identity: tuple[int, int]
    terminal: tuple[int, ...] = ()
    size: tuple[int, int] = (0, 0)
    joined: bool = False
    environment: Mapping[str, str] = field(factory=dict)

    def encode(self) -> bytes:
        """For a frame."""
        return json.dumps(asdict(self)).encode()

    def frame(self) -> bytes:
        """The first one that is sent. Raises UsageError if the command is too long for it."""
        payload = self.encode()
        if len(payload) > frames.LONGEST:
            raise UsageError(f"the command is too long (limit {frames.LONGEST} bytes)")
        return frames.encode(frames.REQUEST, payload)


def decode(payload: bytes) -> Request:
    """The request in a frame. Raises ArtifactError if it is none."""
    try:
        fields = json.loads(payload)
        request = Request(
            argv=tuple(_text(word) for word in _list(fields["argv"])),
            folder=_text(fields["folder"]),
            identity=_pair(fields["identity"], most=None),
            terminal=tuple(each for each in _STREAMS if each in _list(fields["terminal"])),
            size=_pair(fields["size"], most=LARGEST),
            joined=fields["joined"] is True,
            environment=passed({_text(n): _text(v) for n, v in fields["environment"].items()}),
        )
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        raise ArtifactError("the request is malformed") from None
    if not request.argv or not request.argv[0]:
        raise ArtifactError("the request names no command")
    return request


def _list(value: Any) -> list[Any]:  # noqa: ANN401 - of JSON
    if not isinstance(value, list):
        raise TypeError
    return value


def _text(value: object) -> str:
    if not isinstance(value, str) or "\0" in value:
        raise TypeError
    # Nothing else can be a word, and there is one way to write each: rules compare them.
    return value.encode("utf-8", "surrogateescape").decode("utf-8", "surrogateescape")


def _pair(value: object, *, most: int | None) -> tuple[int, int]:
    first, second = _list(value)
    for each in (first, second):
        if type(each) is not int or each < 0 or (most is not None and each > most):
            raise TypeError
    return first, second
