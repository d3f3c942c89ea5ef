"""A command to run. Pure."""

from __future__ import annotations

from attrs import field, frozen

from hotenv.errors import FieldError


@frozen
class Task:
    """A ``command`` to run, with ``stdin`` as its input.

    ``timeout``: seconds after which it is ended. ``files``: for its complete outputs.

    Error handling: raises UsageError if bash cannot take the command as text.
    """

    command: str = field(repr=False)
    stdin: bytes = field(repr=False)
    timeout: float
    files: tuple[str | None, str | None] = (None, None)

    def __attrs_post_init__(self) -> None:
        try:
            has_nul = b"\0" in self.text
        except UnicodeEncodeError:
            raise FieldError("command", "must be valid Unicode") from None
        if has_nul:
            raise FieldError("command", "must not contain a NUL character")

    @property
    def text(self) -> bytes:
        """The command as bash gets it."""
        return self.command.encode("utf-8", "surrogateescape")
