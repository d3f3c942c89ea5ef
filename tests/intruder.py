"""An agent that tries to get at what is kept from it. It runs with Python's own modules only.

The argument is what is outside, as JSON. It prints one line of JSON: the names of the attempts that
have worked, and all that were made.
"""

from __future__ import annotations

import ctypes
import fcntl
import json
import os
import platform
import signal
import socket
import struct
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

LIBC = ctypes.CDLL(None, use_errno=True)
NUMBERS = {
    "x86_64": {"perf_event_open": 298, "bpf": 321, "userfaultfd": 323, "add_key": 248}
    | {"keyctl": 250, "process_vm_readv": 310, "ptrace": 101, "unshare": 272, "chroot": 161}
    | {"mount": 165, "prlimit64": 302, "tgkill": 234, "rt_sigqueueinfo": 129, "setpriority": 141}
    | {"sched_setaffinity": 203, "ioprio_set": 251, "kcmp": 312, "move_pages": 279},
    "aarch64": {"perf_event_open": 241, "bpf": 280, "userfaultfd": 282, "add_key": 217}
    | {"keyctl": 219, "process_vm_readv": 270, "ptrace": 117, "unshare": 97, "chroot": 51}
    | {"mount": 40, "prlimit64": 261, "tgkill": 131, "rt_sigqueueinfo": 138, "setpriority": 140}
    | {"sched_setaffinity": 122, "ioprio_set": 30, "kcmp": 272, "move_pages": 239},
}[platform.machine()] | {
    "io_uring_setup": 425,
    "pidfd_open": 434,
    "pidfd_getfd": 438,
    "pidfd_send_signal": 424,
    "process_madvise": 440,
    "open_tree": 428,
    "fsopen": 430,
}
Address = str | tuple[str, int]
OUTSIDE = json.loads(sys.argv[1])
made: list[str] = []
worked: list[str] = []


def attempt(name: str, action: Callable[..., object], *arguments: object) -> None:
    """It works unless ``action`` returns False, or raises."""
    made.append(name)
    try:
        if action(*arguments) is not False:
            worked.append(name)
    except (OSError, subprocess.SubprocessError):
        pass


def call(name: str, *arguments: object) -> bool:
    """Whether the system call succeeds."""
    given = [ctypes.c_long(each) if isinstance(each, int) else each for each in arguments]
    return int(LIBC.syscall(ctypes.c_long(NUMBERS[name]), *given)) >= 0


def reads(path: str) -> bool:
    """Whether there is something to read."""
    with open(path, "rb", buffering=0) as file:
        return bool(file.read(1))


def writes(path: str) -> bool:
    """Whether something can be written."""
    with open(path, "wb", buffering=0) as file:
        return bool(file.write(b"1"))


def connects(kind: int, address: Address, family: int = socket.AF_UNIX) -> bool:
    """Whether somebody is there and takes it."""
    with socket.socket(family, kind) as one:
        one.settimeout(5)
        one.connect(address)
        one.send(b"x")
    return True


def sends(address: Address, family: int = socket.AF_UNIX) -> bool:
    """Whether a datagram goes to ``address``."""
    with socket.socket(family, socket.SOCK_DGRAM) as one:
        return one.sendto(b"x", address) == 1


def sockets() -> None:
    """By path, through links, through other processes, by another name, abstract."""
    for what, path in OUTSIDE["sockets"].items():
        folder, name = os.path.split(path)
        kinds = {"stream": socket.SOCK_STREAM, "packets": socket.SOCK_SEQPACKET}
        for kind, number in kinds.items():
            attempt(f"{what} {kind}", connects, number, path)
        attempt(f"{what} datagram", sends, path)
        for root in ("self/root", *(f"{pid}/root" for pid in OUTSIDE["processes"].values())):
            to = f"/proc/{root}{path}"
            attempt(f"{what} {root[-8:]}", connects, socket.SOCK_STREAM, to)
        for link, through in ((path, "link"), (folder, f"link/{name}")):
            with suppress(OSError):
                os.symlink(link, "link")
            attempt(f"{what} {through}", connects, socket.SOCK_STREAM, through)
            with suppress(OSError):
                os.unlink("link")
        for verb in (os.link, os.rename):
            attempt(f"{what} {verb.__name__}", verb, path, "moved")
        attempt(f"{what} moved", connects, socket.SOCK_STREAM, "moved")
        attempt(f"{what} removed", os.unlink, path)
        attempt(f"{what} beside", Path(folder, "new").write_text, "x")
        attempt(f"{what} from there", in_folder, folder, name)
    name = "\0" + OUTSIDE["abstract"]
    attempt("abstract", connects, socket.SOCK_STREAM, name)
    attempt("abstract datagram", sends, name)


