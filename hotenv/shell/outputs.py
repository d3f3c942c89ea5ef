"""Where the two outputs of a command go: into bounds, and into complete copies if asked for."""

from __future__ import annotations

from contextlib import ExitStack

from hotenv.shell.bounds import Bounds, Omitted
from hotenv.shell.copies import Copy

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Self

STREAMS = ("stdout", "stderr")


class Outputs:
    """Those of one command. ``limit``: see :class:`Bounds`. ``files``: paths for copies, or None.

    Error handling: raises what :class:`Copy` does.
    """

    def __init__(self, limit: int | None, files: tuple[str | None, str | None]) -> None:
        self._bounds = [Bounds(limit) for _ in STREAMS]
        with ExitStack() as undo:
            self._copies = [
                undo.enter_context(Copy(path, f"{stream}_file")) if path is not None else None
                for stream, path in zip(STREAMS, files, strict=True)
            ]
            self._undo = undo.pop_all()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._undo.close()

    def feeds(self) -> list[Callable[[bytes], None]]:
        """What takes the pieces of each output."""
        return [
            bounds.feed if copy is None else _both(bounds.feed, copy.feed)
            for bounds, copy in zip(self._bounds, self._copies, strict=True)
        ]

    def kept(self) -> list[tuple[bytes, Omitted]]:
        """What was kept of each. Raises SystemFailureError if a copy is not complete."""
        for copy in filter(None, self._copies):
            copy.check()
        return [bounds.kept() for bounds in self._bounds]


def _both(one: Callable[[bytes], None], other: Callable[[bytes], None]) -> Callable[[bytes], None]:
    def feed(piece: bytes) -> None:
        one(piece)
        other(piece)

    return feed
