"""Variables of hotenv's own environment as a source: exact, whatever they contain.

A process cannot forget the environment that it was started with: that stays in its memory, where
root can read it. So before it reads anything, hotenv starts itself anew in the same process without
the variables that it takes. They go through in-memory files, which end with the reading.
"""

from __future__ import annotations

import os
from fnmatch import fnmatchcase

from hotenv.errors import UsageError
from hotenv.handover.childenv import parse_environ_block
from hotenv.handover.files import sealed
from hotenv.handover.launch import inherited_environment
from hotenv.handover.wellknown import ESSENTIALS, GROUPS
from hotenv.intake.sources import Source, read_all

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

_NEEDED = {name.encode() for name in (*ESSENTIALS, *GROUPS["@xdg"])}


class Inherited(Source):
    """The variables that match ``pattern``, which is a shell's.

    ``taken``: the descriptor of the file that they are in, if hotenv was started anew.
    """

    def __init__(self, pattern: str, taken: int | None = None) -> None:
        super().__init__("environment", "null")
        self.pattern: str = pattern
        self._taken = taken

    def read(self) -> bytes:
        """Each variable with a NUL at its end."""
        if self._taken is None:
            return _encode(_matching(self.pattern, inherited_environment()))
        os.lseek(self._taken, 0, os.SEEK_SET)
        return read_all(self._taken, self.title)

    def taken(self) -> Mapping[str, str]:
        """The same variables, if hotenv was started anew without them."""
        if self._taken is None:
            return {}
        return {os.fsdecode(n): os.fsdecode(v) for n, v in parse_environ_block(self.read()).items()}

    def let_go(self) -> None:
        """Close the file."""
        if self._taken is not None:
            os.close(self._taken)


def take(patterns: Sequence[str]) -> tuple[list[int], dict[bytes, bytes]]:
    """The variables of each of ``patterns`` in a file, as its descriptor; and the environment left.

    What hotenv itself needs stays in that, too: PATH, HOME and the like.

    Error handling: raises UsageError if a pattern matches nothing, SystemFailureError if there is
    no memory for a file.
    """
    rest = inherited_environment()
    found = [_matching(pattern, rest) for pattern in patterns]
    for name in {name for variables in found for name in variables} - _NEEDED:
        del rest[name]
    return [sealed(_encode(variables)) for variables in found], rest


def _matching(pattern: str, environment: dict[bytes, bytes]) -> dict[bytes, bytes]:
    found = {
        name: value
        for name, value in environment.items()
        if fnmatchcase(name.decode(errors="surrogateescape"), pattern)
    }
    if not found:
        raise UsageError(f"--env '{pattern}': no matching variable in the environment")
    return found


def _encode(variables: dict[bytes, bytes]) -> bytes:
    return b"".join(name + b"=" + value + b"\0" for name, value in variables.items())
