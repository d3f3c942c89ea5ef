"""What the kernel is told about each system call (hotenv.guards.filter), call by call."""

from __future__ import annotations

import errno
import socket
from pathlib import Path

import pytest

from bpf import decide
from guarded import LACKING
from hotenv.errors import SystemFailureError
from hotenv.guards import filter as filters
from hotenv.guards import syscalls as k
from hotenv.guards.bpf import ALLOW, KILL, NOTIFY, Rule, assemble, equals, refuse
from hotenv.guards.kernel import this_kernel
from hotenv.guards.policy import Guard

NOTHING = Guard()
NETWORK = Guard(no_network=True)
HOSTS = Guard(allow_domain=["a.example"])
LOCAL = Guard(allow_localhost=True)
ALONE = Guard(no_subprocess=True)
READONLY = Guard(fs_readonly=True)

ELSEWHERE = Guard(no_localhost=True)
HIDDEN = Guard(deny_read=["/a"])
QUIET = Guard(no_terminals=True)

EPERM, ENOSYS = refuse(errno.EPERM), refuse(errno.ENOSYS)
INT = 0x1_0000_0000
"""A bit that an int does not have."""

UDP, STREAM = socket.SOCK_DGRAM, socket.SOCK_STREAM
SOMEWHERE = 0x7F00_0000_0000
"""A pointer whose low half is 0."""


def ask(
    guard: Guard,
    call: str,
    *arguments: int,
    architecture: str = k.X86_64,
    scopes: bool = True,
    truncation: bool = True,
    notify: bool = True,
) -> int:
    """What happens to ``call`` under ``guard``."""
    program = filters.build(
        guard, architecture, scopes=scopes, truncation=truncation, notify=notify
    )
    number = k.NUMBERS[architecture][call]
    return decide(program, k.AUDIT_ARCH[architecture], number, *arguments)


