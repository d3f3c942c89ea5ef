"""What is mounted where, and the other names that this gives to a path."""

from __future__ import annotations

from hotenv.guards.fields import is_within

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence


class Mount:
    """One line of mountinfo: ``root``, a directory of ``device``, is to be seen at ``point``."""

    __slots__ = ("device", "kind", "point", "root")

    def __init__(self, line: str) -> None:
        """``line``: see proc_pid_mountinfo(5)."""
        before, _, after = line.partition(" - ")
        _, _, device, root, point, *_ = before.split(" ")
        self.device: str = device
        self.root: str = _unescaped(root)
        self.point: str = _unescaped(point)
        self.kind: str = after.partition(" ")[0]


def read_mounts() -> list[Mount]:
    """Those that this process sees; none if they cannot be read."""
    try:
        with open("/proc/self/mountinfo", encoding="utf-8", errors="surrogateescape") as file:
            return [*map(Mount, file)]
    except OSError:
        return []


def names_of(path: str, mounts: Sequence[Mount]) -> Iterator[str]:
    """``path``, and all other paths at which it, or a part of it, is to be seen."""
    yield path
    here = [mount for mount in mounts if is_within(path, [mount.point])]
    if not here:
        return
    longest = max(len(mount.point) for mount in here)
    own = [mount for mount in here if len(mount.point) == longest][-1]  # on top of the others
    inside = _joined(own.root, path, own.point)
    for mount in mounts:
        if mount.device == own.device and mount is not own:
            if is_within(inside, [mount.root]):
                yield _joined(mount.point, inside, mount.root)
            elif is_within(mount.root, [inside]):
                yield mount.point


def all_names(paths: Iterable[str], mounts: Sequence[Mount]) -> list[str]:
    """The names of all of ``paths``."""
    return list(dict.fromkeys(name for path in paths for name in names_of(path, mounts)))


def _joined(root: str, path: str, base: str) -> str:
    """The place in ``root`` that ``path`` has in ``base``."""
    rest = path[len(base.rstrip("/")) :]
    return f"{root.rstrip('/')}{rest}".rstrip("/") or "/"


def _unescaped(path: str) -> str:
    """As proc_pid_mountinfo(5) writes blanks and backslashes."""
    for code, character in (("\\040", " "), ("\\011", "\t"), ("\\012", "\n"), ("\\134", "\\")):
        path = path.replace(code, character)
    return path
