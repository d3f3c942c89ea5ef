"""Signals that are held back, with the way back for a program that is executed."""

from __future__ import annotations

from hotenv.lightweight import signal


class HeldSignals:
    """All signals are blocked from here on, with the way back to what they were before."""

    def __init__(self) -> None:
        self._mask = signal.pthread_sigmask(signal.SIG_BLOCK, signal.valid_signals())
        # Ignored it would keep the ends of children from their parent.
        self._child = signal.signal(signal.SIGCHLD, signal.SIG_DFL)

    def release(self) -> None:
        """Go back."""
        signal.signal(signal.SIGCHLD, self._child)
        signal.pthread_sigmask(signal.SIG_SETMASK, self._mask)

    def release_for_exec(self) -> None:
        """Go back to what another program inherits: no handler of this one is called any more."""
        for signum in signal.valid_signals():
            if callable(signal.getsignal(signum)):
                signal.signal(signum, signal.SIG_DFL)
        self.release()
