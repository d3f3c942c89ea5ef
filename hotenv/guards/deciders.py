"""Which part of the supervisor decides which call."""

from __future__ import annotations

from hotenv.guards import filter as filters
from hotenv.guards import syscalls as k
from hotenv.guards.attributes import Attributes
from hotenv.guards.files import Files
from hotenv.guards.listener import BadArgument
from hotenv.guards.processes import Processes
from hotenv.guards.sockets import Sockets
from hotenv.guards.threads import Vanished
from hotenv.guards.verdict import GO_ON, fails

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable

    from hotenv.guards.foresight import Identity
    from hotenv.guards.hosts import NameFiles
    from hotenv.guards.kernel import Kernel
    from hotenv.guards.listener import Call
    from hotenv.guards.policy import Guard
    from hotenv.guards.verdict import Blocked, Verdict


_OPENING = ("open", "openat")


class Deciders:
    """All of them, for one command."""

    def __init__(
        self,
        guard: Guard,
        kernel: Kernel,
        system: Iterable[str],
        inherited: tuple[Collection[Identity], Collection[Identity]],
        started: Callable[[], bool],
        tell: Callable[[Call, Blocked], None],
    ) -> None:
        """``system``: what can be read in any case.

        ``inherited``: what the command gets opened for reading, and for writing. ``started``:
        whether the command was executed. ``tell``: gets what is refused beside the calls; called in
        any thread.
        """
        sockets, names = _network(guard, kernel, tell)
        attributes, processes = Attributes(guard, kernel), Processes(started)
        self._table = _table(
            Files(guard, kernel, system, inherited),
            attributes,
            sockets,
            processes,
        )
        if guard.strict_imports:
            from hotenv.guards import starts

            programs = self._table["execve"]
            self._table["execve"] = lambda call: starts.executed(call) or programs(call)
        if guard.no_subprocess:
            self._table |= dict.fromkeys(("execve", "execveat"), processes.execve)
        self._only_reported = filters.only_reported(guard, truncation=kernel.truncation)
        if names is not None:
            opens = guard.closes_files or guard.no_terminals
            files = self._table["openat"] if opens else lambda _: GO_ON
            opened = {name: lambda call: names.opened(call) or files(call) for name in _OPENING}
            self._table |= opened
        if not kernel.truncation:
            self._table["truncate"] = attributes.truncate

    def decide(self, call: Call) -> Verdict:
        """Decide ``call``. May raise anything if the command wants that."""
        try:
            return self._table[call.name](call)
        except BadArgument as bad:
            return fails(bad.error)
        except Vanished:
            if call.name in self._only_reported:
                return GO_ON  # it cannot be looked at: what the kernel decides is not counted
            raise


def _network(
    guard: Guard, kernel: Kernel, tell: Callable[[Call, Blocked], None]
) -> tuple[Sockets, NameFiles | None]:
    if guard.allow_localhost or guard.allow_domain:
        from hotenv.guards.exceptions import excepting

        return excepting(guard, tell)
    if guard.no_localhost:
        from hotenv.guards.datagrams import Datagrams
        from hotenv.guards.elsewhere import Elsewhere
        from hotenv.guards.later import Later

        later = Later()
        elsewhere = Elsewhere(kernel, later)
        return Sockets(guard, elsewhere=elsewhere, datagrams=Datagrams(elsewhere, later)), None
    return Sockets(guard), None


def _table(
    files: Files, attributes: Attributes, sockets: Sockets, processes: Processes
) -> dict[str, Callable[[Call], Verdict]]:
    """By the name of each call that may be notified, what decides it."""

    def ioctl(call: Call) -> Verdict:
        change = call.arguments[1] & 0xFFFFFFFF in k.CHANGING_IOCTLS
        return attributes.other(call) if change else processes.refuse(call)

    table: dict[str, Callable[[Call], Verdict]] = {"ioctl": ioctl}
    for decide, calls in (
        (processes.refuse, (*filters.PRIVILEGED, *filters.KEYRINGS, "unshare", "setns")),
        (processes.clone, ("clone", "fork", "vfork")),
        (files.executed, ("execve", "execveat")),
        (processes.of_process, ("prlimit64", *filters.SCHEDULING)),
        (processes.of_kind, ("setpriority", "ioprio_set")),
        (processes.trace, ("ptrace",)),
        (processes.kill, filters.SIGNALS),
        (files.opened, ("open", "openat", "openat2", "creat")),
        (files.made, ("mkdir", "mkdirat", "mknod", "mknodat")),
        (files.made, ("link", "linkat", "symlink", "symlinkat")),
        (files.removed, ("unlink", "unlinkat", "rmdir", "rename", "renameat", "renameat2")),
        (files.truncated, ("truncate",)),
        (attributes.chmod, ("chmod", "fchmod", "fchmodat", "fchmodat2")),
        (attributes.chown, ("chown", "lchown", "fchown", "fchownat")),
        (attributes.utime, ("utime", "utimes", "futimesat", "utimensat")),
        (attributes.xattr, ("setxattr", "lsetxattr", "fsetxattr")),
        (attributes.xattr, ("removexattr", "lremovexattr", "fremovexattr")),
        (attributes.other, ("setxattrat", "removexattrat", "file_setattr", "fcntl")),
    ):
        table |= dict.fromkeys(calls, decide)
    return table | {
        "socket": sockets.create,
        "socketpair": sockets.pair,
        "connect": sockets.connect,
        "bind": sockets.bind,
        "listen": sockets.listen,
        "sendto": sockets.sendto,
        "sendmsg": sockets.sendmsg,
        "sendmmsg": sockets.sendmmsg,
        "setsockopt": sockets.option,
    }
