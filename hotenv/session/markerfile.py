"""The marker of a session as its server holds it: creating it, replacing one, removing it.

A marker is created exclusively, and complete when it is first seen. One that is there is replaced
or removed only under its guard, which its own user alone can hold (see ``lock``), and only while
the path still names the inode that is guarded.
"""

from __future__ import annotations

import errno
import os
import time
from collections.abc import Callable
from contextlib import nullcontext, suppress

from hotenv.errors import HotenvError, SessionExistsError, SystemFailureError, attempt
from hotenv.session import marker
from hotenv.session.liveness import DEAD, liveness_of
from hotenv.session.lock import BusyError, Pause, guarded, hold_life
from hotenv.session.status import SOCKET_SUFFIX

RELEASE_TIMEOUT = 0.2
"""Seconds for which the end of a session waits for the guard. Its holder removes the marker too."""

_CANNOT_LINK = {errno.EPERM, errno.EACCES, errno.EOPNOTSUPP, errno.ENOSYS, errno.EMLINK}
_PRIVATE_FILE = 0o600
_READ_WRITE = os.O_RDWR | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC | os.O_NOCTTY

MayReplace = Callable[[int, str | None], bool]
"""Whether the marker that is open as a descriptor, and guarded, may be replaced or removed.

The other argument is the socket that it names, if that has the form of one."""


def always(_descriptor: int, _socket_path: str | None) -> bool:
    """For ``--force``."""
    return True


def if_dead(descriptor: int, socket_path: str | None) -> bool:
    """For ``--if-needed`` and ``prune``."""
    return liveness_of(descriptor, socket_path) == DEAD


class MarkerFile:
    """A marker for ``socket_path``, held open: its inode is not used again while this exists."""

    def __init__(
        self,
        dir_fd: int,
        path: str,
        socket_path: str,
        *,
        is_composed: bool = False,
        may_replace: MayReplace | None = None,
        pause: Pause = time.sleep,
    ) -> None:
        """Create it in the open directory ``dir_fd``; ``path`` is what errors call it.

        ``replaced``: the socket of the session whose marker was replaced, if any.

        Error handling: raises SessionExistsError if there is a file that ``may_replace`` does not
        let go, or any without it; SystemFailureError if it cannot be created.
        """
        self._dir_fd = dir_fd
        self._path = path
        self._socket_path = socket_path
        self._lines = marker.COMPOSITION_LINE if is_composed else b""
        self.replaced: str | None = None
        draft = os.path.basename(draft_path(path, socket_path))
        with attempt(f"write {path}"):
            self._descriptor = self._write(draft)
            try:
                hold_life(self._descriptor)
                if may_replace is None:
                    self._link(draft)
                else:
                    self._replace(draft, may_replace, pause)
            except BaseException:
                os.close(self._descriptor)
                raise
            finally:
                with suppress(FileNotFoundError):
                    os.unlink(draft, dir_fd=dir_fd)

    def _write(self, name: str) -> int:
        """Write it under ``name``; its descriptor. Clients will trust it under its path."""
        flags = os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
        descriptor = os.open(name, flags, _PRIVATE_FILE, dir_fd=self._dir_fd)
        try:
            os.fchmod(descriptor, _PRIVATE_FILE)  # whatever the umask took away
            with open(descriptor, "wb", closefd=False) as file:
                file.write(marker.format_marker(self._socket_path) + self._lines)
            marker.check_trust(marker.load(name, dir_fd=self._dir_fd)[0], self._path)
        except BaseException:
            os.close(descriptor)
            with suppress(OSError):
                os.unlink(name, dir_fd=self._dir_fd)
            raise
        return descriptor

    def _link(self, draft: str) -> None:
        """Give the draft its name, if that is free."""
        while True:
            try:
                return self._link_exclusively(draft)
            except FileExistsError:  # and once more if it is gone by now
                marker.refuse_existing(marker.NAME, self._path, dir_fd=self._dir_fd)

    def _link_exclusively(self, draft: str) -> None:
        try:
            os.link(
                draft,
                marker.NAME,
                src_dir_fd=self._dir_fd,
                dst_dir_fd=self._dir_fd,
                follow_symlinks=False,  # the owner of the directory can put one in its place
            )
        except OSError as error:
            if error.errno not in _CANNOT_LINK:
                raise
            self._create_in_place()

    def _create_in_place(self) -> None:
        """On a file system without links: a reader could see it before it is complete."""
        descriptor = self._write(marker.NAME)
        hold_life(descriptor)
        os.dup2(descriptor, self._descriptor, inheritable=False)
        os.close(descriptor)

    def _replace(self, draft: str, may_replace: MayReplace, pause: Pause) -> None:
        """Give the draft its name, in place of a marker that may be replaced, or of none."""
        while True:
            marker.refuse_existing(marker.NAME, self._path, force=True, dir_fd=self._dir_fd)
            try:
                old = os.open(marker.NAME, _READ_WRITE, dir_fd=self._dir_fd)
            except FileNotFoundError:
                with suppress(SessionExistsError):  # another one was faster: look again
                    return self._link(draft)
                continue
            except OSError as error:
                # A link, or a stranger's marker in a directory of ours: these nobody guards.
                if error.errno not in (errno.ELOOP, errno.EMLINK, errno.EACCES):
                    raise
                return self._rename(draft)
            try:
                # One that others can write to they could guard for ever.
                with guarded(old, self._path, pause) if _is_trusted(old) else nullcontext():
                    if not _is_named(self._dir_fd, old):
                        continue
                    if not may_replace(old, _socket_named_by(self._dir_fd)):
                        marker.refuse_existing(marker.NAME, self._path, dir_fd=self._dir_fd)
                        continue  # it is gone by now
                    # A stranger's marker may name another session of ours.
                    replaced = _socket_named_by(self._dir_fd, trusted=True)
                    self._rename(draft)
                    self.replaced = replaced
                    return None
            finally:
                os.close(old)

    def _rename(self, draft: str) -> None:
        try:
            os.replace(draft, marker.NAME, src_dir_fd=self._dir_fd, dst_dir_fd=self._dir_fd)
        except PermissionError:  # in a directory like /tmp: say whose it is
            marker.check_trust(os.lstat(marker.NAME, dir_fd=self._dir_fd), self._path)
            raise

    def is_in_place(self) -> bool:
        """Whether it can still be found and names the socket. Raises HotenvError or OSError."""
        named = marker.parse_marker(marker.load(marker.NAME, dir_fd=self._dir_fd)[1], marker.NAME)
        return named == self._socket_path

    def remove(
        self, pause: Pause = time.sleep, before: Callable[[], object] = lambda: None
    ) -> None:
        """Remove it, if it is still there and names the socket, and let go of it.

        What holds its guard replaces or removes it: that is waited for only RELEASE_TIMEOUT.
        ``before`` is called first if it is this that removes it: it stays if that raises.

        Error handling: raises SystemFailureError if it cannot be removed, and what ``before`` does.
        """
        try:
            with (
                suppress(BusyError),
                guarded(self._descriptor, self._path, pause, RELEASE_TIMEOUT),
                attempt(f"remove {self._path}"),
            ):
                if _is_named(self._dir_fd, self._descriptor):
                    _unlink(self._dir_fd, self._socket_path, before)
        finally:
            os.close(self._descriptor)


