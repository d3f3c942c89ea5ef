"""The output of a command as a source, which knows, as no pipe does, whether the command failed.

The command has hotenv's terminal, standard input and standard error, and is a part of the same
job: Ctrl-C and Ctrl-Z reach it from the terminal. hotenv waits for what it makes of them. Once it
has ended, Ctrl-C ends hotenv, which may still wait for what the command has left behind.
"""

from __future__ import annotations

import os
import select
import signal
from typing import NoReturn

from hotenv.errors import HotenvError, SystemFailureError, attempt
from hotenv.handover.launch import Launch, inherited_environment
from hotenv.intake.echoguard import Child
from hotenv.intake.sources import Source, read_all
from hotenv.lineage import die_with

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

_STDOUT = 1
_PIECE = 4096


class CommandOutput(Source):
    """What the command ``argv`` prints."""

    def __init__(self, argv: Sequence[str], form: str) -> None:
        super().__init__(f"output of '{argv[0]}'", form)
        self._argv = argv

    def read(self) -> bytes:
        """All of its output, if it succeeds.

        Error handling: raises SystemFailureError also if it cannot be executed or fails, and
        KeyboardInterrupt if Ctrl-C ended it.
        """
        with attempt(f"start '{self._argv[0]}'"):
            output, failure = os.pipe(), os.pipe()
            parent = os.getpid()
            mask = signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGINT])
            # Ignored it would keep the command's end from this process.
            on_end = signal.signal(signal.SIGCHLD, signal.SIG_DFL)
            pid = os.fork()
        if not pid:
            signal.signal(signal.SIGCHLD, on_end)
            signal.pthread_sigmask(signal.SIG_SETMASK, mask)
            self._become_the_command(parent, output[1], failure[1])
        command = _Running(pid)
        signal.pthread_sigmask(signal.SIG_SETMASK, mask - {signal.SIGCHLD})
        os.close(output[1])
        os.close(failure[1])
        try:
            refused = read_all(failure[0], self.title)  # until it is executed
            data = read_all(output[0], self.title, command.await_output)
        finally:
            os.close(failure[0])
            os.close(output[0])  # before it is waited for: it could wait for a reader
            code = command.wait()
            signal.signal(signal.SIGCHLD, on_end)
        if refused:
            raise SystemFailureError(refused.decode(errors="surrogateescape"))
        self._refuse_failure(code)
        return data

    def _become_the_command(self, parent: int, output: int, failure: int) -> NoReturn:
        try:
            die_with(parent)
            os.dup2(output, _STDOUT)
            Launch(self._argv, inherited_environment()).execute()
        except HotenvError as error:
            os.write(failure, str(error).encode(errors="surrogateescape"))
        finally:
            os._exit(SystemFailureError.exit_code)

    def _refuse_failure(self, code: int) -> None:
        if code == -signal.SIGINT:
            raise KeyboardInterrupt
        if code:
            how = f"exited with status {code}" if code > 0 else f"was killed by signal {-code}"
            raise SystemFailureError(f"'{self._argv[0]}' {how}: nothing is served")


class _Running:
    """The process ``pid``. Until it has ended, Ctrl-C is left to it: ignored when it comes.

    Its end is noticed by a wake-up pipe, also if SIGCHLD comes just before a wait.
    """

    def __init__(self, pid: int) -> None:
        self._child = Child(pid)
        self._on_interrupt = signal.signal(signal.SIGINT, signal.SIG_IGN)
        self._wakeup, self._end = os.pipe()
        for each in (self._wakeup, self._end):
            os.set_blocking(each, False)
        self._old_end = signal.set_wakeup_fd(self._end, warn_on_full_buffer=False)
        self._on_end = signal.signal(signal.SIGCHLD, lambda *_: self._look())
        self._look()  # it may have ended by now

    def await_output(self, descriptor: int) -> None:
        """Return when ``descriptor`` can be read."""
        while True:
            ready, _, _ = select.select([descriptor, self._wakeup], [], [])
            if descriptor in ready:
                return
            os.read(self._wakeup, _PIECE)

    def wait(self) -> int:
        """Wait until it has ended; its exit code, or the negative number of a signal."""
        code = self._child.wait()
        signal.signal(signal.SIGCHLD, self._on_end)
        signal.signal(signal.SIGINT, self._on_interrupt)
        signal.set_wakeup_fd(self._old_end)
        os.close(self._wakeup)
        os.close(self._end)
        return code

    def _look(self) -> None:
        if self._child.has_ended():
            signal.signal(signal.SIGINT, self._on_interrupt)
