"""Starts the desk of an agent, which ends with it."""

from __future__ import annotations

import os
import subprocess
import sys

from hotenv.desk import process
from hotenv.errors import SystemFailureError, attempt
from hotenv.handover.standin import decode_error

TYPE_CHECKING = False
if TYPE_CHECKING:
    from hotenv.desk.settings import Settings

_LONGEST = 4096  # bytes of what it says
_MEASURING = "COVERAGE_"


def start_desk(settings: Settings) -> int:
    """Start it; a descriptor that keeps it, in whatever process that is open.

    Error handling: raises the HotenvError because of which it did not start.
    """
    text = settings.encode()
    with attempt("start the desk"):
        reading, life = os.pipe()
        ready, writing = os.pipe()
        try:
            desk = subprocess.Popen(  # noqa: S603 - our own words
                [sys.executable, "-I", "-m", process.__name__],
                stdin=reading,
                stdout=writing,
                stderr=subprocess.DEVNULL,
                cwd="/",
                env=_environment(),
                start_new_session=True,
            )
        finally:
            os.close(reading)
            os.close(writing)
        try:
            _write(life, len(text).to_bytes(process.SIZE, sys.byteorder) + text)
            said = os.read(ready, _LONGEST)
        except BrokenPipeError:
            said = b""
        finally:
            os.close(ready)
    if said != process.READY:
        os.close(life)
        desk.wait()
        raise decode_error(said) if said else SystemFailureError("the desk has not started")
    desk.returncode = 0  # nobody waits for it: it ends after this process, or with it
    return life


def _environment() -> dict[str, str]:
    """What finds a session and a state directory, as this process would, or measures a program.

    Nothing of the linker's: the agent could put a library where that looks, for the next command.
    """
    names = ("HOME", "LANG", "PATH", "TMPDIR", "XDG_RUNTIME_DIR", "XDG_STATE_HOME")
    return {
        name: value
        for name, value in os.environ.items()
        if name in names or name.startswith(_MEASURING)
    }


def _write(descriptor: int, data: bytes) -> None:
    rest = memoryview(data)
    while rest:
        rest = rest[os.write(descriptor, rest) :]
