"""A single command on another machine: what ssh becomes there, once its variables are there.

There are two sessions over one connection. The first one gets the variables, and has them ready in
a FIFO. The second one has the standard streams of hotenv: it reads the FIFO, and becomes the
command. When hotenv or the connection ends, the first one removes what the second has not.
"""

from __future__ import annotations

import math
import os
import secrets
import select
import shlex
import signal
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress

from hotenv.errors import UnreachableError
from hotenv.handover.launch import Launch, inherited_environment
from hotenv.lineage import die_with
from hotenv.remote.destination import (
    BASH,
    GREETING_TIMEOUT,
    PATIENCE,
    check_host,
    master_words,
    session_words,
)
from hotenv.remote.here import cannot_run_ssh, control_socket, has_terminal
from hotenv.remote.lines import single_command
from hotenv.remote.records import Greeting
from hotenv.remote.scripts import script
from hotenv.remote.welcome import LONGEST_COMPLAINT, directory_in, refusal

_FIFO = "run"
_BECOME = f'eval "$(<"$1/{_FIFO}")"; exit 255'  # as ssh does when it fails
_NONCE = 8  # bytes
_PIECE = 64 * 1024


@contextmanager
def on_host(host: str, launch: Launch) -> Iterator[Launch]:
    """An ssh that becomes ``launch`` on ``host``, where that adds to the environment.

    It gets a terminal there if standard input and output are one here. The connection is made at
    once, and ends with the block. ssh asks on this process's terminal if need be; without a
    terminal it asks nothing.

    Error handling: raises UnreachableError with the words of ssh if there is no connection,
    SystemFailureError if ssh or the other machine lacks something, and FieldError if ``host``
    is not a destination of ssh.
    """
    check_host(host)
    lines = single_command([os.fsencode(word) for word in launch.argv], launch.env)
    with control_socket() as control, _first_session(host, control) as first:
        place = _bring(first, host, lines)
        words = session_words(host, control, terminal=os.isatty(0) and os.isatty(1))
        bash = [*BASH.split(), "-c", _BECOME, "hotenv", place]
        yield Launch([*words, f"exec {shlex.join(bash)}"], inherited_environment())


@contextmanager
def _first_session(host: str, control: str) -> Iterator[subprocess.Popen[bytes]]:
    """The ssh that makes the connection."""
    alone = not has_terminal()
    words = [*master_words(host, control, batch=alone), f"exec {BASH}"]
    parent = os.getpid()
    try:
        process = subprocess.Popen(  # noqa: S603 - ssh, as on the command line
            words,
            bufsize=0,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            start_new_session=alone,
            preexec_fn=lambda: die_with(parent, signal.SIGTERM),  # it removes its socket then
        )
    except OSError as error:
        raise cannot_run_ssh(error) from error
    with process:
        try:
            yield process
        finally:
            process.terminate()
            with suppress(subprocess.TimeoutExpired):
                process.wait(PATIENCE)
            process.kill()


def _bring(process: subprocess.Popen[bytes], host: str, lines: bytes) -> str:
    """Bring ``lines`` to a FIFO on the other machine; the directory that it is in."""
    nonce = secrets.token_hex(_NONCE)
    with suppress(BrokenPipeError):  # it has said why
        _send(process, script("folder", "single", nonce=nonce, fifos=_FIFO, size=str(len(lines))))
    place = directory_in(_greeted(process, host, nonce.encode()), host)
    try:
        _send(process, lines)  # to nobody but a bash that has greeted
    except BrokenPipeError:
        raise UnreachableError(f"the connection to {host} was lost") from None
    return place


def _send(process: subprocess.Popen[bytes], data: bytes) -> None:
    assert process.stdin  # noqa: S101 - for types
    while data:
        data = data[os.write(process.stdin.fileno(), data) :]


def _greeted(process: subprocess.Popen[bytes], host: str, nonce: bytes) -> bytes:
    """The first record of the other side. Raises UnreachableError if it does not come."""
    assert process.stdout and process.stderr  # noqa: S101, PT018 - for types
    greeting, complaint = Greeting(nonce), b""
    stdout, stderr = process.stdout.fileno(), process.stderr.fileno()
    streams = {stdout, stderr}
    deadline = math.inf if has_terminal() else time.monotonic() + GREETING_TIMEOUT
    with suppress(ValueError):  # it prints too much
        while streams and greeting.record is None and (rest := deadline - time.monotonic()) > 0:
            patience = None if rest == math.inf else rest
            for stream in select.select(streams, (), (), patience)[0]:
                data = os.read(stream, _PIECE)
                if not data:
                    streams.remove(stream)
                elif stream == stderr:
                    complaint = (complaint + data)[-LONGEST_COMPLAINT:]
                else:
                    greeting.feed(data)
    if greeting.record is None:
        raise refusal(host, complaint, _end(process))
    return greeting.record


def _end(process: subprocess.Popen[bytes]) -> int:
    """End it, if it has not ended by itself; the exit code of ssh."""
    with suppress(subprocess.TimeoutExpired):
        return process.wait(PATIENCE)
    process.kill()
    return process.wait()
