"""Whether a file system keeps the modes and owners of files, as a marker needs."""

from __future__ import annotations

import os
import secrets
import signal
from contextlib import suppress

from hotenv.errors import SystemFailureError, attempt
from hotenv.session import marker

_PRIVATE_FILE = 0o600


def check_file_system(directory: str, path: str) -> None:
    """Raise SystemFailureError unless a marker in ``directory`` would be trusted.

    Some file systems show every file as writable by others, or as another user's. Nothing is left.
    ``path`` is what errors call the marker.
    """
    with attempt(f"create {path}"):
        dir_fd = os.open(directory, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            status = _status_of_new_file(dir_fd)
            try:
                marker.check_trust(status, path)
            except SystemFailureError as error:
                raise SystemFailureError(
                    f"cannot create {path}: file system ({_file_system(dir_fd)}) does not keep "
                    "modes and owners: run 'hotenv serve' on another file system"
                ) from error
        finally:
            os.close(dir_fd)


def _status_of_new_file(dir_fd: int) -> os.stat_result:
    """The status that a private file of ours has in ``dir_fd``. Nothing is left, whatever comes.

    It has no name; where a file must have one, no signal but SIGKILL ends this process meanwhile.
    """
    flags = os.O_RDWR | os.O_CLOEXEC
    if without_name := getattr(os, "O_TMPFILE", 0):
        with suppress(OSError):
            descriptor = os.open(".", flags | without_name, _PRIVATE_FILE, dir_fd=dir_fd)
            return _status_and_close(descriptor)
    name = f"{marker.NAME}.{secrets.token_hex(4)}"
    before = signal.pthread_sigmask(signal.SIG_BLOCK, signal.valid_signals())
    try:
        descriptor = os.open(name, flags | os.O_CREAT | os.O_EXCL, _PRIVATE_FILE, dir_fd=dir_fd)
        try:
            return _status_and_close(descriptor)
        finally:
            os.unlink(name, dir_fd=dir_fd)
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _status_and_close(descriptor: int) -> os.stat_result:
    try:
        os.fchmod(descriptor, _PRIVATE_FILE)
        return os.fstat(descriptor)
    finally:
        os.close(descriptor)


def _file_system(descriptor: int) -> str:
    """The kind of file system of an open file, as the system calls it."""
    device = os.fstat(descriptor).st_dev
    number = f"{os.major(device)}:{os.minor(device)}"
    with (
        suppress(OSError),
        open("/proc/self/mountinfo", encoding="utf-8", errors="replace") as file,
    ):
        for line in file:
            fields, _, kind = line.partition(" - ")
            if fields.split()[2:3] == [number]:
                return kind.split()[0]
    return "unknown"
