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
from collections.abc import Iterable
from contextlib import suppress

from hotenv.errors import SystemFailureError
from hotenv.intake.reader import Reader, accept, receive
from hotenv.serving.options import ServeOptions
from hotenv.stdio import say

_PATIENCE = 5.0  # seconds that the server waits for a process that has nothing to do but answer
_LONGEST = 16 * 1024  # bytes of a sentence with a path in it
_WORD = b"\n"


def serve_detached(folder: str, options: ServeOptions, log: int | None) -> None:
    """Serve standard input in ``folder``, and return once the session answers.

    ``log`` is the descriptor of the log file. The process of the server returns too, when the
    session has ended.

    Error handling: raises SystemExit with the server's code if it failed, after it has said why.
    """
    reader = Reader(options.rules)
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
    ready = ours.recv(_LONGEST)
    if not ready:
        code = os.waitstatus_to_exitcode(os.waitpid(server, 0)[1])
        if code <= 0:
            raise SystemFailureError("the process of the server ended before it answered")
        sys.exit(code)
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # what is said now cannot be taken back
    _tell(ours)
    if not options.quiet:
        say(os.fsdecode(ready))


def _be_the_server(
    pipe: int, starter: socket.socket, folder: str, options: ServeOptions, log: int | None
) -> None:
    os.setsid()
    _put_nothing_in_place_of(0, 1)
    _close_all_but({pipe, starter.fileno(), log, options.ready_fd})
    import trio  # only in this process: it takes a while

    from hotenv.serving.output import Output
    from hotenv.serving.process import serve_intake

    async def announce(ready: str) -> None:
        _tell(starter, os.fsencode(ready))
        with trio.move_on_after(_PATIENCE):
            await trio.lowlevel.wait_readable(starter)
        _hear(starter)
        starter.close()
        _put_nothing_in_place_of(2)

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


def _hear(starter: socket.socket) -> None:
    """Take a word of the process that started this one; end without a sound if it has none."""
    with suppress(OSError):
        if starter.recv(len(_WORD)):
            return
    sys.exit(1)


def _put_nothing_in_place_of(*streams: int) -> None:
    """Let go of standard streams: /dev/null takes their numbers."""
    nothing = os.open(os.devnull, os.O_RDWR)
    for stream in streams:
        os.dup2(nothing, stream)
    os.close(nothing)


def _close_all_but(kept: Iterable[int | None]) -> None:
    """Close every descriptor above the standard streams that is not ``kept``."""
    start = 3
    ends = sorted(descriptor for descriptor in kept if descriptor is not None)
    for descriptor in [*ends, os.sysconf("SC_OPEN_MAX")]:
        os.closerange(start, descriptor)
        start = descriptor + 1
