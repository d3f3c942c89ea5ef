"""One bash: what it is told, and how it is known to have done it."""

from __future__ import annotations

import os
import resource
import signal
from contextlib import ExitStack, suppress

import trio

from hotenv.errors import SystemFailureError, attempt
from hotenv.shell import framing
from hotenv.shell.capture import Capture
from hotenv.shell.framing import State
from hotenv.shell.passage import Passage
from hotenv.shell.pipes import open_fifo, unread
from hotenv.shell.place import Place
from hotenv.shell.processes import parent_of
from hotenv.shell.starter import CONTROL

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from hotenv.errors import HotenvError
    from hotenv.shell.kept import Kept

_VERSION = 5
_LOOK_EVERY = 0.1  # seconds between looks at a shell that may be unable to report
_PATIENCE = 10.0  # seconds
_DESCRIPTORS = 32  # that a shell needs: for redirections it uses those from 10 on
_DELETED = b" (deleted)"


class Bash:
    """A shell that ``kept`` starts. ``folder``: the directory of the session.

    ``status``: its wait status when it has ended, else None. ``pid``: its process ID; ``chain``:
    that of the keeper, of what is between the two, and its own. ``dump``: where its state comes.
    """

    def __init__(self, kept: Kept, folder: str) -> None:
        self.status: int | None = None
        self.pid: int = 0
        self.chain: tuple[int, ...] = ()
        self._kept = kept
        self._error: HotenvError | None = None
        self._waiting = trio.CancelScope()
        self._hung_up = False
        self._dumped = bytearray()
        with ExitStack() as undo, attempt("make the files of a shell"):
            self._place = undo.enter_context(Place(folder))
            self._place.fifo("done")
            dump = self._place.fifo("dump", os.O_RDWR)  # so that it never comes to an end
            self.dump: Capture = Capture(os.dup(dump), Passage(self._dumped.extend))
            undo.callback(self.dump.close)
            self._control_path = f"{folder}/{CONTROL}"
            os.mkfifo(self._control_path, 0o600)
            self._reader = open_fifo(self._control_path, os.O_RDONLY)
            self._control = trio.lowlevel.FdStream(open_fifo(self._control_path, os.O_WRONLY))
            undo.callback(self._control.close)
            self._undo = undo.pop_all()

    async def start(self, opening: Callable[[int], bytes]) -> None:
        """Start the shell. ``opening``: what it begins with, given its process ID.

        Error handling: raises SystemFailureError if there is no bash of the right version, and what
        applying a guard raises.
        """
        try:
            await self._kept.start_shell(self._take_report)
            await self._send(framing.introduction(os.fsencode(self._place.path)))
            if not await self.finish(self._place):
                self.check()
                raise SystemFailureError("the shell ended at once: check the first bash on PATH")
        finally:
            os.close(self._reader)  # now that it has its own end, or never will
            with suppress(FileNotFoundError):  # a keeper that ends removes it
                os.unlink(self._control_path)
        pid, _, version = self._place.report().partition(".")
        if not version.isdigit() or int(version) < _VERSION:
            found = f"is version {version}" if version else "is not bash"
            raise SystemFailureError(
                f"the first bash on PATH {found}: put version {_VERSION} or newer first on PATH"
            )
        self.pid = int(pid)
        self.chain = self._chain()
        await self._send(opening(self.pid))

    def _chain(self) -> tuple[int, ...]:
        pids = [self.pid]
        while (parent := parent_of(pids[0])) > 0 and parent != self._kept.pid:
            pids.insert(0, parent)
        return (self._kept.pid, *pids)

    def _take_report(self, report: int | HotenvError) -> None:
        if isinstance(report, int):
            self.status = report
        else:
            self._error = report
        self._waiting.cancel()

    async def begin(self, command: bytes, place: Place, *, stdin: bool, status: int) -> None:
        """Have the shell run ``command``. For the arguments see :func:`framing.command_lines`."""
        self._dumped.clear()
        dump = os.fsencode(self._place.path_of("dump"))
        path = os.fsencode(place.path)
        await self._send(framing.command_lines(command, path, dump, stdin=stdin, status=status))

    async def _send(self, lines: bytes) -> None:
        with suppress(trio.BrokenResourceError):  # it has ended: that is found out by waiting
            await self._control.send_all(lines)

    async def finish(self, place: Place) -> bool:
        """Wait until the shell has reported in ``place``; False if it has ended instead.

        A shell that has taken all lines and not reported never will: it is made to end.
        """
        while not place.is_used("done"):
            if self.has_ended():
                return False
            with trio.move_on_after(_LOOK_EVERY) as self._waiting:
                await place.wait("done")
            if self._has_taken_all() and not place.is_used("done"):
                self.hang_up()
        return True

    def _has_taken_all(self) -> bool:
        return not self._hung_up and not unread(self._control.fileno())

    def has_ended(self) -> bool:
        """Whether the shell is gone, as far as is known."""
        return self.status is not None or self._error is not None

    def check(self) -> None:
        """Raise the HotenvError for which there is no shell, if there is one."""
        if self._error is not None:
            raise self._error

    def state(self) -> State | None:
        """What a new shell has to take over from this one, which has reported; None if it cannot.

        Then it is made to end.
        """
        self.dump.take()
        with suppress(OSError):  # it has ended
            prlimit = resource.prlimit  # type: ignore[attr-defined,unused-ignore]
            limit, _ = prlimit(self.pid, resource.RLIMIT_NOFILE)
            if self._dumped and (limit >= _DESCRIPTORS or limit == resource.RLIM_INFINITY):
                return State(bytes(self._dumped), self.cwd(), self.pid)
        self.hang_up()
        return None

    def cwd(self) -> bytes:
        """The working directory. Raises OSError if the shell has ended."""
        link = b"/proc/%d/cwd" % self.pid
        path = os.readlink(link)
        return path.removesuffix(_DELETED) if not os.stat(link).st_nlink else path

    async def wait(self) -> None:
        """Wait until the shell has ended."""
        while not self.has_ended():
            with trio.CancelScope() as self._waiting:
                await trio.sleep_forever()

    async def kill(self) -> None:
        """Kill the shell. Waits 10 seconds at most: it may have become what cannot be killed."""
        if self.pid and not self.has_ended():
            with suppress(OSError):
                os.kill(self.pid, signal.SIGKILL)
        with trio.move_on_after(_PATIENCE):
            await self.wait()

    def hang_up(self) -> None:
        """Let the shell end when it has done what it was told."""
        self._control.close()
        self._hung_up = True

    def close(self) -> None:
        """Let go of the shell."""
        self._undo.close()
