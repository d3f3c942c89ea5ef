"""Which program a request means, and where it may run: never what the agent could have made."""

from __future__ import annotations

import hashlib
import os
import re

from hotenv.errors import SystemFailureError, UsageError, attempt
from hotenv.guards import syscalls as k
from hotenv.guards.fields import is_within
from hotenv.guards.shebang import find_program, programs_of
from hotenv.handover.launch import Launch

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from hotenv.desk.hardlinks import HardLinks

_DEFAULT_PATH = b"/usr/bin:/bin"  # an empty one means the current directory
_SEPARATORS = re.compile(rb"[:;\s]")
_MOST_LINKS = 40
"""On the way to one file: Linux gives up there."""


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


def find(
    name: str,
    environment: Mapping[bytes, bytes],
    writable: Sequence[str],
    links: HardLinks,
) -> Program:
    """The program ``name`` on the PATH of ``environment``.

    ``writable``: files and directories that the agent can change. ``links``: files of which one
    name is there.

    Error handling: raises UsageError for a path, or a program that the agent could have made, or
    whose interpreter it could have made; SystemFailureError if there is none.
    """
    if "/" in name:
        raise UsageError(
            f"cannot run '{name}' for an agent: use the name of a program on PATH, such as "
            "'sh' or 'python', for a script"
        )
    found = find_program(os.fsencode(name), environment)
    if found is None:
        raise SystemFailureError(f"cannot run '{name}': command not found")
    path = os.fsdecode(found)
    if not os.path.isabs(path):
        raise UsageError(
            f"cannot run '{name}' for an agent: {path} is relative: use a PATH of absolute "
            "directories"
        )
    searched = {**environment, b"PATH": path_without(environment.get(b"PATH", b""), writable)}
    for each in programs_of(Launch([path], searched)):
        for step in steps_to(each):
            if is_within(step, writable):
                raise UsageError(
                    f"cannot run '{name}' for an agent, which can change {step}: install it "
                    "elsewhere, on the PATH that 'hotenv agent' has"
                )
        if _is_linked(each, links):
            raise UsageError(
                f"cannot run '{name}' for an agent, which can change a file that {each} is a hard "
                "link to: replace it by a copy"
            )
    return Program(path)


def _is_linked(path: str, links: HardLinks) -> bool:
    try:
        return os.stat(path) in links
    except OSError:  # it is gone
        return False


def steps_to(path: str) -> Iterator[str]:
    """All names that lead to the file ``path``: its own, those of links, and of what is above them.

    The directory of each is without a link. Whoever can write to one of these can put another file
    in its place.
    """
    rest, at, links = path.split("/")[::-1], "/", 0
    while rest:
        part = rest.pop()
        if part in ("", "."):
            continue
        if part == "..":
            at = os.path.dirname(at)
            continue
        step = os.path.join(at, part)
        yield step
        try:
            target = os.readlink(step)
        except OSError:  # it is no link
            at = step
            continue
        links += 1
        if links > _MOST_LINKS:
            return
        rest += target.split("/")[::-1]
        at = "/" if target.startswith("/") else at


def path_without(search: bytes, writable: Sequence[str]) -> bytes:
    """The PATH ``search`` without the directories that the agent could have filled."""
    kept = (each for each in search.split(b":") if each[:1] == b"/" and not _fills(each, writable))
    return b":".join(kept) or _DEFAULT_PATH


def _fills(folder: bytes, writable: Sequence[str]) -> bool:
    return any(is_within(step, writable) for step in steps_to(os.fsdecode(folder)))


def are_out_of_reach(paths: bytes, writable: Sequence[str]) -> bool:
    """Whether ``paths`` are absolute, and the agent can change none.

    What is between them depends on what reads them.
    """
    found = _SEPARATORS.split(paths)
    return all(each[:1] == b"/" and not _fills(each, writable) for each in found)


def open_folder(path: str, identity: tuple[int, int], root: str) -> int:
    """A descriptor of the directory at ``path``, which has to be in ``root``.

    Error handling: raises UsageError if it is not, or is not the one with this device and inode.
    """
    with attempt(f"open the directory {path}"):
        folder = os.open(path, k.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)
    status = os.fstat(folder)
    where = os.path.realpath(f"/proc/self/fd/{folder}")
    if (status.st_dev, status.st_ino) == identity and is_within(where, [root]):
        return folder
    os.close(folder)
    raise UsageError(
        f"an agent's commands run only in {root} and below: change to a directory there"
    )
