"""Programs that a command starts: Pythons among them that a guard of imports would not reach."""

from __future__ import annotations

import os
import struct

from hotenv.guards import syscalls as k
from hotenv.guards.isolated import isolating_option
from hotenv.guards.paths import open_path, real_path
from hotenv.guards.verdict import STRICT_IMPORTS, Blocked, refused

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from hotenv.guards.listener import Call
    from hotenv.guards.verdict import Verdict

_POINTER = struct.Struct("@P")
_MOST_WORDS = 64  # of a command: the options of Python come first


def executed(call: Call) -> Verdict | None:
    """execve(2) of such a Python; None if it is of another program, or fails anyway."""
    if call.name != "execve":
        return None
    try:
        program = open_path(call, k.AT_FDCWD, call.text(call.arguments[0]))
    except OSError:
        return None
    path = real_path(program)
    os.close(program)
    _, *arguments = [*_words(call, call.arguments[1])] or [b""]
    option = isolating_option(os.fsencode(path), arguments) if os.access(path, os.X_OK) else ""
    return refused(Blocked(STRICT_IMPORTS, "start", path=path, option=option)) if option else None


def _words(call: Call, pointer: int) -> Iterator[bytes]:
    data = call.memory(pointer, _MOST_WORDS * _POINTER.size) if pointer else b""
    for start in range(0, len(data) - _POINTER.size + 1, _POINTER.size):
        (word,) = _POINTER.unpack_from(data, start)
        if not word:
            break
        yield call.text(word)
