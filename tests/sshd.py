"""A real sshd on the loopback, for another user than the one who tests. For tests that run as root.

It leaves nothing in /etc: it has mounts of its own, with other users in /etc/passwd.
"""

from __future__ import annotations

import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import cache
from pathlib import Path

import pytest

from hotenv.shell.processes import descendants, is_running
from processes import LIMIT, wait_until

LOGIN = 10_000 + os.getpid() % 10_000
"""The user ID of all who log in: another one in each run."""

PASSWORD = "open sesame"
_HASH = (
    "$6$hotenv$i1gdmyzR2HRdWyAK/OITrX.vpcpUt0ShCyIb44e86iPRTRBbYeS3YY9tkBOwfhr3"
    "WUVpl2k9DnxNw9q5QVzqT1"
)

_SHELLS = {
    **dict.fromkeys(("box", "noisy", "spare"), "/bin/bash"),
    "dash": "/bin/sh",
    "sealed": "{base}/sealed-shell",
}
"""The users, each with a host of that name, and their login shells."""

_NOISE = "echo Welcome to this machine; echo Be careful >&2\n"

_SPARE = (
    "basename cat chmod cp cut date dd dirname echo env expr false head id ln ls mkdir mkfifo "
    "mktemp mv nohup od printf pwd readlink rm rmdir seq sleep sort stat stty sync tail tee test "
    "timeout touch tr true tty uname wc"
)
"""What there is of coreutils on the host ``spare``, which has nothing else but bash."""

_SSHD_CONFIG = """
HostKey {base}/host
AuthorizedKeysFile {base}/user.pub
StrictModes no
UsePAM no
PrintMotd no
PrintLastLog no
Match User spare
    SetEnv PATH={base}/spare-bin
"""

_SSH_CONFIG = """
Host password
    PubkeyAuthentication no
    NumberOfPasswordPrompts 1
Host unknown
    HostKeyAlias unknown
    StrictHostKeyChecking ask
Host refused
    Port {refused}
Host shared
    ControlMaster auto
    ControlPath {base}/master
    ControlPersist yes
Host *
    HostName 127.0.0.1
    Port {port}
    User box
    HostKeyAlias known
    UserKnownHostsFile {base}/known_hosts
    GlobalKnownHostsFile /dev/null
    StrictHostKeyChecking yes
    IdentityFile {base}/user
    IdentitiesOnly yes
    IdentityAgent none
"""

_ENTER = """
mount --bind {base}/passwd /etc/passwd
for place in /run /var/log; do mount -t tmpfs -o mode=755 none $place; done
mkdir /run/sshd
exec "$@"
"""

_INETD = """
import socket, subprocess, sys
with socket.socket(fileno=int(sys.argv[1])) as listener:
    while True:
        with listener.accept()[0] as connection:
            subprocess.Popen(sys.argv[2:], stdin=connection, stdout=connection)
"""

_SSHD = "/usr/sbin/sshd"
_SSH = shutil.which("ssh") or ""


class Remote:
    """A machine that ``ssh`` reaches as the host ``box``, and in other ways by other names.

    ``noisy`` prints words at login, ``spare`` has nothing but bash and coreutils, ``dash`` has sh
    as login shell, and on ``sealed`` nobody can write to a file. ``password`` asks for PASSWORD,
    ``unknown`` has a key that is not known, ``refused`` refuses connections, and ``shared`` has a
    ControlMaster of the user's own, which outlives those who use it.
    """

    def __init__(self, base: Path, inetd: subprocess.Popen[bytes]) -> None:
        self.bin = base / "bin"
        """A directory with the ``ssh`` that knows these hosts."""
        self._base = base
        self._inetd = inetd

    def home(self, user: str = "box") -> Path:
        """The home directory of a user."""
        return self._base / user

    def log(self) -> str:
        """What sshd has to say."""
        return (self._base / "sshd.log").read_text()

    def processes(self) -> set[int]:
        """All processes of those who have logged in, among them those of sshd."""
        return set(_processes())

    def commands(self) -> set[int]:
        """The same without those of sshd."""
        return self.processes() - self.connections()

    def connections(self) -> set[int]:
        """The processes of sshd that run as a user: one for each connection."""
        return {pid for pid, name in _processes().items() if name == "sshd"}

    def signal(self, number: signal.Signals) -> None:
        """Send a signal to the sshd of each connection: SIGKILL cuts it, SIGSTOP stops it."""
        for pid in self.connections():
            os.kill(pid, number)

    def left(self) -> list[Path]:
        """What there is of those who have logged in where everybody may write."""
        places = [Path(each) for each in ("/dev/shm", "/tmp", "/var/tmp")]
        found = []
        for path in (path for place in places if place.exists() for path in place.iterdir()):
            with suppress(FileNotFoundError):  # it has just gone
                if path.lstat().st_uid == LOGIN:
                    found.append(path)
        return found

    def end(self) -> None:
        """Kill what is there, and remove what it has left."""
        monitors = descendants(self._inetd.pid)
        self._inetd.kill()

        def is_over() -> bool:
            there = self.processes() | set(filter(is_running, monitors))
            for pid in there:
                with suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
            return not there

        wait_until(is_over, "the end of those who have logged in")
        for path in self.left():
            shutil.rmtree(path) if path.is_dir() else path.unlink()


