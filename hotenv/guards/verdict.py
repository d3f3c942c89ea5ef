"""What the supervisor decides about a call. Pure."""

from __future__ import annotations

import errno

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import ClassVar

NO_NETWORK = "no-network"
NO_LOCALHOST = "no-localhost"
NO_SUBPROCESS = "no-subprocess"
NO_TERMINALS = "no-terminals"
FS_READONLY = "fs-readonly"
DENY_READ = "deny-read"
STRICT_IMPORTS = "strict-imports"
ANY = "any guard"
"""Which guard refused a call."""


class Blocked:
    """Something that was refused.

    ``guard``: which one refused it. ``what``: the call or what it would have done, such as
    ``connect``. ``target``: the parts of what it was about, such as ``host`` and ``port``, or
    ``path``. ``remedy``: the option that would allow it, if there is one. ``counts``: False for
    what programs try without needing it.
    """

    __slots__ = ("counts", "guard", "remedy", "target", "what")

    def __init__(
        self,
        guard: str,
        what: str,
        *,
        remedy: str = "",
        counts: bool = True,
        **target: str,
    ) -> None:
        self.guard: str = guard
        self.what: str = what
        self.target: dict[str, str] = target
        self.remedy: str = remedy
        self.counts: bool = counts

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Blocked) and self._fields() == other._fields()

    __hash__: ClassVar[None] = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"Blocked{self._fields()!r}"

    def _fields(self) -> tuple[object, ...]:
        return (self.guard, self.what, self.target, self.remedy, self.counts)


class Verdict:
    """The answer to a call, and what there is to report or to trace.

    ``error``: the number of the error that the call fails with, 0 for success; None lets the kernel
    go on with it. ``answered``: it got its answer together with a descriptor,
    or a thread answers it. ``allowed``: what an exception allowed, and ``guard`` of it which one.
    """

    __slots__ = ("allowed", "answered", "blocked", "error")

    def __init__(
        self, error: int | None, blocked: Blocked | None = None, *, answered: bool = False
    ) -> None:
        self.error: int | None = error
        self.blocked: Blocked | None = blocked
        self.answered: bool = answered
        self.allowed: Blocked | None = None

    def by(self, exception: str, what: str, **target: str) -> Verdict:
        """The same, on what the option ``exception`` allowed."""
        verdict = Verdict(self.error, self.blocked, answered=self.answered)
        verdict.allowed = Blocked(exception, what, counts=False, remedy="", **target)
        return verdict


GO_ON = Verdict(None)
DONE = Verdict(0)
ANSWERED = Verdict(0, answered=True)


def fails(error: int) -> Verdict:
    """The verdict on a call that would have failed without a guard too."""
    return Verdict(error)


def refused(blocked: Blocked, error: int = errno.EPERM) -> Verdict:
    """The verdict on what is forbidden."""
    return Verdict(error, blocked)
