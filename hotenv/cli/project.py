"""What the file of the project adds to the options of ``hotenv serve``."""

from __future__ import annotations

import os
import stat

from hotenv.cli.commandline import current_directory
from hotenv.durations import DEFAULT_TIMEOUT
from hotenv.errors import NoSessionError, attempt
from hotenv.project.settings import consult
from hotenv.project.tables import START_TIMEOUT
from hotenv.stdio import say

TYPE_CHECKING = False
if TYPE_CHECKING:
    import argparse

    from hotenv.project.settings import Project

_STDIN, _STDERR = 0, 2

_FLAGS = {
    "prompt": "prompt",
    "strict": "strict",
    "require-locked-memory": "require_locked_memory",
    "require-hardening": "require_hardening",
    "allow-confined": "allow_confined",
}


def use_project(args: argparse.Namespace) -> None:
    """Complete ``args`` with what the file says, if that is the source, and is allowed.

    Then the current directory is that of the file. In any case ``args.composition`` is what ``run``
    is to do without being told.

    Error handling: raises UsageError if the file is invalid, NoSessionError if it does not name the
    source that is asked for (``--on-demand``).
    """
    if args.on_demand:
        args.detach = args.if_needed = args.quiet = True
    project, reason = consult()
    args.composition = None if project is None else project.composition or None
    args.is_of_project = False
    if args.on_demand or (not args.sources and not args.argv and _has_no_input()):
        if project is not None and project.has_source:
            _take_session(args, project)
        elif args.on_demand:
            raise NoSessionError(reason or "no source in hotenv.toml here")
    if reason and not args.quiet and os.isatty(_STDERR):
        say(f"note: {reason}")


def _has_no_input() -> bool:
    """Whether standard input is a terminal, or has nothing to read, as in a unit of systemd."""
    status = os.fstat(_STDIN)
    is_null = stat.S_ISCHR(status.st_mode) and status.st_rdev == os.stat(os.devnull).st_rdev
    return is_null or os.isatty(_STDIN)


def _take_session(args: argparse.Namespace, project: Project) -> None:
    said = project.session
    args.is_of_project = True
    args.sources, args.argv = _sources(project)
    for key, name in _FLAGS.items():
        setattr(args, name, getattr(args, name) or said.get(key, False))
    args.interpolate = args.interpolate and not said.get("no-interpolate", False)
    args.timeout = args.timeout or said.get("timeout", DEFAULT_TIMEOUT)
    args.max_age = args.max_age or said.get("max-age")
    args.start_timeout = said.get("start-timeout", START_TIMEOUT)
    with attempt("determine the current directory"):
        args.log = args.log and os.path.abspath(args.log)
        args.audit = args.audit and os.path.abspath(args.audit)
    args.start = args.start or current_directory()
    with attempt(f"change to directory {project.directory}"):
        os.chdir(project.directory)


def _sources(project: Project) -> tuple[list[tuple[str, str]], list[str]]:
    """The source as options, and as the command after them."""
    said = project.session
    if "env" in said:
        return [("--env", pattern) for pattern in said["env"]], []
    sources = [("--format", said["format"])] if "format" in said else []
    if "input" in said:
        sources.append(("--from", project.input))
    return sources, ["--", *said["source"]] if "source" in said else []
