"""What belongs to the system and may be read under any guard, and what is never written."""

from __future__ import annotations

import os

from hotenv.guards.fields import is_within
from hotenv.guards.mounts import read_mounts

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    from hotenv.guards.policy import Guard

DIRECTORIES = (*("/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32", "/usr", "/etc", "/proc"),)
"""Programs, libraries, configuration, and processes."""

IN_HOME = (".gitconfig", ".config/git/config")
"""Files whose reading must not fail: git gives up then."""

_SHARED = ("/tmp", "/var", "/var/tmp", "/run", "/home", "/dev", "/dev/shm", "/sys")  # noqa: S108

_OF_LOCAL = ("bin", "lib")
"""What of ~/.local is programs; the rest is data."""


def readable_system(env: Mapping[bytes, bytes], programs: list[str]) -> list[str]:
    """What a command with the environment ``env`` may read in any case.

    ``programs``: its path and that of its interpreter.
    """
    homes = _homes(env)
    found = [*DIRECTORIES, *(f"{home}/{name}" for home in homes[:1] for name in IN_HOME)]
    folders = [each for each in os.fsdecode(env.get(b"PATH", b"")).split(":") if each[:1] == "/"]
    for program in [*programs, *(f"{folder}/python3" for folder in folders)]:
        for path in (program, os.path.realpath(program)):
            found.append(path)
            folders += [os.path.dirname(path)] if _is_bin(os.path.dirname(path)) else []
    for folder in folders:
        found += _prefix(os.path.realpath(folder), homes)
    return list(dict.fromkeys(found))


def _homes(env: Mapping[bytes, bytes]) -> list[str]:
    """The user's, and what HOME says: that may be another, or nothing."""
    import pwd  # few guards have to know
    from contextlib import suppress

    homes = [os.path.realpath(os.fsdecode(env.get(b"HOME") or b"/"))]
    with suppress(KeyError):  # a user without a name
        homes.append(os.path.realpath(pwd.getpwuid(os.getuid()).pw_dir))
    return homes


def _is_bin(folder: str) -> bool:
    """Whether it is by its name one of many programs, whose libraries are beside it."""
    return os.path.basename(folder) in ("bin", "sbin", "shims")


def _prefix(folder: str, homes: list[str]) -> list[str]:
    """The directory under which the programs in ``folder`` are installed, if it is no more."""
    prefix = os.path.dirname(folder) if _is_bin(folder) else folder
    if prefix in [f"{home}/.local" for home in homes]:
        return [f"{prefix}/{name}" for name in _OF_LOCAL]
    return [path for path in (prefix, folder) if not _is_shared(path, homes)][:1]


def _is_shared(path: str, homes: list[str]) -> bool:
    """Whether much more than programs is in the directory ``path``."""
    return any(is_within(home, [path]) for home in homes) or path in _SHARED


SETTINGS = ("/proc", "/sys")
"""Where processes and the settings of the kernel are, and nothing is ever written."""

_KINDS = ("cgroup", "cgroup2", "proc", "sysfs")
"""Types of file systems, as mountinfo has them."""


RESOLVING = (
    *("/etc/gai.conf", "/etc/host.conf", "/etc/hosts", "/etc/nsswitch.conf", "/etc/resolv.conf"),
)
"""Files that say where a name leads: root could change them."""


def never_written(guard: Guard) -> list[str]:
    """Where control groups, processes and the settings of the kernel are mounted, for any guard.

    Also the files by which names are looked up, if that decides where ``guard`` lets a command go.

    Files there change other processes, or name a program that the kernel starts, with all
    privileges. Rules for paths cannot tell the command's own processes from others.
    """
    closed = list(SETTINGS)
    if guard.allow_domain:
        closed += [*RESOLVING, *map(os.path.realpath, RESOLVING)]
    return [*closed, *(mount.point for mount in read_mounts() if mount.kind in _KINDS)]
