"""How the environment of a command is composed. Pure: bytes in, bytes out, on every locale."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping


def parse_environ_block(block: bytes) -> dict[bytes, bytes]:
    """The variables of ``block``, which is laid out as in /proc/PID/environ.

    Entries that execve cannot take from a mapping (no ``=``, or an empty name) are dropped. Of a
    name that is there twice the first counts, as for getenv(3).
    """
    variables: dict[bytes, bytes] = {}
    for entry in block.split(b"\0"):
        name, equals, value = entry.partition(b"=")
        if name and equals:
            variables.setdefault(name, value)
    return variables


def overlay(
    inherited: Mapping[bytes, bytes], variables: Iterable[tuple[str, str]]
) -> dict[bytes, bytes]:
    """``inherited`` as it is, with ``variables`` in UTF-8 on top, and nothing else."""
    return {**inherited, **{name.encode(): value.encode() for name, value in variables}}
