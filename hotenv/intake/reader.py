"""Standard input -> the response of a session, in locked memory and nowhere else.

A child process reads the text, parses it and encodes the response; it ends at once, and what it had
in memory ends with it. This process receives the encoded response straight into locked memory: it
never has a value in an object of Python's, of which there could be copies. So it has to happen
before Trio starts, and neither python-dotenv nor attrs is loaded here.
"""

from __future__ import annotations

import json
import os
import select
import signal
import struct
import sys
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from typing import NoReturn

from hotenv import errors
from hotenv.errors import HotenvError, SystemFailureError, attempt
from hotenv.exchange.protocol import RESPONSE_LIMIT, encode_response
from hotenv.intake.hardening import die_with
from hotenv.intake.lockedmemory import LockedMemory
from hotenv.intake.prompt import Terminal
from hotenv.intake.rules import Rules
from hotenv.stdio import say

_SIZES = struct.Struct("=II")  # bytes of the report and of the response, which follow
_PIECE = 64 * 1024


class Intake:
    """What came in: the encoded ``response``, and how many ``variables`` are in it."""

    def __init__(self, response: LockedMemory, variables: int) -> None:
        self.response = response
        self.variables = variables


class Reader:
    """The child process that reads standard input. What it hands over comes out of ``pipe``."""

    def __init__(self, rules: Rules) -> None:
        """Start it.

        ``${NAME}`` is looked up in this process's environment; questions are asked on its terminal.
        Raises SystemFailureError if there is no standard input, or no process for it.
        """
        invite()
        self._terminal = Terminal() if rules.prompt else None
        parent = os.getpid()
        with attempt("start the process that reads standard input"):
            self.pipe, childs_end = os.pipe()
            self._pid = os.fork()
        if not self._pid:
            os.close(self.pipe)
            _be_the_child(parent, childs_end, rules, self._terminal)
        os.close(childs_end)

    @contextmanager
    def attended(self) -> Iterator[None]:
        """After the block, wait until it has ended; if the block fails, end it.

        Meanwhile it may ask questions. To be done by the process that started it. Raises
        KeyboardInterrupt if Ctrl-C ended it.
        """
        try:
            with self._terminal.guard(self._pid) if self._terminal else nullcontext():
                yield
                os.waitid(os.P_PID, self._pid, os.WEXITED | os.WNOWAIT)
        finally:
            os.kill(self._pid, signal.SIGKILL)  # nothing to a child that has ended by itself
            status = os.waitstatus_to_exitcode(os.waitpid(self._pid, 0)[1])
        if status == -signal.SIGINT:
            raise KeyboardInterrupt


def take_in(rules: Rules, *, require_locked_memory: bool = False) -> Intake:
    """Read dotenv text from standard input until its end; say what its author may not have meant.

    Error handling: raises what :func:`accept` does, and SystemFailureError without an input.
    """
    reader = Reader(rules)
    with reader.attended():
        delivery = receive(reader.pipe)
    return accept(delivery, require_locked_memory=require_locked_memory)


class Delivery:
    """What a reader handed over: a ``report``, empty if it failed, and the ``response`` if any."""

    def __init__(self, report: dict[str, object], response: LockedMemory | None) -> None:
        self.report = report
        self.response = response


def receive(pipe: int) -> Delivery:
    """All that comes out of the ``pipe`` of a reader, which is closed then."""
    try:
        report_size, response_size = _SIZES.unpack(_read(pipe, _SIZES.size))
        report = json.loads(_read(pipe, report_size))
        response = None
        if response_size:
            response = LockedMemory(response_size)
            response.fill(pipe)
    except EOFError:
        return Delivery({}, None)
    finally:
        os.close(pipe)
    return Delivery(report, response)


def _read(pipe: int, size: int) -> bytes:
    data = b""
    while len(data) < size:
        piece = os.read(pipe, size - len(data))
        if not piece:
            raise EOFError
        data += piece
    return data


def accept(delivery: Delivery, *, require_locked_memory: bool) -> Intake:
    """What came in. Warns if the memory could not be locked, or fails for that if it is required.

    Error handling: raises InputError for a bad line, SystemFailureError if reading or asking fails.
    """
    report, response = delivery.report, delivery.response
    if "error" in report:
        raise getattr(errors, str(report["error"]))(report["message"])
    if response is None:
        raise SystemFailureError("the process that reads standard input ended too early")
    for warning in report["warnings"]:  # type: ignore[attr-defined]
        say(f"warning: standard input: {warning}")
    if not response.locked:
        problem = "the memory for the secrets cannot be locked (see 'ulimit -l')"
        if require_locked_memory:
            raise SystemFailureError(problem)
        say(f"warning: {problem}: the system could write them to its swap space")
    return Intake(response, report["variables"])  # type: ignore[arg-type]


def invite() -> None:
    """Tell a person at a terminal what to do.

    Error handling: raises SystemFailureError if there is no standard input.
    """
    if sys.stdin is None:
        raise SystemFailureError("standard input is closed: pipe dotenv text into 'hotenv serve'")
    if sys.stdin.isatty():
        say("paste NAME=value lines, end with Ctrl-D on a line of its own")


def read_input() -> bytes:
    """All of standard input.

    Error handling: raises SystemFailureError if reading fails or it is too much.
    """
    descriptor = sys.stdin.fileno()
    data = bytearray()
    with attempt("read standard input"):
        while len(data) <= RESPONSE_LIMIT:
            try:
                piece = os.read(descriptor, _PIECE)
            except BlockingIOError:  # whoever shares it with us made it so
                select.select([descriptor], [], [])
                continue
            if not piece:
                return bytes(data)
            data += piece
    raise SystemFailureError(f"standard input is over {RESPONSE_LIMIT} bytes")


# In the child


def _be_the_child(parent: int, pipe: int, rules: Rules, terminal: Terminal | None) -> NoReturn:
    code = 1
    try:
        if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
            signal.signal(signal.SIGINT, signal.SIG_DFL)  # at once, also within a system call
        die_with(parent)
        report, response = _report(rules, terminal)
        with open(pipe, "wb") as file:
            text = json.dumps(report).encode()
            file.write(_SIZES.pack(len(text), len(response)) + text)
            file.write(response)
        code = 0
    finally:
        os._exit(code)


def _report(rules: Rules, terminal: Terminal | None) -> tuple[dict[str, object], bytes]:
    try:
        from hotenv.intake.envtext import parse_dotenv

        ask = terminal.ask if terminal else dict  # without a terminal nothing is a question
        contents = parse_dotenv(read_input(), os.environ, rules, ask)
        response = encode_response(contents.snapshot)
    except HotenvError as error:
        return {"error": type(error).__name__, "message": str(error)}, b""
    except Exception as error:
        message = f"internal error: {type(error).__name__} while reading standard input"
        return {"error": "SystemFailureError", "message": message}, b""
    return {"warnings": contents.warnings, "variables": len(contents.snapshot)}, response