@pytest.mark.parametrize("architecture", [k.X86_64, k.ARM64])
@pytest.mark.parametrize(
    ("guard", "call", "arguments", "with_supervisor", "without"),
    [
        # every guard
        (NOTHING, "clone3", [], ENOSYS, ENOSYS),
        (NOTHING, "io_uring_setup", [], ENOSYS, ENOSYS),
        (NOTHING, "io_uring_enter", [], ENOSYS, ENOSYS),
        (NOTHING, "mount", [], NOTIFY, EPERM),
        (NOTHING, "keyctl", [], NOTIFY, EPERM),
        (NOTHING, "bpf", [], NOTIFY, EPERM),
        (NOTHING, "unshare", [0x10000000], NOTIFY, EPERM),
        (NOTHING, "unshare", [0x80], NOTIFY, EPERM),
        (NOTHING, "unshare", [0x400], ALLOW, ALLOW),
        (NOTHING, "setns", [], NOTIFY, EPERM),
        (NOTHING, "clone", [0x10000000 | 17], NOTIFY, EPERM),
        (NOTHING, "clone", [17], ALLOW, ALLOW),
        (NOTHING, "execve", [], ALLOW, ALLOW),
        (NOTHING, "ioctl", [0, k.TIOCSTI], NOTIFY, EPERM),
        (NOTHING, "ioctl", [0, INT | k.TIOCSTI], NOTIFY, EPERM),
        (NOTHING, "ioctl", [0, k.TIOCLINUX], NOTIFY, EPERM),
        (NOTHING, "ioctl", [0, 0x5401], ALLOW, ALLOW),
        (NOTHING, "ioctl", [0, 0xAA00], NOTIFY, EPERM),  # USERFAULTFD_IOC_NEW
        (NOTHING, "ioctl", [0, 0x4C01], ALLOW, ALLOW),  # LOOP_CLR_FD
        (NOTHING, "fcntl", [0, 1024], ALLOW, ALLOW),  # F_SETLEASE
        (NOTHING, "prlimit64", [0, 7, SOMEWHERE], ALLOW, ALLOW),
        (NOTHING, "prlimit64", [1, 7, 0], ALLOW, ALLOW),
        (NOTHING, "prlimit64", [1, 7, SOMEWHERE], NOTIFY, EPERM),
        (NOTHING, "prlimit64", [INT, 7, SOMEWHERE], ALLOW, ALLOW),
        (NOTHING, "setpriority", [0, 0], ALLOW, ALLOW),
        (NOTHING, "setpriority", [0, 1], NOTIFY, EPERM),
        (NOTHING, "setpriority", [2, 0], NOTIFY, EPERM),
        (NOTHING, "ioprio_set", [1, 0], ALLOW, ALLOW),
        (NOTHING, "ioprio_set", [1, 1], NOTIFY, EPERM),
        (NOTHING, "ioprio_set", [3, 0], NOTIFY, EPERM),
        (NOTHING, "sched_setaffinity", [0], ALLOW, ALLOW),
        (NOTHING, "sched_setaffinity", [1], NOTIFY, EPERM),
        (NOTHING, "sched_setscheduler", [1], NOTIFY, EPERM),
        (NOTHING, "kill", [1], ALLOW, ALLOW),
        (NOTHING, "ptrace", [0], NOTIFY, EPERM),  # PTRACE_TRACEME
        (NOTHING, "ptrace", [16, 1], ALLOW, ALLOW),  # PTRACE_ATTACH
        (NOTHING, "socket", [k.AF_UNIX, STREAM], NOTIFY, EPERM),
        (NOTHING, "socket", [INT | k.AF_UNIX, STREAM], NOTIFY, EPERM),
        (NOTHING, "socket", [k.AF_INET, UDP], ALLOW, ALLOW),
        (NOTHING, "socketpair", [k.AF_UNIX, STREAM], ALLOW, ALLOW),
        (NOTHING, "socketpair", [k.AF_UNIX, k.SOCK_CLOEXEC | STREAM], ALLOW, ALLOW),
        (NOTHING, "socketpair", [k.AF_UNIX, k.SOCK_SEQPACKET], ALLOW, ALLOW),
        (NOTHING, "socketpair", [k.AF_UNIX, UDP], NOTIFY, EPERM),
        (NOTHING, "socketpair", [k.AF_UNIX, socket.SOCK_RAW], NOTIFY, EPERM),
        (NOTHING, "connect", [], NOTIFY, ALLOW),
        (NOTHING, "bind", [], NOTIFY, ALLOW),
        (NOTHING, "listen", [], ALLOW, ALLOW),
        (NOTHING, "openat", [0, 0, k.WRITING], ALLOW, ALLOW),
        (NOTHING, "fchmodat", [], ALLOW, ALLOW),
        # --no-network
        (NETWORK, "socket", [k.AF_UNIX, STREAM], NOTIFY, EPERM),
        (NETWORK, "socket", [k.AF_INET, STREAM, 0], ALLOW, EPERM),
        (NETWORK, "socket", [k.AF_INET, STREAM | k.SOCK_NONBLOCK, 6], ALLOW, EPERM),
        (NETWORK, "socket", [k.AF_INET6, STREAM, 6], ALLOW, EPERM),
        (NETWORK, "socket", [k.AF_INET, STREAM, 262], NOTIFY, EPERM),  # MPTCP
        (NETWORK, "socket", [k.AF_INET, STREAM, 132], NOTIFY, EPERM),  # SCTP
        (NETWORK, "socket", [k.AF_INET, UDP, 0], NOTIFY, EPERM),
        (NETWORK, "socket", [k.AF_INET6, UDP, 17], NOTIFY, EPERM),
        (NETWORK, "socket", [k.AF_INET, socket.SOCK_RAW, 1], NOTIFY, EPERM),
        (NETWORK, "socket", [k.AF_NETLINK, socket.SOCK_RAW, 0], NOTIFY, EPERM),
        (NETWORK, "socket", [17, socket.SOCK_RAW, 0], NOTIFY, EPERM),  # AF_PACKET
        (NETWORK, "socket", [38, k.SOCK_SEQPACKET, 0], NOTIFY, EPERM),  # AF_ALG
        (NETWORK, "socket", [40, STREAM, 0], NOTIFY, EPERM),  # AF_VSOCK
        (NETWORK, "socket", [43, STREAM, 0], NOTIFY, EPERM),  # AF_SMC
        (NETWORK, "socketpair", [k.AF_UNIX, STREAM], ALLOW, ALLOW),
        (NETWORK, "socketpair", [k.AF_UNIX, UDP], NOTIFY, EPERM),
        (NETWORK, "socketpair", [30, STREAM], NOTIFY, EPERM),  # AF_TIPC
        (NETWORK, "connect", [], NOTIFY, EPERM),
        (NETWORK, "bind", [], NOTIFY, EPERM),
        (NETWORK, "listen", [], NOTIFY, EPERM),
        (NETWORK, "sendto", [3, 0, 0, 0, 0], ALLOW, ALLOW),
        (NETWORK, "sendto", [3, 0, 0, 0, SOMEWHERE], NOTIFY, EPERM),
        (NETWORK, "sendto", [3, 0, 0, k.MSG_FASTOPEN, 0], NOTIFY, EPERM),
        (NETWORK, "sendmsg", [3, 0, k.MSG_FASTOPEN], NOTIFY, EPERM),
        (NETWORK, "sendmsg", [3, 0, 0], NOTIFY, ALLOW),
        (NETWORK, "sendmmsg", [3, 0, 1, k.MSG_FASTOPEN], NOTIFY, EPERM),
        (NETWORK, "sendmmsg", [3, 0, 1, 0], NOTIFY, ALLOW),
        (NETWORK, "setsockopt", [3, 0, 35], NOTIFY, EPERM),  # IP_ADD_MEMBERSHIP
        (NETWORK, "setsockopt", [3, 41, 20], NOTIFY, EPERM),  # IPV6_ADD_MEMBERSHIP
        (NETWORK, "setsockopt", [3, 41, 35], ALLOW, ALLOW),
        (NETWORK, "setsockopt", [3, 6, 1], ALLOW, ALLOW),
        (NETWORK, "ioctl", [3, k.TUNSETIFF], NOTIFY, EPERM),
        (NETWORK, "ioctl", [3, k.TUNSETQUEUE], NOTIFY, EPERM),
        (NOTHING, "ioctl", [3, k.TUNSETIFF], ALLOW, ALLOW),
        # --allow-localhost: sockets for TCP are as without it, and cannot choose a route
        (LOCAL, "socket", [k.AF_INET, STREAM, 0], ALLOW, EPERM),
        (LOCAL, "socket", [k.AF_INET, STREAM, 262], NOTIFY, EPERM),
        (LOCAL, "connect", [], NOTIFY, EPERM),
        (LOCAL, "listen", [], NOTIFY, EPERM),
        (LOCAL, "setsockopt", [3, 1, 25], NOTIFY, EPERM),  # SO_BINDTODEVICE
        (LOCAL, "setsockopt", [3, INT | 0, INT | 4], NOTIFY, EPERM),  # IP_OPTIONS
        (LOCAL, "setsockopt", [3, 41, 57], NOTIFY, EPERM),  # IPV6_RTHDR
        (LOCAL, "setsockopt", [3, 6, 30], NOTIFY, EPERM),  # TCP_FASTOPEN_CONNECT
        (LOCAL, "setsockopt", [3, 1, 20], NOTIFY, EPERM),  # SO_SNDTIMEO
        (LOCAL, "setsockopt", [3, 1, 67], NOTIFY, EPERM),  # SO_SNDTIMEO_NEW
        (LOCAL, "setsockopt", [3, 1, 21], ALLOW, ALLOW),  # SO_RCVTIMEO
        (NETWORK, "setsockopt", [3, 0, 4], ALLOW, ALLOW),
        # --allow-domain: who opens /etc/hosts gets another file
        (HOSTS, "connect", [], NOTIFY, EPERM),
        (HOSTS, "setsockopt", [3, 0, 4], NOTIFY, EPERM),
        (HOSTS, "openat", [0, 0, 0], NOTIFY, ALLOW),
        (HOSTS, "openat", [0, 0, INT | 0o2000000], NOTIFY, ALLOW),  # O_CLOEXEC
        (HOSTS, "openat", [0, 0, 1], ALLOW, ALLOW),
        (HOSTS, "openat", [0, 0, k.O_PATH], ALLOW, ALLOW),
        (LOCAL, "openat", [0, 0, 0], ALLOW, ALLOW),
        # --no-localhost
        (ELSEWHERE, "socket", [k.AF_UNIX, STREAM], NOTIFY, EPERM),
        (ELSEWHERE, "socket", [k.AF_INET, STREAM, 0], ALLOW, ALLOW),
        (ELSEWHERE, "socket", [k.AF_INET6, STREAM | k.SOCK_NONBLOCK, 6], ALLOW, ALLOW),
        (ELSEWHERE, "socket", [k.AF_INET, UDP, 0], ALLOW, ALLOW),
        (ELSEWHERE, "socket", [k.AF_INET6, UDP, 17], ALLOW, ALLOW),
        (ELSEWHERE, "socket", [k.AF_INET, UDP, 1], ALLOW, ALLOW),  # ping
        (ELSEWHERE, "socket", [k.AF_INET6, UDP, 58], ALLOW, ALLOW),
        (ELSEWHERE, "socket", [k.AF_INET6, UDP, 1], NOTIFY, EPERM),
        (ELSEWHERE, "socket", [k.AF_INET, STREAM, 262], NOTIFY, EPERM),  # MPTCP
        (ELSEWHERE, "socket", [k.AF_INET, STREAM, 132], NOTIFY, EPERM),  # SCTP
        (ELSEWHERE, "socket", [k.AF_INET, k.SOCK_SEQPACKET, 132], NOTIFY, EPERM),
        (ELSEWHERE, "socket", [k.AF_INET, 6, 33], NOTIFY, EPERM),  # DCCP
        (ELSEWHERE, "socket", [k.AF_INET, UDP, 136], NOTIFY, EPERM),  # UDP-Lite
        (ELSEWHERE, "socket", [k.AF_INET, socket.SOCK_RAW, 1], NOTIFY, EPERM),
        (ELSEWHERE, "socket", [k.AF_NETLINK, socket.SOCK_RAW, 0], ALLOW, ALLOW),
        (ELSEWHERE, "socket", [40, STREAM, 0], NOTIFY, EPERM),  # AF_VSOCK
        (ELSEWHERE, "socket", [17, socket.SOCK_RAW, 0], NOTIFY, EPERM),  # AF_PACKET
        (ELSEWHERE, "socketpair", [k.AF_UNIX, STREAM], ALLOW, ALLOW),
        (ELSEWHERE, "socketpair", [k.AF_UNIX, UDP], NOTIFY, EPERM),
        (ELSEWHERE, "connect", [], NOTIFY, EPERM),
        (ELSEWHERE, "bind", [], NOTIFY, ALLOW),
        (ELSEWHERE, "listen", [], ALLOW, ALLOW),
        (ELSEWHERE, "sendto", [3, 0, 0, 0, 0], ALLOW, ALLOW),
        (ELSEWHERE, "sendto", [3, 0, 0, 0, SOMEWHERE], NOTIFY, EPERM),
        (ELSEWHERE, "sendto", [3, 0, 0, k.MSG_FASTOPEN, 0], NOTIFY, EPERM),
        (ELSEWHERE, "sendmsg", [3, 0, 0], NOTIFY, EPERM),
        (ELSEWHERE, "sendmmsg", [3, 0, 1, 0], NOTIFY, EPERM),
        (ELSEWHERE, "setsockopt", [3, 6, 30], NOTIFY, EPERM),  # TCP_FASTOPEN_CONNECT
        (ELSEWHERE, "setsockopt", [3, 0, 4], NOTIFY, EPERM),  # IP_OPTIONS
        (ELSEWHERE, "setsockopt", [3, 41, 57], NOTIFY, EPERM),  # IPV6_RTHDR
        (ELSEWHERE, "setsockopt", [3, 1, 20], NOTIFY, EPERM),  # SO_SNDTIMEO
        (ELSEWHERE, "setsockopt", [3, 0, 35], ALLOW, ALLOW),  # IP_ADD_MEMBERSHIP
        (ELSEWHERE, "setsockopt", [3, 1, 25], ALLOW, ALLOW),  # SO_BINDTODEVICE
        (ELSEWHERE, "ioctl", [3, k.TUNSETIFF], NOTIFY, EPERM),
        # --deny-read, --no-terminals
        (HIDDEN, "openat", [0, 0, 0], NOTIFY, ALLOW),
        (HIDDEN, "openat2", [], NOTIFY, ALLOW),
        (HIDDEN, "mkdirat", [], NOTIFY, ALLOW),
        (HIDDEN, "execve", [], NOTIFY, ALLOW),
        (HIDDEN, "fchmod", [], ALLOW, ALLOW),
        (HIDDEN & READONLY, "fchmod", [], NOTIFY, EPERM),
        (HIDDEN & READONLY, "openat", [0, 0, 0], NOTIFY, ALLOW),
        (QUIET, "openat", [0, 0, 0], ALLOW, ALLOW),
        (QUIET, "openat", [0, 0, 2], NOTIFY, ALLOW),
        (QUIET, "mkdirat", [], ALLOW, ALLOW),
        (QUIET & HOSTS, "openat", [0, 0, 0], NOTIFY, ALLOW),
        (QUIET & HOSTS, "openat", [0, 0, 1], NOTIFY, ALLOW),
        # --no-subprocess
        (ALONE, "clone", [17], NOTIFY, EPERM),
        (ALONE, "clone", [k.CLONE_THREAD | 0x50F00], ALLOW, ALLOW),
        (ALONE, "clone", [k.CLONE_THREAD << 32 | 17], NOTIFY, EPERM),
        (ALONE, "clone", [k.CLONE_THREAD | 0x10000000], NOTIFY, EPERM),
        (ALONE, "clone3", [], ENOSYS, ENOSYS),
        (ALONE, "execve", [], NOTIFY, EPERM),
        (ALONE, "execveat", [], NOTIFY, EPERM),
        # --fs-readonly
        (Guard(fs_readonly=True, allow_read=["/"]), "execve", [], NOTIFY, ALLOW),
        (Guard(fs_readonly=True, allow_read=["/"]) & ALONE, "execve", [], NOTIFY, EPERM),
        (READONLY, "openat", [0, 0, 0], ALLOW, ALLOW),
        (READONLY, "openat", [0, 0, 1], NOTIFY, ALLOW),
        (READONLY, "openat", [0, 0, 2], NOTIFY, ALLOW),
        (READONLY, "openat", [0, 0, k.O_CREAT], NOTIFY, ALLOW),
        (READONLY, "openat", [0, 0, k.O_TRUNC], NOTIFY, ALLOW),
        (READONLY, "openat2", [], NOTIFY, ALLOW),
        (READONLY, "mkdirat", [], NOTIFY, ALLOW),
        (READONLY, "truncate", [], NOTIFY, ALLOW),
        (READONLY, "fchmod", [], NOTIFY, EPERM),
        (READONLY, "fchmodat2", [], NOTIFY, EPERM),
        (READONLY, "fchownat", [], NOTIFY, EPERM),
        (READONLY, "utimensat", [], NOTIFY, EPERM),
        (READONLY, "setxattrat", [], NOTIFY, EPERM),
        (READONLY, "file_setattr", [], NOTIFY, EPERM),
        (READONLY, "ioctl", [0, 0x40086602], NOTIFY, EPERM),  # FS_IOC_SETFLAGS
        (READONLY, "ioctl", [0, INT | 0x401C5820], NOTIFY, EPERM),  # FS_IOC_FSSETXATTR
        (READONLY, "ioctl", [0, 0x40047211], NOTIFY, EPERM),  # FAT_IOCTL_SET_ATTRIBUTES
        (READONLY, "ioctl", [0, 0x5000940E], NOTIFY, EPERM),  # BTRFS_IOC_SUBVOL_CREATE
        (READONLY, "ioctl", [0, 0x5000943F], NOTIFY, EPERM),  # BTRFS_IOC_SNAP_DESTROY_V2
        (READONLY, "ioctl", [0, 0x40049409], ALLOW, ALLOW),  # FICLONE, into what is writable
        (READONLY, "ioctl", [0, 0x4C00], NOTIFY, EPERM),  # LOOP_SET_FD
        (READONLY, "ioctl", [0, 0x4C0A], NOTIFY, EPERM),  # LOOP_CONFIGURE
        (READONLY, "ioctl", [0, 0x4C82], NOTIFY, EPERM),  # LOOP_CTL_GET_FREE, which makes it
        (READONLY, "ioctl", [0, 0x4C05], ALLOW, ALLOW),  # LOOP_GET_STATUS64
        (READONLY, "ioctl", [0, k.TIOCSTI], NOTIFY, EPERM),
        (READONLY, "fcntl", [0, 1024, 0], NOTIFY, EPERM),  # F_SETLEASE
        (READONLY, "fcntl", [0, INT | 1024, 0], NOTIFY, EPERM),
        (READONLY, "fcntl", [0, 1025], ALLOW, ALLOW),  # F_GETLEASE
        (Guard(fs_readonly=True, allow_read=[]), "openat", [0, 0, 0], NOTIFY, ALLOW),
    ],
)
def test_calls(
    guard: Guard,
    call: str,
    arguments: list[int],
    with_supervisor: int,
    without: int,
    architecture: str,
) -> None:
    """Each call, where the supervisor can be notified and where it cannot."""
    assert ask(guard, call, *arguments, architecture=architecture) == with_supervisor
    assert ask(guard, call, *arguments, architecture=architecture, notify=False) == without


