"""The process between a program and its shells: an ancestor of all that they start.

It starts a shell when it is told to, and reports its end. When the program closes the orders or
ends, in whatever way, it kills everything below it and removes the directory of the session.

It is a process of its own, and not bound to the life of the thread that started it, as Trio starts
processes in threads.
"""

from __future__ import annotations

import json
import os
import select
import shutil
import sys

from hotenv.coredump import forbid_core_dumps
from hotenv.handover.standin import STATUS_SIZE
from hotenv.lightweight import signal
from hotenv.lineage import adopt_orphans
from hotenv.shell.processes import descendants
from hotenv.shell.starter import Starter

START = b"s"
"""The order to start a shell."""

SIZE = 4
"""Bytes of the size of the settings, which come before the orders."""

_ORDERS, _REPORTS = 0, 1
_NEXT_ROUND = 0.01  # seconds


def main() -> None:
    """Keep the shells of the session whose directory is the only argument."""
    folder = sys.argv[1]
    try:
        adopt_orphans()
        forbid_core_dumps()
        settings = json.loads(_read(int.from_bytes(_read(SIZE), sys.byteorder)))
        forbid_core_dumps(restored=tuple(settings["core_limits"]))
        starter = Starter(folder, settings)
        try:
            keep(starter)
        finally:
            end_all()
            starter.close()
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _read(size: int) -> bytes:
    data = b""
    while len(data) < size:
        if not (piece := os.read(_ORDERS, size - len(data))):
            sys.exit()  # the program has ended
        data += piece
    return data


def keep(starter: Starter) -> None:
    """Follow orders until there are no more."""
    shell = 0
    wakeup, end = os.pipe()
    for each in (wakeup, end):
        os.set_blocking(each, False)
    signal.set_wakeup_fd(end, warn_on_full_buffer=False)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    poll = select.poll()
    poll.register(_ORDERS, select.POLLIN)
    poll.register(wakeup, select.POLLIN)
    while True:
        ready = {descriptor for descriptor, _ in poll.poll()}
        if wakeup in ready:
            os.read(wakeup, select.PIPE_BUF)
            _reap(shell)
        if _ORDERS in ready:
            if not os.read(_ORDERS, len(START)):
                return
            shell = starter.start(_REPORTS)


def _reap(shell: int) -> None:
    """Take notice of all children that have ended, and report the shell's end."""
    try:
        while (child := os.waitpid(-1, os.WNOHANG)) != (0, 0):
            if child[0] == shell:
                os.write(_REPORTS, child[1].to_bytes(STATUS_SIZE, sys.byteorder))
    except ChildProcessError:  # there is none any more
        pass


def end_all() -> None:
    """Kill everything below this process, until nothing is left."""
    while True:
        for pid in descendants(os.getpid()):
            try:
                os.kill(pid, signal.SIGKILL)
            except OSError:  # it has ended, or changed its user ID
                pass
        try:
            while os.waitpid(-1, os.WNOHANG) != (0, 0):
                pass
        except ChildProcessError:
            return
        select.select([], [], [], _NEXT_ROUND)


if __name__ == "__main__":
    main()
