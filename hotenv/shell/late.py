"""What is written to the output of a command after its end."""

from __future__ import annotations

from hotenv.shell.bounds import Bounds, Omitted

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Protocol

    import trio

    class Output(Protocol):
        """One of the outputs of a command that has ended."""

        @property
        def has_ended(self) -> bool:
            """Whether nothing more comes of it."""

        def duplicate(self, feed: Callable[[bytes], None]) -> Rest:
            """What comes of it from now on, for ``feed``."""

    class Rest(Protocol):
        """What comes of an output after the end of its command."""

        async def follow(self) -> None:
            """Pass it on as it comes."""

        def take(self) -> None:
            """Pass on what is there now."""

        def close(self) -> None:
            """Let go of it."""


class LateOutput:
    """The late part of one stream, of all commands so far. ``limit``: how much of it is kept."""

    def __init__(self, limit: int | None) -> None:
        self._limit = limit
        self._bounds = Bounds(limit)
        self._rests: set[Rest] = set()

    def expect(self, output: Output, nursery: trio.Nursery) -> None:
        """Take what comes from now on of ``output``."""
        if not output.has_ended:
            nursery.start_soon(self._follow, output.duplicate(self._feed))

    async def _follow(self, rest: Rest) -> None:
        self._rests.add(rest)
        try:
            await rest.follow()
        finally:
            self._rests.remove(rest)
            rest.close()

    def _feed(self, piece: bytes) -> None:
        self._bounds.feed(piece)

    def collect(self) -> tuple[bytes, Omitted]:
        """What has come since the last time, and what was left out of it."""
        for rest in self._rests:
            rest.take()
        bounds, self._bounds = self._bounds, Bounds(self._limit)
        return bounds.kept()
