"""What was blocked: told at the end by kind, as it happens, and to programs as JSON. Pure."""

from __future__ import annotations

import os

from hotenv.guards.verdict import Blocked
from hotenv.printable import printable

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from hotenv.errors import HotenvError
    from hotenv.redaction.redactor import Redactor

_MOST_KINDS = 100
"""A program can make up names without end, its own among them."""

_LONGEST_NAME = 15  # bytes of the name of a program: the kernel cuts off the rest


class _Redaction:
    """Puts names in place of the values of ``variables`` in texts."""

    def __init__(self, variables: Mapping[str, str]) -> None:
        self._redactor: Redactor | None = None
        if variables:
            from hotenv.redaction.redactor import for_records

            self._redactor = for_records(variables)

    def text(self, text: str, *, cut: bool = False) -> str:
        """``text`` without values. ``cut``: see :meth:`Redactor.redact`."""
        if self._redactor is None:
            return text
        return os.fsdecode(self._redactor.redact(os.fsencode(text), cut=cut))

    def program(self, name: str) -> str:
        """The name of a program, which may end with what was left of a value."""
        return self.text(name, cut=len(os.fsencode(name)) == _LONGEST_NAME)

    def blocked(self, blocked: Blocked) -> Blocked:
        """What was refused, without values in what it was about."""
        return Blocked(
            blocked.guard,
            blocked.what,
            remedy=self.text(blocked.remedy),
            counts=blocked.counts,
            **{name: self.text(value) for name, value in blocked.target.items()},
        )


class Kind:
    """What one program was refused for one reason: the first of it, and how often."""

    __slots__ = ("blocked", "pid", "program", "times")

    def __init__(self, blocked: Blocked, program: str, pid: int) -> None:
        self.blocked: Blocked = blocked
        self.program: str = program
        self.pid: int = pid
        self.times: int = 0

    def __str__(self) -> str:
        """``blocked connect 127.0.0.1:9 and 2 more by curl (no-network)``, and the remedy."""
        remedy = self.blocked.remedy
        return self.without_remedy() + (f": allow it with {printable(remedy)}" if remedy else "")

    def without_remedy(self) -> str:
        """For who cannot give an option."""
        blocked = self.blocked
        words = ["blocked", blocked.what, _place(blocked.target)]
        words += [f"and {self.times - 1} more"] if self.times > 1 else []
        words += ["by", self.program, f"({blocked.guard})"]
        return printable(" ".join(filter(None, words)))

    def fields(self) -> dict[str, object]:
        """For a line of JSON."""
        blocked = self.blocked
        return {
            "what": blocked.what,
            "guard": blocked.guard,
            "program": self.program,
            "pid": self.pid,
            "times": self.times,
            "counts": blocked.counts,
            "first": blocked.target,
            "remedy": blocked.remedy or None,
        }


class Report:
    """All that was blocked, by kind, and without any value of ``variables``."""

    def __init__(self, variables: Mapping[str, str]) -> None:
        self._redaction = _Redaction(variables)
        self._kinds: dict[tuple[object, ...], Kind] = {}

    def add(self, blocked: Blocked, program: str, pid: int) -> None:
        """Count what ``program`` was refused."""
        program = self._redaction.program(program)
        key: tuple[object, ...] = (blocked.what, blocked.guard, blocked.counts, program)
        if key not in self._kinds and len(self._kinds) >= _MOST_KINDS:
            key, program = key[:-1], "others"
        if key not in self._kinds:
            new = Kind(self._redaction.blocked(blocked), program, pid)
            self._kinds.setdefault(key, new)  # another thread may have been faster
        self._kinds[key].times += 1

    def trace_line(self, blocked: Blocked, program: str, pid: int, *, verb: str = "blocked") -> str:
        """``[hotenv] blocked connect host=::1 port=1 program=curl pid=1 reason=no-network``."""
        target = self._redaction.blocked(blocked).target
        program = self._redaction.program(program)
        fields = {**target, "program": program, "pid": str(pid), "reason": blocked.guard}
        words = [f"{name}={_word(value)}" for name, value in fields.items()]
        return f"[hotenv] {verb} {blocked.what} {' '.join(words)}"

    def lines(self, status: int) -> Iterator[Mapping[str, object]]:
        """For lines of JSON: each kind, and at the end how the command itself has ended.

        ``status``: its exit status, or the negative number of the signal that ended it.
        """
        for kind in self.kinds():
            yield kind.fields()
        yield {"status": status}

    def failure(self, error: HotenvError) -> Mapping[str, object]:
        """For the only line of JSON, if the guard failed and no command has ended."""
        message = self._redaction.text(str(error))
        return {"error": type(error).__name__, "message": message}

    def kinds(self) -> Iterator[Kind]:
        """In the order in which each was first seen. More may come meanwhile, in a thread."""
        return iter([*self._kinds.values()])

    @property
    def counts(self) -> bool:
        """Whether anything was blocked that counts."""
        return self.times > 0

    @property
    def times(self) -> int:
        """How often something was blocked that counts."""
        return sum(kind.times for kind in self.kinds() if kind.blocked.counts)


def _word(value: str) -> str:
    """One that cannot be taken for two."""
    return printable(value).replace(" ", "\\x20")


def _place(target: dict[str, str]) -> str:
    fields = dict(target)
    at = fields.pop("at", "")
    if "host" in fields and "port" in fields:
        host = fields.pop("host")
        fields["port"] = f"[{host}]:{fields['port']}" if ":" in host else f"{host}:{fields['port']}"
    return " ".join([*fields.values(), *(["at", at] if at else [])])
