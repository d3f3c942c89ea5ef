"""The threads that make calls, as /proc shows them."""

from __future__ import annotations

import _thread
import os

_LONGEST_NAME = 64  # bytes of /proc/PID/comm: 16 of a program's, more of a kernel's thread


class Vanished(Exception):  # noqa: N818 - it is no error
    """The process that made a call is gone, or hides its memory and descriptors."""


def status_of(thread: int) -> dict[str, str]:
    """The fields of /proc/PID/status. Raises Vanished if there is no such thread."""
    try:
        with open(f"/proc/{thread}/status", encoding="utf-8", errors="replace") as file:
            fields = [line.partition(":") for line in file]
    except OSError:
        raise Vanished from None
    return {name: value.strip() for name, _, value in fields}


def process_of(thread: int) -> int:
    """The ID of the process that ``thread`` belongs to. May raise Vanished."""
    try:
        os.close(os.pidfd_open(thread))  # type: ignore[attr-defined,unused-ignore]
    except OSError:  # it is not the first thread
        return int(status_of(thread).get("Tgid", thread))
    return thread


class Programs:
    """Names the programs that make calls, those in a loop without many calls of its own.

    The name of the last is kept open. It cannot be read any more when that process has ended, even
    if another one has its number. May be asked in any thread.
    """

    def __init__(self) -> None:
        self._lock = _thread.allocate_lock()
        self._process = 0
        self._comm: int | None = None

    def origin_of(self, thread: int) -> tuple[str, int]:
        """The name of the program, which can change it, and the process ID. Raises Vanished."""
        with self._lock:
            name = self._name() if thread == self._process else None
            if name is None:
                self._keep(process_of(thread))
                name = self._name()
            if name is None:
                raise Vanished
            return name, self._process

    def _keep(self, process: int) -> None:
        if self._comm is not None:
            os.close(self._comm)
        self._process, self._comm = process, None
        try:
            self._comm = os.open(f"/proc/{process}/comm", os.O_RDONLY)
        except OSError:
            raise Vanished from None

    def _name(self) -> str | None:
        """That of the last; None if it has ended."""
        if self._comm is None:
            return None
        try:
            return os.fsdecode(os.pread(self._comm, _LONGEST_NAME, 0)).removesuffix("\n")
        except OSError:
            return None
