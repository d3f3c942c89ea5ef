"""What the other side reports at the end of a command. Pure."""

from __future__ import annotations

from attrs import define, field


@define
class Settlement:
    """What has come of a command, as far as it was reported.

    ``code``: the exit code; ``-`` if the shell has ended, and ``none`` if it could not write it;
    empty until all was reported. ``has_begun``: whether there was a shell that could begin.
    ``counts``: bytes of each output. ``cwd``: the working directory. ``state``: commands that
    declare what the next shell takes over, unless they are those of the command before; may be
    secret.
    """

    code: str = ""
    has_begun: bool = False
    counts: tuple[int, int] = (0, 0)
    cwd: bytes = b""
    state: bytes | None = field(default=None, repr=False)

    def take_record(self, what: bytes, rest: bytes) -> None:
        """Take a record: its first word, and what is behind the name of the command."""
        if what == b"cwd":
            self.cwd += rest
        elif what == b"state":
            self.state = (self.state or b"") + rest
        else:
            code, has_begun, *counts = rest.split(b" ")
            self.has_begun = has_begun == b"1"
            self.counts = (int(counts[0]), int(counts[1]))
            self.code = code.decode()
