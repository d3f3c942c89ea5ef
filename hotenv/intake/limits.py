"""What reading and parsing a text may cost, in time and memory.

python-dotenv takes quadratic time for some texts, and a few lines of ``${NAME}`` can expand to more
than any memory. The process that parses has limits of its own; what runs into one raises CostError
where it stands, for the parser to say in which line that was.
"""

from __future__ import annotations

import resource
import signal
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from types import FrameType
from typing import NoReturn

from hotenv.errors import InputError
from hotenv.intake.bindings import CostError, too_expensive

_SECONDS = 5.0  # of CPU time, for any text
_BYTES_A_SECOND = 100_000  # that a slow machine parses
_GRACE = 5  # seconds of CPU time from there to the end
_MEMORY = 4 * 1024**3  # bytes of address space


@contextmanager
def limited(size: int) -> Iterator[None]:
    """Limit what this process may use for a text of ``size`` bytes, which the block parses.

    The limits are for good; what runs into one in the block, there or where the line is not known,
    is an InputError.
    """
    used = sum(resource.getrusage(resource.RUSAGE_SELF)[:2])
    soft = int(used + _SECONDS + size / _BYTES_A_SECOND) + 1
    signal.signal(signal.SIGXCPU, _out_of_time)
    _lower(resource.RLIMIT_CPU, soft, soft + _GRACE)
    _lower(resource.RLIMIT_AS, _MEMORY, _MEMORY)
    try:
        yield
    except (CostError, MemoryError) as error:
        raise InputError(f"the input {too_expensive(None, error)}") from None
    finally:
        signal.signal(signal.SIGXCPU, signal.SIG_IGN)


def _out_of_time(_signum: int, _frame: FrameType | None) -> NoReturn:
    raise CostError("takes too long to parse")


def _lower(kind: int, soft: int, hard: int) -> None:
    """Never above a limit that is there."""
    with suppress(OSError, ValueError):
        limits = [
            wanted if current == resource.RLIM_INFINITY else min(wanted, current)
            for wanted, current in zip((soft, hard), resource.getrlimit(kind), strict=True)
        ]
        resource.setrlimit(kind, (min(limits), limits[1]))
