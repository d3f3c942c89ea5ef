"""Starting the session of ``hotenv serve``, as its options say, once its sources are known."""

from __future__ import annotations

import math
import os

from hotenv.durations import DEFAULT_TIMEOUT
from hotenv.errors import SessionExistsError, SystemFailureError, attempt
from hotenv.stdio import say

TYPE_CHECKING = False
if TYPE_CHECKING:
    import argparse
    from collections.abc import Awaitable, Callable, Sequence

    from hotenv.intake.reader import Intake
    from hotenv.intake.rules import Rules
    from hotenv.intake.sources import Source
    from hotenv.serving.handovers import HandOverAudit
    from hotenv.serving.log import Log

_STDERR = 2


def start(args: argparse.Namespace, sources: Sequence[Source], rules: Rules) -> None:
    """Read ``sources`` and serve them; return when the session ends, or is in the background.

    Or at once if there is a session, and none is needed.
    """
    from hotenv.intake.hardening import harden

    if args.if_needed and _is_served(args):
        return
    log = _check_before_input(args)
    if not args.quiet:
        from hotenv.cli.surroundings import tell_surroundings

        tell_surroundings()
    harden(required=args.require_hardening)
    _check_confinement(args)
    try:
        if args.detach:
            _serve_detached(args, sources, rules, log)
        else:
            from hotenv.intake.reader import take_in

            _serve(args, log, take_in(sources, rules, require_locked_memory=_must_lock(args)))
    except (SessionExistsError, SystemExit) as error:  # several may have been started at once
        exists = isinstance(error, SessionExistsError) or error.code == SessionExistsError.exit_code
        if not (args.if_needed and exists and _is_served(args)):
            raise


def start_or_wait(args: argparse.Namespace, sources: Sequence[Source], rules: Rules) -> None:
    """The same, unless another process is doing it: then wait for that, and take its result."""
    from hotenv.project.startonce import start_once

    with attempt("determine the current directory"):
        here = os.getcwd()
    if not start_once(here, args.start_timeout, lambda: start(args, sources, rules)):
        _is_served(args)  # says so


def _check_confinement(args: argparse.Namespace) -> None:
    """Warn if confined processes would be answered though nobody has allowed it."""
    from hotenv.serving.confinement import EXISTS, obstacle

    if EXISTS and not args.allow_confined and (problem := obstacle()) is not None:
        say(
            f"warning: cannot refuse confined processes ({problem}): they may get the values too "
            "('--allow-confined' accepts that)"
        )


def _must_lock(args: argparse.Namespace) -> bool:
    return bool(args.require_locked_memory or args.require_hardening)


def _is_served(args: argparse.Namespace) -> bool:
    """Whether this directory has a session that answers, which is said then."""
    from hotenv.upkeep.here import answers_here

    if not answers_here():
        return False
    if not args.quiet:
        with attempt("determine the current directory"):
            say(f"already serving in {os.getcwd()}")
    return True


def _check_before_input(args: argparse.Namespace) -> int | None:
    """Refuse what can be refused before anybody types secrets for nothing; open the log file."""
    from hotenv.serving.log import open_log_file
    from hotenv.serving.readiness import check_ready_fd
    from hotenv.session import marker
    from hotenv.session.filesystem import check_file_system
    from hotenv.session.runtime import make_runtime_base, note_missing_directory, runtime_bases

    with attempt("determine the current directory"):
        path = os.path.join(os.getcwd(), marker.NAME)
    with attempt(f"look for {path}"):
        marker.refuse_existing(marker.NAME, path, force=args.force or args.if_needed)
    note_missing_directory()
    make_runtime_base()
    check_file_system(os.curdir, path)
    if args.ready_fd is not None:
        check_ready_fd(args.ready_fd)
    if args.audit is not None and args.audit_required:
        from hotenv.audit.writer import check

        check(args.audit)
    return None if args.log is None else open_log_file(args.log, (path, *runtime_bases()))


def _serve(
    args: argparse.Namespace,
    log: int | None,
    intake: Intake,
    announce: Callable[[str], Awaitable[None]] | None = None,
) -> None:
    from hotenv.serving.log import Log
    from hotenv.serving.process import ServerProcess
    from hotenv.session.markerfile import always, if_dead

    terminal = None if args.detach else _STDERR
    logger = Log(terminal, log, quiet=args.quiet, verbose=args.verbose)
    server = ServerProcess(
        directory=os.curdir,  # and not its name: that could be another directory's by now
        timeout=args.timeout or DEFAULT_TIMEOUT,
        max_age=args.max_age or math.inf,
        may_replace=always if args.force else if_dead if args.if_needed else None,
        log=logger,
        log_path=args.log,
        ready_fd=args.ready_fd,
        allow_confined=args.allow_confined,
        audit=None if args.audit is None else _audit(args, logger),
        composition=args.composition,
    )
    server.serve(intake, announce)


def _audit(args: argparse.Namespace, log: Log) -> HandOverAudit | None:
    from hotenv.serving.handovers import HandOverAudit

    try:
        return HandOverAudit(args.audit, required=args.audit_required, tell=log.tell)
    except SystemFailureError as error:
        if args.audit_required:
            raise
        say(f"warning: not in the audit log: {error}")
        return None


def _serve_detached(
    args: argparse.Namespace, sources: Sequence[Source], rules: Rules, log: int | None
) -> None:
    from hotenv.serving.detach import serve_detached
    from hotenv.serving.log import Log

    def serve(intake: Intake, announce: Callable[[str], Awaitable[None]]) -> None:
        try:
            _serve(args, log, intake, announce)
        except SessionExistsError as error:
            if args.if_needed:  # this process looks whether the other session answers
                raise SystemExit(error.exit_code) from None
            raise

    ready = serve_detached(
        sources,
        rules,
        serve,
        kept=(log, args.ready_fd),
        require_locked_memory=_must_lock(args),
    )
    Log(_STDERR, None, quiet=args.quiet).tell(ready)
