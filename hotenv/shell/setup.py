"""What a session is made of, and how its keeper is told."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

from attrs import field, frozen

from hotenv.coredump import core_limits
from hotenv.errors import FieldError
from hotenv.guards.policy import Guard
from hotenv.guards.reportfile import ReportFile
from hotenv.redaction.redactor import Redactor
from hotenv.remote.destination import check_host
from hotenv.remote.lines import unsuitable
from hotenv.shell.framing import BASH_ENV
from hotenv.shell.hiding import UNREDACTED, Unredacted
from hotenv.shell.limits import Limits
from hotenv.shell.policy import Policy


@frozen
class Guarding:
    """How a shell is guarded. ``options``: arguments of :class:`hotenv.guards.run.Options`.

    ``report``: the file for the reports of all shells of the session. ``hidden``: variables whose
    values are not told when something is blocked.
    """

    guard: Guard
    options: Mapping[str, bool] = field(factory=dict)
    report: ReportFile | None = None
    hidden: Mapping[str, str] = field(factory=dict, repr=False)

    def settings(self, folder: str) -> dict[str, Any]:
        """For JSON. The shell may write to ``folder``."""
        fields = {name: getattr(self.guard, name) for name in Guard.__slots__}
        if self.guard.closes_files:
            fields["allow_write"] = [*self.guard.allow_write, folder]
        return {
            "guard": fields,
            "options": dict(self.options),
            "report": self.report and (self.report.path, self.report.descriptor),
            "hidden": dict(self.hidden),
        }


@frozen
class Setup:
    """For the arguments see :func:`hotenv.open_shell`.

    ``files``: the content of in-memory files, by the variable that names each. ``redactor``: what
    hides values in all that the shell gives. ``host``: see :func:`hotenv.open_shell`.

    Error handling: raises UsageError if something is not possible on another machine.
    """

    environment: Mapping[bytes, bytes] = field(repr=False)
    limits: Limits
    cwd: str | None = None
    files: Mapping[bytes, bytes] = field(factory=dict, repr=False)
    guarding: Guarding | None = None
    policy: Policy | None = None
    redactor: Redactor | Unredacted = field(default=UNREDACTED, repr=False)
    host: str | None = None

    def __attrs_post_init__(self) -> None:
        if self.host is not None:
            check_host(self.host)
            if found := unsuitable(self.environment):
                name, reason = found
                raise FieldError("env", reason, os.fsdecode(name))
            if self.guarding is not None:
                raise FieldError("host", "not possible with guards, which hold here only")
            if self.files:
                raise FieldError("host", "not possible with in-memory files (as_file, env_file)")

    def settings(self, folder: str) -> dict[str, Any]:
        """For the keeper of the session whose directory is ``folder``, as JSON: secret."""
        # Bash would read a file for BASH_ENV. The shell gets it later.
        environment = {n: value for n, value in self.environment.items() if n != BASH_ENV}
        return {
            "environment": _text(environment),
            "files": _text(self.files),
            "guarding": self.guarding and self.guarding.settings(folder),
            "core_limits": core_limits(),
        }

    def descriptors(self) -> list[int]:
        """Those that the keeper has to have."""
        report = self.guarding.report if self.guarding is not None else None
        return [] if report is None else [report.descriptor]


def encoded(env: Mapping[str, str] | Mapping[bytes, bytes]) -> dict[bytes, bytes]:
    """``env`` as bash gets it. Raises UsageError if no environment can hold it."""
    variables = {_bytes(name): _bytes(value) for name, value in env.items()}
    for name, value in variables.items():
        if not name or b"=" in name or b"\0" in name + value:
            raise FieldError("env", "has an empty name, a name with '=', or a NUL character")
    return variables


def _bytes(text: str | bytes) -> bytes:
    return text.encode("utf-8", "surrogateescape") if isinstance(text, str) else text


def _text(variables: Mapping[bytes, bytes]) -> dict[str, str]:
    """``variables`` with a character for each byte."""
    return {n.decode("latin-1"): value.decode("latin-1") for n, value in variables.items()}
