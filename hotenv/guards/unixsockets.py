"""Unix sockets that an exception opens: the supervisor connects or binds them for the command.

The command holds one end of a pair, which the kernel connects nowhere (see ``sockets``). What may
be connected or bound is a new socket, which takes the place of the old one; it listens from the
start if it is bound. That of a session is never opened, whatever path leads there.
"""

from __future__ import annotations

import errno
import os
import stat

from hotenv.errors import SystemFailureError
from hotenv.guards import syscalls as k
from hotenv.guards.addresses import blocked_unix
from hotenv.guards.fields import is_within
from hotenv.guards.foresight import identity_of
from hotenv.guards.paths import open_path, real_path
from hotenv.guards.threads import Vanished
from hotenv.guards.told import told
from hotenv.guards.verdict import DONE, Blocked, Verdict, fails, refused
from hotenv.lightweight import socket
from hotenv.session.runtime import runtime_bases, sockets_in
from hotenv.session.status import is_socket_name, names_session

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from hotenv.guards.listener import Call
    from hotenv.guards.policy import Guard

_BACKLOG = 4096


class UnixSockets:
    """Connects and binds what ``guard`` excepts."""

    def __init__(self, guard: Guard) -> None:
        self._guard = guard
        self._allowed = [os.path.realpath(path) for path in guard.allow_unix]
        self._writable = [os.path.realpath(path) for path in guard.allow_write]

    def connect(self, call: Call, address: bytes) -> Verdict:
        """connect(2) to ``address``."""
        path = address[2:].partition(b"\0")[0]
        if not path:  # abstract
            return refused(told(address) or blocked_unix("connect", address))
        try:
            target = open_path(call, k.AT_FDCWD, path, exact=True)
        except OSError as error:
            return fails(error.errno or errno.ENOENT)
        try:
            where = real_path(target)
            if not stat.S_ISSOCK(os.fstat(target).st_mode):
                return fails(errno.ECONNREFUSED)
            session = is_session(target, where)
            if session or not is_within(where, self._allowed):
                return refused(blocked_unix("connect", address, where, allowable=not session))

            def make(new: socket.socket) -> Blocked | None:
                new.connect(f"/proc/self/fd/{target}")
                if not names_session(os.fsdecode(new.getpeername())):
                    return None
                return blocked_unix("connect", address, where, allowable=False)

            return self._replace(call, make).by("allow-unix", "connect", path=where)
        finally:
            os.close(target)

    def bind(self, call: Call, address: bytes) -> Verdict:
        """bind(2) to ``address``."""
        path = address[2:].partition(b"\0")[0]
        folder, name = os.path.split(path)
        if not name:
            return refused(blocked_unix("bind", address))
        try:
            directory = open_path(call, k.AT_FDCWD, folder or b".", exact=True)
        except OSError as error:
            return fails(error.errno or errno.ENOENT)
        try:
            where = f"{real_path(directory)}/{os.fsdecode(name)}"
            writable = not self._guard.fs_readonly or is_within(where, self._writable)
            session = is_socket_name(where)
            if session or not (is_within(where, self._allowed) and writable):
                return refused(blocked_unix("bind", address, where, allowable=not session))
            verdict = self._replace(call, lambda new: _listen(new, directory, name, call))
            return verdict.by("allow-unix", "bind", path=where)
        finally:
            os.close(directory)

    def _replace(self, call: Call, make: Callable[[socket.socket], Blocked | None]) -> Verdict:
        """Put a new socket in place of the old.

        ``make`` does with it what the call asks for, or tells what is blocked after all.
        """
        number = call.integer(0)
        with call.descriptor(number) as duplicate:
            if not stat.S_ISSOCK(os.fstat(duplicate).st_mode):
                return fails(errno.ENOTSOCK)
            old = same_socket(duplicate)
            new = socket.socket(socket.AF_UNIX, old.type)
            try:
                if old.family != socket.AF_UNIX:
                    return fails(errno.EINVAL)
                new.setblocking(False)
                if blocked := make(new):
                    return refused(blocked)
                new.setblocking(os.get_blocking(duplicate))
                call.confirm()
                call.install(new.fileno(), at=number, cloexec=_closes(call, number))
            except OSError as error:
                return fails(error.errno or errno.ECONNREFUSED)
            finally:
                old.close()
                new.close()
        return DONE


def is_session(descriptor: int, path: str) -> bool:
    """Whether the socket behind ``descriptor``, which is at ``path``, is that of a session.

    One that was moved since is known only by the name that its server bound: see its connections.
    """
    if names_session(path):
        return True
    identity = identity_of(os.fstat(descriptor))
    for base in runtime_bases():
        try:
            if identity in [identity_of(os.lstat(each)) for each in sockets_in(base)]:
                return True  # it has another name too
        except (OSError, SystemFailureError):
            pass  # it is not there
    return False


def same_socket(descriptor: int) -> socket.socket:
    """The socket behind ``descriptor``, to be closed."""
    return socket.socket(fileno=os.dup(descriptor))


def _listen(new: socket.socket, directory: int, name: bytes, call: Call) -> None:
    """Bind ``new`` in ``directory``, with the umask of the process, and listen."""
    here = os.open(".", k.O_PATH)
    umask = os.umask(int(call.status().get("Umask", "077"), 8))
    try:
        os.fchdir(directory)
        new.bind(name)
    finally:
        os.umask(umask)
        os.fchdir(here)
        os.close(here)
    new.listen(_BACKLOG)


def _closes(call: Call, number: int) -> bool:
    """Whether the descriptor ``number`` of the process is closed at execve(2)."""
    try:
        with open(f"/proc/{call.thread}/fdinfo/{number}") as file:
            flags = dict(line.split(":", 1) for line in file if ":" in line).get("flags", "0")
    except OSError:
        raise Vanished from None
    return bool(int(flags, 8) & os.O_CLOEXEC)
