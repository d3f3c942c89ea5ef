"""The marker file ``.hotenv``: its grammar, where it is found, and when it is trusted.

A marker says which socket hands out the environment that commands in its folder run with. A marker
of a stranger would decide what we execute, so it is read only if it is ours and nobody else can
write to it.
"""

from __future__ import annotations

import os
import stat

from hotenv.errors import (
    ArtifactError,
    NoSessionError,
    SessionExistsError,
    SystemFailureError,
    attempt,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

NAME = ".hotenv"

SIZE_LIMIT = 64 * 1024
"""Bytes in a marker; two lines are expected."""

SOCKET_PATH_LIMIT = 107 if os.uname().sysname == "Linux" else 103
"""Bytes in the path of a Unix socket: sun_path of sockaddr_un without its final NUL."""

_UID_DIGITS = 10


class Marker:
    """A marker that was read and is trusted.

    ``path``: where it is. ``socket``: the absolute path of the session's socket. ``owner``: the
    uid whose marker it is, and whose server has to answer.
    """

    __slots__ = ("owner", "path", "socket")

    def __init__(self, path: str, socket: str, owner: int) -> None:
        self.path = path
        self.socket = socket
        self.owner = owner


def format_marker(socket: str) -> bytes:
    """The content of a marker for ``socket``, an absolute path without a newline."""
    return b"socket=" + os.fsencode(socket) + b"\n"


def parse_marker(content: bytes, path: str) -> str:
    """The socket that ``content``, read from ``path``, names.

    The grammar: lines ``key=value``, exactly one of them ``socket=`` with an absolute path. Other
    keys are for later versions and are ignored. Raises ArtifactError for anything else.
    """
    sockets = []
    for line in content.removesuffix(b"\n").split(b"\n"):
        key, equals, value = line.partition(b"=")
        if not equals or not key or key != key.strip():
            raise ArtifactError(f"{path} is no marker of hotenv: a line is not key=value")
        if key == b"socket":
            sockets.append(value)
    if len(sockets) != 1:
        raise ArtifactError(f"{path} is no marker of hotenv: it needs exactly one socket= line")
    socket = sockets[0]
    if not socket.startswith(b"/") or b"\0" in socket or len(socket) > SOCKET_PATH_LIMIT:
        raise ArtifactError(f"{path} is no marker of hotenv: socket= is no absolute path to one")
    return os.fsdecode(socket)


def find_marker(folder: str | None = None) -> str:
    """The path of the marker in ``folder`` (the current one if None), or nearest above it.

    From the current folder it is a relative path. The name of a folder can be given to another one
    before the marker is read, by the owner of the one above; ``..`` cannot.

    Error handling: raises NoSessionError if there is none, SystemFailureError where it is not
    possible to look: passing by could mean to use another session than the nearest.
    """
    with attempt("tell the current folder"):
        start = os.path.abspath(folder) if folder is not None else os.getcwd()
    for height, place in enumerate(_upward(start)):
        path = os.path.join(place, NAME)
        with attempt(f"look for {path}"):
            if folder is None:
                path = os.path.join(*[os.pardir] * height, NAME)
            try:
                os.lstat(path)
            except (FileNotFoundError, NotADirectoryError):
                continue
        return path
    raise NoSessionError(
        f"no {NAME} in {start} or above it: start a session there with 'hotenv serve'"
    )


def _upward(folder: str) -> Iterator[str]:
    yield folder
    while (parent := os.path.dirname(folder)) != folder:
        folder = parent
        yield folder


def refuse_existing(folder: str) -> None:
    """Raise SessionExistsError if there is a marker in ``folder``, of whatever kind."""
    if os.path.lexists(path := os.path.join(folder, NAME)):
        raise exists(path)


def exists(path: str) -> SessionExistsError:
    """The error for a marker that is in the way."""
    return SessionExistsError(
        f"{path} exists: a session was started here; --force replaces it, 'hotenv stop' ends it"
    )


def read_marker(path: str) -> Marker:
    """Read the marker at ``path``, and trust it.

    Error handling: raises NoSessionError if there is no such file, ArtifactError if it is not a
    regular file or not a marker, SystemFailureError if it is somebody else's, writable by somebody
    else, or cannot be read.
    """
    with attempt(f"read {path}"):
        whole_path = os.path.abspath(path)
        # By its name first: to say whose an unreadable marker is beats "permission denied".
        try:
            _check_regular(status := os.lstat(path), whole_path)
        except FileNotFoundError:
            raise NoSessionError(f"{whole_path} is gone") from None
    check_trust(status, whole_path)
    status, content = load(path)
    check_trust(status, whole_path)
    return Marker(whole_path, parse_marker(content, whole_path), status.st_uid)


def load(path: str, *, dir_fd: int | None = None) -> tuple[os.stat_result, bytes]:
    """The status and content of ``path`` (relative to the folder ``dir_fd`` if that is given).

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
            raise NoSessionError(f"{path} is gone") from None
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
    raise ArtifactError(f"{path} is no marker of hotenv: it is over {SIZE_LIMIT} bytes")


def _check_regular(status: os.stat_result, path: str) -> None:
    if not stat.S_ISREG(status.st_mode):
        raise ArtifactError(f"{path} is no marker of hotenv: it is not a regular file")


def check_trust(status: os.stat_result, path: str) -> None:
    """Raise SystemFailureError unless a file of ``status`` is the caller's alone to write."""
    caller = os.geteuid()
    if status.st_uid != caller and not (caller == 0 and status.st_uid == sudo_uid()):
        raise SystemFailureError(
            f"{path} belongs to {user(status.st_uid)} and not to you, {user(caller)}: "
            "hotenv only uses sessions of the user who asks, start one in a folder of yours"
        )
    if status.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
        raise SystemFailureError(
            f"{path} of {user(status.st_uid)} is writable by others "
            f"(mode {stat.S_IMODE(status.st_mode):04o}): chmod 600 it if you trust what it says"
        )


def sudo_uid() -> int | None:
    """The user for whom sudo runs us as root, if that is what happens."""
    text = os.environ.get("SUDO_UID", "")
    return int(text) if text.isascii() and text.isdigit() and len(text) <= _UID_DIGITS else None


def user(uid: int) -> str:
    """A user as an error names it: ``alice (uid 1000)``."""
    import pwd

    try:
        return f"{pwd.getpwuid(uid).pw_name} (uid {uid})"
    except KeyError:
        return f"uid {uid}"
