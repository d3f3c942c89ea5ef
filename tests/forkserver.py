"""Commands in forks of a process that has loaded everything: many starts in little time.

As a program it reads one JSON request a line: the command's words, the text for its standard input,
and a signal that it sends itself at one line of hotenv's code, in any thread (counted from 1; 0 for
never). That can be about a process that it starts instead, known by the function that is called
first there. For each request it writes two lines: the process id and, when nothing of the command
holds its standard error any more, the exit code, the number of hotenv's lines that the process ran,
and what was said.
"""

from __future__ import annotations

import gc
import itertools
import json
import mmap
import os
import select
import signal
import subprocess
import sys
import threading
import traceback
from collections.abc import Callable
from pathlib import Path
from types import FrameType
from typing import NamedTuple, NoReturn, Self

import hotenv
from hotenv.cli import commandline
from hotenv.cli.main import main
from hotenv.exchange import direct
from hotenv.intake import hardening, parsing, reader
from hotenv.serving import detach, process
from hotenv.session import runtime
from hotenv.upkeep import stop

LOADED = (commandline, detach, parsing, direct, hardening, process, reader, stop)
"""What the commands import when they come to it."""

LIMIT = 60.0
"""Seconds until a command that says nothing and does not end is given up."""

_PACKAGE = str(Path(hotenv.__file__).parent)
_LINES = memoryview(mmap.mmap(-1, 8)).cast("Q")  # shared with the forks

_Trace = Callable[[FrameType, str, object], object]


class Ended(NamedTuple):
    """How a command ended."""

    code: int
    lines: int
    words: str


class ForkServer:
    """The program, started in ``directory``."""

    def __init__(self, directory: Path) -> None:
        self._process = subprocess.Popen(
            [sys.executable, __file__],
            cwd=directory,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        self._running = 0

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self._running:
            os.kill(self._running, signal.SIGKILL)
        self._process.communicate()

    def start(
        self,
        *words: str,
        text: str = "",
        at: int = 0,
        signum: int = signal.SIGKILL,
        first: str | None = None,
    ) -> int:
        """Start a command; its process id. For ``first`` see the top of this file."""
        assert self._process.stdin is not None
        print(json.dumps([words, text, at, signum, first]), file=self._process.stdin, flush=True)
        self._running = int(self._answer())
        return self._running

    def end(self) -> Ended:
        """Wait until the command that was started last has ended, and all that it started.

        But for a server in the background.
        """
        ended = Ended(*json.loads(self._answer()))
        self._running = 0
        return ended

    def run(
        self,
        *words: str,
        text: str = "",
        at: int = 0,
        signum: int = signal.SIGKILL,
        first: str | None = None,
    ) -> Ended:
        """Start a command and wait for its end."""
        self.start(*words, text=text, at=at, signum=signum, first=first)
        return self.end()

    def _answer(self) -> str:
        assert self._process.stdout is not None
        return self._process.stdout.readline()


# The program


def _serve() -> None:
    signal.signal(signal.SIGINT, signal.default_int_handler)  # also under nohup, or with "&"
    signal.signal(signal.SIGHUP, signal.SIG_DFL)
    runtime.LOGINS = runtime.SHARED = os.environ["XDG_RUNTIME_DIR"]  # it is alone there
    commandline.build_parser()  # loads the commands, and fills caches
    gc.collect()
    gc.freeze()
    for line in sys.stdin:
        words, text, at, signum, first = json.loads(line)
        _LINES[0] = 0
        stdin, text_end = os.pipe()
        os.write(text_end, text.encode())
        os.close(text_end)
        output, stdout = os.pipe()
        pid = os.fork()
        if not pid:
            os.close(output)
            for descriptor, number in ((stdin, 0), (stdout, 1), (stdout, 2)):
                os.dup2(descriptor, number)
            os.close(stdin)
            os.close(stdout)
            _become(words, at, signum, first)
        os.close(stdin)
        os.close(stdout)
        print(pid, flush=True)
        said = _read(output)
        code = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
        print(json.dumps([code, _LINES[0], said.decode()]), flush=True)


def _read(descriptor: int) -> bytes:
    """Everything until the last process that could write to it has ended."""
    said = b""
    while select.select([descriptor], [], [], LIMIT)[0]:
        piece = os.read(descriptor, 65536)
        if not piece:
            break
        said += piece
    else:
        said += b"Traceback: something of it is still there"
    os.close(descriptor)
    return said


def _become(words: list[str], at: int, signum: int, first: str | None) -> NoReturn:
    code = 1
    measured = sys.gettrace()  # coverage's, if it is measured
    try:
        signal.signal(signal.SIGINT, signal.SIG_DFL)  # as scripts/hotenv-main does
        trace = _signal_at(at, signum, first)
        threading.settrace(trace)  # type: ignore[arg-type]
        sys.settrace(trace)  # type: ignore[arg-type]
        code = main(words)
    except SystemExit as end:
        code = int(end.code or 0)
    except BaseException:  # noqa: ASYNC103 - this process ends here
        traceback.print_exc()
    finally:
        sys.settrace(measured)
        os._exit(code)


def _signal_at(at: int, signum: int, first: str | None) -> _Trace:
    watched = os.getpid() if first is None else 0  # a child inherits the trace
    numbers = itertools.count(1)  # one for all threads

    def enter(frame: FrameType, _event: str, _argument: object) -> object:
        nonlocal watched
        if not frame.f_code.co_filename.startswith(_PACKAGE):
            return None
        if frame.f_code.co_name == first:
            watched = os.getpid()
        return step

    def step(_frame: FrameType, event: str, _argument: object) -> object:
        if event == "line" and os.getpid() == watched:
            _LINES[0] = number = next(numbers)
            if number == at:
                os.kill(watched, signum)
        return step

    return enter


if __name__ == "__main__":
    _serve()
