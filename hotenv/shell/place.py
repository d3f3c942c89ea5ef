"""The directory of one command: its streams, and what the shell reports."""

from __future__ import annotations

import os
import secrets
from contextlib import suppress

import trio

from hotenv.errors import attempt
from hotenv.shell.pipes import open_fifo, was_closed

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Self


_NONCE = 4  # bytes: nobody opens a FIFO of a later command by chance; bash reads byte by byte


class Place:
    """A new directory in ``parent``. Both it and its descriptors are gone when the block ends."""

    def __init__(self, parent: str) -> None:
        self.path: str = f"{parent}/{secrets.token_hex(_NONCE)}"
        self._fifos: dict[str, int] = {}
        os.mkdir(self.path, 0o700)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        for descriptor in self._fifos.values():
            os.close(descriptor)
        with suppress(FileNotFoundError):  # somebody else has removed it
            for name in os.listdir(self.path):
                os.unlink(self.path_of(name))
            os.rmdir(self.path)

    def fifo(self, name: str, mode: int = os.O_RDONLY) -> int:
        """A new FIFO of this name; a descriptor of it, for reading if not said otherwise."""
        os.mkfifo(self.path_of(name), 0o600)
        self._fifos[name] = open_fifo(self.path_of(name), mode)
        return self._fifos[name]

    def path_of(self, name: str) -> str:
        """Where something of this name is."""
        return f"{self.path}/{name}"

    async def wait(self, name: str) -> None:
        """Wait for something to happen to the FIFO."""
        await trio.lowlevel.wait_readable(self._fifos[name])

    def is_used(self, name: str) -> bool:
        """Whether the shell has opened the FIFO and does not have it open any more."""
        return was_closed(self._fifos[name])

    def report(self) -> str:
        """The name of the file that the shell has created, a number; empty if there is none.

        Error handling: raises SystemFailureError if the command has removed the directory.
        """
        with attempt(f"read what the shell reports in {self.path}"):
            return next((name for name in os.listdir(self.path) if name[0].isdigit()), "")
