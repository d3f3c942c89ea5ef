"""Two users beside root: processes, files and sockets of theirs. For tests that run as root."""

from __future__ import annotations

import fcntl
import os
import socket
import struct
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from hotenv.session.lock import guarded
from processes import LIMIT, said, wait_until

# Other numbers in each run: there is only one /tmp/hotenv-UID on a machine.
VICTIM = 20_000 + os.getpid() % 20_000
STRANGER = VICTIM + 20_000

_AS_USER = """
import ctypes, encodings.unicode_escape, importlib, os, pkgutil, pwd, sys
import hotenv
# All while it is root who reads: the directory of this Python may be closed to other users.
# But the one that needs a library which may not be there.
for module in pkgutil.walk_packages(hotenv.__path__, "hotenv."):
    if module.name not in ("hotenv.__main__", "hotenv.desk.mcp"):
        importlib.import_module(module.name)
from hotenv.cli.main import main
uid = int(sys.argv[1])
os.setgroups([])
os.setgid(uid)
os.setuid(uid)
libc = ctypes.CDLL(None)
libc.prctl(4, 1, 0, 0, 0)  # dumpable, as what the user had started himself
namespace = os.environ.pop("TEST_USER_NAMESPACE", "")
if namespace:
    if libc.unshare(0x10000000):  # CLONE_NEWUSER
        sys.exit(77)
    if namespace == "mapped":
        with open("/proc/self/uid_map", "w") as file:
            file.write(f"{uid} {uid} 1")
sys.exit(main(sys.argv[2:]))
"""


def as_user(uid: int, **env: object) -> list[str]:
    """The command, run by ``uid``, with ``env`` on top of the environment."""
    variables = [f"{name}={value}" for name, value in env.items()]
    return ["env", *variables, sys.executable, "-P", "-c", _AS_USER, str(uid)]


def in_user_namespace(uid: int, *, mapped: bool = False) -> list[str]:
    """The command, run by ``uid`` where no user is mapped, or only that one.

    It exits with 77 where there are no such namespaces.
    """
    return as_user(uid, TEST_USER_NAMESPACE="mapped" if mapped else "no user is mapped")


def ask(
    uid: int, *args: str, cwd: Path, stdin: bytes = b"A=2\n", **env: object
) -> subprocess.CompletedProcess[bytes]:
    """Run a command of ``uid`` to its end."""
    command = [*as_user(uid, **env), *args]
    return subprocess.run(command, cwd=cwd, input=stdin, capture_output=True, timeout=LIMIT)


def refusal(result: subprocess.CompletedProcess[bytes], code: int, *owners: int) -> str:
    """The one line of a command that did nothing but end with ``code`` and name ``owners``."""
    words = said(result)
    assert result.returncode == code, words
    assert [uid for uid in owners if f"uid {uid}" not in words] == [], words
    return words


@contextmanager
def acting_as(uid: int) -> Iterator[None]:
    """This process is one of ``uid`` to the kernel for the length of the block."""
    gid, groups = os.getegid(), os.getgroups()
    os.setgroups([])
    os.setegid(uid)
    os.seteuid(uid)
    try:
        yield
    finally:
        os.seteuid(0)
        os.setegid(gid)
        os.setgroups(groups)


def make_directory(path: Path, owner: int, mode: int) -> Path:
    """A directory of ``owner``."""
    path.mkdir()
    os.chown(path, owner, owner)
    path.chmod(mode)
    return path


def plant(directory: Path, path: Path, owner: int, mode: int) -> Path:
    """A marker of ``owner`` that names ``path``."""
    marker = directory / ".hotenv"
    marker.write_text(f"socket={path}\n")
    os.chown(marker, owner, owner)
    marker.chmod(mode)
    return marker


def session_socket(directory: Path) -> Path:
    """The socket of the session in ``directory``."""
    return Path((directory / ".hotenv").read_text().strip().removeprefix("socket="))


@contextmanager
def listening(path: Path, owner: int) -> Iterator[Callable[[], list[bytes]]]:
    """``owner`` listens and anybody may connect; gives what came, connection by connection."""

    def received() -> list[bytes]:
        pieces = []
        with suppress(BlockingIOError):
            while True:
                connection, _ = listener.accept()
                with connection:
                    pieces.append(connection.recv(100))
        return pieces

    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(path))
        path.chmod(0o666)
        with acting_as(owner):
            listener.listen()
        listener.setblocking(False)
        yield received


@contextmanager
def reading(directory: Path) -> Iterator[subprocess.Popen[bytes]]:
    """A server of the victim's that waits for its standard input, and not any more at the end."""
    command = [*as_user(VICTIM), "serve", "--force"]
    with subprocess.Popen(command, cwd=directory, stdin=subprocess.PIPE) as process:
        try:
            comm = Path(f"/proc/{process.pid}/comm")
            wait_until(lambda: comm.read_text() == "hotenv\n", "serve to take its name")
            yield process
        finally:
            process.kill()


PRIVATE = ["environ", "fd", "maps", "mem"]


def unreadable(pid: int) -> list[str]:
    """What of the process ``pid`` is closed to other processes of the victim's."""
    closed = []
    with acting_as(VICTIM):
        for name in PRIVATE:
            try:
                os.close(os.open(f"/proc/{pid}/{name}", os.O_RDONLY))
            except PermissionError:
                closed.append(name)
    return closed


@contextmanager
def locked(*paths: Path, owner: int = STRANGER) -> Iterator[None]:
    """``owner`` holds every lock of ``paths`` that is to be had by those who may only read them."""
    descriptors = []
    with acting_as(owner):
        for path in paths:
            descriptor = os.open(path, os.O_RDONLY)
            descriptors.append(descriptor)
            fcntl.flock(descriptor, fcntl.LOCK_EX)
            if hasattr(fcntl, "F_OFD_SETLK") and not path.is_dir():
                for byte in range(2):
                    reader = struct.pack("@hhqqi0q", fcntl.F_RDLCK, os.SEEK_SET, byte, 1, 0)
                    with suppress(BlockingIOError):  # the server of the marker has it
                        fcntl.fcntl(descriptor, fcntl.F_OFD_SETLK, reader)
    try:
        yield
    finally:
        for descriptor in descriptors:
            os.close(descriptor)


@contextmanager
def guarding(path: Path, owner: int) -> Iterator[None]:
    """A process of ``owner`` that was stopped holds the guard of the marker at ``path``."""
    with acting_as(owner):
        descriptor = os.open(path, os.O_RDWR)
    try:
        with guarded(descriptor, str(path)):
            yield
    finally:
        os.close(descriptor)
