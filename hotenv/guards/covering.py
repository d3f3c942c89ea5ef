"""Paths that cover a directory without what is closed in it: Landlock can only allow.

What is made later in a directory that could not be allowed as a whole is not covered.
"""

from __future__ import annotations

import os

from hotenv.guards.fields import is_within

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping

    Identities = Collection[tuple[int, int]]
    """Device and inode of each."""


def covering(
    closed: Mapping[int, Collection[str]], root: str = "/", *, divided: Identities = ()
) -> Iterator[tuple[str, int]]:
    """Paths that cover ``root``, each with rights. ``closed``: by rights, where they do not hold.

    A directory is listed once, and only if something in it is closed. ``divided``: directories that
    no name covers as a whole, as something in them is closed by another one.
    """
    rights, inside = 0, {}
    for right, paths in closed.items():
        if is_within(root, paths):
            continue
        if below := [path for path in paths if is_within(path, [root])]:
            inside[right] = below
        else:
            rights |= right
    if rights and not (divided and identity_at(root) in divided):
        yield root, rights
    if inside:
        for path in _entries(root, inside):
            yield from covering(inside, path, divided=divided)


def all_but(excluded: Collection[str], root: str = "/") -> Iterator[str]:
    """Paths that cover ``root`` without those that are ``excluded``."""
    return (path for path, _ in covering({1: excluded}, root))


def identity_at(path: str) -> tuple[int, int] | None:
    """Device and inode of what is there; None if nothing is."""
    try:
        status = os.stat(path, follow_symlinks=False)
    except OSError:
        return None
    return status.st_dev, status.st_ino


def _entries(root: str, inside: Mapping[int, Collection[str]]) -> Iterator[str]:
    try:
        with os.scandir(root) as entries:
            for entry in entries:
                if not entry.is_symlink():
                    yield entry.path
    except PermissionError:
        # What is in there cannot be told apart, and stays closed; but a home may be beside others.
        start = len(root.rstrip("/")) + 1
        names = {path[start:].partition("/")[0] for paths in inside.values() for path in paths}
        yield from (f"{root.rstrip('/')}/{name}" for name in sorted(names))
    except OSError:
        return  # it is gone, or no directory
