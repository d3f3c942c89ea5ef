"""What the file of a project says, once it is allowed."""

from __future__ import annotations

import os
from typing import Any

from hotenv.errors import HotenvError
from hotenv.project.agent import Agent
from hotenv.project.file import ProjectFile, nearest_file
from hotenv.project.tables import SOURCES, check_tables
from hotenv.project.trust import own_files, refusal

_ARGUMENTS = {"except": "excluded", "pass": "passed", "as-file": "as_file"}


class Project:
    """An allowed file: its ``path`` and ``directory``, and the values of its tables by key.

    ``agent``: what an agent may run, and what its commands get, from ``agent_table``.
    """

    def __init__(self, file: ProjectFile) -> None:
        """Error handling: raises UsageError if it says what no file can."""
        values = check_tables(file.tables, file.where)
        self._file = file
        self.path: str = file.path
        self.directory: str = file.directory
        self.session: dict[str, Any] = values["session"]
        self.run: dict[str, Any] = values["run"]
        self.agent_table: dict[str, Any] = values["agent"]
        self.agent: Agent = Agent(self.agent_table, file.directory)

    @property
    def own_files(self) -> list[str]:
        """The files of the project that its source is, or that this runs or reads."""
        return [*own_files(self._file)]

    @property
    def has_source(self) -> bool:
        """Whether it says where the variables come from."""
        return any(key in self.session for key in SOURCES)

    @property
    def has_agent(self) -> bool:
        """Whether it says what an agent may run."""
        return not self.agent.rules.deny_all

    @property
    def starts_on_demand(self) -> bool:
        """Whether a command that has no session may start one."""
        return self.has_source and bool(self.session.get("on-demand", True))

    @property
    def input(self) -> str:
        """The file that is its source."""
        return os.path.join(self.directory, self.session["input"])

    @property
    def composition(self) -> dict[str, Any]:
        """What ``run`` does without being told, as arguments of ``compose_layers``."""
        arguments = {_ARGUMENTS.get(key, key): value for key, value in self.run.items()}
        if "no-override" in arguments:
            arguments["override"] = not arguments.pop("no-override")
        return arguments


def consult(directory: str | None = None) -> tuple[Project | None, str]:
    """The project that ``directory`` (the current one if None) is in, if its file is allowed.

    Otherwise why the file does not count; empty if there is none.

    Error handling: raises UsageError if an allowed file is invalid, as after an update of hotenv.
    """
    try:
        file = nearest_file(directory)
        reason = "" if file is None else refusal(file)
    except HotenvError as error:
        return None, str(error)
    return (None, reason) if file is None or reason else (Project(file), "")
