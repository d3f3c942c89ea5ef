"""The process between the desk and one command: an ancestor of all that this starts.

It runs the command, passes on signals, reports how the command stops and ends, and then kills what
is left of it. If the desk ends, in whatever way, it kills everything at once.
"""

from __future__ import annotations

import fcntl
import json
import os
import select
import sys
import termios

from hotenv.coredump import forbid_core_dumps
from hotenv.descriptors import redirect_to_null
from hotenv.errors import SystemFailureError, attempt
from hotenv.guards import syscalls as k
from hotenv.guards.privatetmp import PrivateFolder
from hotenv.handover.launch import Launch
from hotenv.handover.signalling import send
from hotenv.handover.standin import FAILED, STATUS_SIZE, encode_error
from hotenv.lightweight import signal
from hotenv.lineage import adopt_orphans, die_with
from hotenv.shell.keeper import end_all
from hotenv.shell.starter import ERROR_SIZE

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any, NoReturn

_NO_CORE = 1, 1
"""The command could be made to leave one where the agent reads it. See coredump for the number."""

_KEYS = (signal.SIGINT, signal.SIGQUIT, signal.SIGTSTP)
"""What keys send to the process group that has the terminal: for a moment that is this one."""

SIZE = 4
"""Bytes of the size of the settings, which come before the orders. An order is a signal."""


def main() -> None:
    """Run one command. The arguments are descriptors: of orders, of reports, and of its folder."""
    orders, reports, folder = map(int, sys.argv[1:])
    for descriptor in (orders, reports, folder):
        os.set_inheritable(descriptor, False)
    # What comes for the command from now on reaches it when it is there.
    signal.pthread_sigmask(signal.SIG_BLOCK, signal.valid_signals())
    adopt_orphans()
    forbid_core_dumps()
    settings = json.loads(_read(orders, int.from_bytes(_read(orders, SIZE), sys.byteorder)))
    forbid_core_dumps(restored=_NO_CORE)
    wakeup, end = os.pipe()
    for each in (wakeup, end):
        os.set_blocking(each, False)
    try:
        temporary = PrivateFolder()
        command = _start(settings, reports, folder, temporary)
    except BaseException as error:  # noqa: ASYNC103 - this process ends
        _report_error(reports, error)
        return
    redirect_to_null(0, 1, 2)
    signal.set_wakeup_fd(end, warn_on_full_buffer=False)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    for signum in _KEYS:
        signal.signal(signum, signal.SIG_IGN)
    signal.pthread_sigmask(signal.SIG_SETMASK, [])
    os.write(end, b"\0")  # it may have ended by now
    try:
        status = _attend(command, orders, wakeup, reports)
    finally:
        end_all()
        temporary.remove()  # a guard that was killed could not
    if status is not None:
        _report(reports, status)


def _start(settings: Mapping[str, Any], reports: int, folder: int, temporary: PrivateFolder) -> int:
    """Start the command; its process ID."""
    try:
        with attempt("start the command"):
            if terminal := settings["terminal"]:
                # In the session of its parent the command can be stopped: that can continue it.
                signal.signal(signal.SIGHUP, signal.SIG_IGN)
                fcntl.ioctl(terminal[0], termios.TIOCSCTTY, 0)
            attendant = os.getpid()
            command = os.fork()
    except BaseException:
        temporary.remove()
        raise
    return command or _become(settings, reports, folder, temporary, attendant)


def _read(orders: int, size: int) -> bytes:
    data = b""
    while len(data) < size:
        if not (piece := os.read(orders, size - len(data))):
            sys.exit()  # the desk has ended
        data += piece
    return data


def _attend(command: int, orders: int, wakeup: int, reports: int) -> int | None:
    """Follow orders until the command has ended; its wait status. None if the desk has ended."""
    poll = select.poll()
    poll.register(orders, select.POLLIN)
    poll.register(wakeup, select.POLLIN)
    while True:
        ready = {descriptor for descriptor, _ in poll.poll()}
        if wakeup in ready:
            os.read(wakeup, select.PIPE_BUF)
            for status in _news(command):
                if not os.WIFSTOPPED(status):
                    return status
                _report(reports, status)
        if orders in ready:
            signals = os.read(orders, select.PIPE_BUF)
            if not signals:
                return None
            for signum in signals:
                # All of the process group stops, and only it can be continued.
                send(-command if signum == signal.SIGCONT else command, signum)


def _news(command: int) -> list[int]:
    """The wait statuses of the command; other children are taken notice of."""
    found = []
    try:
        while (child := os.waitpid(-1, os.WNOHANG | os.WUNTRACED)) != (0, 0):
            if child[0] == command:
                found.append(child[1])
    except ChildProcessError:  # there is none any more
        pass
    return found


def _report(reports: int, status: int) -> None:
    os.write(reports, status.to_bytes(STATUS_SIZE, sys.byteorder))


def _report_error(reports: int, error: BaseException) -> None:
    os.write(reports, (FAILED + encode_error(error)).ljust(ERROR_SIZE, b"\0"))


def _become(
    settings: Mapping[str, Any],
    reports: int,
    folder: int,
    temporary: PrivateFolder,
    attendant: int,
) -> NoReturn:
    """Stand in for the command, in a process group of its own, which has its terminal."""
    try:
        die_with(attendant)
        os.setpgid(0, 0)
        if settings["terminal"]:
            signal.signal(signal.SIGTTOU, signal.SIG_IGN)
            os.tcsetpgrp(settings["terminal"][0], os.getpgrp())
        os.fchdir(folder)
        for signum in signal.valid_signals() - {signal.SIGKILL, signal.SIGSTOP}:
            signal.signal(signum, signal.SIG_DFL)
        signal.pthread_sigmask(signal.SIG_SETMASK, [])
        _run(settings, temporary)
    except BaseException as error:  # noqa: ASYNC103 - this process ends
        _report_error(reports, error)
    finally:
        os._exit(0)  # nobody looks at it who has a report


def _run(settings: Mapping[str, Any], temporary: PrivateFolder) -> NoReturn:
    from hotenv.guards.policy import Guard
    from hotenv.guards.run import Options, run_under
    from hotenv.redaction.redactor import Redactor
    from hotenv.redaction.streams import RedactedStreams

    variables = settings["variables"]
    launch = Launch(
        settings["argv"],
        _encoded(settings["environment"]),
        files=_encoded(settings["files"]),
    )
    redactor = Redactor(variables)
    streams = RedactedStreams(redactor)
    written = _opened(settings["write"])
    guard = temporary.excepted(Guard(**{**settings["guard"], "allow_write": written}))
    options = Options(keep_status=True, remedies=False)
    run_under(guard, temporary.named(launch), options, variables, streams=streams)


def _opened(paths: Sequence[str]) -> list[str]:
    """``paths`` as they are found now, as far as they are there, whatever becomes of them.

    Error handling: raises SystemFailureError for one that has become a link.
    """
    found = []
    for path in paths:
        try:
            descriptor = os.open(path, k.O_PATH | os.O_CLOEXEC)
        except OSError:
            continue
        opened = f"/proc/self/fd/{descriptor}"
        real = os.path.realpath(opened)
        if real != path:
            raise SystemFailureError(
                f"agent.write: {path} has become a link to {real}: remove the link"
            )
        found.append(opened)
    return found


def _encoded(variables: Mapping[str, str]) -> dict[bytes, bytes]:
    return {name.encode("latin-1"): value.encode("latin-1") for name, value in variables.items()}


if __name__ == "__main__":
    main()
