"""The bash of a session, and the next one when it has ended."""

from __future__ import annotations

import trio

from hotenv.errors import SystemFailureError
from hotenv.remote.lines import exports
from hotenv.shell import framing
from hotenv.shell.bash import Bash

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    from hotenv.shell.framing import State
    from hotenv.shell.kept import Kept


class Succession:
    """Shells that ``kept`` starts, one after the other, each with the state of the one before.

    ``folder``: the directory of the session. ``environment``: that of the first. ``count``: how
    many there were. ``cwd``: the working directory after the last command; ``status``: what the
    next one finds in ``$?``.
    """

    def __init__(
        self, kept: Kept, folder: str, environment: Mapping[bytes, bytes], nursery: trio.Nursery
    ) -> None:
        self.count: int = 0
        self.cwd: bytes = b""
        self.status: int = 0
        self._kept = kept
        self._folder = folder
        self._environment = environment
        self._nursery = nursery
        self._bash: Bash | None = None
        self._state: State | None = None
        self._closed = False

    async def current(self) -> Bash:
        """The shell, which is started if there is none.

        Error handling: raises SystemFailureError if there can be none.
        """
        if self._closed:
            raise closed()
        if self._bash is not None and self._bash.has_ended():
            await self.drop(self._bash)
        if self._bash is None:
            bash = Bash(self._kept, self._folder)
            try:
                # Not to be left half-way: its end would be taken for that of the next.
                with trio.CancelScope(shield=self.count > 0):
                    await bash.start(self._opening)
            except BaseException:
                bash.close()
                raise
            self._nursery.start_soon(bash.dump.follow)
            self._bash = bash
            self.cwd = self.cwd or bash.cwd()
            self.status = 0
            self.count += 1
        return self._bash

    def _opening(self, pid: int) -> bytes:
        """What the shell with this process ID begins with."""
        if self._state is not None:
            return framing.restoration(self._state, self._environment, pid)
        names = {framing.BASH_ENV} & self._environment.keys()
        return exports({name: self._environment[name] for name in names})

    async def remember(self, bash: Bash) -> None:
        """Keep the state of the shell for another one, unless it has ended."""
        state = None if bash.has_ended() else bash.state()
        if state is None:
            await self.drop(bash)
        else:
            self._state, self.cwd = state, state.cwd

    async def drop(self, bash: Bash) -> None:
        """Let go of a shell of which there is no more use."""
        if self._bash is bash:
            self._bash = None
            with trio.CancelScope(shield=True):  # its end is not to be taken for that of the next
                await bash.kill()
            bash.close()

    async def aclose(self, grace: float) -> None:
        """End the shell: its trap EXIT gets ``grace`` seconds. Then it is killed."""
        self._closed = True
        if self._bash is not None:
            self._bash.hang_up()
            with trio.move_on_after(grace):
                await self._bash.wait()
            await self.drop(self._bash)


def closed() -> SystemFailureError:
    """The error for a shell that was closed."""
    return SystemFailureError("the shell is closed: open a new one")
