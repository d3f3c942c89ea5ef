"""The marker file ``.hotenv``: its grammar, and when it is trusted.

A marker says which socket hands out the environment of the commands run in its directory, so it is
read only if it is owned by the caller and not writable by other users.
"""

from __future__ import annotations

import os
import stat

from hotenv.errors import (
    ArtifactError,
    FieldError,
    HotenvError,
    NoSessionError,
    SessionExistsError,
    SystemFailureError,
    attempt,
)
from hotenv.session.liveness import ALIVE, DEAD, ELSEWHERE, liveness
from hotenv.session.owner import is_trusted, not_yours, user

NAME = ".hotenv"

COMPOSITION_LINE = b"composition=published\n"
"""Of a session whose server has published how commands get the variables: one that cannot read
that would get too much."""

_REMEDIES = {
    ALIVE: "use --force to replace its session, or run 'hotenv stop' first",
    DEAD: "its session is dead: use --force to replace it",
    ELSEWHERE: "its session may be alive elsewhere (container, namespace, host): stop it there, or "
    "use --force to replace it",
}

SIZE_LIMIT = 64 * 1024
"""Bytes in a marker; two lines are expected."""

SOCKET_PATH_LIMIT = 107 if os.uname().sysname == "Linux" else 103
"""Bytes in the path of a Unix socket: sun_path of sockaddr_un without its final NUL."""


class Marker:
    """A marker that was read and is trusted.

    ``path``: where it is. ``socket``: the absolute path of the session's socket. ``owner``: the
    uid that owns the marker, and as which its server has to run. ``is_composed``: whether the
    server has published how commands get the variables, and ``composition``: that (see Status),
    once it was looked at.
    """

    __slots__ = ("composition", "is_composed", "owner", "path", "socket")

    def __init__(self, path: str, socket: str, owner: int, *, is_composed: bool = False) -> None:
        self.path: str = path
        self.socket: str = socket
        self.owner: int = owner
        self.is_composed: bool = is_composed
        self.composition: dict[str, object] | None = None


def format_marker(socket: str) -> bytes:
    """The content of a marker for ``socket``, an absolute path without a newline."""
    return b"socket=" + os.fsencode(socket) + b"\n"


def parse_marker(content: bytes, path: str) -> str:
    """The socket that ``content``, read from ``path``, names.

    The grammar: lines ``key=value``, exactly one of them ``socket=`` with an absolute path. Other
    keys are for later versions and are ignored. Raises ArtifactError for anything else.
    """
    socket = _socket_line(content, path)
    if not socket.startswith(b"/") or b"\0" in socket or len(socket) > SOCKET_PATH_LIMIT:
        raise ArtifactError(f"invalid marker {path}: socket= must be the absolute path of a socket")
    return os.fsdecode(socket)


def _socket_line(content: bytes, path: str) -> bytes:
    sockets = []
    for line in content.removesuffix(b"\n").split(b"\n"):
        key, equals, value = line.partition(b"=")
        if not equals or not key or key != key.strip():
            raise ArtifactError(f"invalid marker {path}: every line must be key=value")
        if key == b"socket":
            sockets.append(value)
    if len(sockets) != 1:
        raise ArtifactError(f"invalid marker {path}: must have exactly one socket= line")
    return sockets[0]


def checked_path(directory: str) -> str:
    """``directory``, an argument of a Python function. Raises FieldError if it cannot be a path."""
    try:
        encoded = os.fsencode(directory)
    except UnicodeEncodeError:
        raise FieldError("directory", "cannot be encoded as a path") from None
    if b"\0" in encoded:
        raise FieldError("directory", "contains a NUL character")
    return directory


