"""What a supervised command has for its standard streams, and who has the terminal."""

from __future__ import annotations

import os

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Protocol

    from hotenv.errors import SystemFailureError

    class Server(Protocol):
        """What serves descriptors: the keeper. See there."""

        command: int

        def watch(
            self, descriptor: int, callback: Callable[[], None], events: int = ..., /
        ) -> None:
            """Serve ``descriptor``."""

        def unwatch(self, descriptor: int, /) -> None:
            """Stop serving it."""

        def call_in(self, seconds: float, callback: Callable[[], None], /) -> None:
            """Call ``callback`` then."""


class Streams:
    """Those of hotenv itself, and its terminal. Others are a subclass."""

    own_session: bool = False
    """Whether the keeper leaves hotenv's session, for one around a terminal of the command's."""

    def open(self, keeper: Server) -> None:
        """In the keeper, before there is a process for the command."""

    def connect(self) -> None:
        """In the process that becomes the command. All signals are blocked."""

    def start(self, command: int) -> None:
        """In the keeper, when ``command`` is that process."""

    def let_go(self) -> None:
        """In the keeper: the command has ended."""

    @property
    def settled(self) -> bool:
        """In the keeper, when the command has ended: whether all that it wrote has come out."""
        return True

    @property
    def failure(self) -> SystemFailureError | None:
        """In the keeper: what kept some of what the command wrote from coming out."""
        return None

    def hand_on(self, command: int) -> bool:
        """Let ``command`` be the terminal's foreground, if hotenv is; whether that was needed.

        For a command with a process group of its own: a shell would have given it the terminal. An
        inner shell relies on that after suspend.
        """
        own, theirs = os.getpgrp(), os.getpgid(command)
        try:
            terminal = os.open("/dev/tty", os.O_RDWR)
        except OSError:
            return False
        try:
            if own == theirs or os.tcgetpgrp(terminal) != own:
                return False
            os.tcsetpgrp(terminal, theirs)  # SIGTTOU is blocked
        except OSError:
            return False
        finally:
            os.close(terminal)
        return True

    def take_back(self, command: int) -> None:
        """In the keeper: ``command`` has stopped, or ended. The terminal is hotenv's again."""

    def resize(self) -> None:
        """In the keeper: the terminal has another size."""

    def restore(self) -> None:
        """In the stand-in, when the keeper has ended in whatever way."""
