"""The outcome of an exchange with a server: the variables or an error.

Shared by all clients, whatever their transport.
"""

from __future__ import annotations

import errno
import os

from hotenv.errors import (
    ArtifactError,
    RefusedError,
    UnreachableError,
    UnresponsiveError,
    because,
)
from hotenv.exchange import protocol
from hotenv.session.liveness import DEAD, liveness

TYPE_CHECKING = False
if TYPE_CHECKING:
    from hotenv.session.marker import Marker

ANSWER_TIMEOUT = 5.0
"""Seconds that a client waits for a whole answer, from the first try to connect."""

_REPLACE = (
    "run 'hotenv serve --force' in its directory to start a new session, or 'hotenv prune' to "
    "remove the files of the old one"
)
_ELSEWHERE = (
    "its server may be alive in another container, namespace or host: run 'hotenv serve --force' "
    "in its directory to replace it"
)
_RESUME = "resume it with 'fg' if it was suspended (Ctrl-Z), or run 'hotenv stop' to end it"


def conclude(
    marker: Marker, reader: protocol.LineReader, timed_out: float | None
) -> dict[str, str]:
    """The variables that the server of ``marker`` sent.

    ``timed_out`` is the limit in seconds that was reached, or None if the server closed the
    connection: no more data will arrive.

    Error handling: raises UnreachableError if not a byte came; ArtifactError if what came is not
    one whole and valid response, or is BAD_REQUEST; RefusedError if the server refuses this client;
    SystemFailureError if it is any other INTERNAL.
    """
    line = _answer(marker, reader, timed_out)
    try:
        return protocol.decode_response(line)
    except ArtifactError as error:
        raise malformed(marker, error) from None
    except RefusedError as error:
        raise RefusedError(f"the session of {os.path.dirname(marker.path)} is {error}") from None


def conclude_probe(marker: Marker, reader: protocol.LineReader, timed_out: float | None) -> None:
    """Return if the server of ``marker`` rejected, as it has to, a connection without a request.

    For ``timed_out`` and errors see :func:`conclude`.
    """
    line = _answer(marker, reader, timed_out)
    try:
        protocol.check_refusal(line)
    except ArtifactError as error:
        raise malformed(marker, error) from None


def _answer(marker: Marker, reader: protocol.LineReader, timed_out: float | None) -> bytes:
    if not reader.started:
        raise gone(marker) if timed_out is None else too_slow(marker, timed_out)
    try:
        return reader.line()
    except ArtifactError as error:
        raise malformed(marker, error) from None


def malformed(marker: Marker, error: ArtifactError) -> ArtifactError:
    """The error for an answer that breaks the rules, with whose answer it was."""
    return ArtifactError(f"invalid response from the server of {marker.path}: {error}")


def too_slow(marker: Marker, timeout: float) -> UnresponsiveError:
    """The error for a server that sent nothing within ``timeout`` seconds."""
    seconds = f"{timeout:.1f}".removesuffix(".0")
    reason = f"no answer within {seconds} second{'' if seconds == '1' else 's'}"
    return UnresponsiveError(_unreachable(marker, reason, _RESUME))


def gone(marker: Marker) -> UnreachableError:
    """The error for a server that closed the connection without an answer."""
    return UnreachableError(_unreachable(marker, "the server exited before answering", _REPLACE))


def cannot_connect(marker: Marker, error: OSError) -> UnreachableError:
    """The error for a socket that cannot be connected to."""
    if _is_forbidden(marker, error):
        return UnreachableError(
            f"the session of {os.path.dirname(marker.path)} cannot be reached from here: "
            "connecting is not permitted (a guard or sandbox): run the command outside of it"
        )
    dead = liveness(marker.path, marker.socket) == DEAD
    advice = _REPLACE if dead else _ELSEWHERE
    return UnreachableError(_unreachable(marker, f"{marker.socket}: {because(error)}", advice))


def _is_forbidden(marker: Marker, error: OSError) -> bool:
    """Whether it is not the permissions of the file, or of its directory, that forbid it."""
    return error.errno == errno.EPERM or (
        error.errno == errno.EACCES
        and os.access(marker.socket, os.R_OK | os.W_OK, effective_ids=True)
    )


def _unreachable(marker: Marker, reason: str, advice: str) -> str:
    return f"cannot reach the server of {marker.path} ({reason}): {advice}"
