"""The note of a session that expired: a search that comes through its directory ends there.

Otherwise the session of a parent directory would silently take its place: production for
development. A note is ``ID.expired`` in the runtime base, beside what was the socket, and has no
value and no name of a variable. It counts until the next session of its directory, ``stop`` there,
``prune``, or a boot, which a base in /tmp may outlive.

Its directory is known by its identity, which it keeps when it is renamed, and by its path, where it
may have been deleted and made again: a checkout does that. The identity has the directory's birth,
because inodes are used again; where births are not known, there is none.
"""

from __future__ import annotations

import errno
import os
import stat
import time

from hotenv.errors import ArtifactError, NoSessionError, SystemFailureError, attempt
from hotenv.session.liveness import booted_since
from hotenv.session.marker import check_trust, load
from hotenv.session.owner import sudo_uid
from hotenv.session.runtime import runtime_bases, usual_bases
from hotenv.session.status import SOCKET_SUFFIX, is_id

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

SUFFIX = ".expired"

_PRIVATE_FILE = 0o600
_DRAFT = ".draft"
_KEYS = (b"expired", b"identity", b"path")


class Notes:
    """The notes in every runtime base that can be the caller's, if nobody else can write to it."""

    def __init__(self) -> None:
        bases = runtime_bases()
        if (caller := sudo_uid()) is not None:
            bases += usual_bases(caller)
        self._bases = [base for base in bases if _is_ours_alone(base)]

    def expiry(self, directory: str) -> float | None:
        """When the session of ``directory`` expired, in seconds since 1970; None without a note.

        The notes are read anew each time: after it was seen that ``directory`` has no marker, one
        may have come meanwhile.

        Error handling: raises OSError if ``directory`` cannot be looked at, SystemFailureError or
        ArtifactError if a note, of whichever directory, cannot be read: to ignore it could select
        another session.
        """
        for _, expired in self._notes_of(directory):
            if not booted_since(expired):
                return expired
        return None

    def forget(self, directory: str) -> None:
        """Remove those of ``directory``.

        Error handling: as for :meth:`expiry`; SystemFailureError if one cannot be removed.
        """
        for path, _ in self._notes_of(directory):
            remove_note(path)

    def _notes_of(self, directory: str) -> Iterator[tuple[str, float]]:
        """The path of each, and when the session expired."""
        paths = [path for base in self._bases for path in notes_in(base)]
        if not paths:
            return
        identity = _identity(directory)
        names = {os.fsencode(name(directory)) for name in (os.path.abspath, os.path.realpath)}
        for path in paths:
            try:
                expired, known, origin = _read(path)
            except NoSessionError:  # it has just been removed
                continue
            if origin in names or (identity and identity == known):
                yield path, expired


def leave_note(socket_path: str, dir_fd: int, origin: str) -> None:
    """Leave the note that a session expired: that of ``socket_path``, in the directory ``dir_fd``.

    ``origin``: the path of that directory, without links.

    Error handling: raises SystemFailureError if that is not possible.
    """
    path = socket_path.removesuffix(SOCKET_SUFFIX) + SUFFIX
    draft = note_draft(socket_path)
    values = (repr(time.time()).encode(), _identity(dir_fd), os.fsencode(origin))
    content = b"\n".join(key + b"=" + value for key, value in zip(_KEYS, values, strict=True))
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
    with attempt(f"write {path}"):
        descriptor = os.open(draft, flags, _PRIVATE_FILE)
        try:
            os.fchmod(descriptor, _PRIVATE_FILE)  # whatever the umask took away
            with open(descriptor, "wb", closefd=False) as file:
                file.write(content + b"\n")
            os.replace(draft, path)  # complete: every search reads it
        except OSError:
            os.unlink(draft)
            raise
        finally:
            os.close(descriptor)


def note_draft(socket_path: str) -> str:
    """Where the note of the session of ``socket_path`` is written before it is put into place."""
    return socket_path.removesuffix(SOCKET_SUFFIX) + SUFFIX + _DRAFT


def notes_in(base: str) -> list[str]:
    """The paths of all notes in ``base``."""
    with attempt(f"read the runtime directory {base}"):
        return sorted(os.path.join(base, each) for each in os.listdir(base) if _is_name(each))


def remove_note(path: str) -> bool:
    """Remove a note, or whatever has its name; whether that was done. False if it is gone.

    Error handling: raises SystemFailureError if it cannot be removed, as a directory with files.
    """
    with attempt(f"remove {path}"):
        try:
            if stat.S_ISDIR(os.lstat(path).st_mode):
                _remove_directory(path)
            else:
                os.unlink(path)
        except FileNotFoundError:
            return False
    return True


def _remove_directory(path: str) -> None:
    try:
        os.rmdir(path)
    except OSError as error:
        if error.errno not in (errno.ENOTEMPTY, errno.EEXIST):
            raise
        raise SystemFailureError(
            f"{path} is a directory with files in it, not a note: remove it yourself"
        ) from None


def _is_name(name: str) -> bool:
    return name.endswith(SUFFIX) and is_id(name.removesuffix(SUFFIX))


def _is_ours_alone(base: str) -> bool:
    try:
        status = os.lstat(base)
        check_trust(status, base)
    except (OSError, SystemFailureError):
        return False
    return stat.S_ISDIR(status.st_mode)


def _read(path: str) -> tuple[float, bytes, bytes]:
    """When it expired, and the identity and the path of its directory; that may hold newlines."""
    try:
        content = load(path)[1]
    except ArtifactError:
        raise _invalid(path) from None
    pairs = [line.partition(b"=") for line in content.removesuffix(b"\n").split(b"\n", 2)]
    if tuple(key for key, _, _ in pairs) == _KEYS:
        expired, identity, origin = (value for _, _, value in pairs)
        try:
            time.localtime(moment := float(expired))  # what can be told
            return moment, identity, origin
        except (ValueError, OverflowError, OSError):
            pass
    raise _invalid(path)


def _invalid(path: str) -> ArtifactError:
    return ArtifactError(f"invalid note {path}: run 'hotenv prune' to remove it")


def _identity(directory: str | int) -> bytes:
    """What no other directory has, ever, given a path or a descriptor; empty if that is not known.

    Raises OSError if it cannot be looked at.
    """
    try:
        status = os.stat(directory)
    except (FileNotFoundError, NotADirectoryError):
        return b""
    born: float | None = getattr(status, "st_birthtime", None)
    if born is None:
        from hotenv.libc import birth

        try:
            born = birth(directory)
        except OSError:
            return b""
    return f"{status.st_dev}-{status.st_ino}-{born!r}".encode()
