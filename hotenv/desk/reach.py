"""What is out of the reach of an agent: what people rely on, and values that lie around."""

from __future__ import annotations

import os
import pwd
import shutil
import sys

from hotenv.desk.hardlinks import HardLinks, linked_files
from hotenv.desk.programs import steps_to
from hotenv.errors import UsageError
from hotenv.guards.fields import is_within
from hotenv.handover.wellknown import ESSENTIALS
from hotenv.redaction.redactor import Redactor
from hotenv.redaction.values import is_everywhere
from hotenv.session.runtime import runtime_bases
from hotenv.session.state import state_directory

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

_ELSEWHERE = "install hotenv elsewhere, for instance with pipx"
_COPIES = "install hotenv with copies of its files (with uv: --link-mode copy)"


def homes() -> list[str]:
    """The directory that HOME names, and that of the user, if it is another one.

    Error handling: raises UsageError if HOME is not an absolute path.
    """
    named = os.environ.get("HOME")
    if named is not None and not os.path.isabs(named):
        raise UsageError("HOME must be an absolute path: set it, or unset it")
    try:
        of_user = pwd.getpwuid(os.getuid()).pw_dir
    except KeyError:  # the user has no entry
        of_user = named or "/"
    return list(dict.fromkeys([named or of_user, of_user]))


def private_directories() -> list[str]:
    """Where hotenv keeps sockets and state: no agent has to read, or to lock, anything there."""
    return [*runtime_bases(), _state()]


def check_reach(writable: Sequence[str], sockets: Sequence[str], audit: str) -> None:
    """Raise UsageError if an agent would reach what is out of reach.

    ``writable``: directories in which it can write, and ``sockets``: in which it can connect to
    sockets. ``audit``: the path of its log.
    """
    log = "the audit log", audit, "name a file elsewhere with --audit"
    for what, path, remedy in (*_out_of_reach(), log):
        for each in writable:
            if _can_change(path, each):
                raise UsageError(f"an agent that can write to {each} could change {what}: {remedy}")
    _check_links(HardLinks(writable))
    _check_sockets(sockets)


def _check_links(links: HardLinks) -> None:
    for directory in _code():
        for path, status in linked_files(directory):
            if status in links:
                raise UsageError(
                    f"an agent could change {path}, a part of hotenv, which is a hard link to a "
                    f"file that it can write to: {_COPIES}"
                )


def _check_sockets(sockets: Sequence[str]) -> None:
    for base in map(os.path.realpath, runtime_bases()):
        for each in sockets:
            if is_within(base, [each]) or is_within(each, [base]):
                raise UsageError(
                    f"an agent that can connect to the sockets in {each} could answer its own "
                    "questions: name a socket"
                )


def _can_change(path: str, directory: str) -> bool:
    """Whether who can write to ``directory`` can change ``path``, or put something in its place."""
    above = (os.path.dirname(step) for step in steps_to(path))
    return is_within(os.path.realpath(path), [directory]) or any(
        is_within(each, [directory]) for each in above
    )


def without_values(
    environment: Mapping[bytes, bytes], variables: Mapping[str, str]
) -> dict[bytes, bytes]:
    """``environment`` without the values of ``variables``, whatever their names are there.

    They are in it if it comes from ``hotenv run``, and a URL may have one inside. What no program
    can do without stays.
    """
    own = {(name.encode(), value.encode()) for name, value in variables.items()}
    values = {value.encode() for value in variables.values() if not is_everywhere(value)}
    redactor = Redactor(variables)
    kept = {name.encode() for name in ESSENTIALS}
    return {
        name: value
        for name, value in environment.items()
        if name in kept
        or not ((name, value) in own or value in values or redactor.redact(value) != value)
    }


def _out_of_reach() -> Iterator[tuple[str, str, str]]:
    """What it is, where, and what to do."""
    for home in homes():
        yield f"what your shell reads, in {home}", home, "use a directory below that"
    for base in runtime_bases():
        yield f"the sockets of hotenv, in {base}", base, "use a directory that is not above that"
    yield f"what hotenv keeps, in {_state()}", _state(), "set XDG_STATE_HOME to another directory"
    for path in (*_code(), sys.prefix, sys.base_prefix, sys.executable):
        yield f"hotenv itself, in {path}", path, _ELSEWHERE
    for path in filter(None, (shutil.which("hotenv"), shutil.which(sys.argv[0]))):
        yield f"the command {path}", path, "take its directory out of your PATH"


def _code() -> list[str]:
    """Where the code of hotenv is loaded from, and what Python loads beside it.

    A project that is installed in the same environment to be edited is there, too, and with it
    what Python loads at each start.
    """
    package = os.path.dirname(os.path.dirname(__file__))
    return list(dict.fromkeys([package, *filter(os.path.isabs, sys.path)]))


def _state() -> str:
    return os.path.dirname(state_directory("agent"))