@pytest.mark.parametrize("call", ["fork", "vfork"])
def test_calls_of_x86_64_only(call: str) -> None:
    """Arm has clone for all of them."""
    assert ask(NOTHING, call) == ALLOW
    assert ask(ALONE, call) == NOTIFY
    assert call not in k.NUMBERS[k.ARM64]


def test_old_calls_for_files() -> None:
    """Those without a directory are decided like those with one."""
    for call in ("open", "creat", "mkdir", "unlink", "chmod", "chown", "utime"):
        assert ask(READONLY, call, 0, k.WRITING) == NOTIFY
    assert ask(READONLY, "open", 0, 0) == ALLOW


@pytest.mark.parametrize("call", filters.SIGNALS)
def test_signals_without_scopes(call: str) -> None:
    """Where Landlock does not decide on signals, the supervisor does."""
    assert ask(NOTHING, call, scopes=True) == ALLOW
    assert ask(NOTHING, call, scopes=False) == NOTIFY
    assert ask(NOTHING, call, scopes=False, notify=False) == EPERM


def test_truncation_without_landlock() -> None:
    """Where Landlock does not know it, no file is cut off through what is opened for reading."""
    assert ask(READONLY, "openat", 0, 0, k.O_TRUNC, truncation=False, notify=False) == EPERM
    assert ask(READONLY, "open", 0, k.O_TRUNC, truncation=False, notify=False) == EPERM
    assert ask(READONLY, "openat", 0, 0, k.O_TRUNC | 1, truncation=False, notify=False) == ALLOW
    assert ask(READONLY, "truncate", truncation=False, notify=False) == EPERM
    assert ask(READONLY, "openat2", truncation=False) == ENOSYS
    assert ask(HIDDEN, "truncate", truncation=False, notify=False) == EPERM
    assert ask(HIDDEN, "openat", 0, 0, k.O_TRUNC, truncation=False, notify=False) == ALLOW


