"""How a keeper starts a shell: in a session of its own, and under a guard if there is one."""

from __future__ import annotations

import os

from hotenv.errors import SystemFailureError, attempt
from hotenv.handover.launch import Launch
from hotenv.handover.standin import FAILED, LONGEST_ERROR, STATUS_SIZE, encode_error
from hotenv.lightweight import signal
from hotenv.lineage import die_with

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any, NoReturn

    from hotenv.guards.privatetmp import PrivateFolder

ERROR_SIZE = STATUS_SIZE + LONGEST_ERROR
"""Bytes of a report that is an error, with padding."""

CONTROL = "control"
"""The FIFO in the directory of the session that is the standard input of a shell."""

_SHELL = ("bash", "--norc", "--noprofile")


class Starter:
    """Starts shells, one after the other, in the session whose directory is ``folder``.

    ``settings``: those of :class:`hotenv.shell.setup.Setup`.
    """

    def __init__(self, folder: str, settings: Mapping[str, Any]) -> None:
        files = _encoded(settings["files"])
        self._launch = Launch(_SHELL, _encoded(settings["environment"]), files=files)
        self._folder = folder
        self._guarding: Mapping[str, Any] | None = settings["guarding"]
        self._private: PrivateFolder | None = None
        if self._guarding is not None and self._guarding["report"] is not None:
            os.set_inheritable(self._guarding["report"][1], False)

    def start(self, reports: int) -> int:
        """Start a shell; its process ID, or 0. Why there is none is written to ``reports``."""
        keeper = os.getpid()
        try:
            self._prepare()
            with attempt("start a shell"):
                shell = os.fork()
        except SystemFailureError as error:
            _report(reports, error)
            return 0
        return shell or self._become(reports, keeper)

    def _prepare(self) -> None:
        """Make what the shells share."""
        if self._guarding and self._guarding["guard"]["private_tmp"] and self._private is None:
            from hotenv.guards.privatetmp import PrivateFolder

            self._private = PrivateFolder()

    def _become(self, reports: int, keeper: int) -> NoReturn:
        """Become a shell with the default dispositions of all signals. It ends with its keeper."""
        reports = os.dup(reports)  # closed by an exec
        try:
            die_with(keeper)
            os.setsid()
            signal.set_wakeup_fd(-1)
            for signum in signal.valid_signals() - {signal.SIGKILL, signal.SIGSTOP}:
                signal.signal(signum, signal.SIG_DFL)
            signal.pthread_sigmask(signal.SIG_SETMASK, [])
            os.dup2(os.open(f"{self._folder}/{CONTROL}", os.O_RDONLY), 0)
            os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
            if self._guarding is not None:
                self._run_guarded(**self._guarding)
            os.dup2(1, 2)
            self._launch.execute()
        except BaseException as error:  # noqa: ASYNC103 - this process ends
            _report(reports, error)
        finally:
            os._exit(0)  # nobody looks at it who has a report

    def _run_guarded(
        self,
        guard: Mapping[str, Any],
        options: Mapping[str, Any],
        report: tuple[str, int] | None,
        hidden: Mapping[str, str],
    ) -> NoReturn:
        """Stand in for a shell under ``guard``. Its report is added to those of earlier shells."""
        from hotenv.guards.policy import Guard
        from hotenv.guards.reportfile import ReportFile
        from hotenv.guards.run import Options, run_under

        launch, applied = self._launch, Guard(**{**guard, "private_tmp": False})
        if self._private is not None:
            launch, applied = self._private.named(launch), self._private.excepted(applied)
        file = None if report is None else ReportFile(*report)
        run_under(applied, launch, Options(keep_status=True, report=file, **options), hidden)

    def close(self) -> None:
        """Remove what the shells have shared."""
        if self._private is not None:
            self._private.remove()


def _report(reports: int, error: BaseException) -> None:
    os.write(reports, (FAILED + encode_error(error)).ljust(ERROR_SIZE, b"\0"))


def _encoded(variables: Mapping[str, str]) -> dict[bytes, bytes]:
    return {name.encode("latin-1"): value.encode("latin-1") for name, value in variables.items()}
