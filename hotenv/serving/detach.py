"""A server that moves to the background once it is ready.

Three processes begin in the foreground. The reader reads the input and prompts (see ``intake``).
The server is a session leader from its start and has nothing of the caller's but standard error,
where it reports its failures. This process attends the reader, and waits until the server is ready.
It is the server that listens and locks memory: a fork after that would have neither.

They agree before anything is final. When the input has been read, this process tells the server to
continue; the server reports that it is ready; this process acknowledges that. A process that does
not answer within a few seconds is assumed dead, and the others exit. So either there is a session
when this process returns, or there is none.
"""

from __future__ import annotations

import os
import signal
import socket
import sys
from collections.abc import Awaitable, Callable, Container, Sequence
from contextlib import suppress
from typing import NoReturn

from hotenv.descriptors import open_descriptors, redirect_to_null, reopen_nonblocking
from hotenv.errors import SystemFailureError, attempt
from hotenv.intake.reader import Intake, Reader, accept, receive
from hotenv.intake.rules import Rules
from hotenv.intake.sources import Source
from hotenv.program import INTERRUPTED, exit_code_of
from hotenv.termination import TERMINATION_SIGNALS

HANDSHAKE_TIMEOUT = 5.0
"""Seconds that the server waits for a process that has nothing to do but answer."""

_LONGEST = 16 * 1024  # bytes of a sentence with a path in it
_WORD = b"\n"
_STDERR = 2
_EXITED = "the server process exited before the session was ready"

Serve = Callable[[Intake, Callable[[str], Awaitable[None]]], None]
"""Serves what came in, and tells the function when it is ready."""


def serve_detached(
    sources: Sequence[Source],
    rules: Rules,
    serve: Serve,
    *,
    kept: Container[int | None],
    require_locked_memory: bool,
) -> str:
    """Serve ``sources`` in another process; return its words once the session is ready.

    ``kept``: the file descriptors that the server needs.

    Error handling: raises SystemExit with the server's code if it failed, after it has said why.
    """
    reader = Reader(sources, rules)
    with attempt("start the server process"):
        ours, servers = socket.socketpair()
        server = os.fork()
    if not server:
        ours.close()
        _be_the_server(lambda: _serve(reader, servers, serve, kept, require_locked_memory))
    servers.close()
    os.close(reader.pipe)
    with reader.attended():
        pass
    _tell(ours)
    ready = _words_of(ours)
    if not ready:
        code = os.waitstatus_to_exitcode(os.waitpid(server, 0)[1])
        if code <= 0:
            raise SystemFailureError(_EXITED)
        sys.exit(code)
    for each in TERMINATION_SIGNALS:  # what is said now cannot be taken back
        signal.signal(each, signal.SIG_IGN)
    if not _tell(ours):  # this process was stopped, and is not waited for any more
        raise SystemFailureError(_EXITED)
    return os.fsdecode(ready)


def _be_the_server(action: Callable[[], None]) -> NoReturn:
    """Run ``action``, and end this process in every case: what its parent would do is not its."""
    code = INTERRUPTED  # nothing but Ctrl-C at the very start comes past the next function
    try:
        code = exit_code_of(action)
    except SystemExit as ended:
        code = int(ended.code or 0)
    finally:
        os._exit(code)


def _serve(
    reader: Reader,
    starter: socket.socket,
    serve: Serve,
    kept: Container[int | None],
    require_locked_memory: bool,
) -> None:
    with attempt("detach the server process"):
        os.setsid()
    reader.take_interrupts()
    redirect_to_null(0, 1)
    os.dup2(reopen_nonblocking(_STDERR), _STDERR)  # nothing can interrupt it if that is full
    _close_all_but(reader.pipe, starter.fileno(), kept)
    import trio  # only in this process: it takes a while

    async def announce(ready: str) -> None:
        _tell(starter, os.fsencode(ready))
        with trio.move_on_after(HANDSHAKE_TIMEOUT) as patience:
            await trio.lowlevel.wait_readable(starter)
        if patience.cancelled_caught:  # what it says from here on fails, and it is told so
            with suppress(OSError):
                starter.shutdown(socket.SHUT_RD)
        _hear(starter)
        starter.close()
        redirect_to_null(_STDERR)

    delivery = receive(reader.pipe)
    starter.settimeout(HANDSHAKE_TIMEOUT)
    _hear(starter)
    intake = accept(delivery, require_locked_memory=require_locked_memory)
    starter.setblocking(False)
    serve(intake, announce)


def _tell(peer: socket.socket, words: bytes = _WORD) -> bool:
    """Say it to the process ``peer``; whether that is still there."""
    try:
        peer.sendall(words)
    except OSError:
        return False
    return True


def _words_of(peer: socket.socket) -> bytes:
    """What comes from the process ``peer``; nothing if it has ended, or time is up."""
    try:
        return peer.recv(_LONGEST)
    except OSError:
        return b""


def _hear(starter: socket.socket) -> None:
    """Take a word of the process that started this one; exit without a sound if it has none."""
    if not _words_of(starter):
        sys.exit()  # with 0: if the starter is there after all, it says that this one is not


def _close_all_but(pipe: int, starter: int, kept: Container[int | None]) -> None:
    """Close every file descriptor above the standard streams that is not one of these."""
    for descriptor in open_descriptors():
        if descriptor > _STDERR and descriptor not in (pipe, starter) and descriptor not in kept:
            with suppress(OSError):
                os.close(descriptor)
