"""A complete copy of an output, in a file."""

from __future__ import annotations

import os
import stat

from hotenv.errors import FieldError, SystemFailureError, attempt, because

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Self


class Copy:
    """A copy in a file that only its owner can read. What was in it before is gone.

    ``path``: that of the file. ``field``: what gave it.

    Error handling: raises UsageError, which names the field, if the file cannot be opened.
    """

    def __init__(self, path: str, field: str) -> None:
        self._path = path
        self._error: OSError | None = None
        flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW | os.O_NONBLOCK
        try:
            self._descriptor = os.open(path, flags, 0o600)
        except OSError as error:
            raise FieldError(field, because(error)) from error
        except ValueError:
            raise FieldError(field, "must not contain a NUL character") from None
        if stat.S_ISREG(os.fstat(self._descriptor).st_mode):  # not a device
            with attempt(f"set the mode of {path}"):
                os.fchmod(self._descriptor, 0o600)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        os.close(self._descriptor)

    def feed(self, piece: bytes) -> None:
        """Write the next ``piece``. A failure is kept, and ends the copy."""
        rest = memoryview(piece)
        try:
            while rest and self._error is None:
                rest = rest[os.write(self._descriptor, rest) :]
        except OSError as error:
            self._error = error

    def check(self) -> None:
        """Raise SystemFailureError if the copy is not complete."""
        if self._error is not None:
            raise SystemFailureError(f"cannot write {self._path}: {because(self._error)}")