def in_folder(folder: str, name: str) -> bool:
    """With a relative path."""
    here = os.open(".", os.O_PATH)
    try:
        os.chdir(folder)
        return connects(socket.SOCK_STREAM, name)
    finally:
        os.fchdir(here)
        os.close(here)


def network() -> None:
    """Services of this machine, by each of its addresses."""
    for port in OUTSIDE["ports"]:
        for host in OUTSIDE["addresses"]:
            family = socket.AF_INET6 if ":" in host else socket.AF_INET
            for one in (host, f"::ffff:{host}" if family == socket.AF_INET else host):
                to, of = (one, port), socket.AF_INET6 if ":" in one else socket.AF_INET
                attempt(f"tcp {one}", connects, socket.SOCK_STREAM, to, of)
                attempt(f"udp {one}", sends, to, of)
                attempt(f"connected udp {one}", connects, 2, to, of)
    for other, kind in ((17, 3), (40, 1), (38, 5), (2, 3)):  # packet, vsock, alg, raw
        attempt(f"family {other}", socket.socket, other, kind)


def terminals() -> None:
    """Those of others, and new ones."""
    for path in (OUTSIDE["terminal"], f"/proc/{OUTSIDE['processes']['server']}/fd/0", "/dev/vcs"):
        for flags in (os.O_RDONLY, os.O_WRONLY, os.O_RDWR):
            attempt(f"{path} {flags}", os.open, path, flags | os.O_NOCTTY)
    attempt("new terminal", os.openpty)
    attempt("ptmx", os.open, "/dev/ptmx", os.O_RDWR)
    for descriptor in range(3):
        for request in (0x5412, 0x100005412, 0x541C):  # TIOCSTI, also with high bits; TIOCLINUX
            key = ctypes.create_string_buffer(b"x")
            attempt(
                f"type {descriptor}",
                lambda d=descriptor, r=request, k=key: not LIBC.ioctl(d, ctypes.c_ulong(r), k),
            )


SECRETS = ("environ", "mem", "maps", "smaps", "auxv", "stack", "io", "syscall", "personality")
FOLDERS = ("fd", "root", "cwd", "fdinfo", "map_files", "ns")
SETTINGS = ("oom_score_adj", "clear_refs", "coredump_filter", "comm", "timerslack_ns")


def processes() -> None:
    """Their memory, files and environments; signals and limits."""
    for what, pid in OUTSIDE["processes"].items():
        for name in SECRETS:
            for path in (f"/proc/{pid}/{name}", f"/proc/{pid}/task/{pid}/{name}"):
                attempt(f"{what} {name}", reads, path)
        for name in FOLDERS:
            path = f"/proc/{pid}/{name}"
            attempt(f"{what} {name}", listed, path)
        for name in SETTINGS:
            path = f"/proc/{pid}/{name}"
            attempt(f"{what} set {name}", writes, path)
        traced(what, pid)
        signalled(what, pid)


def listed(path: str) -> bool:
    """Whether a directory of /proc shows anything."""
    for name in os.listdir(path):
        if not path.endswith(("fd", "ns", "map_files")):
            return True
        os.readlink(f"{path}/{name}")
        return True
    return False


def traced(what: str, pid: int) -> None:
    """As debuggers do."""
    attach, seize = 16, 0x4206
    for request in (attach, seize):
        attempt(f"{what} ptrace", call, "ptrace", request, pid, 0, 0)
    buffer = ctypes.create_string_buffer(8)
    vector = struct.pack("@PN", ctypes.addressof(buffer), 8)
    attempt(f"{what} vm", call, "process_vm_readv", pid, vector, 1, vector, 1, 0)
    attempt(f"{what} move_pages", call, "move_pages", pid, 0, None, None, None, 0)
    attempt(f"{what} kcmp", call, "kcmp", os.getpid(), pid, 1, 0, 0)
    pidfd = LIBC.syscall(ctypes.c_long(NUMBERS["pidfd_open"]), ctypes.c_long(pid), 0)
    for number in range(3):
        attempt(f"{what} getfd", call, "pidfd_getfd", pidfd, number, 0)
    attempt(f"{what} madvise", call, "process_madvise", pidfd, vector, 1, 21, 0)
    for signum in (0, signal.SIGUSR1):
        attempt(f"{what} pidfd", call, "pidfd_send_signal", pidfd, signum, None, 0)


