"""Starting the session that ``hotenv run`` lacks: ``hotenv serve``, on the command's terminal.

The source may prompt there, and shares the job: Ctrl-C and Ctrl-Z reach it from the terminal, and
this process waits for what it makes of them. Standard input that is no terminal is the command's.
"""

from __future__ import annotations

import os
import signal
import subprocess

from hotenv.errors import SystemFailureError, attempt
from hotenv.lineage import die_with
from hotenv.program import INTERRUPTED, failure_status, own_command

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence


def start_session(directory: str, words: Sequence[str]) -> None:
    """Start the session of the project in ``directory``; return once it is ready.

    ``words``: the arguments of this process.

    Error handling: raises SystemExit if it fails: it has said why. KeyboardInterrupt if Ctrl-C came
    meanwhile, also where the source made nothing of it: no command starts after that.
    SystemFailureError if something else has ended it.
    """
    code, interrupted = _run(["-C", directory, "serve", "--on-demand"], words)
    if code in (INTERRUPTED, -signal.SIGINT) or (interrupted and not code):
        raise KeyboardInterrupt
    if code < 0:
        raise SystemFailureError(
            f"cannot start the session of {directory}: hotenv serve was killed by signal {-code}"
        )
    if code:
        raise SystemExit(failure_status(code))


def _run(arguments: Sequence[str], words: Sequence[str]) -> tuple[int, bool]:
    """Run hotenv with ``arguments``; its exit code, and whether Ctrl-C came.

    The code is the negative number of a signal that killed it.
    """
    interrupts: list[int] = []
    parent = os.getpid()
    mask = signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGINT])
    on_interrupt = signal.getsignal(signal.SIGINT)
    try:
        with attempt("start hotenv serve"):
            process = subprocess.Popen(  # noqa: S603 - ourselves
                [*own_command(words, held=signal.SIGINT not in mask), *arguments],
                stdin=None if os.isatty(0) else subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                preexec_fn=lambda: die_with(parent),
            )
        if on_interrupt is not signal.SIG_IGN:
            signal.signal(signal.SIGINT, lambda signum, _: interrupts.append(signum))
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, mask)
    code = process.wait()
    signal.signal(signal.SIGINT, on_interrupt)
    return code, bool(interrupts)
