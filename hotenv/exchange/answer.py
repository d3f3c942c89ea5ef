"""What an exchange with a server comes to: the variables, or the error.

The one table for everybody who asks, whatever carries the bytes.
"""

from __future__ import annotations

from hotenv.errors import ArtifactError, UnreachableError
from hotenv.exchange import protocol

TYPE_CHECKING = False
if TYPE_CHECKING:
    from hotenv.session.marker import Marker

PATIENCE = 5.0
"""Seconds that a client waits for a whole answer, from the first try to connect."""

TOO_SLOW = f"no answer within {PATIENCE:g} s"
GONE = "it ended before it answered"


def conclude(marker: Marker, reader: protocol.LineReader, reason: str) -> dict[str, str]:
    """The variables that the server of ``marker`` sent.

    ``reason`` is why nothing more comes: TOO_SLOW or GONE.

    Error handling: raises UnreachableError if not a byte came; ArtifactError if what came is not
    one whole and valid response, or is BAD_REQUEST; SystemFailureError if it is INTERNAL.
    """
    if not reader.started:
        raise unreachable(marker, reason)
    try:
        return protocol.decode_response(reader.line())
    except ArtifactError as error:
        raise malformed(marker, error) from None


def conclude_greeting(marker: Marker, reader: protocol.LineReader, reason: str) -> None:
    """Return if the server of ``marker`` refused, as it has to, a connection without a request.

    For ``reason`` and errors see :func:`conclude`.
    """
    if not reader.started:
        raise unreachable(marker, reason)
    try:
        protocol.check_refusal(reader.line())
    except ArtifactError as error:
        raise malformed(marker, error) from None


def malformed(marker: Marker, error: ArtifactError) -> ArtifactError:
    """The error for an answer that breaks the rules, with whose answer it was."""
    return ArtifactError(f"bad answer from the server behind {marker.path}: {error}")


def unreachable(marker: Marker, reason: str) -> UnreachableError:
    """The error for a session that does not answer."""
    if reason == TOO_SLOW:
        advice = (
            "if its server was stopped (Ctrl-Z), 'fg' lets it go on, and 'hotenv serve --force' "
        )
        advice += "in its folder replaces it"
    else:
        advice = "start a new session in its folder with 'hotenv serve --force', or remove what is "
        advice += "left with 'hotenv prune'"
    return UnreachableError(f"nobody answers for {marker.path} ({reason}): {advice}")
