"""What a human does at a desk: look at the open questions, and answer them."""

from __future__ import annotations

import json
import select
import socket

from hotenv.errors import (
    ArtifactError,
    UnreachableError,
    UnresponsiveError,
    UsageError,
    because,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from hotenv.desk.place import Place

RELOADED = "the desk now uses the project's file as it is"

_PATIENCE = 10.0  # seconds
_PIECE = 64 * 1024


def answer(place: Place, number: int, said: str) -> None:
    """Answer the question ``number`` of the desk at ``place``.

    Error handling: raises UsageError if it is not open, UnreachableError if the desk has ended,
    UnresponsiveError if it does not answer in 10 seconds. So do the others here.
    """
    if "error" in _told(place, {"command": "answer", "number": number, "said": said}):
        raise UsageError(f"there is no open question {number}: see 'hotenv desk --list'")


def reload(place: Place) -> None:
    """Have the desk at ``place`` hold what the project's file says now.

    Error handling: raises UsageError if that is not allowed, UnreachableError if the desk has
    ended.
    """
    told = _told(place, {"command": "reload"})
    if "error" in told:
        raise UsageError(told["error"])


def _told(place: Place, order: dict[str, object]) -> dict[str, Any]:
    """The one line that is the answer to ``order``."""
    with _ask(place, order) as connection:
        try:
            told = next(_lines(connection), None)
        except TimeoutError as error:
            raise _unresponsive() from error
        except OSError as error:
            raise _gone() from error
    if told is None:
        raise _gone()
    return told


class Watch:
    """The open questions of the desk at ``place``, each time that they change.

    Error handling: raises UnreachableError if the desk has ended.
    """

    def __init__(self, place: Place) -> None:
        self._connection = _ask(place, {"command": "watch"})
        self._connection.setblocking(False)
        self._data = b""
        self.directory: str = ""
        self.questions: list[dict[str, Any]] = []

    def fileno(self) -> int:
        """For poll: readable when :meth:`read` has something."""
        return self._connection.fileno()

    def read_first(self) -> None:
        """Take the questions that are open.

        Error handling: as for :meth:`read`; raises UnresponsiveError if nothing comes for 10
        seconds.
        """
        while not self.directory:
            if not select.select([self.fileno()], [], [], _PATIENCE)[0]:
                raise _unresponsive()
            self.read()

    def read(self) -> bool:
        """Take what has come; whether there is a question that was not there before.

        Error handling: raises UnreachableError if the desk has ended.
        """
        try:
            piece = self._connection.recv(_PIECE)
        except BlockingIOError:
            return False
        except OSError as error:
            raise _gone() from error
        if not piece:
            raise _gone()
        *lines, self._data = (self._data + piece).split(b"\n")
        before = {each["number"] for each in self.questions}
        for line in lines:
            told = _parse(line)
            self.directory, self.questions = told["directory"], told["questions"]
        return any(each["number"] not in before for each in self.questions)

    def close(self) -> None:
        """Look no more."""
        self._connection.close()


def _ask(place: Place, order: dict[str, object]) -> socket.socket:
    connection = socket.socket(socket.AF_UNIX)
    connection.settimeout(_PATIENCE)
    try:
        connection.connect(place.answers)
        connection.sendall(json.dumps(order).encode() + b"\n")
    except TimeoutError as error:
        connection.close()
        raise _unresponsive() from error
    except OSError as error:
        connection.close()
        raise UnreachableError(f"cannot connect to the desk: {because(error)}") from error
    return connection


def _lines(connection: socket.socket) -> Iterator[dict[str, Any]]:
    data = b""
    while piece := connection.recv(_PIECE):
        data += piece
        *lines, data = data.split(b"\n")
        yield from map(_parse, lines)


def _parse(line: bytes) -> dict[str, Any]:
    try:
        return dict(json.loads(line))
    except (ValueError, TypeError):
        raise ArtifactError("the desk has sent a line that is not JSON") from None


def _unresponsive() -> UnresponsiveError:
    return UnresponsiveError(f"the desk does not answer in {_PATIENCE:.0f} s: try again")


def _gone() -> UnreachableError:
    return UnreachableError("the desk has ended: the agent has ended, or the desk was killed")
