"""The files by which names are looked up, as a command sees them that may reach some hosts."""

from __future__ import annotations

import os

from hotenv.guards import syscalls as k
from hotenv.guards.names import HOSTS
from hotenv.guards.resolver import CONFIGURATION

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from hotenv.guards.later import Later
    from hotenv.guards.listener import Call
    from hotenv.guards.names import Names
    from hotenv.guards.verdict import Verdict

_ARGUMENTS = {"open": (0, 1), "openat": (1, 2)}  # path and flags
_RESOLVER = b"/etc/resolv.conf"


class NameFiles:
    """Gives the command ``names``, and hotenv as its resolver, in place of the files."""

    def __init__(self, names: Names, later: Later) -> None:
        self._later = later
        self._files = {HOSTS: names.hosts, _RESOLVER: lambda: CONFIGURATION}

    def opened(self, call: Call) -> Verdict | None:
        """open(2) and its like; None if it is about another file."""
        if call.name not in _ARGUMENTS:
            return None
        path, flags = _ARGUMENTS[call.name]
        if call.integer(flags) & (k.WRITING | k.O_PATH):
            return None
        text = self._files.get(call.text(call.arguments[path]))
        if text is None:
            return None
        cloexec = bool(call.integer(flags) & os.O_CLOEXEC)
        return self._later.answer(call, lambda: _give(call, text, cloexec=cloexec))


def _give(call: Call, text: Callable[[], str], *, cloexec: bool) -> int | None:
    descriptor = _memory_file(text())
    try:
        call.install(descriptor, cloexec=cloexec)
    except OSError as error:
        return error.errno
    finally:
        os.close(descriptor)
    return None


def _memory_file(text: str) -> int:
    """A descriptor, for reading, of a file with ``text`` that nobody else has."""
    writable = os.memfd_create("hosts")  # type: ignore[attr-defined,unused-ignore]
    try:
        with open(writable, "w", encoding="utf-8", closefd=False) as file:
            file.write(text)
        return os.open(f"/proc/self/fd/{writable}", os.O_RDONLY)
    finally:
        os.close(writable)
