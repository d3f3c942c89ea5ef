"""Other processes, and other programs."""

import os

from hotenv_words import refuse

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

_GUARD = "no-subprocess"


def _start(program: "Any", *_: object) -> None:  # noqa: ANN401 - whatever the program has
    refuse(_GUARD, "start", "", path=os.path.basename(os.fsdecode(program)))


def _exec(program: "Any", *_: object) -> None:  # noqa: ANN401 - whatever the program has
    path = os.fsdecode(program)
    if os.path.isfile(path) and os.access(path, os.X_OK):
        refuse(_GUARD, "exec", "", path=path)


def _shell(*_: object) -> None:
    _start("sh")


def _fork(*_: object) -> None:
    refuse(_GUARD, "fork", "")


def actions(_words: "dict[str, list[str]]") -> "dict[str, Callable[..., None]]":
    """What is done about events."""
    return {
        "os.exec": _exec,
        "os.fork": _fork,
        "os.forkpty": _fork,
        "os.posix_spawn": _start,
        "os.system": _shell,
        "subprocess.Popen": _start,
    }
