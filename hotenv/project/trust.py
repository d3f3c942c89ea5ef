"""Which files of projects are allowed, and as what: ``$XDG_STATE_HOME/hotenv/allowed``.

An entry is for one path. It has what the file said, with its SHA-256, and that of each file of the
project's own that it names to run or to read. If any of it has changed, the file is not allowed.
What can only tighten is no part of it.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import stat
from typing import Any

from hotenv.errors import NoSessionError, SystemFailureError, UsageError, attempt
from hotenv.project.file import ProjectFile
from hotenv.project.said import flattened, shown, words_for_files, words_of_source
from hotenv.project.tables import TIGHTENING
from hotenv.session.marker import SIZE_LIMIT, check_trust, load
from hotenv.session.owner import is_of_system, is_trusted, not_yours
from hotenv.session.state import check_state_directory, make_state_directory, state_directory

_STATE = "allowed"
_PRIVATE_FILE = 0o600
_LONGEST = 300  # characters of what changed, in one line


def allow(file: ProjectFile) -> None:
    """Remember what ``file`` says now.

    Error handling: raises SystemFailureError if that is not possible, UsageError if it is too much.
    """
    path = _entry_path(file.path)
    content = json.dumps(_described(file)).encode()
    if len(content) > SIZE_LIMIT:
        raise UsageError(f"{file.path} names too many files of the project")
    draft = f"{path}.{os.getpid()}"
    with attempt(f"write {path}"):
        make_state_directory(_STATE)
        _remove(draft)  # of a process that was killed
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
        try:
            with open(os.open(draft, flags, _PRIVATE_FILE), "wb") as entry:
                entry.write(content)
            os.replace(draft, path)
        except BaseException:
            _remove(draft)
            raise


def deny(path: str) -> bool:
    """Forget the file at ``path``; whether it was remembered."""
    entry = _entry_path(path)
    with attempt(f"remove {entry}"):
        return _remove(entry)


def _remove(path: str) -> bool:
    """Whether there was a file at ``path``."""
    try:
        os.unlink(path)
    except (FileNotFoundError, NotADirectoryError):
        return False
    return True


def refusal(file: ProjectFile) -> str:
    """Why ``file`` does not count, with the remedy; empty if it is allowed as it is.

    Error handling: raises SystemFailureError if the entry, or a file of the project that it is
    about, is not the caller's alone.
    """
    if file.tables and not _loosening(file):
        return ""
    allowed = _read_entry(file.path)
    if allowed is None:
        return f"{file.path} is not allowed: see 'hotenv config', then run 'hotenv allow'"
    now = _described(file)
    if allowed == now:
        return ""
    what = "; ".join(_changes(allowed, now)) or "its text"
    what = what if len(what) <= _LONGEST else f"{what[:_LONGEST]}..."
    return f"{file.path} has changed since it was allowed ({what}): run 'hotenv allow'"


def _loosening(file: ProjectFile) -> dict[str, Any]:
    """The tables that count only if they are allowed."""
    return {name: keys for name, keys in file.tables.items() if name not in TIGHTENING}


def _described(file: ProjectFile) -> dict[str, Any]:
    tables = _loosening(file)
    said = json.dumps(tables, sort_keys=True, default=repr)
    return {
        "path": file.path,
        "sha256": hashlib.sha256(said.encode()).hexdigest(),
        "said": {path: shown(value) for path, value in flattened(tables).items()},
        "files": own_files(file),
    }


def own_files(file: ProjectFile) -> dict[str, str]:
    """The SHA-256 of each file of the project that ``file`` names, by its path.

    Error handling: raises SystemFailureError if one of them cannot be read, or is not the user's.
    """
    found = {}
    for word in words_for_files(file.tables):
        if "\0" not in word and (path := _own(os.path.join(file.directory, word), file.directory)):
            found[path] = _digest(path)
    words = words_of_source(file.tables)
    if words and "/" not in words[0] and "\0" not in words[0]:
        program = os.path.realpath(shutil.which(words[0]) or os.devnull)
        if path := _own(program, file.directory):
            found[path] = _digest(path)
    return found


def _own(path: str, directory: str) -> str | None:
    """``path`` without detours, if it or what it links to is a file in ``directory``."""
    path = os.path.normpath(path)
    inside = os.path.join(directory, "")
    is_own = path.startswith(inside) or os.path.realpath(path).startswith(inside)
    return path if is_own and os.path.isfile(path) else None


def _digest(path: str) -> str:
    """It depends on where a link leads to, too.

    Error handling: raises SystemFailureError if another user than root can write to it: what is run
    or read could be something else by then.
    """
    with attempt(f"read {path}"), open(path, "rb") as content:
        _check_writers(os.fstat(content.fileno()), path)
        digest = hashlib.file_digest(content, "sha256")
    if (target := os.path.realpath(path)) != path:
        digest.update(os.fsencode(target))
    return digest.hexdigest()


def _check_writers(status: os.stat_result, path: str) -> None:
    if not is_of_system(status.st_uid) and not is_trusted(status.st_uid):
        raise not_yours(path, status.st_uid, "copy the project into a directory of your own")
    if status.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
        raise SystemFailureError(f"{path} is writable by others: run 'chmod go-w' on it")


def _changes(allowed: dict[str, Any], now: dict[str, Any]) -> list[str]:
    """What differs, each in a few words: values with what they were, files by name."""
    changes = []
    old, new = allowed.get("said", {}), now["said"]
    for path in dict.fromkeys([*old, *new]):
        if old.get(path) != new.get(path):
            was = f"was {old[path]}" if path in old else "new"
            changes.append(f"{path} = {new[path]}, {was}" if path in new else f"no {path}, {was}")
    old, new = allowed.get("files", {}), now["files"]
    changes += [path for path in dict.fromkeys([*old, *new]) if old.get(path) != new.get(path)]
    return changes


def _entry_path(path: str) -> str:
    return os.path.join(
        state_directory(_STATE), f"{hashlib.sha256(os.fsencode(path)).hexdigest()}.json"
    )


def _read_entry(path: str) -> dict[str, Any] | None:
    """The entry of ``path``; None if there is none, or it is damaged."""
    entry = _entry_path(path)
    if not os.path.lexists(entry):
        return None
    with attempt(f"read {entry}"):
        check_state_directory(_STATE)
    try:
        status, content = load(entry)
        check_trust(status, entry)
        return dict(json.loads(content))
    except (NoSessionError, ValueError, TypeError):
        return None
