"""Requests and responses, and the one line of JSON that each of them is. Pure.

Rules of the game (specification, section 7):

1. One connection carries one request and one response, in this order; then it ends.
2. Each is a JSON object in UTF-8 on a single line that ends with one newline. Anything after that
   newline breaks the rules, and so does a line that is over the limit.
3. Both sides check what they receive. Fields that this version does not know are ignored; the same
   field twice in one object is refused, for nobody can say which one was meant.
4. Errors of the peer raise ArtifactError, which the server reports as BAD_REQUEST and a client as
   its exit code. Errors of the caller raise UsageError before anything is sent.
5. No message of an error contains text that was received.
"""

from __future__ import annotations

from hotenv.errors import (
    ArtifactError,
    HotenvError,
    RefusedError,
    SystemFailureError,
    UsageError,
)
from hotenv.lightweight import parse_json, quote
from hotenv.variables import invalid_reason

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

REQUEST_LIMIT = 8 * 1024 * 1024
"""Bytes in a request, its newline included."""

RESPONSE_LIMIT = 64 * 1024 * 1024
"""Bytes in a response, its newline included."""

BAD_REQUEST = "BAD_REQUEST"
INTERNAL = "INTERNAL"

_REFUSED = "REFUSED"  # why it is INTERNAL: the request is fine, but its sender gets no answer

_MESSAGE_LIMIT = 500  # characters of a server's message that a client shows


class Request:
    """What a client asks: ``dump``, or ``run`` with the words of the command.

    The environment that is sent back is the same; ``args`` are for the server's log.
    """

    __slots__ = ("args", "command")

    def __init__(self, command: str, args: Sequence[str] = ()) -> None:
        """Raises UsageError for an unknown command, and for a run without words or a dump with."""
        if command not in ("dump", "run"):
            raise UsageError('command must be "dump" or "run"')
        if (command == "run") != bool(args):
            raise UsageError('"run" requires args and "dump" takes none')
        self.command: str = command
        self.args: tuple[str, ...] = tuple(args)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Request):
            return NotImplemented
        return (self.command, self.args) == (other.command, other.args)

    def __hash__(self) -> int:
        return hash((self.command, self.args))

    def __repr__(self) -> str:
        return f"<Request {self.command}, {len(self.args)} args>"


def encode_request(request: Request) -> bytes:
    """The line for ``request``. Raises SystemFailureError if it is over REQUEST_LIMIT bytes.

    An argument that was not decodable (see :func:`os.fsdecode`) survives as a JSON escape.
    """
    fields: dict[str, object] = {"command": request.command}
    if request.args:
        fields["args"] = request.args
    line = _encode(fields)
    if len(line) > REQUEST_LIMIT:
        raise SystemFailureError(
            f"command line too long: {len(line)} bytes as a request, limit {REQUEST_LIMIT}"
        )
    return line


def decode_request(line: bytes) -> Request:
    """The request that ``line`` (without its newline) is. Raises ArtifactError if it is none."""
    fields = _decode(line)
    command = fields.get("command")
    if command == "dump":
        return Request("dump")
    if command != "run":
        raise ArtifactError('"command" must be "dump" or "run"')
    args = fields.get("args")
    if not (isinstance(args, list) and args and all(isinstance(arg, str) for arg in args)):
        raise ArtifactError('"args" must be a non-empty array of strings')
    return Request("run", args)


def encode_response(variables: Mapping[str, str]) -> bytes:
    """The line that hands ``variables`` over.

    Raises SystemFailureError if it is over RESPONSE_LIMIT bytes: no client would take it.
    """
    line = _encode({"env": dict(variables)})
    if len(line) > RESPONSE_LIMIT:
        raise SystemFailureError(
            f"environment too large: {len(line)} bytes, limit {RESPONSE_LIMIT}"
        )
    return line


def encode_error(code: str, message: str) -> bytes:
    """The line that refuses a request; ``code`` is BAD_REQUEST or INTERNAL."""
    return _encode({"error": code, "message": message})


def encode_refusal(message: str) -> bytes:
    """The line that answers a request whose sender is not to have the variables.

    There are two codes only: to a client that does not know the field ``reason`` it is an INTERNAL
    error, and it shows the message.
    """
    return _encode({"error": INTERNAL, "message": message, "reason": _REFUSED})


