"""Requests and answers of ``hotenv shell``, a line of JSON each. Pure.

A request is an object with ``command``, and maybe ``id`` (a string or a number, which the answer
has too), ``timeout`` (seconds, null for none), ``stdin`` or ``stdin_base64``, ``stdout_file`` and
``stderr_file``. What is not UTF-8 in an answer has ``_base64`` at the end of its name.
"""

from __future__ import annotations

import binascii
import json
import math
from types import EllipsisType

from attrs import asdict, field, frozen

from hotenv.errors import UsageError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from hotenv.shell.bounds import Omitted
    from hotenv.shell.result import Result

    Id = str | float | None

LONGEST_LINE = 8 * 1024 * 1024
"""Bytes of a request."""

_FILES = ("stdout_file", "stderr_file")
_FIELDS = {"id", "command", "timeout", "stdin", "stdin_base64", *_FILES}


class BadRequestError(UsageError):
    """A line that is not a request. ``id``: that of the request, as far as there is one."""

    def __init__(self, message: str, id: Id = None) -> None:  # noqa: A002 - its name
        super().__init__(message)
        self.id = id


@frozen
class Request:
    """A command to run, which ``repr`` does not show. ``timeout``: an ellipsis if none is given."""

    id: Id
    command: str = field(repr=False)
    timeout: float | EllipsisType | None
    stdin: bytes = field(repr=False)
    stdout_file: str | None = None
    stderr_file: str | None = None


class Lines:
    """Makes lines of what is read, piece by piece. One that is too long is cut off."""

    def __init__(self, longest: int = LONGEST_LINE) -> None:
        self._longest = longest
        self._rest = b""

    def feed(self, data: bytes) -> list[bytes]:
        """The lines that end in ``data``."""
        *lines, rest = data.split(b"\n")
        if lines:
            lines[0] = self._rest + lines[0]
            self._rest = b""
        # One byte more than is allowed tells that the line was longer.
        self._rest = (self._rest + rest)[: self._longest + 1]
        return lines

    def end(self) -> list[bytes]:
        """The line that has no end, if there is one."""
        return [self._rest] if self._rest else []


def parse_request(line: bytes) -> Request:
    """The request in ``line``. Raises BadRequestError, which never shows any of it."""
    if len(line) > LONGEST_LINE:
        raise BadRequestError(f"a line must not be longer than {LONGEST_LINE} bytes")
    try:
        fields = json.loads(line, parse_constant=_refuse, parse_float=_finite)
    except (ValueError, RecursionError):
        raise BadRequestError("a line must be one JSON value") from None
    if not isinstance(fields, dict):
        raise BadRequestError("a line must be a JSON object")
    given = fields.get("id")
    id = given if isinstance(given, str | int | float) else None  # noqa: A001 - its name
    try:
        if id is not given:
            raise UsageError("id must be a string or a number")
        return _request(id, fields)
    except UsageError as error:
        raise BadRequestError(str(error), id) from None


def _refuse(_constant: str) -> object:
    raise ValueError


def _finite(text: str) -> float:
    if math.isinf(number := float(text)):
        raise ValueError
    return number


def _request(id: Id, fields: dict[str, object]) -> Request:  # noqa: A002 - its name
    if unknown := fields.keys() - _FIELDS:
        raise UsageError(f"unknown fields ({len(unknown)}): see 'hotenv help bash'")
    command = fields.get("command")
    if not isinstance(command, str):
        raise UsageError("command must be a string")
    timeout = _timeout(fields.get("timeout", ...))
    files = [_path(name, fields.get(name)) for name in _FILES]
    return Request(id, command, timeout, _stdin(fields), *files)


def _timeout(value: object) -> float | EllipsisType | None:
    if isinstance(value, bool) or not isinstance(value, int | float | EllipsisType | None):
        raise UsageError("timeout must be a number of seconds, or null")
    try:
        return float(value) if isinstance(value, int) else value
    except OverflowError:
        raise UsageError("timeout is too large: use null for no limit") from None


def _path(name: str, value: object) -> str | None:
    if value is None or (isinstance(value, str) and "\0" not in value):
        return value
    raise UsageError(f"{name} must be the path of a file")


def _stdin(fields: dict[str, object]) -> bytes:
    text, encoded = fields.get("stdin", ""), fields.get("stdin_base64", "")
    if not isinstance(text, str) or not isinstance(encoded, str) or (text and encoded):
        raise UsageError("give one of stdin and stdin_base64, as a string")
    try:
        return text.encode() or binascii.a2b_base64(encoded, strict_mode=True)
    except ValueError:
        raise UsageError("stdin must be Unicode text, and stdin_base64 must be Base64") from None


def encode_result(id: Id, result: Result) -> bytes:  # noqa: A002 - its name
    """The answer with what has come of a command. What is empty by default is left out."""
    fields: dict[str, object] = {"id": id, "exit_code": result.exit_code}
    fields |= _text("stdout", result.stdout) | _text("stderr", result.stderr)
    fields |= _text("cwd", result.cwd)
    fields |= {"duration": result.duration, "timed_out": result.timed_out}
    fields |= {"restarted": result.restarted}
    for name in ("late_stdout", "late_stderr"):
        if late := getattr(result, name):
            fields |= _text(name, late)
    omitted: dict[str, Omitted] = asdict(result.omitted, recurse=False)
    if left_out := {name: asdict(each) for name, each in omitted.items() if each.bytes}:
        fields["omitted"] = left_out
    return _line(fields)


def encode_error(
    id: Id,  # noqa: A002 - its name
    message: str,
    stdout: bytes = b"",
    stderr: bytes = b"",
) -> bytes:
    """The answer that says why there is no result, with the output until then."""
    fields: dict[str, object] = {"id": id, "error": message}
    if stdout or stderr:
        fields |= _text("stdout", stdout) | _text("stderr", stderr)
    return _line(fields)


def _text(name: str, data: bytes) -> dict[str, str]:
    try:
        return {name: data.decode()}
    except UnicodeDecodeError:
        return {f"{name}_base64": binascii.b2a_base64(data, newline=False).decode()}


def _line(fields: dict[str, object]) -> bytes:
    return json.dumps(fields).encode() + b"\n"
