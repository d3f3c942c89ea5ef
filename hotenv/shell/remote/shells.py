"""The shell of a session on another machine, and the next one when it has ended."""

from __future__ import annotations

import trio
from attrs import define

from hotenv.remote.destination import PATIENCE
from hotenv.remote.lines import at_once, exports
from hotenv.remote.scripts import script
from hotenv.remote.welcome import no_session
from hotenv.shell import framing

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    from hotenv.remote.connection import Channel, Connection
    from hotenv.remote.keeper import Keeper
    from hotenv.remote.settlement import Settlement


@define
class RemoteShell:
    """A shell, whose standard input is that of ``channel``.

    ``pid``: its process ID, once it was reported. ``code``: its exit code, as bash has it, once it
    has ended.
    """

    channel: Channel
    pid: int = 0
    code: int | None = None


class RemoteShells:
    """Shells over ``connection``, one after the other, each with the state of the one before.

    ``environment``: what the first one has in addition. ``count``: how many there were. ``cwd``:
    the working directory after the last command; ``status``: what the next one finds in ``$?``.
    """

    def __init__(
        self,
        connection: Connection,
        keeper: Keeper,
        nursery: trio.Nursery,
        environment: Mapping[bytes, bytes],
    ) -> None:
        self.cwd: bytes = b""
        self.status: int = 0
        self._connection = connection
        self._keeper = keeper
        self._nursery = nursery
        self._environment = environment
        self._shells: dict[bytes, RemoteShell] = {}
        self._current: RemoteShell | None = None
        self._dump = b""
        self._state: framing.State | None = None

    @property
    def count(self) -> int:
        """How many there were."""
        return len(self._shells)

    def take_record(self, what: bytes, number: bytes, rest: bytes) -> None:
        """Take what is reported of a shell."""
        if what == b"started":
            self._shells[number].pid = int(rest)
        else:
            self._shells[number].code = int(rest)

    async def current(self) -> RemoteShell:
        """The shell, which is started if there is none.

        Error handling: raises SystemFailureError if there can be none.
        """
        if self._current is None or self._current.code is not None:
            self._current = await self._new()
            self.status = 0
        return self._current

    async def _new(self) -> RemoteShell:
        number = str(self.count + 1)
        shell = RemoteShell(await self._connection.open())
        # Not to be left half-way: its beginning would be taken for that of the next.
        with trio.CancelScope(shield=self.count > 0):
            self._shells[number.encode()] = shell
            self._nursery.start_soon(self._watch, shell)
            await self._start(shell, number)
        return shell

    async def _start(self, shell: RemoteShell, number: str) -> None:
        await shell.channel.begin(script("shell", folder=self._keeper.folder, number=number))
        await self._keeper.until(lambda: shell.pid or shell.code is not None)
        if shell.code is not None and not shell.pid:
            raise no_session(self._connection.host, shell.code)
        if self._state is None:
            opening = exports(self._environment)
        else:
            opening = framing.restoration(self._state, {}, shell.pid)
        await shell.channel.send(at_once(opening))

    async def _watch(self, shell: RemoteShell) -> None:
        """Notice the end of a session that cannot report its end."""
        with trio.CancelScope(shield=True):  # until it is closed
            code = await shell.channel.drain()
        if shell.code is None:
            shell.code = code
            self._keeper.notify()

    async def remember(self, shell: RemoteShell, settlement: Settlement) -> None:
        """Keep the state of the shell for another one; let go of it if it has none any more."""
        self.cwd = settlement.cwd or self.cwd
        if settlement.state is not None:
            self._dump = settlement.state
        if settlement.code == "-" or not self._dump:
            await shell.channel.aclose(PATIENCE)
        else:
            self._state = framing.State(self._dump, settlement.cwd, shell.pid)

    async def hang_up(self) -> None:
        """Close the standard input of the shell: it gets to its end."""
        if self._current is not None:
            await self._current.channel.stdin.aclose()
