"""The way of one output of a command: through a redactor, to where it is kept and who reads it."""

from __future__ import annotations

from hotenv.shell.hiding import UNREDACTED

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from hotenv.redaction.redactor import Redactor
    from hotenv.shell.hiding import Unredacted

    Deliver = Callable[[bytes], Awaitable[None]]


class Passage:
    """Passes output on to ``feed``, piece by piece.

    ``deliver``: gets each piece too, and the next one comes when that has returned. ``redactor``:
    what the output passes through before.
    """

    def __init__(
        self,
        feed: Callable[[bytes], None],
        deliver: Deliver | None = None,
        redactor: Redactor | Unredacted = UNREDACTED,
    ) -> None:
        self._feed = feed
        self._deliver = deliver
        self._redactor = redactor
        self._undelivered: list[bytes] = []

    def take(self, piece: bytes) -> None:
        """Take what comes next."""
        self._pass_on(self._redactor.feed(piece))

    def release(self) -> None:
        """Pass on what was held back, but for what may be the beginning of a value."""
        self._pass_on(self._redactor.release())

    def end(self) -> None:
        """Pass on all that was held back: there will be no more."""
        self._pass_on(self._redactor.finish())

    @property
    def has_undelivered(self) -> bool:
        """Whether something is to be delivered."""
        return bool(self._undelivered)

    @property
    def is_waiting(self) -> bool:
        """Whether output is held back that a reader of the stream waits for."""
        return self._deliver is not None and self._redactor.waiting

    def _pass_on(self, piece: bytes) -> None:
        if piece:
            self._feed(piece)
            if self._deliver is not None:
                self._undelivered.append(piece)

    async def deliver(self) -> None:
        """Deliver what was passed on."""
        while self._deliver is not None and self._undelivered:
            await self._deliver(self._undelivered[0])  # cancelled, it is not delivered
            del self._undelivered[0]

    def another(self, feed: Callable[[bytes], None]) -> Passage:
        """For what comes from now on, to ``feed`` alone."""
        return Passage(feed, redactor=self._redactor)
