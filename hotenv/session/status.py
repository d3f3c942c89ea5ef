"""The status that a server publishes beside its socket: no value and no name of a variable.

It is one JSON object on one line. Its last field, the deadline, always takes the same room, so that
a server can overwrite it in place while the session is used.
"""

from __future__ import annotations

import os

from hotenv.errors import ArtifactError, HotenvError
from hotenv.lightweight import parse_json
from hotenv.session.marker import load

SOCKET_SUFFIX = ".sock"
STATUS_SUFFIX = ".json"
ID_DIGITS = 8

_HEX = frozenset("0123456789abcdef")

_PRIVATE_FILE = 0o600
_NONE = type(None)
_KINDS: dict[str, tuple[type, ...]] = {
    "marker": (str,),
    "device": (int,),
    "inode": (int,),
    "started": (float,),
    "timeout": (float,),
    "end": (float, _NONE),
    "variables": (int,),
    "log": (str, _NONE),
    "standalone": (bool,),
    "composition": (dict, _NONE),
    "deadline": (float,),
}
_DEADLINE_SIZE = 24  # bytes: any float with all its digits
_END = "}\n"
_DEADLINE_OFFSET = -(_DEADLINE_SIZE + len(_END))
_INFINITE = float("inf")


class Status:
    """The facts of one session. For the boot clock see :mod:`hotenv.session.clock`.

    ``marker``: the path of its marker. ``device`` and ``inode``: of its directory. ``started``:
    seconds since 1970. ``timeout``: seconds.
    ``deadline``: when it expires if idle, and ``end``: when it expires even if in use (None:
    never), by the boot clock. ``variables``: how many it holds. ``log``: the path of its log file,
    if it has one. ``standalone``: whether its server is a process that does nothing else, and exits
    at a signal. ``composition``: arguments of ``compose_layers`` that a command gets without being
    told.
    """

    __slots__ = tuple(_KINDS)

    def __init__(
        self,
        *,
        marker: str,
        device: int,
        inode: int,
        started: float,
        timeout: float,
        deadline: float,
        end: float | None,
        variables: int,
        log: str | None,
        standalone: bool,
        composition: dict[str, object] | None,
    ) -> None:
        self.marker = marker
        self.device = device
        self.inode = inode
        self.started = started
        self.timeout = timeout
        self.deadline = deadline
        self.end = end
        self.variables = variables
        self.log = log
        self.standalone = standalone
        self.composition = composition


def encode_status(status: Status) -> bytes:
    """The line that publishes ``status``."""
    import json

    fields = {name: getattr(status, name) for name in _KINDS if name != "deadline"}
    text = json.dumps(fields).removesuffix("}")
    return f'{text}, "deadline": '.encode() + _encode_deadline(status.deadline) + _END.encode()


def _encode_deadline(deadline: float) -> bytes:
    return f"{deadline!r:>{_DEADLINE_SIZE}}".encode()


def decode_status(line: bytes) -> Status:
    """The status that ``line`` publishes. Raises ArtifactError if it is none."""
    try:
        published = parse_json(line.decode(), dict)
        fields = {name: published[name] for name in _KINDS}  # type: ignore[index]
    except (ValueError, RecursionError, TypeError, KeyError):
        raise ArtifactError("invalid session status") from None
    for name, value in fields.items():
        finite = not isinstance(value, float) or -_INFINITE < value < _INFINITE
        if type(value) not in _KINDS[name] or not finite:
            raise ArtifactError(f'invalid "{name}" in session status')
    return Status(**fields)


def is_socket_name(path: str) -> bool:
    """Whether ``path`` has the name of a session's socket: 8 hexadecimal digits and ``.sock``."""
    stem, suffix = os.path.splitext(os.path.basename(path))
    return suffix == SOCKET_SUFFIX and is_id(stem)


def names_session(path: str) -> bool:
    """Whether ``path`` is that of a session's socket, wherever the runtime directory is."""
    return is_socket_name(path) and os.path.basename(os.path.dirname(path)).startswith("hotenv")


def is_id(stem: str) -> bool:
    """Whether ``stem`` is a session ID (specification, section 3)."""
    return len(stem) == ID_DIGITS and _HEX.issuperset(stem)


def status_path(socket_path: str) -> str:
    """Where the server of ``socket_path`` publishes its status."""
    return socket_path.removesuffix(SOCKET_SUFFIX) + STATUS_SUFFIX


def read_status(socket_path: str) -> Status | None:
    """The status that the server of ``socket_path`` has published; None if it cannot be read.

    No client needs it to use a session.
    """
    try:
        return decode_status(load(status_path(socket_path))[1])
    except HotenvError:
        return None


class StatusFile:
    """The status of one session, as its server publishes it."""

    def __init__(self, socket_path: str, status: Status) -> None:
        """Publish ``status``. The name is ours, as the socket is: a file there is a dead server's.

        Raises OSError.
        """
        self._path = status_path(socket_path)
        content = encode_status(status)
        if os.path.lexists(self._path):
            os.unlink(self._path)
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
        self._descriptor = os.open(self._path, flags, _PRIVATE_FILE)
        try:
            os.fchmod(self._descriptor, _PRIVATE_FILE)
            with open(self._descriptor, "wb", closefd=False) as file:
                file.write(content)
        except OSError:
            self.remove()
            raise
        self._deadline_at = len(content) + _DEADLINE_OFFSET

    def publish_deadline(self, deadline: float) -> None:
        """Overwrite the deadline (seconds of the boot clock). Failures are ignored."""
        try:
            os.pwrite(self._descriptor, _encode_deadline(deadline), self._deadline_at)
        except OSError:
            pass

    def remove(self) -> None:
        """Remove the file, if it is still the one that was created."""
        try:
            if os.path.samestat(os.lstat(self._path), os.fstat(self._descriptor)):
                os.unlink(self._path)
        except OSError:
            pass
        finally:
            os.close(self._descriptor)
