"""Which program a request means, and where it may run: never what the agent could have made."""

from __future__ import annotations

import hashlib
import os

from hotenv.errors import SystemFailureError, UsageError, attempt
from hotenv.guards.fields import is_within
from hotenv.guards.shebang import find_program

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence


_MOST_LINKS = 40  # as Linux follows


class Program:
    """A program that was found: its ``path``, and ``what`` it is.

    That is its path, device and inode, and the SHA-256 of its content.
    """

    __slots__ = ("path", "what")

    def __init__(self, path: str) -> None:
        """Raises SystemFailureError if it cannot be read."""
        self.path: str = path
        with attempt(f"read {path}"), open(path, "rb") as file:
            status = os.fstat(file.fileno())
            digest = hashlib.file_digest(file, "sha256").hexdigest()
        self.what: tuple[object, ...] = path, status.st_dev, status.st_ino, digest


def find(name: str, environment: Mapping[bytes, bytes], writable: Sequence[str]) -> Program:
    """The program ``name`` on the PATH of ``environment``.

    ``writable``: directories in which the agent can write.

    Error handling: raises UsageError for a path, or a program that the agent could have made;
    SystemFailureError if there is none.
    """
    if "/" in name:
        raise UsageError(
            f"cannot run '{name}' for an agent: use the name of a program on PATH, such as "
            "'python' for a script"
        )
    found = find_program(os.fsencode(name), environment)
    if found is None:
        raise SystemFailureError(f"cannot run '{name}': command not found")
    path = os.fsdecode(found)
    for each in _links(path):
        if not os.path.isabs(each) or is_within(os.path.realpath(os.path.dirname(each)), writable):
            raise UsageError(
                f"cannot run '{name}' for an agent: {each} is in a directory that the agent can "
                "write to: install it elsewhere, on the PATH of 'hotenv agent'"
            )
    return Program(path)


def _links(path: str) -> Iterator[str]:
    """``path``, and what it leads to, link by link."""
    for _ in range(_MOST_LINKS):
        yield path
        try:
            path = os.path.join(os.path.dirname(path), os.readlink(path))
        except OSError:  # it is no link
            return


def open_folder(path: str, identity: tuple[int, int], root: str) -> int:
    """A descriptor of the directory at ``path``, which has to be in ``root``.

    Error handling: raises UsageError if it is not, or is not the one with this device and inode.
    """
    with attempt(f"open the directory {path}"):
        folder = os.open(path, os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)
    status = os.fstat(folder)
    where = os.path.realpath(f"/proc/self/fd/{folder}")
    if (status.st_dev, status.st_ino) == identity and is_within(where, [root]):
        return folder
    os.close(folder)
    raise UsageError(f"commands for an agent run in {root} only: change to a directory in it")
