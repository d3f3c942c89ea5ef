"""What comes of the first session: a directory on the other machine, or an error. Pure."""

from __future__ import annotations

from hotenv.errors import FieldError, HotenvError, SystemFailureError, UnreachableError
from hotenv.printable import printable
from hotenv.remote.destination import FAILED, NO_DESTINATION, NOT_FOUND

LONGEST_COMPLAINT = 4096
"""Bytes of what ssh says that are looked at: the last ones."""

_VERSION = 5


def directory_in(record: bytes, host: str) -> str:
    """The directory that the first record of folder.bash announces.

    Error handling: raises SystemFailureError if bash is too old, or could not make the directory.
    """
    _, version, folder = record.decode(errors="surrogateescape").split(" ", 2)
    if not version.isdigit() or int(version) < _VERSION:
        raise SystemFailureError(
            f"bash on {host} is too old: install version {_VERSION} or newer there"
        )
    if not folder:
        raise SystemFailureError(
            f"cannot make a directory with FIFOs on {host}: that needs Linux, coreutils, and room "
            "in /dev/shm or /tmp"
        )
    return folder


def refusal(host: str, complaint: bytes, code: int) -> HotenvError:
    """The error for a session that did not come about.

    ``complaint``: what ssh says. ``code``: its exit code.
    """
    if code == NOT_FOUND:
        return SystemFailureError(
            f"a login on {host} cannot run bash: install version {_VERSION} or newer there"
        )
    if b"usage: ssh" in complaint:
        return FieldError("host", NO_DESTINATION)
    lines = complaint.decode(errors="replace").split("\n")
    said = [printable(line.strip()) for line in lines if line.strip()]
    reason = said[-1] if said else f"ssh has ended with status {code}, without a word"
    return UnreachableError(f"cannot connect to {host}: {reason} (see 'ssh {host}')")


def no_session(host: str, code: int) -> SystemFailureError:
    """The error for one more session that did not come about. ``code``: that of ssh."""
    if code == FAILED:
        return SystemFailureError(
            f"sshd on {host} allows no more sessions (MaxSessions): a shell needs 4, and one more "
            "for each job whose output is not redirected"
        )
    return SystemFailureError(
        f"cannot start a process on {host} (status {code}): see 'ssh {host}', or open a new shell"
    )


def intrusion(host: str, pid: bytes) -> SystemFailureError:
    """The error for a process there whose output would be taken for that of a command."""
    return SystemFailureError(
        f"process {printable(pid.decode(errors='replace'))} on {host} writes to the output of each "
        "login: have the startup files there redirect its output"
    )