@pytest.mark.parametrize("guard", [NOTHING, NETWORK, ALONE, READONLY])
def test_other_architectures(guard: Guard) -> None:
    """A 32-bit call ends the process, and those of x32 are not there."""
    for architecture, other in ((k.X86_64, 0x40000003), (k.ARM64, 0x40000028)):
        program = filters.build(guard, architecture, scopes=True, truncation=True, notify=True)
        assert decide(program, other, 1) == KILL
    program = filters.build(guard, k.X86_64, scopes=True, truncation=True, notify=True)
    for number in (0, 512, k.NUMBERS[k.X86_64]["socket"]):
        assert decide(program, k.AUDIT_ARCH[k.X86_64], k.X32_BIT | number) == ENOSYS


def test_long_blocks() -> None:
    """A call with many rules is passed over by those behind it."""
    rules = [Rule("socket", equals(0, each)) for each in range(200)]
    program = assemble([*rules, Rule("connect")], k.X86_64, notify=True)
    numbers, arch = k.NUMBERS[k.X86_64], k.AUDIT_ARCH[k.X86_64]
    assert decide(program, arch, numbers["connect"]) == NOTIFY
    assert decide(program, arch, numbers["socket"], 199) == NOTIFY
    assert decide(program, arch, numbers["socket"], 200) == ALLOW


