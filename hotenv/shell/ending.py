"""The end of a command that has taken too long: of its processes, and if need be of its shell."""

from __future__ import annotations

import os
import signal
from contextlib import suppress

import trio

from hotenv.shell.processes import descendants, is_chain, is_running, parent_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from hotenv.shell.bash import Bash

_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGKILL)
_NEXT_ROUND = 0.01  # seconds


class Processes:
    """The processes that a command starts, from here on.

    They are those below the keeper that were not there before and are not below one that was.
    Whose a process is that has left its parent before, nobody can say.
    """

    def __init__(self, chain: Sequence[int]) -> None:
        """``chain``: the keeper and the shell, and what is between them, from parent to child."""
        self._chain = chain
        self._earlier = self._others()

    def running(self) -> set[int]:
        """Those that have not ended."""
        return {pid for pid in self._others() if is_running(pid) and not self._is_earlier(pid)}

    def _others(self) -> set[int]:
        """All below the keeper that are not in the chain."""
        return set() if is_chain(self._chain) else descendants(self._chain[0]) - {*self._chain}

    def _is_earlier(self, pid: int) -> bool:
        while pid > 0 and pid not in self._chain:
            if pid in self._earlier:
                return True
            pid = parent_of(pid)
        return False


async def end_command(
    processes: Processes, bash: Bash, is_finished: Callable[[], bool], grace: float
) -> None:
    """End ``processes``, and ``bash`` too if it is not finished with the command by then.

    ``grace``: seconds that they get after SIGINT, after SIGTERM and after SIGKILL, each. A shell
    that is busy without any process gets the last two: it may have become another program.
    """
    shell: set[int] = set()
    for signum in _SIGNALS:
        with trio.move_on_after(grace):
            await _signal_all(processes, shell, signum, is_finished)
            return
        shell = set() if processes.running() else {bash.pid}
    await bash.kill()
    with trio.move_on_after(grace):  # not all can be killed: some have another user's rights
        await _signal_all(processes, set(), signal.SIGKILL, is_finished)


async def _signal_all(
    processes: Processes, others: set[int], signum: int, is_finished: Callable[[], bool]
) -> None:
    """Send them a signal each, until there are no processes and the shell is finished."""
    told: set[int] = set()
    while (running := processes.running()) or not is_finished():
        for pid in (running | others) - told:
            with suppress(OSError):  # it has just ended, or has another user's rights
                os.kill(pid, signum)
                os.kill(pid, signal.SIGCONT)
        told |= running | others
        await trio.sleep(_NEXT_ROUND)