def _processes() -> dict[int, str]:
    """The processes of ``LOGIN`` that have not ended, and their names."""
    found = {}
    for path in Path("/proc").glob("[0-9]*/status"):
        with suppress(OSError):  # it has ended meanwhile
            lines = dict(line.split(":\t", 1) for line in path.read_text().splitlines())
            if lines["Uid"].split()[0] == str(LOGIN) and lines["State"][0] not in "ZX":
                found[int(path.parent.name)] = lines["Name"]
    return found


def _furnish(base: Path, port: int, refused: int) -> None:
    """Write what sshd and ssh read."""
    base.chmod(0o755)
    for key in ("host", "user"):
        keygen = ["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(base / key)]
        subprocess.run(keygen, check=True)
    (base / "known_hosts").write_text(f"known {(base / 'host.pub').read_text()}")
    users = Path("/etc/passwd").read_text()
    for user, login_shell in _SHELLS.items():
        (base / user).mkdir(mode=0o700)
        os.chown(base / user, LOGIN, LOGIN)
        users += f"{user}:{_HASH}:{LOGIN}:{LOGIN}::{base / user}:{login_shell.format(base=base)}\n"
    (base / "passwd").write_text(users)
    (base / "noisy" / ".bashrc").write_text(_NOISE)
    (base / "sshd_config").write_text(_SSHD_CONFIG.format(base=base))
    hosts = "".join(f"Host {user}\n    User {user}\n" for user in _SHELLS)
    config = hosts + _SSH_CONFIG.format(base=base, port=port, refused=refused)
    (base / "ssh_config").write_text(config)
    for directory in ("bin", "spare-bin"):
        (base / directory).mkdir()
    _program(base / "bin" / "ssh", f'exec {_SSH} -F {base}/ssh_config "$@"')
    _program(base / "sealed-shell", 'ulimit -f 0 && exec /bin/bash "$@"')
    for program in filter(shutil.which, ["bash", *_SPARE.split()]):
        (base / "spare-bin" / program).symlink_to(shutil.which(program) or "")


def _program(path: Path, script: str) -> None:
    path.write_text(f"#!/bin/sh\n{script}\n")
    path.chmod(0o755)


@contextmanager
def _listening() -> Iterator[Remote]:
    base = Path(tempfile.mkdtemp(prefix="hs", dir="/tmp"))
    with socket.socket() as deaf:
        deaf.bind(("127.0.0.1", 0))
        with socket.create_server(("127.0.0.1", 0)) as listener:
            _furnish(base, listener.getsockname()[1], deaf.getsockname()[1])
            process = _start(base, listener.fileno())
        with process:
            remote = Remote(base, process)
            try:
                yield remote
            finally:
                ssh = [str(remote.bin / "ssh"), "-O", "exit", "shared"]
                subprocess.run(ssh, capture_output=True, timeout=LIMIT)
                remote.end()
                shutil.rmtree(base)


def _start(base: Path, listener: int) -> subprocess.Popen[bytes]:
    enter = ["unshare", "--mount", "sh", "-ec", _ENTER.format(base=base), "sh"]
    inetd = [sys.executable, "-I", "-S", "-c", _INETD, str(listener)]
    sshd = [_SSHD, "-i", "-e", "-f", str(base / "sshd_config")]
    with open(base / "sshd.log", "wb") as log:
        return subprocess.Popen(
            [*enter, *inetd, *sshd], stdin=subprocess.DEVNULL, stderr=log, pass_fds=[listener]
        )


@cache
def _lacking() -> str:
    """Why nobody can log in here; empty if somebody can."""
    if os.geteuid() != 0:
        return "only root can be the sshd of another user"
    for tool in (_SSHD, "bash", "mount", "ssh", "ssh-keygen", "unshare"):
        if not shutil.which(tool):
            return f"{tool} is not installed"
    if _processes():
        return f"there is a user {LOGIN} here already, whose processes would be killed"
    with _listening() as remote:
        words = [str(remote.bin / "ssh"), "box", "true"]
        done = subprocess.run(
            words, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=LIMIT
        )
        reasons = f"{remote.log()}{done.stderr}".splitlines()
    return f"nobody can log in to an sshd here: {reasons[:1]}" if done.returncode else ""


@pytest.fixture
def machine(monkeypatch: pytest.MonkeyPatch) -> Iterator[Remote]:
    """Another machine, as far as ssh can tell, which is the first ``ssh`` on PATH."""
    if _lacking():
        pytest.skip(_lacking())
    with _listening() as remote:
        monkeypatch.setenv("PATH", f"{remote.bin}:{os.environ['PATH']}")
        for name in ("DISPLAY", "SSH_ASKPASS", "SSH_ASKPASS_REQUIRE", "SSH_AUTH_SOCK"):
            monkeypatch.delenv(name, raising=False)
        yield remote
