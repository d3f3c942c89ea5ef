"""Terminals: where they are, and what stands for their keys and screens."""

from __future__ import annotations

import os

from hotenv.guards.mounts import all_names

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from hotenv.guards.mounts import Mount

_DEVICES = "/dev"
_NAMES = ("console", "input", "ptmx", "pts", "uinput")
_NUMBERED, _SCREENS = "tty", "vcs"


def terminals(mounts: Sequence[Mount]) -> list[str]:
    """The paths of all terminals, whatever mount shows them: not /dev/tty, the command's own."""
    own = [mount.point for mount in mounts if mount.kind == "devpts"]
    return all_names([f"{_DEVICES}/pts", *own, *_devices()], mounts)


def _devices() -> Iterator[str]:
    try:
        names = os.listdir(_DEVICES)
    except OSError:
        names = [*_NAMES]
    yield from (f"{_DEVICES}/{name}" for name in sorted(names) if is_terminal(name))


def is_terminal(name: str) -> bool:
    """Whether ``name`` is one in /dev that is to be closed."""
    numbered = name.startswith(_NUMBERED) and name[len(_NUMBERED) :][:1].isdigit()
    return numbered or name.startswith(_SCREENS) or name in _NAMES
