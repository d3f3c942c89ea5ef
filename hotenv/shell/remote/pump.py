"""The client of pump.bash: the outputs of commands, one by one."""

from __future__ import annotations

import math
from contextlib import suppress

import trio

from hotenv.redaction.redactor import PATIENCE
from hotenv.remote.connection import GONE, greet
from hotenv.remote.welcome import intrusion, no_session
from hotenv.shell.pipes import WIDE, widen

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from hotenv.remote.connection import Channel
    from hotenv.shell.passage import Passage


BROKEN = "what passes on the output of commands there has ended, or others have written to it"
"""Why a connection is given up."""


class Stream:
    """One output, of one command after the other. ``on_progress``: called when some has come."""

    def __init__(self, source: trio.abc.ReceiveStream, on_progress: Callable[[], None]) -> None:
        self._source = source
        self._on_progress = on_progress
        self._passage: Passage | None = None
        self._delivering = trio.CancelScope()
        self._turn = trio.Lock()  # to deliver
        self._count = 0
        self._awaited = math.inf
        self._total: int | None = 0
        self._end = trio.Event()
        self._is_closed = False

    def begin(self, passage: Passage) -> None:
        """Pass what comes from here on to ``passage``: it is of another command."""
        self._passage = passage
        self._count, self._awaited, self._total = 0, math.inf, None
        self._end = trio.Event()

    def has(self, count: int) -> bool:
        """Whether so many bytes of the command have come, and were passed on; or it is broken.

        If not, ``on_progress`` is called when they have.
        """
        self._awaited = count
        return self._count >= count or self.is_broken

    @property
    def is_broken(self) -> bool:
        """Whether nothing more will come, or more has come than the command has written."""
        return self._is_closed or (self._total is not None and self._count > self._total)

    @property
    def has_ended(self) -> bool:
        """Whether all that will ever come of the command has come."""
        return self._count == self._total

    def end_at(self, total: int) -> None:
        """That many bytes come of the command in all, if there was one."""
        if self._total is None:
            self._total = total
            self._look()

    def _look(self) -> None:
        if self.has_ended:
            if self._passage is not None:
                self._passage.end()
            self._end.set()
        if self.has_ended or self.is_broken or self._count >= self._awaited:
            self._on_progress()

    async def follow(self, rest: bytes) -> None:
        """Pass on what comes, with ``rest`` first, until the connection is lost or closed."""
        with trio.CancelScope(shield=True), suppress(*GONE):  # until it is closed
            while piece := rest or await self._next():
                rest = b""
                if self._passage is not None:
                    self._passage.take(piece)
                    if self._passage.has_undelivered:
                        await self._deliver()
                self._count += len(piece)
                self._look()
        self._is_closed = True
        self._look()
        self._end.set()

    async def _next(self) -> bytes:
        passage = self._passage
        if passage is not None and passage.is_waiting:
            with trio.move_on_after(PATIENCE):
                return bytes(await self._source.receive_some(WIDE))
            passage.release()
            await self._deliver()
        return bytes(await self._source.receive_some(WIDE))

    async def _deliver(self) -> None:
        passage = self._passage  # which may be abandoned meanwhile
        if passage is not None:
            with trio.CancelScope() as self._delivering:
                async with self._turn:
                    await passage.deliver()

    async def finish(self) -> None:
        """Pass on what was held back, but for what may be the beginning of a value."""
        if self._passage is not None and not self.has_ended:
            self._passage.release()
            async with self._turn:
                await self._passage.deliver()

    def abandon(self) -> None:
        """Nobody takes any more of the command."""
        self._passage = None
        self._delivering.cancel()

    def duplicate(self, feed: Callable[[bytes], None]) -> LateStream:
        """What comes from now on, for ``feed``."""
        if self._passage is not None:
            self._passage = self._passage.another(feed)
        return LateStream(self._end)


class LateStream:
    """What comes after the end of a command."""

    def __init__(self, end: trio.Event) -> None:
        self._end = end

    async def follow(self) -> None:
        """Wait for the end."""
        await self._end.wait()

    def take(self) -> None:
        """What is here was passed on by now."""

    def close(self) -> None:
        """It is closed with the pump."""


class Pump:
    """A session whose standard output and standard error are those of commands.

    ``name``: that of the directory of the next command; empty if it is not ready for one.
    ``is_late``: whether it waits for output of a command that has ended. ``on_progress``: called
    when output has come.
    """

    def __init__(self, channel: Channel, on_progress: Callable[[], None]) -> None:
        self.channel = channel
        self.name: str = ""
        self.is_late: bool = False
        sources = (channel.stdout, channel.stderr)
        self.streams: list[Stream] = [Stream(each, on_progress) for each in sources]

    @property
    def is_broken(self) -> bool:
        """Whether no command can have it any more."""
        return any(stream.is_broken for stream in self.streams)

    @property
    def is_ready(self) -> bool:
        """Whether it can take another command."""
        return bool(self.name) and all(stream.has_ended for stream in self.streams)

    def take_name(self) -> str:
        """Use it for a command: its name."""
        name, self.name = self.name, ""
        return name

    def knows(self) -> bool:
        """Whether it is known that it is ready, late or broken."""
        return self.is_ready or self.is_late or self.is_broken

    def take_record(self, what: bytes, rest: bytes) -> None:
        """Take what it has reported."""
        if what == b"ready":
            self.name = rest.decode()
        elif what == b"late":
            self.is_late = True
        else:
            self.is_late = False
            for stream, total in zip(self.streams, rest.split(b" "), strict=True):
                stream.end_at(int(total))

    async def start(self, text: bytes, nursery: trio.Nursery, host: str) -> None:
        """Start it on ``host``.

        Error handling: raises SystemFailureError if that fails, or something else there could write
        to its outputs.
        """
        nonce = await self.channel.begin(text)
        sources = (self.channel.stdout, self.channel.stderr)
        for stream, source in zip(self.streams, sources, strict=True):
            greeting = await greet(source, nonce)
            if greeting is None:
                raise no_session(host, await self.channel.end())
            if greeting.record:
                raise intrusion(host, greeting.record)
            widen(source.fileno())
            nursery.start_soon(stream.follow, greeting.rest)
