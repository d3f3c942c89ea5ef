"""Stopping sessions from outside: the process of the server is told, and waited for.

Which process that is, the kernel says, without an answer: a server may be stopped or hang. A
process ID alone can be another process's by the time it is used, so a descriptor is opened for it
first, and only then is it seen whether the socket still has its listener.
"""

from __future__ import annotations

import os
import select
import signal
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack
from typing import Self

from hotenv.errors import HotenvError, SystemFailureError, attempt
from hotenv.exchange.answer import ANSWER_TIMEOUT, gone
from hotenv.exchange.probe import GLANCE_TIMEOUT, Probe
from hotenv.session.liveness import is_listening
from hotenv.session.marker import Marker
from hotenv.session.status import Status, read_status
from hotenv.upkeep.prune import remove_remains
from hotenv.upkeep.sessions import live_sessions

STOP_TIMEOUT = 10.0
"""Seconds that a server may take to exit in order; requests in flight get two of them."""

KILL_TIMEOUT = 5.0
"""Seconds that it may take to be killed after that."""

_POLL = 0.02


def stop(session: Marker) -> None:
    """Stop the server of ``session``; when this returns it is gone, and so are its files.

    Error handling: raises UnreachableError if none is there; SystemFailureError if it is not a
    process that may be stopped, or does not exit.
    """
    for _, error in _stop([session], ANSWER_TIMEOUT):
        if error is not None:
            raise error


def stop_all() -> Iterator[tuple[Marker, HotenvError | None]]:
    """Stop all live sessions of this user at once; yields each with the error that kept it running.

    A session that ended by itself meanwhile is not among them.
    """
    for session, error in _stop(live_sessions(), GLANCE_TIMEOUT):
        if error is None or is_listening(session.socket) is not False:
            yield session, error


def _stop(sessions: Iterable[Marker], timeout: float) -> list[tuple[Marker, HotenvError | None]]:
    """``timeout``: seconds that each may take to be connected to."""
    errors: dict[Marker, HotenvError | None] = dict.fromkeys(sessions)
    servers: dict[Marker, _Server] = {}
    with ExitStack() as stack:
        for session in errors:
            try:
                servers[session] = stack.enter_context(_Server(session, timeout))
            except HotenvError as error:
                errors[session] = error
        deadline = time.monotonic() + STOP_TIMEOUT
        steps: list[Callable[[_Server], None]] = [
            _Server.terminate,
            lambda server: server.kill_after(deadline),
            lambda server: server.wait_gone(deadline + KILL_TIMEOUT),
        ]
        for step in steps:
            for session, server in servers.items():
                try:
                    if errors[session] is None:
                        step(server)
                except HotenvError as error:
                    errors[session] = error
    return list(errors.items())


class _Server:
    """The process that serves ``session``."""

    def __init__(self, session: Marker, timeout: float) -> None:
        """Error handling: raises HotenvError if it cannot be identified, or may not be stopped."""
        self._session = session
        with Probe(session, timeout) as probe:
            self._process = _Process(probe.pid, session)
        try:
            published = read_status(session.socket)
            if is_listening(session.socket) is False:
                raise gone(session)
            _check_standalone(session, self._process.pid, published)
        except BaseException:
            self._process.close()
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_error: object) -> None:
        self._process.close()

    def terminate(self) -> None:
        """Tell it to exit, and let it go on if it was stopped."""
        with attempt(f"stop {self._name}"):
            self._process.send(signal.SIGTERM)
            self._process.send(signal.SIGCONT)

    def kill_after(self, deadline: float) -> None:
        """Kill it if it has not exited by ``deadline``."""
        if not self._process.wait(deadline):
            with attempt(f"kill {self._name}"):
                self._process.send(signal.SIGKILL)

    def wait_gone(self, deadline: float) -> None:
        """Return when it and its files are gone, or raise SystemFailureError at ``deadline``."""
        if not self._process.wait(deadline):
            raise SystemFailureError(
                f"{self._name} did not exit within {STOP_TIMEOUT + KILL_TIMEOUT:g} seconds"
            )
        remove_remains(self._session)

    @property
    def _name(self) -> str:
        return f"process {self._process.pid} (the server of {self._session.path})"


def _check_standalone(session: Marker, pid: int, published: Status | None) -> None:
    if published is None:
        raise SystemFailureError(
            f"cannot stop the session of {session.path}: process {pid} has no readable status and "
            "may not be 'hotenv serve': end that process yourself"
        )
    if not published.standalone:
        raise SystemFailureError(
            f"cannot stop the session of {session.path}: its server, process {pid}, is not 'hotenv "
            "serve': stop it from that program"
        )


class _Process:
    """A process by a descriptor; on macOS, which has none, by its ``pid``."""

    def __init__(self, pid: int | None, session: Marker) -> None:
        """``pid`` is what the kernel said about the server of ``session``."""
        if pid == 0 or _has_another_number(pid):
            raise SystemFailureError(
                f"the server of {session.path} runs in another PID namespace (a container): stop "
                "it there"
            )
        if pid is None or not (hasattr(os, "pidfd_open") or sys.platform == "darwin"):
            raise SystemFailureError(
                f"cannot stop the session of {session.path}: its server cannot be identified on "
                "this system: press Ctrl-C in its terminal, or end its process"
            )
        self.pid = pid
        self._descriptor: int | None = None
        with attempt(f"identify the server of {session.path}"):
            try:
                if hasattr(os, "pidfd_open"):
                    self._descriptor = os.pidfd_open(pid)
            except ProcessLookupError:
                raise gone(session) from None

    def close(self) -> None:
        """Let go of it."""
        if self._descriptor is not None:
            os.close(self._descriptor)

    def send(self, signum: int) -> None:
        """Send a signal, if it has not exited yet."""
        try:
            if self._descriptor is None or sys.platform == "darwin":
                os.kill(self.pid, signum)
            else:
                signal.pidfd_send_signal(self._descriptor, signum)
        except ProcessLookupError:
            pass

    def wait(self, deadline: float) -> bool:
        """Whether it has exited by ``deadline``."""
        if self._descriptor is None:
            while self._is_there():
                if time.monotonic() > deadline:
                    return False
                time.sleep(_POLL)
            return True
        poll = select.poll()
        poll.register(self._descriptor, select.POLLIN)
        return bool(poll.poll(max(0.0, deadline - time.monotonic()) * 1000))

    def _is_there(self) -> bool:
        try:
            os.kill(self.pid, 0)
        except (ProcessLookupError, PermissionError):  # the latter: its number is another's by now
            return False
        return True


def _has_another_number(pid: int | None) -> bool:
    """Whether ``pid`` is in a PID namespace below this one, where it has another number."""
    try:
        with open(f"/proc/{pid}/status", encoding="utf-8", errors="replace") as file:
            for line in file:
                if line.startswith("NSpid:"):
                    return len(line.split()) > 2
    except OSError:
        pass  # it has exited, or there is no /proc to see it in
    return False
