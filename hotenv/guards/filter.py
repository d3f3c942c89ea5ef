"""The rules of the filter: what a guard means for each system call. Pure.

What is notified is decided by the supervisor. Where there is none, ``otherwise`` says what happens:
a call that Landlock decides goes on, all others fail.
"""

from __future__ import annotations

import errno

from hotenv.guards import syscalls as k
from hotenv.guards.bpf import (
    ALLOW,
    NOTIFY,
    Rule,
    assemble,
    differs,
    equals,
    has_any,
    is_pointer,
    refuse,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from hotenv.guards.bpf import Instruction, Test
    from hotenv.guards.policy import Guard

_EPERM, _ENOSYS = refuse(errno.EPERM), refuse(errno.ENOSYS)

WITHOUT_MEMORY = ("clone3", "io_uring_setup", "io_uring_enter", "io_uring_register")
"""Calls that name what they want in memory. Programs go on without them."""

PRIVILEGED = (
    *("bpf", "fsconfig", "fsmount", "fsopen", "fspick", "mount", "mount_setattr", "move_mount"),
    *("open_by_handle_at", "open_tree", "open_tree_attr", "perf_event_open", "pivot_root"),
    *("umount2", "userfaultfd"),
)
"""Mounts, which would walk around the rules for paths, and what looks into the kernel."""

KEYRINGS = ("add_key", "keyctl", "request_key")

SCHEDULING = ("sched_setaffinity", "sched_setattr", "sched_setparam", "sched_setscheduler")

SIGNALS = (
    *("kill", "tgkill", "tkill", "rt_sigqueueinfo", "rt_tgsigqueueinfo", "pidfd_send_signal"),
)

CHANGES = {
    *("mkdir", "mkdirat", "mknod", "mknodat", "rename", "renameat", "renameat2", "rmdir", "link"),
    *("linkat", "symlink", "symlinkat", "truncate", "unlink", "unlinkat"),
}
"""Changes of the file system that Landlock decides."""

ATTRIBUTES = {
    *("chmod", "fchmod", "fchmodat", "fchmodat2", "chown", "lchown", "fchown", "fchownat"),
    *("utime", "utimes", "futimesat", "utimensat", "file_setattr"),
    *("setxattr", "lsetxattr", "fsetxattr", "setxattrat"),
    *("removexattr", "lremovexattr", "fremovexattr", "removexattrat"),
}
"""Changes that Landlock does not know."""


def build(
    guard: Guard, architecture: str, *, scopes: bool, truncation: bool, notify: bool
) -> list[Instruction]:
    """The program for the kernel.

    ``scopes``, ``truncation``: whether Landlock decides on signals to processes outside, and on
    cutting files off. ``notify``: whether there is a supervisor.
    """
    rules = _rules(guard, scopes=scopes, truncation=truncation)
    return assemble(rules, architecture, notify=notify)


def _rules(guard: Guard, *, scopes: bool, truncation: bool) -> Iterator[Rule]:
    reading = guard.allow_read is not None or bool(guard.deny_read)
    yield from _of_files(guard, truncation=truncation, reading=reading)
    if (reading or guard.strict_imports) and not guard.no_subprocess:
        yield from (_reported(call) for call in ("execve", "execveat"))
    yield from _processes(scopes=scopes)
    yield from _subprocesses(forbidden=guard.no_subprocess)
    yield from _network(guard)
    if guard.allow_domain and not guard.fs_readonly:
        yield _reported("openat", equals(2, 0, k.WRITING | k.O_PATH))
        yield _reported("open", equals(1, 0, k.WRITING | k.O_PATH))
    if guard.allow_localhost or guard.allow_domain:
        yield from _options(k.ROUTES | {k.SOL_SOCKET: (*k.ROUTES[k.SOL_SOCKET], *k.SNDTIMEO)})
    yield from (Rule(call, action=_ENOSYS) for call in WITHOUT_MEMORY)
    yield from (Rule(call, otherwise=_EPERM) for call in (*PRIVILEGED, *KEYRINGS))
    for request in (k.TIOCSTI, k.TIOCLINUX, k.USERFAULTFD_IOC_NEW):
        yield _refused("ioctl", equals(1, request))


def _of_files(guard: Guard, *, truncation: bool, reading: bool) -> Iterator[Rule]:
    """``reading``: whether there are files that are not read."""
    if guard.fs_readonly:
        if not truncation:
            yield from _truncation()
        yield from _files(everything=reading or bool(guard.allow_domain))
    elif guard.deny_read:
        if not truncation:
            yield _refused("truncate")
        yield from _opened(everything=True)
        yield from _changed()
    elif guard.no_terminals:
        yield from _opened(everything=False)


def only_reported(guard: Guard, *, truncation: bool) -> frozenset[str]:
    """The calls whose refusal never depends on the supervisor."""
    rules = list(_rules(guard, scopes=True, truncation=truncation))
    enforced = {rule.call for rule in rules if rule.otherwise != ALLOW}
    return frozenset(rule.call for rule in rules if rule.action == NOTIFY) - enforced


def _refused(call: str, *tests: Test) -> Rule:
    return Rule(call, *tests, otherwise=_EPERM)


def _reported(call: str, *tests: Test) -> Rule:
    """Whatever a supervisor finds, something else decides."""
    return Rule(call, *tests, otherwise=ALLOW)


def _processes(*, scopes: bool) -> Iterator[Rule]:
    """What reaches processes outside in spite of Landlock."""
    yield _refused("unshare", has_any(0, k.NEW_NAMESPACES))
    yield _refused("setns")
    yield _refused("prlimit64", differs(0, 0), is_pointer(2))
    for call, process in (("setpriority", k.PRIO_PROCESS), ("ioprio_set", k.IOPRIO_WHO_PROCESS)):
        yield _refused(call, differs(0, process))
        yield _refused(call, differs(1, 0))
    yield from (_refused(call, differs(0, 0)) for call in SCHEDULING)
    yield _refused("ptrace", equals(0, k.PTRACE_TRACEME))
    if not scopes:
        yield from (_refused(call) for call in SIGNALS)


def _subprocesses(*, forbidden: bool) -> Iterator[Rule]:
    yield _refused("clone", has_any(0, k.CLONE_NEW_NAMESPACES))
    if forbidden:
        yield Rule("clone", has_any(0, k.CLONE_THREAD), action=ALLOW)
        yield from (_refused(call) for call in ("clone", "fork", "vfork", "execve", "execveat"))


def _network(guard: Guard) -> Iterator[Rule]:
    if guard.no_network:
        return _closed_network(with_udp=guard.allow_udp)
    return _network_elsewhere() if guard.no_localhost else _open_network()


def _network_elsewhere() -> Iterator[Rule]:
    """Addresses are decided, and there are only sockets of which they are all that leads away."""
    yield _refused("socket", equals(0, k.AF_UNIX))
    for family, echo in ((k.AF_INET, k.IPPROTO_ICMP), (k.AF_INET6, k.IPPROTO_ICMPV6)):
        for kind, protocols in (
            (k.SOCK_STREAM, (0, k.IPPROTO_TCP)),
            (k.SOCK_DGRAM, (0, k.IPPROTO_UDP, echo)),
        ):
            for protocol in protocols:
                tests = (equals(0, family), equals(1, kind, k.SOCK_TYPE), equals(2, protocol))
                yield Rule("socket", *tests, action=ALLOW)
    yield Rule("socket", equals(0, k.AF_NETLINK), action=ALLOW)
    yield _refused("socket")
    yield from _socket_pairs()
    yield _refused("connect")
    yield _reported("bind")
    yield _refused("sendto", is_pointer(4))
    yield _refused("sendto", has_any(3, k.MSG_FASTOPEN))
    yield from (_refused(call) for call in ("sendmsg", "sendmmsg"))
    yield from _tunnels()
    yield from _options(k.DETOURS)


def _tunnels() -> Iterator[Rule]:
    for request in (k.TUNSETIFF, k.TUNSETQUEUE):
        yield _refused("ioctl", equals(1, request))


def _open_network() -> Iterator[Rule]:
    """Unix sockets only are decided. See ``sockets`` for what the supervisor makes of them."""
    yield _refused("socket", equals(0, k.AF_UNIX))
    yield from _socket_pairs()
    yield from (_reported(call) for call in ("connect", "bind"))


def _closed_network(*, with_udp: bool) -> Iterator[Rule]:
    """TCP sockets exist, and connect only if they are let; those for UDP cannot even send.

    ``with_udp``: unless it is excepted.
    """
    yield _refused("socket", equals(0, k.AF_UNIX))
    for family in (k.AF_INET, k.AF_INET6):
        for protocol in (0, k.IPPROTO_TCP):
            tests = (equals(0, family), equals(1, k.SOCK_STREAM, k.SOCK_TYPE), equals(2, protocol))
            yield Rule("socket", *tests, action=ALLOW, otherwise=_EPERM)
    yield _refused("socket")
    yield from _socket_pairs()
    yield from (_refused(call) for call in ("connect", "bind", "listen"))
    yield _refused("sendto", is_pointer(4))
    for call in ("sendto", "sendmsg", "sendmmsg"):
        yield _refused(call, has_any(3 if call != "sendmsg" else 2, k.MSG_FASTOPEN))
    decided = _refused if with_udp else _reported  # else the kernel does not send to an address
    yield from (decided(call) for call in ("sendmsg", "sendmmsg"))
    yield from _tunnels()
    yield from _options(k.JOINS)


def _options(by_level: Mapping[int, Iterable[int]]) -> Iterator[Rule]:
    for level, options in by_level.items():
        for option in options:
            yield _refused("setsockopt", equals(1, level), equals(2, option))


def _socket_pairs() -> Iterator[Rule]:
    """One for datagrams could send to any address."""
    for kind in (k.SOCK_STREAM, k.SOCK_SEQPACKET):
        tests = (equals(0, k.AF_UNIX), equals(1, kind, k.SOCK_TYPE))
        yield Rule("socketpair", *tests, action=ALLOW)
    yield _refused("socketpair")


def _truncation() -> Iterator[Rule]:
    """A file can be opened for reading only and be cut off all the same."""
    for call, flags in (("open", 1), ("openat", 2)):
        yield _refused(call, equals(flags, k.O_TRUNC, k.O_ACCMODE | k.O_TRUNC))
    yield Rule("openat2", action=_ENOSYS)
    yield _refused("truncate")


def _opened(*, everything: bool) -> Iterator[Rule]:
    """``everything``: whether what is only read is decided too."""
    if everything:
        yield from (_reported(call) for call in ("openat", "open"))
    else:
        yield _reported("openat", has_any(2, k.WRITING))
        yield _reported("open", has_any(1, k.WRITING))
    yield _reported("openat2")


def _changed() -> Iterator[Rule]:
    yield from (_reported(call) for call in ("creat", *sorted(CHANGES)))


def _files(*, everything: bool) -> Iterator[Rule]:
    """``everything``: whether what is only read is decided too."""
    yield from _opened(everything=everything)
    yield from _changed()
    yield from (_refused(call) for call in sorted(ATTRIBUTES))
    yield from (_refused("ioctl", equals(1, request)) for request in k.CHANGING_IOCTLS)
    yield _refused("fcntl", equals(1, k.F_SETLEASE))  # writers would have to wait for its end
