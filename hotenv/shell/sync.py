"""Command sessions for programs without Trio."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator, Mapping
from concurrent.futures import Future
from contextlib import contextmanager
from functools import partial
from types import EllipsisType

import trio

from hotenv.guards.policy import Guard
from hotenv.shell.policy import Policy
from hotenv.shell.result import Result
from hotenv.shell.session import open_shell
from hotenv.shell.shell import Shell
from hotenv.shell.succession import closed
from hotenv.snapshot import Variables


class SyncShell:
    """Runs commands, one at a time. Made by :func:`hotenv.open_shell_sync`."""

    def __init__(self, shell: Shell, token: trio.lowlevel.TrioToken) -> None:
        self._shell = shell
        self._token = token

    def run(
        self,
        command: str,
        *,
        timeout: float | EllipsisType | None = ...,
        stdin: bytes = b"",
        stdout_file: str | None = None,
        stderr_file: str | None = None,
    ) -> Result:
        """Run ``command`` to its end: see :meth:`Shell.run`. Any thread may call it."""
        run = partial(
            self._shell.run,
            command,
            timeout=timeout,
            stdin=stdin,
            stdout_file=stdout_file,
            stderr_file=stderr_file,
        )
        try:
            return trio.from_thread.run(run, trio_token=self._token)
        except trio.RunFinishedError:
            raise closed() from None


@contextmanager
def open_shell_sync(
    *,
    env: Mapping[str, str] | Mapping[bytes, bytes] | None = None,
    cwd: str | os.PathLike[str] | None = None,
    guard: Guard | None = None,
    policy: Policy | None = None,
    timeout: float | None = 30.0,
    max_output: int | None = 100_000,
    grace: float = 2.0,
    redact: bool | Variables = True,
    host: str | None = None,
) -> Iterator[SyncShell]:
    """A bash that runs commands one after the other: see :func:`hotenv.open_shell`.

    Trio runs in a thread of its own as long as the block lasts.
    """
    opening = partial(
        open_shell,
        env=env,
        cwd=cwd,
        guard=guard,
        policy=policy,
        timeout=timeout,
        max_output=max_output,
        grace=grace,
        redact=redact,
        host=host,
    )
    ready: Future[SyncShell] = Future()
    close = trio.Event()

    async def hold() -> None:
        try:
            async with opening() as shell:
                ready.set_result(SyncShell(shell, trio.lowlevel.current_trio_token()))
                await close.wait()
        except Exception as error:
            if ready.done():
                raise
            ready.set_exception(error)

    thread = threading.Thread(target=trio.run, args=(hold,), name="hotenv-shell", daemon=True)
    thread.start()
    shell = ready.result()
    try:
        yield shell
    finally:
        shell._token.run_sync_soon(close.set)
        thread.join()
