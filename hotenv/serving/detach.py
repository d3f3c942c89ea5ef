"""A server that goes on in the background, once it answers.

Three processes begin in the foreground. The reader reads standard input and asks (see ``intake``).
The server is a session leader from its start, with nothing of the caller's but standard error: what
fails is said there. This process attends the reader, and waits until the server answers. It is the
server that listens and locks memory: a fork after that would have neither.

They agree before anything is final. This process lets the server go on when all is read, the server
tells that it answers, this process says that it has heard it; whoever is missed for a few seconds
has ended, and the others end too. So it either returns and there is a session, or there is none.
"""

from __future__ import annotations

import os
import signal
import socket
import sys
from collections.abc import Container, Iterable
from contextlib import suppress

from hotenv.errors import SystemFailureError, attempt
from hotenv.intake.reader import Reader, accept, receive
from hotenv.serving.linewriter import own_description
from hotenv.serving.options import ServeOptions
from hotenv.serving.output import Output

_PATIENCE = 5.0  # seconds that the server waits for a process that has nothing to do but answer
_LONGEST = 16 * 1024  # bytes of a sentence with a path in it
_WORD = b"\n"
_STDERR = 2
_ENDING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT)


def serve_detached(folder: str, options: ServeOptions, log: int | None) -> None:
    """Serve standard input in ``folder``, and return once the session answers.

    ``log`` is the descriptor of the log file. The process of the server returns too, when the
    session has ended.

    Error handling: raises SystemExit with the server's code if it failed, after it has said why.
    """
    reader = Reader(options.rules)
    with attempt("start the process of the server"):
        ours, servers = socket.socketpair()
        server = os.fork()
    if not server:
        ours.close()
        _be_the_server(reader.pipe, servers, folder, options, log)
        return
    servers.close()
    os.close(reader.pipe)
    with reader.attended():
        pass
    _tell(ours)
    ready = _words_of(ours)
    if not ready:
        code = os.waitstatus_to_exitcode(os.waitpid(server, 0)[1])
        if code <= 0:
            raise SystemFailureError("the process of the server ended before it answered")
        sys.exit(code)
    for each in _ENDING:  # what is said now cannot be taken back
        signal.signal(each, signal.SIG_IGN)
    _tell(ours)
    Output(_STDERR, None, quiet=options.quiet).tell(os.fsdecode(ready))


def _be_the_server(
    pipe: int, starter: socket.socket, folder: str, options: ServeOptions, log: int | None
) -> None:
    os.setsid()
    _put_nothing_in_place_of(0, 1)
    os.dup2(own_description(_STDERR), _STDERR)  # nobody can interrupt it if that is full
    _close_all_but({pipe, starter.fileno(), log, options.ready_fd})
    import trio  # only in this process: it takes a while

    from hotenv.serving.process import serve_intake

    async def announce(ready: str) -> None:
        _tell(starter, os.fsencode(ready))
        with trio.move_on_after(_PATIENCE):
            await trio.lowlevel.wait_readable(starter)
        _hear(starter)
        starter.close()
        _put_nothing_in_place_of(_STDERR)

    delivery = receive(pipe)
    starter.settimeout(_PATIENCE)
    _hear(starter)
    intake = accept(delivery, require_locked_memory=options.require_locked_memory)
    starter.setblocking(False)
    output = Output(None, log, quiet=options.quiet, verbose=options.verbose)
    serve_intake(intake, folder, options, output, announce)


def _tell(peer: socket.socket, words: bytes = _WORD) -> None:
    with suppress(OSError):  # it is gone: that shows when it is heard
        peer.sendall(words)


def _words_of(peer: socket.socket) -> bytes:
    """What comes from the process ``peer``; nothing if it has ended, or time is up."""
    try:
        return peer.recv(_LONGEST)
    except OSError:
        return b""


def _hear(starter: socket.socket) -> None:
    """Take a word of the process that started this one; end without a sound if it has none."""
    if not _words_of(starter):
        sys.exit()  # with 0: if the other one is there after all, it says that this one is not


def _put_nothing_in_place_of(*streams: int) -> None:
    """Let go of standard streams: /dev/null takes their numbers."""
    nothing = os.open(os.devnull, os.O_RDWR)
    for stream in streams:
        os.dup2(nothing, stream)
    os.close(nothing)


def _close_all_but(kept: Container[int | None]) -> None:
    """Close every descriptor above the standard streams that is not ``kept``."""
    for descriptor in _descriptors():
        if descriptor > _STDERR and descriptor not in kept:
            with suppress(OSError):
                os.close(descriptor)


def _descriptors() -> Iterable[int]:
    """All that may be open. There can be some above a limit that was lowered later."""
    try:
        return [int(name) for name in os.listdir("/dev/fd")]
    except OSError:  # there is no /proc
        return range(os.sysconf("SC_OPEN_MAX"))
