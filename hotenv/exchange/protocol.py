"""Requests and responses, and the one line of JSON that each of them is. Pure.

Rules of the game (specification, section 7):

1. One connection carries one request and one response, in this order; then it ends.
2. Each is a JSON object in UTF-8 on a single line that ends with one newline. Anything after that
   newline breaks the rules, and so does a line that is over the limit.
3. Both sides check what they receive. Fields that this version does not know are ignored; the same
   field twice in one object is refused, for nobody can say which one was meant.
4. Blame: what the peer did wrong is an ArtifactError here, which the server turns into a
   BAD_REQUEST and a client into its exit code. What we would do wrong is a UsageError before a
   byte is sent.
5. No message of an error contains text that was received.
"""

from __future__ import annotations

import json

from hotenv.errors import ArtifactError, HotenvError, SystemFailureError, UsageError
from hotenv.variables import why_unfit

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

REQUEST_LIMIT = 8 * 1024 * 1024
"""Bytes in a request, its newline included."""

RESPONSE_LIMIT = 64 * 1024 * 1024
"""Bytes in a response, its newline included."""

BAD_REQUEST = "BAD_REQUEST"
INTERNAL = "INTERNAL"

_MESSAGE_LIMIT = 500  # characters of a server's message that a client shows


class Request:
    """What a client asks: ``dump``, or ``run`` with the words of the command.

    The environment that is sent back is the same; ``args`` are for the server's log.
    """

    __slots__ = ("args", "command")

    def __init__(self, command: str, args: Sequence[str] = ()) -> None:
        """Raises UsageError for an unknown command, and for a run without words or a dump with."""
        if command not in ("dump", "run"):
            raise UsageError('the command of a request is "dump" or "run"')
        if (command == "run") != bool(args):
            raise UsageError("run needs at least the name of a command, dump takes none")
        self.command = command
        self.args = tuple(args)

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
            f"the command line is too long: {len(line)} bytes as a request, {REQUEST_LIMIT} at most"
        )
    return line


def decode_request(line: bytes) -> Request:
    """The request that ``line`` (without its newline) is. Raises ArtifactError if it is none."""
    fields = _decode(line)
    command = fields.get("command")
    if command == "dump":
        return Request("dump")
    if command != "run":
        raise ArtifactError('"command" is not "dump" or "run"')
    args = fields.get("args")
    if not (isinstance(args, list) and args and all(isinstance(arg, str) for arg in args)):
        raise ArtifactError('"args" is not a non-empty array of strings')
    return Request("run", args)


def encode_response(variables: Mapping[str, str]) -> bytes:
    """The line that hands ``variables`` over.

    Raises SystemFailureError if it is over RESPONSE_LIMIT bytes: no client would take it.
    """
    line = _encode({"env": dict(variables)})
    if len(line) > RESPONSE_LIMIT:
        raise SystemFailureError(
            f"the environment is too large: {len(line)} bytes, {RESPONSE_LIMIT} at most"
        )
    return line


def encode_error(code: str, message: str) -> bytes:
    """The line that refuses a request; ``code`` is BAD_REQUEST or INTERNAL."""
    return _encode({"error": code, "message": message})


def decode_response(line: bytes) -> dict[str, str]:
    """The variables that ``line`` (without its newline) hands over.

    Error handling: raises ArtifactError if it is no response, and also for BAD_REQUEST;
    SystemFailureError for INTERNAL.
    """
    fields = _decode(line)
    if ("env" in fields) == ("error" in fields):
        raise ArtifactError('the response has not exactly one of "env" and "error"')
    if "error" in fields:
        raise _refusal(fields["error"], fields.get("message"))
    variables = fields["env"]
    if not isinstance(variables, dict):
        raise ArtifactError('"env" is not an object')
    for name, value in variables.items():
        if not isinstance(value, str):
            raise ArtifactError('"env" has a value that is not a string')
        if reason := why_unfit(name, value):
            raise ArtifactError(f'"env" has {reason}')
    return variables


def check_refusal(line: bytes) -> None:
    """Raise ArtifactError unless ``line`` refuses a request that was none, as a server must."""
    if _decode(line).get("error") != BAD_REQUEST:
        raise ArtifactError("it does not refuse what is no request")


def _refusal(code: object, message: object) -> HotenvError:
    if code not in (BAD_REQUEST, INTERNAL) or not isinstance(message, str):
        return ArtifactError("the response is an error of an unknown kind")
    text = f"the server answered {code}: {message[:_MESSAGE_LIMIT]}"
    return ArtifactError(text) if code == BAD_REQUEST else SystemFailureError(text)


class LineReader:
    """Collects the one line that a peer sends, however it is cut into pieces."""

    def __init__(self, limit: int) -> None:
        """``limit``: bytes, the newline included."""
        self._limit = limit
        self._received = bytearray()
        self.complete = False

    @property
    def started(self) -> bool:
        """Whether a single byte has come."""
        return bool(self._received)

    def feed(self, data: bytes | bytearray) -> None:
        """Take ``data``. Raises ArtifactError once the rules are broken."""
        if not data:
            return
        if self.complete:
            raise ArtifactError("there is more than one line")
        searched = len(self._received)
        self._received += data
        newline = self._received.find(b"\n", searched)
        if (newline + 1 or len(self._received) + 1) > self._limit:
            raise ArtifactError(f"the line is over {self._limit} bytes")
        if newline >= 0:
            self.complete = True
            if newline + 1 < len(self._received):
                raise ArtifactError("there is more than one line")

    def line(self) -> bytes:
        """The line without its newline. Raises ArtifactError if it has not come to its end."""
        if not self.complete:
            raise ArtifactError("the line has no end")
        return bytes(self._received[:-1])


def _encode(fields: Mapping[str, object]) -> bytes:
    text = json.dumps(fields, ensure_ascii=False, separators=(",", ":"))
    # The only characters that UTF-8 has not are lone surrogates, and Python's backslash escape for
    # these is the JSON escape.
    return text.encode("utf-8", "backslashreplace") + b"\n"


def _decode(line: bytes) -> dict[str, object]:
    try:
        fields = _DECODER.decode(line.decode())
    except (ValueError, RecursionError):
        # "from None": the original quotes what was received.
        raise ArtifactError("the line is not JSON in UTF-8") from None
    if not isinstance(fields, dict):
        raise ArtifactError("the line is not a JSON object")
    return fields


def _refuse(constant: str) -> object:
    raise ValueError("NaN and Infinity are Python's, not JSON's")


def _unique(pairs: Iterable[tuple[str, object]]) -> dict[str, object]:
    pairs = list(pairs)
    fields = dict(pairs)
    if len(fields) != len(pairs):
        raise ArtifactError("the same field is there twice")
    return fields


_DECODER = json.JSONDecoder(object_pairs_hook=_unique, parse_constant=_refuse)
