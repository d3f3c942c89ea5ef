"""What is closed to a command, whatever it may read and change beside it."""

from __future__ import annotations

import os

from hotenv.guards.covering import identity_at
from hotenv.guards.fields import is_denied, is_within
from hotenv.guards.mounts import all_names, read_mounts

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from hotenv.guards.policy import Guard

_PROC = "/proc"


class Closed:
    """``denied``: paths that ``deny_read`` names. ``unwritten``: paths that are read-only.

    ``excepted``: what may lie deeper in what is denied. No path has a symbolic link. ``divided``:
    the directories above what is mounted more than once, by device and inode. ``processes``: the
    directory of all processes, if that is denied; empty else. What in it is about the whole system,
    which ``system`` has, can be read; so can what is about the command's own processes, but only
    the supervisor can tell these.
    """

    __slots__ = ("denied", "divided", "excepted", "processes", "system", "terminals", "unwritten")

    def __init__(self, guard: Guard, unwritten: Iterable[str] = ()) -> None:
        excepted = (*guard.allow_write, *(guard.allow_read or ()))
        self.unwritten: list[str] = [*unwritten]
        self.excepted: list[str] = [*map(os.path.realpath, excepted)]
        self.denied: list[str] = []
        self.terminals: list[str] = []
        mounts = read_mounts() if guard.deny_read or guard.no_terminals else []
        if guard.deny_read:
            self.denied = all_names(map(os.path.realpath, guard.deny_read), mounts)
        self.processes: str = _PROC if _PROC in self.denied else ""
        self.system: list[str] = []
        if self.processes:
            self.denied += [each.point for each in mounts if each.kind == "proc"]
            self.denied = list(dict.fromkeys(self.denied))
            self.system = [*_of_system()]
            self.excepted += self.system
        if guard.no_terminals:
            from hotenv.guards.terminals import terminals

            self.terminals = terminals(mounts)
        again = [*self.denied, *self.terminals] if mounts else []
        above = {part for path in again for part in _above(path)}
        self.divided: frozenset[tuple[int, int]] = frozenset(filter(None, map(identity_at, above)))

    def unread_in(self, path: str) -> list[str]:
        """What is not read, if the exception ``path`` counts."""
        outer = [root for root in self.denied if _is_below(path, root)]
        return [*(root for root in self.denied if root not in outer), *self.terminals]

    def unwritten_in(self, path: str) -> list[str]:
        """Likewise, the paths that are read-only."""
        return [*self.unwritten, *self.unread_in(path)]

    def denies(self, path: str) -> bool:
        """Whether nothing at ``path`` is opened."""
        return is_denied(path, self.denied, self.excepted)

    def divides(self, directory: str) -> bool:
        """Whether something in ``directory`` is denied, so that it cannot be open as a whole."""
        return any(is_within(root, [directory]) for root in self.denied)


def _of_system() -> Iterator[str]:
    """What in /proc is no process."""
    with os.scandir(_PROC) as entries:
        for entry in entries:
            if not entry.name.isdecimal() and not entry.is_symlink():
                yield entry.path


def _above(path: str) -> Iterator[str]:
    while path != "/":
        path = os.path.dirname(path)
        yield path


def _is_below(path: str, root: str) -> bool:
    return is_within(path, [root]) and not is_within(root, [path])
