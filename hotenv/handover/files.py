"""In-memory files, for tools that read a file and not a variable.

Each is a sealed memfd of the process that becomes the command, reached as /proc/PID/fd/N: an exec
keeps the process ID and this descriptor. Nothing is on disk, nothing has to be cleaned up, and the
file is gone with the command, however it ends.
"""

from __future__ import annotations

import fcntl
import os

from hotenv.errors import FieldError, SystemFailureError, attempt

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

PLACEHOLDER = "{}"
"""In the argv of a command, it becomes the path of a file."""

_READ_ONLY = 0o400
_LOWEST = 64  # a script that opens files by number takes low ones

# Of Linux: memfd_create(2) and fcntl(2). Python does not have them on every system.
_ALLOW_SEALING = 0x2
_ADD_SEALS = 1033
_ALL_SEALS = 0x1 | 0x2 | 0x4 | 0x8  # no more seals, no shrinking, no growing, no writing


def memory_file(content: bytes) -> str:
    """The path of a new file that holds exactly ``content`` and cannot be changed.

    Only users with access to ``/proc/PID/fd`` of this process can open it: its own user and root.
    Each opening starts at the first byte. Errors are those of :func:`sealed`.
    """
    return f"/proc/{os.getpid()}/fd/{sealed(content)}"


def has_memory_files() -> bool:
    """Whether the system has them."""
    return _creator() is not None


def sealed(content: bytes) -> int:
    """The descriptor of such a file, which a program that this process becomes has too.

    Error handling: raises SystemFailureError if the system has no such files (macOS). There is no
    fallback to a file on disk.
    """
    create = _creator()
    if create is None:
        raise SystemFailureError(
            "in-memory files are not supported on this system: run without --as-file and --env-file"
        )
    with attempt("create an in-memory file"):
        descriptor = _moved(create("hotenv", _ALLOW_SEALING))  # no MFD_CLOEXEC: it is inherited
        rest = memoryview(content)
        while rest:
            rest = rest[os.write(descriptor, rest) :]
        os.fchmod(descriptor, _READ_ONLY)
        fcntl.fcntl(descriptor, _ADD_SEALS, _ALL_SEALS)
    return descriptor


def _moved(descriptor: int) -> int:
    """The same file with another number, if there may be so many."""
    try:
        moved = fcntl.fcntl(descriptor, fcntl.F_DUPFD, _LOWEST)
    except OSError:
        return descriptor
    os.close(descriptor)
    return moved


def _creator() -> Callable[[str, int], int] | None:
    return getattr(os, "memfd_create", None)


def find_placeholder(argv: Sequence[str]) -> int:
    """The index of the argument that has the placeholder.

    Raises FieldError for ``env_file`` if there is none, or more than one.
    """
    if sum(word.count(PLACEHOLDER) for word in argv) != 1:
        raise FieldError(
            "env_file",
            "requires exactly one {} in the command: put it where the path of the file belongs",
        )
    return next(index for index, word in enumerate(argv) if PLACEHOLDER in word)


def fill_placeholder(argv: Sequence[str], path: str) -> list[str]:
    """``argv`` with ``path`` in place of the placeholder."""
    filled = list(argv)
    index = find_placeholder(argv)
    filled[index] = filled[index].replace(PLACEHOLDER, path)
    return filled
