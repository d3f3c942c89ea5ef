"""Ending a session from outside: the process that serves it is told, and waited for.

Which process that is, the kernel says. A process id alone can be another process's by the time it
is used, so a descriptor is opened for it first, and only a server that answers after that is the
process that was meant.
"""

from __future__ import annotations

import os
import select
import signal

from hotenv.errors import SystemFailureError, attempt
from hotenv.exchange.answer import GONE, unreachable
from hotenv.exchange.visit import Visit
from hotenv.session.marker import Marker
from hotenv.session.published import read_status

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
            if _has_another_number(visit.pid):
                raise _elsewhere(session)
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
            _end(process, f"process {visit.pid}, which serves {session.path},")
        finally:
            os.close(process)


def _open_process(pid: int | None, session: Marker) -> int:
    """A descriptor of the process ``pid``, which stays that of this process whatever happens."""
    if pid is None or not hasattr(os, "pidfd_open"):
        raise SystemFailureError(
            "this system does not tell for sure which process serves: end it with Ctrl-C"
        )
    if pid == 0:
        raise _elsewhere(session)
    with attempt(f"tell which process serves {session.path}"):
        try:
            return os.pidfd_open(pid)
        except ProcessLookupError:
            raise unreachable(session, GONE) from None


def _has_another_number(pid: int | None) -> bool:
    """Whether ``pid`` is in a pid namespace below this one, where it has another number."""
    try:
        with open(f"/proc/{pid}/status", encoding="utf-8", errors="replace") as file:
            for line in file:
                if line.startswith("NSpid:"):
                    return len(line.split()) > 2
    except OSError:
        pass  # it has ended, or there is no /proc to see it in
    return False


def _elsewhere(session: Marker) -> SystemFailureError:
    return SystemFailureError(
        f"the server behind {session.path} is in another pid namespace (a container): end it there"
    )


def _end(process: int, name: str) -> None:
    """Tell the open ``process`` to end, and wait until it has."""
    with attempt(f"end {name}"):
        try:
            signal.pidfd_send_signal(process, signal.SIGTERM)
        except ProcessLookupError:
            return
    poll = select.poll()
    poll.register(process, select.POLLIN)
    if not poll.poll(PATIENCE * 1000):
        raise SystemFailureError(f"{name} has not ended within {PATIENCE:g} s")
