"""Whether git would take a marker for a part of the project, and how to keep it from that.

``git clean`` and ``git stash -u`` would end the session, and ``git add`` would spread its marker.

git itself is asked: how patterns of several files add up is its own affair. But a repository can
name programs for git to run, such as core.fsmonitor when the index is read. So the index is not
read (``--no-index``), which leaves nothing to run; and git gets no terminal, which a repository can
name as a file of patterns, and little time.
"""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess

from hotenv.session.marker import NAME

GIT_TIMEOUT = 1.0
"""Seconds that git may take. It takes some milliseconds, where no file system hangs."""

_NO_MATCH = 1


def how_to_ignore() -> str | None:
    """A command for a shell that lets git ignore a marker in the current directory.

    None if git ignores it already, if this is no work tree, and if git cannot tell. Also if a
    pattern excepts it, such as ``!.*``: one in a .gitignore counts more than what could be added.
    """
    asked = _git("check-ignore", "--verbose", "--no-index", NAME)  # exceptions are matches too
    if asked is None or asked.returncode != _NO_MATCH:
        return None
    # Of the repository, also in a linked work tree; it is not shared with others.
    found = _git("rev-parse", "--git-path", "info/exclude")
    if found is None or found.returncode:
        return None
    path = os.path.abspath(os.fsdecode(found.stdout.removesuffix(b"\n")))
    directory = os.path.dirname(path)
    make = "" if os.path.isdir(directory) else f"mkdir -p {shlex.quote(directory)} && "
    return rf"{make}printf '\n{NAME}\n' >>{shlex.quote(path)}"


def _git(*args: str) -> subprocess.CompletedProcess[bytes] | None:
    """What git says; None if it cannot be started, or has no answer in time."""
    git = shutil.which("git")
    if git is None or not os.path.isabs(git):  # else it would be the directory's own
        return None
    try:
        return subprocess.run(  # noqa: S603 - the arguments are ours
            [git, *args],
            stdin=subprocess.DEVNULL,  # not what is to be served
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
            timeout=GIT_TIMEOUT,
        )
    except (OSError, subprocess.SubprocessError):
        return None
