"""Files with several names, of which an agent can write to one: what is there is there everywhere.

Nobody makes such a name from inside: a guard keeps files from getting one in another directory.
Installers do, to save space: a cache, an environment of a project and that of a tool have the same
files then.
"""

from __future__ import annotations

import os
import stat

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence


class HardLinks:
    """Those in ``directories``, which are looked through when it matters for the first time."""

    def __init__(self, directories: Sequence[str]) -> None:
        self._directories = directories
        self._found: frozenset[tuple[int, int]] | None = None

    def __contains__(self, status: os.stat_result) -> bool:
        """Whether the file with this ``status`` has a name there."""
        if status.st_nlink < 2:
            return False
        if self._found is None:
            linked = (each for root in self._directories for _, each in linked_files(root))
            self._found = frozenset((each.st_dev, each.st_ino) for each in linked)
        return (status.st_dev, status.st_ino) in self._found


def linked_files(root: str) -> Iterator[tuple[str, os.stat_result]]:
    """The files at and below ``root`` that have another name, and their status."""
    pending = [root]
    while pending:
        path = pending.pop()
        try:
            status = os.lstat(path)
            if stat.S_ISDIR(status.st_mode):
                pending += _entries(path)
            elif stat.S_ISREG(status.st_mode) and status.st_nlink > 1:
                yield path, status
        except OSError:  # it is gone, or nobody can read it
            continue


def _entries(directory: str) -> list[str]:
    return [os.path.join(directory, name) for name in os.listdir(directory)]
