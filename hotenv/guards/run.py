"""Run a command under a guard: prepare it, supervise it, and say what was blocked."""

from __future__ import annotations

import os

from hotenv.errors import HotenvError, SystemFailureError, attempt
from hotenv.guards.closed import Closed
from hotenv.guards.confine import apply_filter, shed_privileges
from hotenv.guards.inherited import check_inherited, check_inherited_inside
from hotenv.guards.isolated import check_launch
from hotenv.guards.kernel import check, missing, this_kernel
from hotenv.guards.landlock import rules
from hotenv.guards.report import Report
from hotenv.guards.shebang import programs_of, resolve_env
from hotenv.guards.supervisor import Supervisor
from hotenv.guards.system import never_written, readable_system
from hotenv.guards.target import resolve_target
from hotenv.guards.words import FOLDER, with_words
from hotenv.handover.standin import end_like
from hotenv.stdio import say

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping
    from typing import NoReturn

    from hotenv.guards.kernel import Kernel
    from hotenv.guards.policy import Guard
    from hotenv.guards.privatetmp import PrivateFolder
    from hotenv.guards.reportfile import ReportFile
    from hotenv.handover.launch import Launch
    from hotenv.handover.streams import Streams

_BLOCKED = 2  # exit status, as for a usage error: the report tells them apart


class Options:
    """How to run under a guard: the options that are no part of it."""

    def __init__(
        self,
        *,
        keep_status: bool = False,
        trace: bool = False,
        report: ReportFile | None = None,
        best_effort: bool = False,
        remedies: bool = True,
    ) -> None:
        """``remedies``: whether to tell which option would allow what was blocked."""
        self.keep_status: bool = keep_status
        self.trace: bool = trace
        self.report: ReportFile | None = report
        self.best_effort: bool = best_effort
        self.remedies: bool = remedies


def run_under(
    guard: Guard,
    launch: Launch,
    options: Options,
    variables: Mapping[str, str],
    *,
    streams: Streams | None = None,
    told: Callable[[int, int], int] | None = None,
) -> NoReturn:
    """Run the command under ``guard``, and end as it does, or with 2 if anything was blocked.

    It ends with 8 if the report cannot be written.

    ``variables``: those of the session; their values are not told. ``streams``: see
    :class:`Supervised`. ``told``: gets the command's wait status and how often something was
    blocked, and returns the wait status that counts.

    Error handling: returns only by raising SystemFailureError if the kernel lacks something, or if
    what is inherited would be a way around the guard; and what :meth:`Supervised.run` raises. The
    report has such an error, too.
    """
    report = Report(variables)
    file = options.report

    def finish(status: int) -> int:
        for kind in report.kinds():
            if kind.blocked.counts:
                say(str(kind) if options.remedies else kind.without_remedy())
        ended = status if told is None else told(status, report.times)
        if not _written(file, report.lines(os.waitstatus_to_exitcode(status))):
            return SystemFailureError.exit_code << 8
        return _BLOCKED << 8 if report.counts and not options.keep_status else ended

    try:
        status = _run(guard, launch, options, report, finish, streams)
    except HotenvError as error:
        _written(file, [report.failure(error)])
        raise
    end_like(status)


def _run(
    guard: Guard,
    launch: Launch,
    options: Options,
    report: Report,
    finish: Callable[[int], int],
    streams: Streams | None,
) -> int:
    """Run the command to its end. Returns what ``finish`` makes of its wait status."""
    kernel = this_kernel()
    _check_kernel(guard, kernel, best_effort=options.best_effort)
    check_inherited(guard)
    folder = _private_folder() if guard.private_tmp else None
    try:
        return _supervise(guard, kernel, launch, options, folder, report, finish, streams)
    except BaseException:
        if folder is not None:
            folder.remove()
        raise


def _supervise(
    guard: Guard,
    kernel: Kernel,
    launch: Launch,
    options: Options,
    folder: PrivateFolder | None,
    report: Report,
    finish: Callable[[int], int],
    streams: Streams | None,
) -> int:
    """As :func:`_run`, which has made ``folder``, if there is to be one."""
    deciding = ("no_localhost", "no_subprocess", "allow_unix", "allow_localhost", "allow_domain")
    needed = [f"--{name.replace('_', '-')}" for name in deciding if getattr(guard, name)]
    needed += ["--report"] * (options.report is not None)
    launch = resolve_target(launch)
    if guard.no_subprocess:
        launch = resolve_env(launch)
    if guard.strict_imports:
        check_launch(launch)
    if folder is not None:
        guard, launch = folder.excepted(guard), folder.named(launch)
    readable = guard.allow_read is not None
    system = [*readable_system(launch.env, programs_of(launch)), FOLDER] if readable else []
    launch = with_words(launch, guard, files=bool(kernel.landlock))
    closed = Closed(guard, never_written(guard))
    ruleset = rules(guard, kernel, system, closed) if kernel.landlock else None
    shed_privileges(kernel)
    if launch.files or launch.env_file is not None:
        from hotenv.handover import files  # noqa: F401 - the command's process may not read it

    def confine() -> int | None:
        if ruleset is not None:
            with attempt("restrict access with Landlock"):
                ruleset.restrict()
        listener = apply_filter(guard, kernel, needed)
        if listener is None:
            check_inherited_inside()
        return listener

    at_end = folder.remove if folder is not None else lambda: None
    supervisor = Supervisor(guard, kernel, system, report, trace=options.trace, at_end=at_end)
    return supervisor.run(launch, confine, finish, streams)


def _check_kernel(guard: Guard, kernel: Kernel, *, best_effort: bool) -> None:
    if not best_effort:
        check(guard, kernel)
    for lacking in missing(guard, kernel):
        say(f"warning: this kernel or container lacks {lacking}")


def _private_folder() -> PrivateFolder:
    from hotenv.guards.privatetmp import PrivateFolder

    return PrivateFolder()


def _written(file: ReportFile | None, lines: Iterable[Mapping[str, object]]) -> bool:
    """Whether ``file``, if there is one, could be written; why not, is told."""
    try:
        if file is not None:
            file.write(lines)
    except SystemFailureError as error:
        say(str(error))
        return False
    return True