def withdraw(dir_fd: int, path: str, socket_path: str, may_remove: MayReplace) -> bool:
    """Remove the marker in ``dir_fd`` if it names ``socket_path``, and ``may_remove`` it.

    That is asked with the marker open as a descriptor, and guarded. It may be a newer session's by
    now. ``path`` is what errors call it; returns whether it was removed.
    """
    with attempt(f"remove {path}"):
        try:
            descriptor = os.open(marker.NAME, _READ_WRITE, dir_fd=dir_fd)
        except FileNotFoundError:
            return False
        try:
            with guarded(descriptor, path):
                return (
                    _is_named(dir_fd, descriptor)
                    and may_remove(descriptor, socket_path)
                    and _unlink(dir_fd, socket_path)
                )
        finally:
            os.close(descriptor)


def draft_path(marker_path: str, socket_path: str) -> str:
    """Where a marker is written before it is put into place: as unique as the socket."""
    return f"{marker_path}.{os.path.basename(socket_path).removesuffix(SOCKET_SUFFIX)}"


def _is_named(dir_fd: int, descriptor: int) -> bool:
    """Whether the marker in ``dir_fd`` is the file that is open as ``descriptor``."""
    try:
        return os.path.samestat(os.lstat(marker.NAME, dir_fd=dir_fd), os.fstat(descriptor))
    except FileNotFoundError:
        return False


def _is_trusted(descriptor: int) -> bool:
    try:
        marker.check_trust(os.fstat(descriptor), marker.NAME)
    except SystemFailureError:
        return False
    return True


def _unlink(dir_fd: int, socket_path: str, before: Callable[[], object] = lambda: None) -> bool:
    """Remove the guarded marker and its draft, if it names ``socket_path``; whether it did."""
    if _socket_named_by(dir_fd) != socket_path:
        return False
    before()
    try:
        os.unlink(marker.NAME, dir_fd=dir_fd)
    except FileNotFoundError:  # not by a hotenv, which would have guarded it
        return False
    remove_draft(dir_fd, socket_path)
    return True


def remove_draft(dir_fd: int, socket_path: str) -> None:
    """Remove the draft of a marker, left by a server that was killed while it put that in place."""
    with suppress(OSError):
        os.unlink(draft_path(marker.NAME, socket_path), dir_fd=dir_fd)


def _socket_named_by(dir_fd: int, *, trusted: bool = False) -> str | None:
    """The socket that the marker names, if it is a marker at all, and (``trusted``) ours."""
    try:
        status, content = marker.load(marker.NAME, dir_fd=dir_fd)
        if trusted:
            marker.check_trust(status, marker.NAME)
        return marker.parse_marker(content, marker.NAME)
    except HotenvError:
        return None