def test_numbers() -> None:
    """The numbers of the machine that this runs on are those that its C library has."""
    header = Path("/usr/include/x86_64-linux-gnu/asm/unistd_64.h")
    if not header.exists():
        pytest.skip("no kernel headers for x86-64 are installed")
    lines = [line.split() for line in header.read_text().splitlines()]
    known = {
        words[1].removeprefix("__NR_"): int(words[2])
        for words in lines
        if len(words) == 3 and words[0] == "#define" and words[1].startswith("__NR_")
    }
    ours = k.NUMBERS[k.X86_64]
    assert {name: ours[name] for name in ours if name in known} == {
        name: known[name] for name in ours if name in known
    }
    assert len(set(ours) & set(known)) > len(ours) - 10  # the newest


def test_what_does_not_depend_on_the_supervisor() -> None:
    """It may let the kernel go on with these, and with no other."""
    rooted = Guard(fs_readonly=True, allow_read=["/"])
    found = filters.only_reported(rooted, truncation=True)
    assert {"openat", "mkdir", "rename", "execve", "connect", "bind"} <= found
    assert not found & {"fchmod", "setxattr", "socket", "clone", "ptrace", "ioctl", "fcntl"}
    assert not filters.only_reported(rooted, truncation=False) & {"open", "openat", "truncate"}
    assert "execve" not in filters.only_reported(rooted & ALONE, truncation=True)
    assert not filters.only_reported(NETWORK, truncation=True)
    assert filters.only_reported(ELSEWHERE, truncation=True) == {"bind"}
    assert {"openat", "rename", "truncate"} <= filters.only_reported(HIDDEN, truncation=True)


def test_guards_are_tested() -> None:
    """Where the kernel has what they need, the tests of guards are not skipped in silence."""
    try:
        kernel = this_kernel()
    except SystemFailureError as error:
        pytest.skip(str(error))
    if not kernel.referring:
        pytest.skip("this kernel lacks Landlock 2")
    assert LACKING == ""
