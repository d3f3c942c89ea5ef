"""Command sessions for Trio programs: a shell, and all that it needs as long as it is open."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager

import trio

from hotenv.errors import SystemFailureError, attempt
from hotenv.guards.api import check_exceptions
from hotenv.guards.policy import Guard
from hotenv.handover.launch import inherited_environment
from hotenv.shell.approval import Approval
from hotenv.shell.executor import Executor
from hotenv.shell.hiding import redactor_of, variables_to_hide
from hotenv.shell.kept import Kept
from hotenv.shell.limits import Limits
from hotenv.shell.local import LocalExecutor
from hotenv.shell.nursery import open_helpers
from hotenv.shell.policy import Policy
from hotenv.shell.remote.executor import open_remote
from hotenv.shell.setup import Guarding, Setup, encoded
from hotenv.shell.shell import Shell
from hotenv.shell.succession import Succession
from hotenv.snapshot import Variables

_MEMORY = "/dev/shm"  # noqa: S108 - what is made there is private


@asynccontextmanager
async def open_shell(
    *,
    env: Mapping[str, str] | Mapping[bytes, bytes] | None = None,
    cwd: str | os.PathLike[str] | None = None,
    guard: Guard | None = None,
    policy: Policy | None = None,
    timeout: float | None = 30.0,  # noqa: ASYNC109 - of each command, and not of this
    max_output: int | None = 100_000,
    grace: float = 2.0,
    redact: bool | Variables = True,
    host: str | None = None,
) -> AsyncIterator[Shell]:
    """A bash that runs commands one after the other, as long as the block lasts.

    ``env``: its environment, and ``cwd``: its working directory; those of this process if None.
    ``guard``: what it may not do, nor what it starts. ``policy``: which programs commands may name.
    ``timeout``: seconds that a command may take (None: any number), ``grace``: seconds that its
    processes get to end after SIGINT, and again after SIGTERM, before they are killed.
    ``max_output``: bytes that are kept of each output of a command, half of them from its end; None
    for all. ``redact``: variables whose values are replaced by ``[NAME]`` in all that the shell
    gives: output, copies of it in files, directories, commands in results, errors. By default,
    those in ``env`` that this process does not have, but for what is essential, such as PATH; False
    for none. ``host``: a destination of ssh, on which the shell runs: ``env`` is added to the
    environment there, and all of it is hidden. It needs Linux, bash 5 and coreutils there, and
    cannot be guarded.

    What the commands have started ends with the block, whatever it is, and also if this process is
    killed.

    Error handling: raises UsageError if an argument is wrong; SystemFailureError if the shell
    cannot be started, the kernel lacks what ``guard`` needs, or there is no parser for ``policy``;
    UnreachableError if there is no connection to ``host``.
    What the block raises is not put into a group.
    """
    if guard is not None:
        check_exceptions(guard)
    own = inherited_environment() if host is None else {}
    environment = own if env is None else encoded(env)
    hidden = variables_to_hide(redact, environment, own)
    setup = Setup(
        environment=environment,
        limits=Limits(timeout, max_output, grace),
        cwd=None if cwd is None else os.fspath(cwd),
        guarding=None if guard is None else Guarding(guard, hidden=hidden),
        policy=policy,
        redactor=redactor_of(hidden),
        host=host,
    )
    async with open_session(setup) as shell:
        yield shell


@asynccontextmanager
async def open_session(setup: Setup) -> AsyncIterator[Shell]:
    """The same for a ``setup``."""
    approval = None if setup.policy is None else Approval(setup.policy)
    executor = _local(setup) if setup.host is None else open_remote(setup, setup.host)
    async with executor as opened:
        yield Shell(opened, setup.limits, approval, setup.redactor)


@asynccontextmanager
async def _local(setup: Setup) -> AsyncIterator[Executor]:
    """What runs commands on this machine."""
    if (system := os.uname().sysname) != "Linux":
        raise SystemFailureError(f"command sessions need Linux; this is {system}")
    with _folder() as folder:
        async with open_helpers() as nursery, _kept(setup, folder, nursery) as kept:
            bashes = Succession(kept, folder, setup.environment, nursery)
            try:
                await bashes.current()
                yield LocalExecutor(bashes, folder, nursery, setup.limits.grace)
            finally:
                with trio.CancelScope(shield=True):
                    await bashes.aclose(setup.limits.grace)


@asynccontextmanager
async def _kept(setup: Setup, folder: str, nursery: trio.Nursery) -> AsyncIterator[Kept]:
    """A keeper, which ends with the block, and all its processes with it."""
    kept = await Kept.start(folder, setup.settings(folder), setup.cwd, setup.descriptors())
    try:
        nursery.start_soon(kept.watch)
        yield kept
    finally:
        await kept.aclose()


@contextmanager
def _folder() -> Iterator[str]:
    """A new directory for the session, in memory if there is such a place."""
    parent = _MEMORY if os.access(_MEMORY, os.W_OK | os.X_OK) else None
    with attempt("make a directory for a shell"):
        folder = tempfile.mkdtemp(prefix="hotenv-", dir=parent)
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)  # the keeper does so too, if it can