def signalled(what: str, pid: int) -> None:
    """Without any effect if it works: 0 only asks."""
    for signum in (0, signal.SIGCONT, signal.SIGURG):
        attempt(f"{what} kill", os.kill, pid, signum)
        attempt(f"{what} tgkill", call, "tgkill", pid, pid, signum)
        if os.getpgid(pid) != os.getpgrp():  # the agent may send itself what it likes
            attempt(f"{what} group", os.killpg, os.getpgid(pid), signum)
    own = ctypes.create_string_buffer(struct.pack("@iii", 0, 0, -1), 128)
    attempt(f"{what} sigqueue", call, "rt_sigqueueinfo", pid, signal.SIGCONT, own)
    limit = struct.pack("@QQ", 2**64 - 1, 2**64 - 1)
    attempt(f"{what} prlimit", call, "prlimit64", pid, 4, limit, None)
    attempt(f"{what} nice", call, "setpriority", 0, pid, 19)
    attempt(f"{what} affinity", os.sched_setaffinity, pid, {0})
    attempt(f"{what} ioprio", call, "ioprio_set", 1, pid, 0)
    attempt(f"{what} owner", owns, pid)


def owns(pid: int) -> bool:
    """Whether the kernel sends ``pid`` a signal for a descriptor of ours."""
    one, other = os.pipe()
    fcntl.fcntl(one, fcntl.F_SETOWN, pid)
    fcntl.fcntl(one, 10, signal.SIGURG)  # F_SETSIG
    fcntl.fcntl(one, fcntl.F_SETFL, fcntl.fcntl(one, fcntl.F_GETFL) | os.O_ASYNC)
    os.write(other, b"x")
    return False  # nobody can see from here: the test looks at who has ended


def kernel() -> None:
    """What looks into it, namespaces and mounts."""
    space = ctypes.create_string_buffer(256)
    for name in ("perf_event_open", "userfaultfd", "io_uring_setup"):
        attempt(name, call, name, space, 0, -1, -1, 0)
    attempt("bpf", call, "bpf", 0, space, 128)
    attempt("add_key", call, "add_key", b"user", b"intruder", b"x", 1, -3)
    attempt("keyctl", call, "keyctl", 0, -3, 1)
    for name, flag in (("user", 0x10000000), ("mount", 0x20000), ("pid", 0x20000000)):
        attempt(f"unshare {name}", call, "unshare", flag)
    attempt("chroot", call, "chroot", b"/")
    attempt("mount", call, "mount", b"none", b".", b"tmpfs", 0, None)
    attempt("open_tree", call, "open_tree", -100, b"/", 1)
    attempt("fsopen", call, "fsopen", b"tmpfs", 0)


def files() -> None:
    """What others left in shared directories, and what is not to be changed."""
    for path in OUTSIDE["read"]:
        attempt(f"read {path}", reads, path)
        attempt(f"list {path}", os.listdir, os.path.dirname(path))
        attempt(f"link {path}", os.link, path, "taken")
    for path in OUTSIDE["write"]:
        attempt(f"write {path}", os.open, path, os.O_WRONLY)
        attempt(f"append {path}", os.open, path, os.O_WRONLY | os.O_APPEND)
        attempt(f"cut {path}", os.truncate, path, 0)
        attempt(f"remove {path}", os.unlink, path)
        attempt(f"rename {path}", os.rename, path, f"{path}.old")
        attempt(f"mode {path}", os.chmod, path, 0o666)
        attempt(f"add {path}", os.open, f"{path}.new", os.O_CREAT | os.O_WRONLY)


def commands() -> Iterator[tuple[list[str], str]]:
    """Other ways to start hotenv, each with what HOTENV_DESK is."""
    main, answers = OUTSIDE["hotenv"], OUTSIDE["sockets"]["answers"]
    yield [*main, "run", "--", "env"], answers
    for words in (
        *(["dump"], ["run", "--", "env"], ["run", "--redact", "--", "env"], ["serve", "--force"]),
        *(["stop"], ["allow"], ["agent", "--", "env"], ["desk", "--list"], ["desk", "allow", "1"]),
    ):
        yield [*main, *words], ""
    yield [OUTSIDE["python"], "-m", "hotenv", "dump"], ""
    for code in ("hotenv.fetch_sync()", "hotenv.fetch_sync(['env'])"):
        yield [OUTSIDE["python"], "-c", f"import hotenv; print(dict({code}))"], ""


def own_hotenv() -> None:
    """Each of them ends with an error."""
    for argv, desk in commands():
        attempt(" ".join(argv), succeeds, argv, desk)


def succeeds(argv: list[str], desk: str) -> bool:
    """Whether a program that gets no input ends with success."""
    env = {**os.environ, "HOTENV_DESK": desk}
    done = subprocess.run(
        argv, env=env, stdin=subprocess.DEVNULL, capture_output=True, timeout=30, check=False
    )
    return done.returncode == 0


def main() -> None:
    """Try all of it."""
    for part in (sockets, network, terminals, processes, kernel, files):
        part()
    if OUTSIDE["hotenv"]:
        own_hotenv()
    print(json.dumps({"worked": worked, "made": made}))


if __name__ == "__main__":
    main()
