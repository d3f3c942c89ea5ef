"""Which commands an agent may run, by their words. Pure.

The rules know what a command is called, and not what it does: a test runner that is allowed runs
what is in the tests.
"""

from __future__ import annotations

from hotenv.errors import FieldError
from hotenv.project.argvpatterns import REST, Pattern

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from typing import ClassVar

DENY, ASK, ALLOW = "deny", "ask", "allow"
"""What becomes of a command. The earlier one wins."""


class Verdict:
    """What becomes of a command.

    ``decision``: DENY, ASK or ALLOW. ``pattern``: what stands for the command, if anything does.
    """

    __slots__ = ("decision", "pattern")

    def __init__(self, decision: str, pattern: Pattern | None = None) -> None:
        self.decision: str = decision
        self.pattern: Pattern | None = pattern

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Verdict) and self._fields() == other._fields()

    __hash__: ClassVar[None] = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"Verdict{self._fields()!r}"

    def _fields(self) -> tuple[str, str | None]:
        return self.decision, None if self.pattern is None else str(self.pattern)


class Rules:
    """Patterns for commands to allow, to ask about and to deny.

    ``**`` alone, in whichever list, stands for what no other pattern in any list does. Without it,
    that is denied.
    """

    __slots__ = ("_patterns", "_rest")

    def __init__(
        self, allow: Iterable[str] = (), ask: Iterable[str] = (), deny: Iterable[str] = ()
    ) -> None:
        """Error handling: raises FieldError for an invalid pattern, and for ``**`` in two lists."""
        self._patterns: list[tuple[str, Pattern]] = []
        self._rest: Verdict = Verdict(DENY)
        for decision, texts in ((DENY, deny), (ASK, ask), (ALLOW, allow)):
            for pattern in map(Pattern, texts):
                if pattern.is_all:
                    self._set_rest(Verdict(decision, pattern))
                else:
                    self._patterns.append((decision, pattern))

    def _set_rest(self, verdict: Verdict) -> None:
        before = self._rest
        if before.pattern is not None and before.decision != verdict.decision:
            raise FieldError(
                verdict.decision,
                f"'{REST}' is also in {before.decision}: keep it in one of them",
            )
        self._rest = verdict

    @property
    def deny_all(self) -> bool:
        """Whether no command can be run."""
        decisions = {decision for decision, _ in self._patterns} | {self._rest.decision}
        return decisions == {DENY}

    def verdict(self, argv: Sequence[str]) -> Verdict:
        """What becomes of the command with the words ``argv``, of which the program is one."""
        if not argv:
            return Verdict(DENY)  # there is no program to run
        for decision, pattern in self._patterns:
            if pattern.matches(argv):
                return Verdict(decision, pattern)
        return self._rest
