"""Copy a stream without values, as a filter does between two programs."""

from __future__ import annotations

import math
import os
import select

from hotenv.errors import attempt
from hotenv.redaction.redactor import PATIENCE
from hotenv.stdio import write_output

TYPE_CHECKING = False
if TYPE_CHECKING:
    from hotenv.redaction.redactor import Redactor

PIECE = 64 * 1024
"""Bytes that are read at once."""

_PATIENCE = math.ceil(PATIENCE * 1000)  # milliseconds


def copy_redacted(source: int, redactor: Redactor) -> None:
    """Write to standard output what ``redactor`` makes of all that comes from ``source``.

    Error handling: raises SystemFailureError if it cannot be read, and the errors of
    :func:`hotenv.stdio.write_output`.
    """
    poll = select.poll()
    poll.register(source, select.POLLIN)
    while True:
        if redactor.waiting and not poll.poll(_PATIENCE):
            write_output(redactor.release())
        poll.poll()  # also where another process has made it non-blocking
        with attempt("read standard input"):
            data = os.read(source, PIECE)
        if not data:
            break
        write_output(redactor.feed(data))
    write_output(redactor.finish())
