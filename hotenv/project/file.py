"""The file of a project: ``hotenv.toml``, or ``[tool.hotenv]`` in ``pyproject.toml``.

It is found as a marker is: the nearest one, in a directory or above. It names programs to start and
loosens environments, so the owner rules of markers apply, and it must not be a link. They do not
apply to what can only tighten, which counts no matter who wrote it. Where every user may create
files, as in /tmp, another user's file is ignored.
"""

from __future__ import annotations

import os
import stat

from hotenv.errors import SystemFailureError, UsageError, attempt
from hotenv.session.find import is_shared, upward
from hotenv.session.marker import checked_path
from hotenv.session.owner import is_trusted, not_yours, user

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

_OWN, _SHARED = "hotenv.toml", "pyproject.toml"
_LIMITS = {_OWN: 64 * 1024, _SHARED: 1024 * 1024}  # bytes
_TABLE = ("tool", "hotenv")
_MOST_DOTS = 500  # in a line: for a dotted key tomllib takes the square of their number


class ProjectFile:
    """A file that was read. What can loosen does not count before it is allowed (see ``trust``).

    ``path``: where it is, without links. ``tables``: what it says, unchecked. ``where``: what an
    error says before the dotted path in it.
    """

    def __init__(self, path: str, tables: dict[str, Any]) -> None:
        self.path: str = path
        self.directory: str = os.path.dirname(path)
        self.tables: dict[str, Any] = tables
        is_shared_file = os.path.basename(path) == _SHARED
        self.where: str = f"{path}: {'.'.join(_TABLE)}." if is_shared_file else f"{path}: "


def nearest_file(directory: str | None = None, *, untrusted: bool = False) -> ProjectFile | None:
    """The file of the project that ``directory`` (the current one if None) is in, if any.

    ``untrusted``: skip the owner rules, as for what can only tighten, but fail on a file that
    cannot be read instead of ignoring it.

    Error handling: raises SystemFailureError if it cannot be read, is no regular file, or somebody
    else owns it or can write to it; UsageError if it is not TOML.
    """
    with attempt("determine the current directory"):
        start = os.path.realpath(os.getcwd() if directory is None else checked_path(directory))
    for place in upward(start):
        for name in (_OWN, _SHARED):
            if (found := _file_at(os.path.join(place, name), untrusted)) is not None:
                return found
    return None


def _file_at(path: str, untrusted: bool) -> ProjectFile | None:
    with attempt(f"look for {path}"):
        try:
            status = os.lstat(path)
        except (FileNotFoundError, NotADirectoryError):
            return None
        if not is_trusted(status.st_uid) and is_shared(os.path.dirname(path)):
            return None
    if os.path.basename(path) == _OWN:
        if not untrusted:
            _check_trust(status, path)
        return ProjectFile(path, _parse(_content(path), path))
    tables = _tables_of_ours(path, untrusted)
    if tables is None:
        return None
    if not untrusted:
        _check_trust(status, path)
    return ProjectFile(path, tables)


def _tables_of_ours(path: str, untrusted: bool) -> dict[str, Any] | None:
    """The tables of hotenv in a file that all tools share; None if there are none.

    A file that cannot be read counts as one without them, unless ``untrusted``.
    """
    try:
        content = _content(path)
    except SystemFailureError:
        if untrusted:
            raise
        return None
    if _TABLE[-1].encode() not in content:
        return None
    tables: Any = _parse(content, path)
    for key in _TABLE:
        tables = tables.get(key) if isinstance(tables, dict) else None
    return tables if isinstance(tables, dict) else None


def _parse(content: bytes, path: str) -> dict[str, Any]:
    import json  # not before there is a file
    import tomllib

    if any(line.count(b".") > _MOST_DOTS for line in content.splitlines()):
        raise UsageError(f"{path}: a line has more than {_MOST_DOTS} dots")
    try:
        tables = tomllib.loads(content.decode())
        json.dumps(tables, default=repr)  # what is nested too deep for that fails here
    except UnicodeDecodeError:
        raise UsageError(f"{path}: not UTF-8") from None
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        raise UsageError(f"{path}: not TOML: {error}") from None
    return tables


def _content(path: str) -> bytes:
    """The bytes of a regular file. Never hangs on a FIFO."""
    limit = _LIMITS[os.path.basename(path)]
    with attempt(f"read {path}"):
        if not stat.S_ISREG(os.stat(path).st_mode):  # to open a device can have effects
            raise SystemFailureError(f"{path} is not a regular file")
        with open(os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY), "rb") as file:
            content = file.read(limit + 1)
    if len(content) > limit:
        raise SystemFailureError(f"{path} is too large (limit {limit} bytes)")
    return content


def _check_trust(status: os.stat_result, path: str) -> None:
    if not stat.S_ISREG(status.st_mode):
        raise SystemFailureError(
            f"{path} must be a regular file, not a link: put the file itself there"
        )
    if not is_trusted(status.st_uid):
        raise not_yours(path, status.st_uid, "copy the project into a directory of your own")
    if status.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
        raise SystemFailureError(
            f"{path} of {user(status.st_uid)} is writable by others (mode "
            f"{stat.S_IMODE(status.st_mode):04o}): run 'chmod go-w' on it"
        )
