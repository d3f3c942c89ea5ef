"""What ssh needs of this machine."""

from __future__ import annotations

import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager, suppress

from hotenv.errors import SystemFailureError, because
from hotenv.session.runtime import make_runtime_base

_NONCE = 4  # bytes: the path of a socket has to be short


def has_terminal() -> bool:
    """Whether there is a terminal on which ssh could prompt."""
    try:
        os.close(os.open("/dev/tty", os.O_RDWR | os.O_NOCTTY | os.O_CLOEXEC))
    except OSError:
        return False
    return True


def cannot_run_ssh(error: OSError) -> SystemFailureError:
    """The error for an ssh that did not start."""
    reason = "command not found" if isinstance(error, FileNotFoundError) else because(error)
    return SystemFailureError(f"cannot run 'ssh': {reason}")


@contextmanager
def control_socket() -> Iterator[str]:
    """A path for the socket by which sessions find their connection. It is gone after the block.

    ssh removes it, too: nothing is left if this process is killed.

    Error handling: raises SystemFailureError if there is no private directory for it.
    """
    path = f"{make_runtime_base()}/ssh-{secrets.token_hex(_NONCE)}"
    try:
        yield path
    finally:
        with suppress(OSError):  # it has done so
            os.unlink(path)
