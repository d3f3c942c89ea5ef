"""One start at a time: of several commands that need the same session, one asks its source.

The first holds a lock on a file in the runtime base, and the others wait for it. When it is done,
it writes its exit code into the file and unlinks it: the waiting commands read the result, and
later ones start afresh. If it is killed, the file stays empty, and the next one takes over.
"""

from __future__ import annotations

import hashlib
import os
import time
from contextlib import ExitStack, suppress

from hotenv.durations import format_duration
from hotenv.errors import HotenvError, SystemFailureError, UnreachableError, attempt, kind_of
from hotenv.program import INTERRUPTED
from hotenv.session.lock import BusyError, guarded
from hotenv.session.runtime import make_runtime_base

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

_SUFFIX = ".start"
_DIGITS = 16  # of the name; enough for the projects of one user
_PRIVATE_FILE = 0o600


def start_once(directory: str, timeout: float, start: Callable[[], None]) -> bool:
    """Call ``start`` for ``directory``, unless another process is just doing that.

    Then wait for it, up to ``timeout`` seconds, and take its result. Returns whether ``start`` was
    called.

    Error handling: raises what ``start`` does; if the other one has failed, the kind of error that
    it failed with; UnreachableError if it takes longer.
    """
    path = _path(directory)
    deadline = time.monotonic() + timeout
    while True:
        with ExitStack() as held:
            with attempt(f"open {path}"):
                flags = os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC
                descriptor = os.open(path, flags, _PRIVATE_FILE)
            held.callback(os.close, descriptor)
            try:
                remaining = max(0.0, deadline - time.monotonic())
                held.enter_context(guarded(descriptor, path, timeout=remaining))
            except BusyError:
                raise _too_slow(directory, timeout) from None
            if result := os.read(descriptor, _DIGITS):
                _take(int(result), directory)
                return False
            if _is_named(path, descriptor):
                _record(descriptor, path, start)
                return True


def remove_abandoned(base: str) -> Iterator[str]:
    """Remove what starts that were killed have left in the runtime base; yields the paths."""
    with attempt(f"read the runtime directory {base}"):
        names = sorted(os.listdir(base))
    for path in (os.path.join(base, each) for each in names if each.endswith(_SUFFIX)):
        if _remove_if_free(path):
            yield path


def _remove_if_free(path: str) -> bool:
    ignored = (FileNotFoundError, IsADirectoryError, BusyError)
    with attempt(f"remove {path}"), suppress(*ignored), ExitStack() as held:
        descriptor = os.open(path, os.O_RDWR | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
        held.callback(os.close, descriptor)
        held.enter_context(guarded(descriptor, path, timeout=0.0))
        if _is_named(path, descriptor):
            os.unlink(path)
            return True
    return False


def _path(directory: str) -> str:
    digest = hashlib.sha256(os.fsencode(directory)).hexdigest()
    return os.path.join(make_runtime_base(), digest[:_DIGITS] + _SUFFIX)


def _is_named(path: str, descriptor: int) -> bool:
    """Whether no start has ended between the opening of the file and its lock."""
    try:
        return os.path.samestat(os.lstat(path), os.fstat(descriptor))
    except FileNotFoundError:
        return False


def _record(descriptor: int, path: str, start: Callable[[], None]) -> None:
    code = SystemFailureError.exit_code
    try:
        start()
        code = 0
    except HotenvError as error:
        code = error.exit_code
        raise
    except SystemExit as ended:
        code = int(ended.code or 0)
        raise
    except KeyboardInterrupt:
        code = INTERRUPTED
        raise
    finally:
        with suppress(OSError):  # a full disk: the waiting commands start afresh
            os.write(descriptor, str(code).encode())
        with suppress(OSError):
            os.unlink(path)


def _take(code: int, directory: str) -> None:
    """Fail as the start has failed for which this one has waited."""
    if code:
        how = "was interrupted" if code == INTERRUPTED else f"failed with exit code {code}"
        raise kind_of(code)(
            f"cannot start the session of {directory}: another command's attempt {how}"
        )


def _too_slow(directory: str, timeout: float) -> UnreachableError:
    return UnreachableError(
        f"the session of {directory} is still being started by another command after "
        f"{format_duration(timeout)}: answer its questions, or set session.start-timeout to "
        "wait longer"
    )
