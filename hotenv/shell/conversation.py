"""A shell for a program that writes requests and reads answers: ``hotenv shell``."""

from __future__ import annotations

import os
import signal
from functools import partial

import trio

from hotenv.errors import DisconnectedError, HotenvError
from hotenv.shell.audited import ShellLog
from hotenv.shell.dialogue import (
    BadRequestError,
    Lines,
    Request,
    encode_error,
    encode_result,
    parse_request,
)
from hotenv.shell.nursery import open_helpers
from hotenv.shell.session import open_session
from hotenv.shell.setup import Setup
from hotenv.stdio import write_output

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from hotenv.audit.commands import CommandLog
    from hotenv.shell.shell import Shell

_STDIN = 0
_CHUNK = 64 * 1024
_NO_FILES = (
    "stdout_file and stderr_file are refused with --fs-readonly and --deny-read: hotenv would "
    "write them, and is under no guard"
)


async def converse(setup: Setup, log: CommandLog | None) -> None:
    """Answer the requests on standard input, until its end or a signal that asks to end.

    ``log``: where each command is recorded, if anywhere. SIGHUP does not count if it is ignored, as
    under nohup.

    Error handling: raises what :func:`hotenv.open_shell` does; BrokenPipeError if nobody reads the
    answers.
    """
    hangup = {signal.SIGHUP} if signal.getsignal(signal.SIGHUP) != signal.SIG_IGN else set()
    with trio.open_signal_receiver(signal.SIGINT, signal.SIGTERM, *hangup) as signals:
        async with open_helpers() as helpers:
            helpers.start_soon(_wait_for_signal, signals, helpers.cancel_scope)
            async with open_session(setup) as shell:
                await Conversation(
                    shell, setup, None if log is None else ShellLog(log, setup.host)
                ).hold()


async def _wait_for_signal(signals: AsyncIterator[int], scope: trio.CancelScope) -> None:
    async for _ in signals:
        scope.cancel()


class Conversation:
    """Requests for ``shell``, which are answered one after the other, and recorded in ``log``.

    At the end of input a command that is running gets the grace period to end by itself.
    """

    def __init__(self, shell: Shell, setup: Setup, log: ShellLog | None) -> None:
        self._shell = shell
        self._log = log
        self._grace = setup.limits.grace
        # This process writes the files of requests, and is under no guard itself.
        guarding = setup.guarding
        self._closes_files = guarding is not None and guarding.guard.closes_files
        self._running = trio.CancelScope()

    async def hold(self) -> None:
        """Answer requests until there are no more."""
        ours, theirs = trio.open_memory_channel[bytes](0)
        async with open_helpers() as helpers:
            helpers.start_soon(self._read, ours)
            async for line in theirs:
                answer = await self._answer(line)
                await trio.to_thread.run_sync(write_output, answer, abandon_on_cancel=True)

    async def _read(self, lines: trio.MemorySendChannel[bytes]) -> None:
        splitter = Lines()
        async with lines:
            while data := await _read_input():
                for line in splitter.feed(data):
                    await lines.send(line)
            for line in splitter.end():
                await lines.send(line)
        await trio.sleep(self._grace)
        self._running.cancel()

    async def _answer(self, line: bytes) -> bytes:
        try:
            request = parse_request(line)
        except BadRequestError as error:
            return encode_error(error.id, str(error))
        with trio.CancelScope() as self._running:
            return await self._run(request)
        return encode_error(request.id, "ended at the end of input")

    async def _run(self, request: Request) -> bytes:
        if self._closes_files and (request.stdout_file or request.stderr_file):
            return encode_error(request.id, _NO_FILES)
        run = partial(
            self._shell.run,
            request.command,
            timeout=request.timeout,
            stdin=request.stdin,
            stdout_file=request.stdout_file,
            stderr_file=request.stderr_file,
        )
        try:
            result = await (run() if self._log is None else self._log.record(request.command, run))
        except DisconnectedError as error:
            return encode_error(request.id, str(error), error.stdout, error.stderr)
        except HotenvError as error:
            return encode_error(request.id, str(error))
        return encode_result(request.id, result)


async def _read_input() -> bytes:
    """What comes next on standard input. It is shared, and must not be made non-blocking."""
    try:
        await trio.lowlevel.wait_readable(_STDIN)
    except PermissionError:  # a file, which never keeps waiting
        await trio.lowlevel.checkpoint()
    return os.read(_STDIN, _CHUNK)
