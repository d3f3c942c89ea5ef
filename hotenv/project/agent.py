"""What the table ``agent`` of a project's file says. Pure."""

from __future__ import annotations

import posixpath

from hotenv.project.agentrules import Rules
from hotenv.project.tables import ASK_TIMEOUT, RULES

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any


class Agent:
    """What an agent may run, and what its commands get.

    ``rules``: for commands. ``network``: what commands may reach, as ``allow_domain`` of a guard;
    empty if nothing. ``write``: absolute paths that they may change; empty if none. ``only``:
    patterns for names of variables; empty if [run] says that. ``ask_timeout``: seconds for which an
    answer is waited for.
    """

    __slots__ = ("ask_timeout", "network", "only", "rules", "write")

    def __init__(self, table: Mapping[str, Any], directory: str) -> None:
        """``table``: as ``check_tables`` returns it. ``directory``: where its paths start."""
        self.rules: Rules = Rules(*(table.get(key, ()) for key in RULES))
        self.network: list[str] = table.get("network", [])
        paths = (posixpath.join(directory, path) for path in table.get("write", ()))
        self.write: list[str] = [*map(posixpath.normpath, paths)]
        self.only: list[str] = table.get("only", [])
        self.ask_timeout: float = table.get("ask-timeout", ASK_TIMEOUT)
