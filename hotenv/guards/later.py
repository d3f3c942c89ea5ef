"""Calls that a thread answers, because that takes a while: the supervisor itself never waits."""

from __future__ import annotations

import _thread
import errno

from hotenv.guards.verdict import ANSWERED, fails

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from hotenv.guards.listener import Call
    from hotenv.guards.verdict import Verdict

_MOST = 256  # threads: each is for a process or thread of the command


class Later:
    """The calls that wait for a thread."""

    def __init__(self) -> None:
        self._calls: set[Call] = set()

    def answer(self, call: Call, work: Callable[[], int | None]) -> Verdict:
        """Let ``work`` find the error to answer with, or 0; None if it has answered by itself."""
        if len(self._calls) >= _MOST:
            return fails(errno.EAGAIN)
        self._calls.add(call)
        _thread.start_new_thread(self._work, (call, work))
        return ANSWERED

    def _work(self, call: Call, work: Callable[[], int | None]) -> None:
        error: int | None = errno.EPERM
        try:
            error = work()
        except Exception:  # noqa: S110 - whatever the command made us stumble over, it is refused
            pass
        finally:
            self._calls.discard(call)
            if error is not None:
                call.finish(error)
