"""The session of a directory for programs on Trio, which is started if the project says how."""

from __future__ import annotations

import os
import subprocess
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import partial

import trio

from hotenv.errors import NoSessionError, UnreachableError, attempt, kind_of
from hotenv.exchange.client import fetch
from hotenv.program import own_command
from hotenv.project.ondemand import directory_to_start
from hotenv.snapshot import Snapshot


@asynccontextmanager
async def open_session(
    directory: str | os.PathLike[str] | None = None, *, above: bool = False
) -> AsyncIterator[Snapshot]:
    """The variables of the session in ``directory`` (by default the current one), or above it.

    Without one, and with an allowed hotenv.toml that says where the variables come from, a session
    is started as ``hotenv run`` does: its source has the terminal and standard error of this
    process, and the session goes on after the block until it expires. Cancelling ends the source.

    Error handling: raises what :func:`hotenv.fetch` does; if the start fails, the kind of error
    that ``hotenv serve`` has failed with, which has said why on standard error.
    """
    try:
        snapshot = await fetch(directory=directory, above=above)
    except (NoSessionError, UnreachableError) as error:
        place = None if directory is None else os.fspath(directory)
        find = partial(directory_to_start, error, place, above=above)
        await _start(await trio.to_thread.run_sync(find, abandon_on_cancel=True))
        snapshot = await fetch(directory=directory, above=above)
    yield snapshot


async def _start(directory: str) -> None:
    with attempt("start hotenv serve"):
        ended = await trio.run_process(
            [*own_command(()), "-C", directory, "serve", "--on-demand"],
            stdin=None if os.isatty(0) else subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            check=False,
        )
    if code := ended.returncode:
        raise kind_of(code)(
            f"cannot start the session of {directory}: hotenv serve failed with exit code {code}"
        )
