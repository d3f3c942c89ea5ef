"""Files that a program changes.

What seems to be forbidden is tried here: the kernel refuses it, and tells hotenv the path, which
may be longer than this could tell by itself. The error is raised again, with words.
"""

import os
import stat

from hotenv_words import in_words

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

_WRITING = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC
_CWD = -1  # in place of the descriptor of a directory

_CHANGES: "dict[str, tuple[Callable[..., object], int, slice, str]]" = {
    "os.link": (os.link, 2, slice(1, 2), "create"),
    "os.mkdir": (os.mkdir, 2, slice(1), "create"),
    "os.remove": (os.remove, 1, slice(1), "remove"),
    "os.rename": (os.rename, 2, slice(2), "rename"),
    "os.rmdir": (os.rmdir, 1, slice(1), "remove"),
    "os.symlink": (os.symlink, 2, slice(1, 2), "create"),
}
"""For each event the function that raises it, how many arguments that takes (the other ones are
descriptors of directories), which of them are changed, and what that is called."""


def actions(words: "dict[str, list[str]]") -> "dict[str, Callable[..., None]]":
    """What is done about events, if hotenv says ``words``."""
    writable = Writable(words.get("allow-write", []))

    def opened(path: "Any", mode: "Any", flags: "Any") -> None:  # noqa: ANN401 - of the program
        # Without a mode, it is os.open(), whose path may be relative to another directory.
        if not flags & _WRITING or (mode is None and not os.path.isabs(path)):
            return
        if os.path.basename(os.path.dirname(os.fsdecode(path))) == "__pycache__":
            return  # it does without
        where = os.path.realpath(os.fsdecode(path))
        if os.path.exists(where) and not stat.S_ISREG(os.stat(where).st_mode):
            return
        if not writable.has(where) and _may_open(where):
            _try(lambda: os.close(os.open(path, flags, 0o666)), "write", where)

    table: dict[str, Callable[..., None]] = {"open": opened}
    for event in _CHANGES:
        table[event] = _changing(event, writable)
    return table


class Writable:
    """The files and directories ``paths``, with all that is in them.

    As for the kernel, a path is in a directory whatever the name by which that is reached.
    """

    def __init__(self, paths: "list[str]") -> None:
        self._paths = paths

    def has(self, path: str) -> bool:
        """Whether ``path``, which is without symbolic links, is one of them."""
        wanted = set(filter(None, map(_identity, self._paths)))
        while wanted:
            if _identity(path) in wanted:
                return True
            path, below = os.path.dirname(path), path
            if path == below:
                break
        return False


def _identity(path: str) -> "tuple[int, int] | None":
    try:
        status = os.stat(path)
    except OSError:
        return None
    return status.st_dev, status.st_ino


def _changing(event: str, writable: Writable) -> "Callable[..., None]":
    """What is done about ``event``."""
    function, count, targets, what = _CHANGES[event]

    def changed(*arguments: "Any") -> None:  # noqa: ANN401 - of the program
        if any(directory != _CWD for directory in arguments[count:]):
            return
        for target in arguments[targets]:
            folder, name = os.path.split(os.path.abspath(os.fsdecode(target)))
            where = os.path.join(os.path.realpath(folder), name)
            if not writable.has(where) and _may_change(os.path.dirname(where)):
                _try(lambda: function(*arguments[:count]), what, where)

    return changed


def _may_open(path: str) -> bool:
    """Whether its mode and owner let this process write it."""
    return os.access(path, os.W_OK) if os.path.exists(path) else _may_change(os.path.dirname(path))


def _may_change(folder: str) -> bool:
    return os.access(folder, os.W_OK | os.X_OK)


def _try(change: "Callable[[], object]", what: str, path: str) -> None:
    try:
        change()
    except PermissionError as error:
        words = in_words("fs-readonly", what, f"--allow-write {os.path.dirname(path)}", path)
        raise PermissionError(error.errno, words) from None
