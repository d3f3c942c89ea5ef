"""What the kernel does with a program for it, as far as filters for system calls need it."""

from __future__ import annotations

from collections.abc import Sequence

_LOAD, _AND, _RETURN, _JUMP = 0x20, 0x54, 0x06, 0x05
_COMPARISONS = {
    0x15: lambda value, other: value == other,
    0x35: lambda value, other: value >= other,
    0x45: lambda value, other: value & other != 0,
}
LONGEST = 4096
"""Instructions in a program that Linux takes: BPF_MAXINSNS."""


def decide(
    program: Sequence[tuple[int, int, int, int]], architecture: int, number: int, *arguments: int
) -> int:
    """What ``program`` returns for a system call. ``arguments``: 64 bits each."""
    words = [number & 0xFFFFFFFF, architecture, 0, 0]  # without the instruction pointer
    for argument in (*arguments, *[0] * (6 - len(arguments))):
        words += [argument & 0xFFFFFFFF, argument >> 32 & 0xFFFFFFFF]
    assert len(program) <= LONGEST
    accumulator, at = 0, 0
    while True:
        code, true, false, value = program[at]
        assert (true | false) < 256
        at += 1
        if code == _LOAD:
            accumulator = words[value // 4]
        elif code == _AND:
            accumulator &= value
        elif code == _JUMP:
            at += value
        elif code == _RETURN:
            return value
        else:
            at += true if _COMPARISONS[code](accumulator, value) else false
