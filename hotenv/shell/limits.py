"""What a command of a session may take. Pure."""

from __future__ import annotations

import math

from attrs import frozen

from hotenv.errors import FieldError


@frozen
class Limits:
    """Limits for each command of a shell: see :func:`hotenv.open_shell`.

    Error handling: raises UsageError for a number that is none.
    """

    timeout: float | None
    max_output: int | None
    grace: float

    def __attrs_post_init__(self) -> None:
        check_timeout(self.timeout)
        if self.max_output is not None and self.max_output < 0:
            raise FieldError("max_output", "must be a number of bytes, or None")
        if not 0 <= self.grace < math.inf:
            raise FieldError("grace", "must be a number of seconds")


def check_timeout(seconds: float | None) -> None:
    """Raise UsageError unless a command may take that long."""
    if seconds is not None and not seconds > 0:
        raise FieldError("timeout", "must be a positive number of seconds, or None")
