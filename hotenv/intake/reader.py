"""Sources -> the response of a session, in locked memory and nowhere else.

A child process reads the texts and encodes the response. This process receives the encoded response
straight into locked memory: it never has a value in an object of Python's, of which there could be
copies. So it has to happen before Trio starts, and neither python-dotenv nor attrs is loaded here.
"""

from __future__ import annotations

import json
import os
import signal
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, nullcontext
from typing import Any

from hotenv import errors
from hotenv.errors import SystemFailureError, attempt
from hotenv.intake.child import SIZES, be_the_child
from hotenv.intake.command import CommandOutput
from hotenv.intake.echoguard import Child, EchoGuard
from hotenv.intake.hardening import report_unprotected
from hotenv.intake.lockedmemory import LockedMemory
from hotenv.intake.rules import Rules
from hotenv.intake.sources import Source
from hotenv.intake.terminal import Terminal
from hotenv.stdio import say


class Intake:
    """What came in: the encoded ``response``, and how many ``variables`` are in it."""

    def __init__(self, response: LockedMemory, variables: int) -> None:
        self.response = response
        self.variables = variables


class Reader:
    """The child process that reads the sources. Its result comes out of ``pipe``."""

    def __init__(self, sources: Sequence[Source], rules: Rules) -> None:
        """Start it.

        ``${NAME}`` is looked up in this process's environment; it prompts on its terminal. Raises
        SystemFailureError if there is no standard input, or no process for it.
        """
        for source in sources:
            source.prepare()
        self._shares_job = any(isinstance(source, CommandOutput) for source in sources)
        parent = os.getpid()
        with attempt("start the process that reads the input"):
            self._terminal = Terminal() if rules.prompt or self._shares_job else None
            pipe, childs_end = os.pipe()
            # Before there is a command to leave Ctrl-C to: that may be ready first.
            held = [signal.SIGINT] if self._shares_job else []
            self._mask = signal.pthread_sigmask(signal.SIG_BLOCK, held)
            pid = os.fork()
        if not pid:
            os.close(pipe)
            be_the_child(parent, childs_end, sources, rules, self._terminal, self._mask)
        os.close(childs_end)
        for source in sources:
            source.let_go()
        self.pipe: int = pipe
        self._child = Child(pid)

    @contextmanager
    def attended(self) -> Iterator[None]:
        """After the block, wait until it has ended; if the block fails, end it.

        Meanwhile it may prompt. To be done by the process that started it. Raises KeyboardInterrupt
        if Ctrl-C ended it.
        """
        terminal = self._terminal
        with EchoGuard(terminal, self._child) if terminal else nullcontext():
            try:
                yield
                code = self._child.wait()
            except BaseException:
                self._child.kill()
                raise
            finally:
                self.take_interrupts()
        if code == -signal.SIGINT:
            raise KeyboardInterrupt

    def take_interrupts(self) -> None:
        """Let Ctrl-C end this process again, if it was left to a command that is a source.

        A Ctrl-C until now was the command's, and is dropped. Each process that was forked after the
        reader has to do so.
        """
        if self._shares_job:
            on_interrupt = signal.signal(signal.SIGINT, signal.SIG_IGN)  # drops one that was held
            signal.signal(signal.SIGINT, on_interrupt)
            signal.pthread_sigmask(signal.SIG_SETMASK, self._mask)


def take_in(
    sources: Sequence[Source], rules: Rules, *, require_locked_memory: bool = False
) -> Intake:
    """Read all of ``sources``; print the warnings about them.

    Error handling: raises what :func:`accept` does, and SystemFailureError without an input.
    """
    reader = Reader(sources, rules)
    with reader.attended():
        delivery = receive(reader.pipe)
    return accept(delivery, require_locked_memory=require_locked_memory)


class Delivery:
    """What a reader handed over: its report, and the ``response`` if any."""

    def __init__(self, report: dict[str, Any], response: LockedMemory | None) -> None:
        self._report = report
        self.response = response

    def report(self) -> dict[str, Any]:
        """The report. Raises the HotenvError that it tells, SystemFailureError if there is none."""
        if "error" in self._report:
            raise getattr(errors, self._report["error"])(self._report["message"])
        if not self._report:
            raise SystemFailureError("the process that reads the input exited unexpectedly")
        return self._report


def receive(pipe: int) -> Delivery:
    """All that comes out of the ``pipe`` of a reader, which is closed then."""
    try:
        report_size, response_size = SIZES.unpack(_read(pipe, SIZES.size))
        report = json.loads(_read(pipe, report_size))
        response = None
        if response_size:
            response = LockedMemory(response_size)
            with attempt("read from the process that reads the input"):
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

    Error handling: raises InputError for a bad line, SystemFailureError if reading or prompting
    fails.
    """
    report, response = delivery.report(), delivery.response
    assert response is not None  # noqa: S101 - for type checkers
    for warning in report["warnings"]:
        say(f"warning: {warning}")
    if not response.locked:
        report_unprotected(
            "cannot lock memory for the values: raise the limit (see 'ulimit -l')",
            "values may be swapped to disk",
            required=require_locked_memory,
        )
    return Intake(response, report["variables"])
