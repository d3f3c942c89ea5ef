"""A directory for the temporary files of one command: TMPDIR with ``--private-tmp``.

It is locked while it is in use, so that what a killed hotenv left behind can be told.
"""

from __future__ import annotations

import os
from contextlib import suppress
from shutil import rmtree

from hotenv.errors import attempt
from hotenv.guards import syscalls as k
from hotenv.guards.policy import Guard
from hotenv.handover.launch import Launch
from hotenv.session.lockeddirectory import create_locked, lock_directory
from hotenv.session.owner import is_ours
from hotenv.session.runtime import PRIVATE_DIRECTORY, SHARED

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

_PREFIX = "hotenv-tmp-"


class PrivateFolder:
    """The directory at ``path``, which only its user can enter."""

    def __init__(self) -> None:
        """Create it. Error handling: raises SystemFailureError if that is not possible."""
        with attempt(f"create a directory in {SHARED}"):
            path, self._lock = create_locked(f"{SHARED}/{_PREFIX}")
        self.path: str = path

    def excepted(self, guard: Guard) -> Guard:
        """``guard``, which the directory and the sockets in it are excepted from."""
        fields = {name: getattr(guard, name) for name in Guard.__slots__}
        fields["allow_unix"] = (*guard.allow_unix, self.path)
        if guard.closes_files:
            fields["allow_write"] = (*guard.allow_write, self.path)
        return Guard(**fields)

    def named(self, launch: Launch) -> Launch:
        """``launch``, whose TMPDIR the directory is."""
        env = {**launch.env, b"TMPDIR": os.fsencode(self.path)}
        return Launch(launch.argv, env, files=launch.files, env_file=launch.env_file)

    def remove(self) -> None:
        """Remove it with all that is in it, as far as that is possible."""
        _remove_tree(self.path)


def remove_abandoned() -> Iterator[str]:
    """Remove the directories of hotenvs that were killed. Yields the path of each."""
    for name in sorted(os.listdir(SHARED)):
        path = f"{SHARED}/{name}"
        if name.startswith(_PREFIX) and _is_own_directory(path):
            with suppress(OSError):  # it is in use
                os.close(lock_directory(path))
                _remove_tree(path)
                if not os.path.exists(path):
                    yield path


def _is_own_directory(path: str) -> bool:
    try:
        status = os.lstat(path)
    except OSError:
        return False
    return is_ours(status.st_uid)


def _remove_tree(path: str) -> None:
    with suppress(OSError):
        _open_up(path)
        for directory, names, _ in os.walk(path):
            for name in names:
                with suppress(OSError):  # a link is left alone
                    _open_up(f"{directory}/{name}")
    rmtree(path, ignore_errors=True)


def _open_up(path: str) -> None:
    """Let its owner into the directory ``path``, which a command may have closed to itself."""
    descriptor = os.open(path, k.O_PATH | os.O_DIRECTORY | os.O_NOFOLLOW)
    try:
        os.chmod(f"/proc/self/fd/{descriptor}", PRIVATE_DIRECTORY)
    finally:
        os.close(descriptor)
