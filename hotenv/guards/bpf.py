"""Rules for system calls, and the program for the kernel that they make (classic BPF). Pure.

For each call the first rule counts whose tests all hold; a call without one is allowed. Arguments
that are an ``int`` to the kernel are compared by their low 32 bits, as the kernel reads them.
"""

from __future__ import annotations

from hotenv.guards import syscalls as k

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    Instruction = tuple[int, int, int, int]
    """code, jump if true, jump if false, value: struct sock_filter."""

    Test = tuple[str, int, int, int]

ALLOW = k.SECCOMP_RET_ALLOW
NOTIFY = k.SECCOMP_RET_USER_NOTIF
KILL = k.SECCOMP_RET_KILL_PROCESS

_LOAD, _AND, _RETURN = 0x20, 0x54, 0x06  # of <linux/bpf_common.h>
_JUMP, _JUMP_IF_EQUAL, _JUMP_IF_GREATER_OR_EQUAL, _JUMP_IF_SET = 0x05, 0x15, 0x35, 0x45

_NUMBER, _ARCHITECTURE, _ARGUMENTS = 0, 4, 16  # offsets in struct seccomp_data
_ALL = 0xFFFFFFFF
_ENOSYS = 38

_NEXT = -1
"""As a jump: to the next rule."""


def refuse(number: int) -> int:
    """The action that lets a call fail with the error ``number``."""
    return k.SECCOMP_RET_ERRNO | number


def equals(index: int, value: int, mask: int = _ALL) -> Test:
    """Test whether the argument ``index``, as far as it is in ``mask``, is ``value``."""
    return ("equals", index, mask, value)


def differs(index: int, value: int) -> Test:
    """Test whether the argument ``index`` is not ``value``."""
    return ("differs", index, _ALL, value)


def has_any(index: int, bits: int) -> Test:
    """Test whether one of ``bits`` is set in the argument ``index``."""
    return ("has any", index, bits, 0)


def is_pointer(index: int) -> Test:
    """Test whether the argument ``index``, all 64 bits of it, is not NULL."""
    return ("is pointer", index, _ALL, 0)


class Rule:
    """What happens to ``call`` if all of ``tests`` hold.

    ``otherwise``: the action where nobody can be notified, if it is another one.
    """

    __slots__ = ("action", "call", "otherwise", "tests")

    def __init__(
        self, call: str, *tests: Test, action: int = NOTIFY, otherwise: int | None = None
    ) -> None:
        self.call: str = call
        self.tests: tuple[Test, ...] = tests
        self.action: int = action
        self.otherwise: int = action if otherwise is None else otherwise


def assemble(rules: Iterable[Rule], architecture: str, *, notify: bool) -> list[Instruction]:
    """The program of ``rules`` for ``architecture``, which lacks some calls.

    What is called by another architecture's numbers kills the process, and x32 does not exist.
    """
    program = [
        (_LOAD, 0, 0, _ARCHITECTURE),
        (_JUMP_IF_EQUAL, 1, 0, k.AUDIT_ARCH[architecture]),
        (_RETURN, 0, 0, KILL),
        (_LOAD, 0, 0, _NUMBER),
    ]
    if architecture == k.X86_64:
        program += [
            (_JUMP_IF_GREATER_OR_EQUAL, 0, 1, k.X32_BIT),
            (_RETURN, 0, 0, refuse(_ENOSYS)),
        ]
    numbers: Mapping[str, int] = k.NUMBERS[architecture]
    for call, its_rules in _by_call(rules).items():
        if call in numbers:
            block = [each for rule in its_rules for each in _compiled(rule, notify=notify)]
            block.append((_RETURN, 0, 0, ALLOW))
            # A conditional jump reaches 255 instructions, an unconditional one all of them.
            program += [(_JUMP_IF_EQUAL, 1, 0, numbers[call]), (_JUMP, 0, 0, len(block)), *block]
    return [*program, (_RETURN, 0, 0, ALLOW)]


def _by_call(rules: Iterable[Rule]) -> dict[str, list[Rule]]:
    grouped: dict[str, list[Rule]] = {}
    for rule in rules:
        grouped.setdefault(rule.call, []).append(rule)
    return grouped


def _compiled(rule: Rule, *, notify: bool) -> list[Instruction]:
    code = [each for test in rule.tests for each in _tested(test)]
    code.append((_RETURN, 0, 0, rule.action if notify else rule.otherwise))
    end = len(code)
    return [
        (op, _resolved(true, at, end), _resolved(false, at, end), value)
        for at, (op, true, false, value) in enumerate(code)
    ]


def _resolved(jump: int, at: int, end: int) -> int:
    return end - at - 1 if jump == _NEXT else jump


def _tested(test: Test) -> Sequence[Instruction]:
    """Goes on behind its end if the test holds, and to the next rule if not."""
    kind, index, mask, value = test
    low = _ARGUMENTS + 8 * index  # both architectures are little-endian
    load = (_LOAD, 0, 0, low)
    if kind == "equals":
        masked = [] if mask == _ALL else [(_AND, 0, 0, mask)]
        return [load, *masked, (_JUMP_IF_EQUAL, 0, _NEXT, value & _ALL)]
    if kind == "differs":
        return [load, (_JUMP_IF_EQUAL, _NEXT, 0, value & _ALL)]
    if kind == "has any":
        return [load, (_JUMP_IF_SET, 0, _NEXT, mask)]
    return [
        load,
        (_JUMP_IF_EQUAL, 0, 2, 0),
        (_LOAD, 0, 0, low + 4),
        (_JUMP_IF_EQUAL, _NEXT, 0, 0),
    ]