def refuse_existing(
    name: str, path: str, *, force: bool = False, dir_fd: int | None = None
) -> None:
    """Raise SessionExistsError if the file ``name`` keeps a new marker from being created.

    Without ``force`` every file does. With it a marker may be replaced, whatever its socket is, and
    a link, but no other file. ``path`` is what errors call it; ``name`` is relative to the
    directory ``dir_fd`` if that is given. Raises OSError if it cannot be looked at.
    """
    try:
        status = os.lstat(name, dir_fd=dir_fd)
        if stat.S_ISLNK(status.st_mode):
            remedy = "it is a link: use --force to replace the link"
        else:
            remedy = _remedy_for_marker(name, path, dir_fd)
    except (FileNotFoundError, NoSessionError):  # the latter: it is gone by now
        return
    if not force:
        raise SessionExistsError(f"{path} already exists: {remedy}")


def _remedy_for_marker(name: str, path: str, dir_fd: int | None) -> str:
    try:
        content = load(name, dir_fd=dir_fd)[1]
        _socket_line(content, path)
    except NoSessionError:
        raise
    except HotenvError:
        raise SessionExistsError(
            f"{path} already exists and is not a marker: move it elsewhere"
        ) from None
    try:
        state = liveness(name, parse_marker(content, path), dir_fd=dir_fd)
    except ArtifactError:
        state = DEAD
    return _REMEDIES[state]


def read_marker(path: str) -> Marker:
    """Read the marker at ``path``, and trust it.

    Error handling: raises NoSessionError if there is no such file, ArtifactError if it is not a
    regular file or not a marker, SystemFailureError if another user owns it or can write to it, or
    it cannot be read.
    """
    with attempt(f"read {path}"):
        whole_path = os.path.abspath(path)
        # By its name first: to say whose an unreadable marker is beats "permission denied".
        try:
            _check_regular(status := os.lstat(path), whole_path)
        except FileNotFoundError:
            raise NoSessionError(f"{whole_path} no longer exists") from None
    check_trust(status, whole_path)
    status, content = load(path)
    check_trust(status, whole_path)
    return Marker(
        whole_path,
        parse_marker(content, whole_path),
        status.st_uid,
        is_composed=COMPOSITION_LINE in content.splitlines(keepends=True),
    )


def load(path: str, *, dir_fd: int | None = None) -> tuple[os.stat_result, bytes]:
    """The status and content of ``path`` (relative to the directory ``dir_fd`` if that is given).

    Never hangs on a FIFO and reads at most SIZE_LIMIT bytes.

    Error handling: raises NoSessionError if there is no such file, ArtifactError if it is not a
    regular file or too large, SystemFailureError if it cannot be read.
    """
    flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC | os.O_NOCTTY
    with attempt(f"read {path}"):
        try:
            # Looked at before it is opened: to open a device can have effects.
            _check_regular(os.lstat(path, dir_fd=dir_fd), path)
            descriptor = os.open(path, flags, dir_fd=dir_fd)
        except FileNotFoundError:
            raise NoSessionError(f"{path} no longer exists") from None
        try:
            status = os.fstat(descriptor)
            _check_regular(status, path)
            content = b""
            while len(content) <= SIZE_LIMIT:
                piece = os.read(descriptor, SIZE_LIMIT + 1 - len(content))
                if not piece:
                    return status, content
                content += piece
        finally:
            os.close(descriptor)
    raise ArtifactError(f"invalid marker {path}: larger than {SIZE_LIMIT} bytes")


def _check_regular(status: os.stat_result, path: str) -> None:
    if not stat.S_ISREG(status.st_mode):
        raise ArtifactError(f"invalid marker {path}: not a regular file")


def check_trust(status: os.stat_result, path: str) -> None:
    """Raise SystemFailureError unless a file of ``status`` is the caller's alone to write."""
    if not is_trusted(status.st_uid):
        remedy = "run 'hotenv serve' in a directory of your own to start a session"
        raise not_yours(path, status.st_uid, remedy)
    if status.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
        raise SystemFailureError(
            f"{path} of {user(status.st_uid)} is writable by others (mode "
            f"{stat.S_IMODE(status.st_mode):04o}): run 'chmod 600' on it if you trust its content"
        )
