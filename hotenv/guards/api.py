"""Guards for Trio programs and their tests: this program does not touch the network."""

from __future__ import annotations

import json
import os
import signal
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress

import trio
from attrs import frozen

from hotenv import errors
from hotenv.errors import FieldError, SystemFailureError
from hotenv.guards.fields import ALL
from hotenv.guards.kernel import check, this_kernel
from hotenv.guards.policy import Guard
from hotenv.guards.threads import Vanished, status_of

_PATIENCE = 5.0  # seconds
_NEXT_ROUND = 0.01  # seconds

# Fields that are options of the same name.
_FLAGS = (
    *("no_network", "no_localhost", "no_subprocess", "no_terminals", "private_tmp"),
    *("allow_localhost", "allow_udp"),
)
_LISTS = (
    *("deny_read", "allow_domain", "allow_import", "allow_write", "allow_read", "allow_unix"),
)


@frozen
class Refusal:
    """What one program was refused for one reason.

    ``what``: the call, or what it would have done. ``guard``: which guard refused it. ``program``,
    ``pid``: which program, and the first of its threads. ``times``: how often. ``counts``: False
    for what programs try without needing it. ``first``: what the first was about, such as ``host``
    and ``port``, or ``path``. ``remedy``: the option that would allow it, if there is one.
    """

    what: str
    guard: str
    program: str
    pid: int
    times: int
    counts: bool
    first: Mapping[str, str]
    remedy: str | None


@frozen
class GuardedRun:
    """How a guarded command ended.

    ``status``: its exit status, or the negative number of the signal that ended it. ``refusals``:
    what it was refused. ``blocked``: those that count.
    """

    status: int
    refusals: tuple[Refusal, ...]

    @property
    def blocked(self) -> tuple[Refusal, ...]:
        """The refusals that count: nothing that well-known programs try without needing it."""
        return tuple(each for each in self.refusals if each.counts)


async def run_guarded(
    argv: Sequence[str],
    guard: Guard,
    *,
    env: Mapping[str, str] | None = None,
    cwd: str | os.PathLike[str] | None = None,
) -> GuardedRun:
    """Run ``argv`` under ``guard`` to its end, with the standard streams of this process.

    ``env``: its environment, and ``cwd``: its working directory; those of this process if None.
    Cancelled, it is asked to end, and killed if it has not after 5 seconds; what it has started is
    killed then.

    Error handling: raises UsageError if ``argv`` is empty or a string, or if an exception of
    ``guard`` is not there; SystemFailureError if the command cannot be executed, if this kernel
    lacks what ``guard`` needs, or if what is refused cannot be told: in another guard or sandbox,
    and if hotenv is killed.
    """
    if isinstance(argv, (str, bytes)) or not argv:
        raise FieldError("argv", "must be a list of strings, the first of them the program")
    check_exceptions(guard)
    check(guard, this_kernel())
    # A file that no path leads to: the command could replace another one.
    report = os.memfd_create("hotenv-report")  # type: ignore[attr-defined,unused-ignore]
    with open(report, "rb") as file:  # noqa: ASYNC230 - it is in memory
        options = ["--exactly", *_options(guard), "--report", f"/dev/fd/{report}"]
        hotenv = [sys.executable, "-I", "-m", "hotenv", "guard"]
        done = await trio.run_process(
            [*hotenv, *options, "--", *argv],
            env=env,
            cwd=cwd,
            stdin=None,
            pass_fds=[report],
            check=False,
            deliver_cancel=_end_all,
        )
        file.seek(0)
        return _outcome(file.read().decode(), done.returncode)


async def _end_all(hotenv: trio.Process) -> None:
    """End the command, and what it has started. ``hotenv``: the process that stands in for it."""
    keepers = _children_of(hotenv.pid)
    if not keepers:  # nor is there a command yet
        hotenv.kill()
        return
    pidfd = os.pidfd_open(keepers[0])  # type: ignore[attr-defined,unused-ignore]
    try:
        with trio.CancelScope(shield=True):
            hotenv.terminate()
            with trio.move_on_after(_PATIENCE):
                await hotenv.wait()
            await _kill_children(keepers[0], pidfd)
    finally:
        os.close(pidfd)


async def _kill_children(keeper: int, pidfd: int) -> None:
    """Kill the children of ``keeper`` until it has ended: those of the killed become its own."""
    while True:
        with trio.move_on_after(_NEXT_ROUND):
            await trio.lowlevel.wait_readable(pidfd)
            return
        for child in _children_of(keeper):
            with suppress(ProcessLookupError):
                os.kill(child, signal.SIGKILL)


def _children_of(process: int) -> list[int]:
    found = []
    for name in filter(str.isdecimal, os.listdir("/proc")):
        with suppress(Vanished):
            if status_of(int(name)).get("PPid") == str(process):
                found.append(int(name))
    return found


def check_exceptions(guard: Guard) -> None:
    """Raise UsageError, which names the field, for a path that is not there.

    One that is made later would be another one, or none that a rule could be for.
    """
    for field in ("allow_write", "allow_read", "allow_unix"):
        for path in getattr(guard, field) or ():
            if not os.path.exists(path):
                raise FieldError(field, "no such file or directory", path)


def _options(guard: Guard) -> Iterator[str]:
    """The command line of ``guard``."""
    for name in _FLAGS:
        if getattr(guard, name):
            yield f"--{name.replace('_', '-')}"
    if guard.fs_readonly:
        # The directory is added to allow_read. This file can be read anyway.
        yield "--fs-readonly" if guard.allow_read is None else f"--fs-readonly={os.devnull}"
    if guard.strict_imports:
        yield f"--strict-imports={ALL}" if guard.strict_imports == ALL else "--strict-imports"
    for name in _LISTS:
        for path in getattr(guard, name) or ():
            yield f"--{name.replace('_', '-')}={path}"


def _outcome(report: str, status: int) -> GuardedRun:
    """What ``report`` says. ``status``: that of hotenv."""
    lines = [json.loads(line) for line in report.splitlines(keepends=True) if line.endswith("\n")]
    *refusals, end = lines or [{}]
    if "error" in end:
        raise getattr(errors, end["error"])(end["message"])
    if "status" not in end:
        raise SystemFailureError(f"hotenv exited with status {status} and wrote no report")
    return GuardedRun(end["status"], tuple(Refusal(**each) for each in refusals))
