"""What the file of a project says that its commands may do, and its profiles.

It can only tighten what its user asks for, so it counts without being allowed.
"""

from __future__ import annotations

import os

from hotenv.cli.guards import existing, resolved
from hotenv.project.file import nearest_file

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from hotenv.guards.sources import Settings
    from hotenv.project.file import ProjectFile

_PATHS = ("allow-write", "allow-read")


class ProjectGuards:
    """What a file asks for, and its profiles."""

    def __init__(self, file: ProjectFile) -> None:
        """Error handling: raises UsageError for what no file can say, and a path that is not there.

        ``name``: the file, as its user calls it.
        """
        from hotenv.project.tables import check_tables  # few projects have a file

        tables = check_tables(file.tables, file.where)
        self.name: str = os.path.relpath(file.path)
        guard = dict(tables["guard"])
        self.used: list[str] = guard.pop("profile", [])
        self.settings: Settings = _settings(guard, f"{file.where}guard", file.directory)
        self.profiles: dict[str, Settings] = {
            name: _settings(keys, f"{file.where}profiles.{name}", file.directory)
            for name, keys in tables["profiles"].items()
        }


def guards_here() -> ProjectGuards | None:
    """Those of the nearest file, even if another user owns it."""
    file = nearest_file(untrusted=True)
    return None if file is None else ProjectGuards(file)


def _settings(keys: Mapping[str, Any], where: str, directory: str) -> Settings:
    return {
        key.replace("-", "_"): _resolved(key, value, f"{where}.{key}", directory)
        for key, value in keys.items()
    }


def _resolved(key: str, value: Any, what: str, directory: str) -> Any:  # noqa: ANN401 - of TOML
    if key in _PATHS:
        return [existing(path, what, directory) for path in value]
    if key == "deny-read":
        return [resolved(path, directory) for path in value]
    is_directory = key == "fs-readonly" and isinstance(value, str)
    return existing(value, what, directory) if is_directory else value
