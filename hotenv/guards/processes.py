"""Processes: those that the command may not start, and those outside that it may not reach."""

from __future__ import annotations

import errno
import os

from hotenv.guards import syscalls as k
from hotenv.guards.foresight import Place
from hotenv.guards.paths import open_path, real_path
from hotenv.guards.threads import Vanished, status_of
from hotenv.guards.verdict import ANY, DONE, GO_ON, NO_SUBPROCESS, Blocked, Verdict, fails, refused
from hotenv.lightweight import signal

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from hotenv.guards.listener import Call

_LONGEST_LINE = 1000  # processes from one to the next parent


class Processes:
    """Decides the calls that have to do with processes.

    ``started``: whether the command has been executed; until then it may be, after that nothing.
    """

    def __init__(self, started: Callable[[], bool]) -> None:
        self._started = started

    def clone(self, call: Call) -> Verdict:
        """clone(2), fork(2), vfork(2) of a process; clone(2) with a new namespace."""
        if call.name == "clone" and call.arguments[0] & k.CLONE_NEW_NAMESPACES:
            return refused(Blocked(ANY, "namespace"))
        return refused(Blocked(NO_SUBPROCESS, "fork"))

    def execve(self, call: Call) -> Verdict:
        """execve(2), execveat(2): once."""
        if not self._started():
            return GO_ON
        is_at = call.name == "execveat"
        path = call.text(call.arguments[1 if is_at else 0])
        if path:  # without one, the program is a descriptor
            try:
                program = open_path(call, call.integer(0) if is_at else k.AT_FDCWD, path)
            except OSError as error:
                return fails(error.errno or errno.ENOENT)
            executable = Place(real_path(program), os.fstat(program)).may_execute()
            os.close(program)
            if not executable:
                return fails(errno.EACCES)
        return refused(Blocked(NO_SUBPROCESS, "exec", path=os.fsdecode(path)))

    def of_process(self, call: Call) -> Verdict:
        """prlimit64(2) and sched_*(2) of another process or thread."""
        return self._inside(call, call.integer(0))

    def of_kind(self, call: Call) -> Verdict:
        """setpriority(2), ioprio_set(2): of a process, or of more than one."""
        process = {"setpriority": 0, "ioprio_set": 1}[call.name]
        if call.integer(0) == process:
            return self._inside(call, call.integer(1))
        return refused(Blocked(ANY, call.name))

    def _inside(self, call: Call, process: int) -> Verdict:
        if is_inside(process):
            return GO_ON  # the kernel has its number from a register too
        if not os.path.exists(f"/proc/{process}"):
            return fails(errno.ESRCH)
        return refused(Blocked(ANY, call.name, pid=str(process)))

    def trace(self, call: Call) -> Verdict:
        """ptrace(2) that makes the parent the tracer: hotenv would leave the process stopped."""
        if int(status_of(call.thread)["PPid"]) == os.getpid():
            return refused(Blocked(ANY, "ptrace"))
        return GO_ON

    def kill(self, call: Call) -> Verdict:
        """Signals, where Landlock does not decide on them."""
        process = call.integer(0)
        if call.name == "kill" and process <= 0:
            return self._kill_group(call, process)
        if call.name == "pidfd_send_signal":
            return _signal_by_descriptor(call)
        return self._inside(call, process)

    def _kill_group(self, call: Call, process: int) -> Verdict:
        group = os.getpgid(call.process()) if process == 0 else -process
        found = [each for each in _inside() if process == -1 or _group_of(each) == group]
        if not found:
            return refused(Blocked(ANY, "signal"))
        for each in found:
            try:
                os.kill(each, call.integer(1))
            except OSError:  # it has ended
                pass
        return DONE

    def refuse(self, call: Call) -> Verdict:
        """What no command may do."""
        return refused(Blocked(ANY, call.name))


def _signal_by_descriptor(call: Call) -> Verdict:
    """On a duplicate: the number may stand for another process when the kernel looks."""
    with call.descriptor(call.integer(0)) as pidfd:
        with open(f"/proc/self/fdinfo/{pidfd}") as file:
            fields = dict(line.split(":", 1) for line in file)
        if not is_inside(int(fields.get("Pid", 0))):
            return refused(Blocked(ANY, "signal"))
        try:
            signal.pidfd_send_signal(pidfd, call.integer(1))  # type: ignore[attr-defined,unused-ignore]
        except OSError as error:
            return fails(error.errno or errno.ESRCH)
    return DONE


def is_inside(thread: int) -> bool:
    """Whether ``thread`` is of the command or of a process that comes from it.

    Processes whose parent has ended become those of the supervisor.
    """
    try:
        status = status_of(thread)
        if int(status["Tgid"]) == os.getpid() or status["NoNewPrivs"] == "0":
            return False  # the latter: a child that was there before the command
        for _ in range(_LONGEST_LINE):
            parent = int(status["PPid"])
            if parent in (0, os.getpid()):
                return parent != 0
            status = status_of(parent)
    except (Vanished, KeyError, ValueError):
        pass
    return False


def _inside() -> Iterator[int]:
    for name in os.listdir("/proc"):
        if name.isdecimal() and is_inside(int(name)):
            yield int(name)


def _group_of(process: int) -> int:
    try:
        return os.getpgid(process)
    except OSError:
        return -1
