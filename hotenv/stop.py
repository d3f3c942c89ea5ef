"""Ending a session from outside: the process that serves it is told, and waited for.

Which process that is, the kernel says. A process id alone can be another process's by the time it
is used, so a descriptor is opened for it first, and only a server that answers after that is the
process that was meant.
"""

from __future__ import annotations

import os
import select
import signal

from hotenv.answer import GONE, unreachable
from hotenv.errors import SystemFailureError, attempt
from hotenv.marker import Marker
from hotenv.statusfile import read_status
from hotenv.visit import Visit

PATIENCE = 10.0
"""Seconds that a server may take to end; requests in flight get two of them."""


def stop(session: Marker) -> None:
    """End the server of ``session``; when this returns it is gone.

    Error handling: raises UnreachableError and ArtifactError as asking it would;
    SystemFailureError if it is not a process that may be ended, or does not end.
    """
    with Visit(session) as visit:
        process = _open_process(visit.pid, session)
        try:
            # Before it answers: after that it may end, and what it has published is gone.
            record = read_status(session.socket)
            visit.wait_for_answer()
            if record is None:
                raise SystemFailureError(
                    f"process {visit.pid}, which serves {session.path}, has not published whether "
                    "it does anything else: end it there"
                )
            if not record.standalone:
                raise SystemFailureError(
                    f"the session of {session.path} is held by process {visit.pid}, which is no "
                    "'hotenv serve': end it there"
                )
            with attempt(f"end process {visit.pid}"):
                try:
                    signal.pidfd_send_signal(process, signal.SIGTERM)
                except ProcessLookupError:
                    return
            poll = select.poll()
            poll.register(process, select.POLLIN)
            if not poll.poll(PATIENCE * 1000):
                raise SystemFailureError(
                    f"process {visit.pid}, which serves {session.path}, has not ended within "
                    f"{PATIENCE:g} s"
                )
        finally:
            os.close(process)


def _open_process(pid: int | None, session: Marker) -> int:
    """A descriptor of the process ``pid``, which stays that of this process whatever happens."""
    if pid is None or not hasattr(os, "pidfd_open"):
        raise SystemFailureError(
            "this system does not tell for sure which process serves: end it with Ctrl-C"
        )
    if pid == 0 or _is_in_a_namespace_below(pid):
        raise SystemFailureError(
            f"the server behind {session.path} is in another pid namespace (a container): end it "
            "there"
        )
    with attempt(f"tell which process serves {session.path}"):
        try:
            return os.pidfd_open(pid)
        except ProcessLookupError:
            raise unreachable(session, GONE) from None


def _is_in_a_namespace_below(pid: int) -> bool:
    """Whether ``pid`` has another number where it runs."""
    try:
        with open(f"/proc/{pid}/status", encoding="utf-8", errors="replace") as file:
            for line in file:
                if line.startswith("NSpid:"):
                    return len(line.split()) > 2
    except OSError:
        pass  # it has ended, or there is no /proc to see it in
    return False