def decode_response(line: bytes) -> dict[str, str]:
    """The variables that ``line`` (without its newline) hands over.

    Error handling: raises ArtifactError if it is no response, and also for BAD_REQUEST;
    RefusedError, with the server's message, if it refuses this client; SystemFailureError for any
    other INTERNAL.
    """
    fields = _decode(line)
    if ("env" in fields) == ("error" in fields):
        raise ArtifactError('response must have exactly one of "env" and "error"')
    if "error" in fields:
        raise _error(fields["error"], fields.get("message"), fields.get("reason"))
    variables = fields["env"]
    if not isinstance(variables, dict):
        raise ArtifactError('"env" must be an object')
    for name, value in variables.items():
        if not isinstance(value, str):
            raise ArtifactError('values in "env" must be strings')
        if reason := invalid_reason(name, value):
            raise ArtifactError(f'invalid variable in "env": {reason}')
    return variables


def check_refusal(line: bytes) -> None:
    """Raise ArtifactError unless ``line`` refuses a request that was none, as a server must."""
    if _decode(line).get("error") != BAD_REQUEST:
        raise ArtifactError("server did not reject an empty request")


def _error(code: object, message: object, reason: object) -> HotenvError:
    if code not in (BAD_REQUEST, INTERNAL) or not isinstance(message, str):
        return ArtifactError("unknown error in response")
    if code == INTERNAL and reason == _REFUSED:
        return RefusedError(message[:_MESSAGE_LIMIT])
    text = f"the server returned {code}: {message[:_MESSAGE_LIMIT]}"
    return ArtifactError(text) if code == BAD_REQUEST else SystemFailureError(text)


class LineReader:
    """Collects the one line that a peer sends, however it is cut into pieces."""

    def __init__(self, limit: int) -> None:
        """``limit``: bytes, the newline included."""
        self._limit = limit
        self._received = bytearray()
        self.complete: bool = False

    @property
    def started(self) -> bool:
        """Whether a single byte has come."""
        return bool(self._received)

    def feed(self, data: bytes | bytearray) -> None:
        """Take ``data``. Raises ArtifactError once the rules are broken."""
        if not data:
            return
        if self.complete:
            raise ArtifactError("more than one line received")
        searched = len(self._received)
        self._received += data
        newline = self._received.find(b"\n", searched)
        if (newline + 1 or len(self._received) + 1) > self._limit:
            raise ArtifactError(f"line is longer than {self._limit} bytes")
        if newline >= 0:
            self.complete = True
            if newline + 1 < len(self._received):
                raise ArtifactError("more than one line received")

    def line(self) -> bytes:
        """The line without its newline. Raises ArtifactError if it has not come to its end."""
        if not self.complete:
            raise ArtifactError("line is incomplete: no newline at its end")
        return bytes(self._received[:-1])


def _encode(fields: Mapping[str, object]) -> bytes:
    # The only characters that UTF-8 has not are lone surrogates, and Python's backslash escape for
    # these is the JSON escape.
    return _json(fields).encode("utf-8", "backslashreplace") + b"\n"


def _json(value: object) -> str:
    if isinstance(value, str):
        return quote(value)
    if isinstance(value, dict):
        return f"{{{','.join([f'{quote(key)}:{_json(item)}' for key, item in value.items()])}}}"
    if isinstance(value, tuple):
        return f"[{','.join(map(_json, value))}]"
    raise TypeError(f"no JSON for {type(value).__name__}")


def _decode(line: bytes) -> dict[str, object]:
    try:
        fields = parse_json(line.decode(), _unique)
    except (ValueError, RecursionError):
        # "from None": the original quotes what was received.
        raise ArtifactError("line is not valid UTF-8 JSON") from None
    if not isinstance(fields, dict):
        raise ArtifactError("line must be a JSON object")
    return fields


def _unique(pairs: list[tuple[str, object]]) -> dict[str, object]:
    fields = dict(pairs)
    if len(fields) != len(pairs):
        raise ArtifactError("duplicate field")
    return fields
