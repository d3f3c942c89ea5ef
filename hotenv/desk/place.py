"""Where the sockets of a desk are, and how a desk is found."""

from __future__ import annotations

import json
import os
import shutil
import socket
from contextlib import suppress

from hotenv.errors import NoSessionError, SystemFailureError, attempt
from hotenv.exchange.peer import tell_senders
from hotenv.session.lockeddirectory import create_locked, lock_directory
from hotenv.session.runtime import find_runtime_bases, make_runtime_base
from hotenv.session.socketfile import BACKLOG

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

PREFIX = "desk-"
_REQUESTS, _ANSWERS, _ABOUT = "requests", "answers", "about"
_PRIVATE_FILE = 0o600
_LONGEST = 64 * 1024


class Place:
    """The directory of one desk, which only its user can enter.

    ``requests``: the path of the socket for commands inside. ``answers``: that for humans.
    """

    def __init__(self, path: str) -> None:
        self.path: str = path
        self.requests: str = os.path.join(path, _REQUESTS)
        self.answers: str = os.path.join(path, _ANSWERS)

    def listen(self) -> tuple[socket.socket, socket.socket]:
        """The two sockets. Raises SystemFailureError if they cannot be made."""
        with attempt(f"create a socket in {self.path}"):
            return _listening(self.requests), _listening(self.answers)

    def tell(self, directory: str, agent: int) -> None:
        """Say which project this desk is for, and the process ID of ``hotenv agent``."""
        path = os.path.join(self.path, _ABOUT)
        with attempt(f"write {path}"), open(path, "x") as file:
            json.dump({"directory": directory, "agent": agent}, file)

    def about(self) -> tuple[str, int] | None:
        """What :meth:`tell` has told; None if nothing."""
        try:
            with open(os.path.join(self.path, _ABOUT)) as file:
                about = json.loads(file.read(_LONGEST))
            return str(about["directory"]), int(about["agent"])
        except (OSError, ValueError, KeyError, TypeError):
            return None

    def is_alive(self) -> bool:
        """Whether a desk listens."""
        with socket.socket(socket.AF_UNIX) as one:
            return one.connect_ex(self.answers) == 0

    def remove(self) -> None:
        """Remove it with all that is in it."""
        shutil.rmtree(self.path, ignore_errors=True)


def make_place() -> Place:
    """A new one, which is in use as long as this process, and what it forks.

    Error handling: raises SystemFailureError if that is not possible.
    """
    base = make_runtime_base()
    with attempt(f"create a directory in {base}"):
        path, _ = create_locked(os.path.join(base, PREFIX))
    return Place(path)


def find_place(directory: str, agent: int | None = None) -> Place:
    """The desk of the project that ``directory`` is in, or the only one there is.

    ``agent``: the process ID of its ``hotenv agent``, if it is not to be found by the directory.

    Error handling: raises NoSessionError if there is none, or more than one.
    """
    told = [(each.about(), each) for each in places() if each.is_alive()]
    alive = {about: each for about, each in told if about is not None}
    inside = os.path.join(os.path.realpath(directory), "")
    near = [each for each in alive if inside.startswith(os.path.join(each[0], ""))]
    nearest = max((len(where) for where, _ in near), default=0)
    found = [each for each in near if len(each[0]) == nearest] or [*alive]
    if agent is not None:
        found = [each for each in alive if each[1] == agent]
    if not found and agent is not None:
        raise NoSessionError(f"no 'hotenv agent' has the process ID {agent}")
    if not found:
        raise NoSessionError("no agent is running: start one with 'hotenv agent -- AGENT'")
    if len(found) > 1:
        which = ", ".join(f"{pid} ({where})" for where, pid in sorted(found))
        raise NoSessionError(f"several agents are running: use --agent with one of {which}")
    return alive[found[0]]


def places() -> Iterator[Place]:
    """All desks that have left a directory, dead or alive."""
    for base in find_runtime_bases():
        for name in sorted(os.listdir(base)):
            if name.startswith(PREFIX):
                yield Place(os.path.join(base, name))


def remove_abandoned(base: str) -> Iterator[str]:
    """Remove the directories of agents that were killed from ``base``. Yields the path of each."""
    for name in sorted(os.listdir(base)):
        if name.startswith(PREFIX):
            place = Place(os.path.join(base, name))
            with suppress(OSError):  # it is in use
                lock = lock_directory(place.path)
                place.remove()
                os.close(lock)
                yield place.path


def _listening(path: str) -> socket.socket:
    listener = socket.socket(socket.AF_UNIX)
    try:
        os.fchmod(listener.fileno(), _PRIVATE_FILE)
        tell_senders(listener)
        listener.bind(path)
        listener.listen(BACKLOG)
        listener.setblocking(False)
    except OSError as error:
        listener.close()
        if "too long" in str(error):
            raise SystemFailureError(
                f"socket path {path} too long: set XDG_RUNTIME_DIR to a shorter path"
            ) from None
        raise
    return listener
