"""Writes an audit log: one line at a time, by one process at a time, and the head after it."""

from __future__ import annotations

import os
import stat
from contextlib import contextmanager

from hotenv.audit.chain import (
    CONTINUED,
    LONGEST_LINE,
    TORN,
    Head,
    decode,
    digest,
    encode,
    torn_hash,
)
from hotenv.errors import SystemFailureError, attempt
from hotenv.session.lock import locked
from hotenv.session.owner import is_ours, not_yours
from hotenv.session.state import make_state_directory, state_directory

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

_STATE = "audit"
_PRIVATE_FILE = 0o600
_TRIES = 100  # to open a file that is being replaced


def append(path: str, fields: Mapping[str, object]) -> int:
    """Append a line with ``fields`` to the log at ``path``; its number.

    When this returns, it is on the disk.

    Error handling: raises SystemFailureError if it cannot be written, or is not our file; the
    log is intact then, or ends with an incomplete line that the next writer closes.
    """
    with _opened(path) as descriptor:
        _prepare(path, descriptor)
        return _add(path, descriptor, fields)


def check(path: str) -> None:
    """Raises SystemFailureError if the log at ``path`` cannot be written."""
    with _opened(path) as descriptor:
        _prepare(path, descriptor)


def _add(path: str, descriptor: int, fields: Mapping[str, object], before: bytes = b"") -> int:
    """Add a line, after ``before``; its number."""
    head = read_head(head_path(path)) or Head()
    line = encode(fields, head)
    with attempt(f"write {path}"):
        data = before + line + b"\n"
        if os.write(descriptor, data) != len(data):
            raise SystemFailureError(f"cannot write {path}: make room on the disk")
        os.fsync(descriptor)
    keep_head(path, head.after(line))
    return head.count + 1


def _prepare(path: str, descriptor: int) -> None:
    """Mend what a writer left that was killed: the head, or an incomplete line."""
    head = read_head(head_path(path))
    lines = _tail(descriptor).split(b"\n")
    torn: list[bytes] = []
    while lines and (last := decode(lines[-1])) is None:
        torn.insert(0, lines.pop())
    if head is None and not lines:
        keep_head(path, Head())
    if lines and last:
        found = Head(int(str(last["seq"])), digest(lines[-1]))
        # One line more than the head knows is a killed writer's. Nothing else is mended.
        if head is None or (found.count == head.count + 1 and last["previous"] == head.hash):
            keep_head(path, found)
    continued = not lines and head is not None and head.count
    fields = {"what": CONTINUED if continued else TORN}
    if torn[-1:] != [b""]:
        _add(path, descriptor, {**fields, "torn": torn_hash(torn)}, before=b"\n")
    elif continued:
        _add(path, descriptor, fields)


def _tail(descriptor: int) -> bytes:
    """The end of the file, with its last whole line in it."""
    size = os.fstat(descriptor).st_size
    return os.pread(descriptor, LONGEST_LINE, max(0, size - LONGEST_LINE))


@contextmanager
def _opened(path: str) -> Iterator[int]:
    """The file at ``path``, locked. It still has that path, even if it is being rotated."""
    flags = os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY
    for _ in range(_TRIES):
        with attempt(f"open {path}", "must be a regular file, not a link"):
            descriptor = os.open(path, flags | os.O_CLOEXEC, _PRIVATE_FILE)
        try:
            status = os.fstat(descriptor)
            if not stat.S_ISREG(status.st_mode):
                raise SystemFailureError(f"{path} is not a regular file: use another file")
            if not is_ours(status.st_uid):
                raise not_yours(path, status.st_uid, "use another file")
            with locked(descriptor, path):
                if _is_at(path, status):
                    os.fchmod(descriptor, _PRIVATE_FILE)
                    yield descriptor
                    return
        finally:
            os.close(descriptor)
    raise SystemFailureError(f"{path} keeps being replaced: try again later")


def _is_at(path: str, status: os.stat_result) -> bool:
    try:
        return os.path.samestat(os.lstat(path), status)
    except OSError:
        return False


def head_path(path: str) -> str:
    """Where the head of the log at ``path`` is kept. Errors: see :func:`state_directory`."""
    directory, name = os.path.split(os.path.abspath(path))
    known = os.path.join(os.path.realpath(directory), name)
    return os.path.join(state_directory(_STATE), digest(os.fsencode(known))[:32])


def read_head(path: str) -> Head | None:
    """The head in the file at ``path``; None if there is none.

    Error handling: raises SystemFailureError if it cannot be read.
    """
    try:
        with attempt(f"read {path}"), open(path, "rb") as file:
            return Head.decode(file.read(4096))
    except SystemFailureError as error:
        if isinstance(error.__cause__, FileNotFoundError):
            return None
        raise


def keep_head(path: str, head: Head) -> None:
    """Keep ``head`` of the log at ``path``."""
    kept = head_path(path)
    if read_head(kept) == head:
        return
    with attempt(f"write {kept}"):
        make_state_directory(_STATE)
        descriptor = os.open(
            f"{kept}.new", os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW, _PRIVATE_FILE
        )
        try:
            os.write(descriptor, head.encode())
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
        os.replace(f"{kept}.new", kept)
        _sync_directory(os.path.dirname(kept))


def _sync_directory(path: str) -> None:
    """Have the names in the directory at ``path`` on the disk, after a crash too."""
    descriptor = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
