"""The calls of a command that the kernel shows to its supervisor, and the answers to them.

seccomp_unotify(2). The command waits for the answer to each call; a call without one, because the
supervisor is dead, fails with ENOSYS.
"""

from __future__ import annotations

import errno
import fcntl
import os
import stat
import struct

from hotenv import libc
from hotenv.guards import syscalls as k
from hotenv.guards.threads import Programs, Vanished, process_of, status_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from hotenv.guards.kernel import Kernel

_NOTIFICATION = struct.Struct("=QII iIQ 6Q")  # id, pid, flags, number, architecture, pointer, args
_ANSWER = struct.Struct("=QqiI")  # id, value, error, flags
_DESCRIPTOR = struct.Struct("=QIIII")  # id, flags, descriptor, its number there, flags there
_ID = struct.Struct("=Q")
_HOW = struct.Struct("=QQQ")  # flags, mode and resolve

_LONGEST_PATH = 4096  # PATH_MAX
_PAGE = 4096


class BadArgument(Exception):  # noqa: N818 - likewise
    """With such an argument, the call fails without a guard too. ``error``: its number."""

    def __init__(self, error: int) -> None:
        super().__init__(os.strerror(error))
        self.error: int = error


class Call:
    """A system call that waits for an answer. Each argument has 64 bits, as in the register.

    What is read of the process may have changed when it is used: nothing that is enforced may rest
    on reading it twice. Error handling: every method raises Vanished.
    """

    __slots__ = ("arguments", "id", "name", "thread", "_kernel", "_listener", "_origin")  # noqa: RUF023

    def __init__(
        self, listener: Listener, kernel: Kernel, id_: int, thread: int, name: str, *arguments: int
    ) -> None:
        self._listener = listener
        self._kernel = kernel
        self._origin: tuple[str, int] | None = None
        self.id: int = id_
        self.thread: int = thread
        self.name: str = name
        self.arguments: tuple[int, ...] = arguments

    def integer(self, index: int) -> int:
        """The argument ``index`` as an ``int``."""
        value = self.arguments[index] & 0xFFFFFFFF
        return value - (1 << 32) if value >> 31 else value

    def memory(self, address: int, size: int) -> bytes:
        """Up to ``size`` bytes of the process, from ``address``; fewer at the end of a mapping.

        Raises BadArgument if nothing is mapped there.
        """
        try:
            descriptor = os.open(f"/proc/{self.thread}/mem", os.O_RDONLY)
        except OSError:
            raise Vanished from None
        try:
            data = os.pread(descriptor, size, address)
        except (OSError, OverflowError):
            self.confirm()
            raise BadArgument(errno.EFAULT) from None
        finally:
            os.close(descriptor)
        self.confirm()  # else another process may have its number by now
        return data

    def check_socket(self, number: int) -> None:
        """Raise BadArgument unless the descriptor ``number`` of the process is a socket's.

        For reports only: it can be another one by the time it is used.
        """
        try:
            mode = os.stat(f"/proc/{self.thread}/fd/{number}").st_mode
        except FileNotFoundError:
            self.confirm()
            raise BadArgument(errno.EBADF) from None
        except OSError:
            raise Vanished from None
        if not stat.S_ISSOCK(mode):
            raise BadArgument(errno.ENOTSOCK)

    def text(self, address: int) -> bytes:
        """The string at ``address``, as far as a path goes."""
        data = b""
        while b"\0" not in data and len(data) < _LONGEST_PATH:
            piece = self.memory(address + len(data), _PAGE - (address + len(data)) % _PAGE)
            if not piece:
                raise Vanished
            data += piece
        return data.partition(b"\0")[0]

    def descriptor(self, number: int) -> Duplicate:
        """A duplicate of the descriptor ``number`` of the process, for the length of a block."""
        return Duplicate(self, self._kernel, number)

    def process(self) -> int:
        """The process ID, of which ``thread`` is a thread."""
        return process_of(self.thread)

    def status(self) -> dict[str, str]:
        """The fields of /proc/PID/status of the thread."""
        return status_of(self.thread)

    def program(self) -> str:
        """The name of the program, which the process may have changed; "?" if it is gone."""
        return self.origin()[0]

    def origin(self) -> tuple[str, int]:
        """The name of the program and its process ID; the ID of the thread if it is gone."""
        if self._origin is None:
            try:
                self._origin = self._listener.programs.origin_of(self.thread)
            except Vanished:
                self._origin = "?", self.thread
        return self._origin

    def confirm(self) -> None:
        """Raise Vanished unless the process still waits for the answer."""
        if not self._listener.is_valid(self.id):
            raise Vanished

    def open(self, directory: int, path: bytes, flags: int) -> int:
        """openat2(2) that follows no magic links. Raises OSError."""
        how = _HOW.pack(flags | os.O_CLOEXEC, 0, k.RESOLVE_NO_MAGICLINKS)
        number = self._kernel.number("openat2")
        return libc.system_call(number, directory, path + b"\0", how, len(how))

    def finish(self, error: int) -> None:
        """Answer the call with ``error``, 0 for success. May be called in any thread."""
        self._listener.fail(self, error)

    def succeed(self, value: int) -> None:
        """Let the call return ``value``. May be called in any thread."""
        self._listener.succeed(self, value)

    def write(self, address: int, data: bytes) -> None:
        """Write into the memory of the process."""
        try:
            descriptor = os.open(f"/proc/{self.thread}/mem", os.O_WRONLY)
        except OSError:
            raise Vanished from None
        try:
            self.confirm()  # else another process may have its number by now
            os.pwrite(descriptor, data, address)
        except OSError:
            raise BadArgument(errno.EFAULT) from None
        finally:
            os.close(descriptor)

    def is_signalled(self) -> bool:
        """Whether the thread has a signal to deal with, which would end its waiting."""
        status = self.status()
        pending = int(status["SigPnd"], 16)
        if status["Tgid"] == status["Pid"]:  # the first thread gets what is for all, if it can
            pending |= int(status["ShdPnd"], 16)
        return bool(pending & ~int(status["SigBlk"], 16))

    def install(self, descriptor: int, *, at: int | None = None, cloexec: bool) -> None:
        """Give the process a duplicate of ``descriptor``.

        ``at``: the number that it replaces. Without one its number is the value of the call, which
        is answered by that.
        """
        self._listener.install(self.id, descriptor, at, cloexec=cloexec)


class Duplicate:
    """A duplicate of the descriptor ``number`` of the process that makes ``call``.

    To enter it raises Vanished.
    """

    def __init__(self, call: Call, kernel: Kernel, number: int) -> None:
        self._call, self._kernel, self._number = call, kernel, number

    def __enter__(self) -> int:
        try:
            self._duplicate = self._kernel.duplicate(self._call.process(), self._number)
        except OSError:
            raise Vanished from None
        try:
            self._call.confirm()
        except Vanished:
            os.close(self._duplicate)
            raise
        return self._duplicate

    def __exit__(self, *_: object) -> None:
        os.close(self._duplicate)


class Listener:
    """The descriptor from which calls come."""

    def __init__(self, descriptor: int, kernel: Kernel) -> None:
        self.descriptor: int = descriptor
        self._kernel = kernel
        # From Linux 6.6: wake each other on the same processor, which takes half the time.
        try:
            fcntl.ioctl(
                descriptor, k.SECCOMP_IOCTL_NOTIF_SET_FLAGS, k.SECCOMP_USER_NOTIF_FD_SYNC_WAKE_UP
            )
        except OSError:
            pass
        self.programs: Programs = Programs()
        self._names = {number: name for name, number in k.NUMBERS[kernel.architecture].items()}

    def receive(self) -> Call:
        """The next call. Raises Vanished if it is gone by now."""
        buffer = bytearray(_NOTIFICATION.size)
        try:
            fcntl.ioctl(self.descriptor, k.SECCOMP_IOCTL_NOTIF_RECV, buffer)
        except OSError:
            raise Vanished from None
        id_, thread, _, number, _, _, *arguments = _NOTIFICATION.unpack(buffer)
        return Call(self, self._kernel, id_, thread, self._names[number], *arguments)

    def is_valid(self, id_: int) -> bool:
        """Whether the call still waits for its answer."""
        try:
            fcntl.ioctl(self.descriptor, k.SECCOMP_IOCTL_NOTIF_ID_VALID, _ID.pack(id_))
        except OSError:
            return False
        return True

    def go_on(self, call: Call) -> None:
        """Let the kernel make the call."""
        self._answer(call, 0, 0, k.SECCOMP_USER_NOTIF_FLAG_CONTINUE)

    def fail(self, call: Call, error: int) -> None:
        """Answer the call with ``error``; 0 is success."""
        self._answer(call, 0, -error, 0)

    def succeed(self, call: Call, value: int) -> None:
        """Let the call return ``value``."""
        self._answer(call, value, 0, 0)

    def _answer(self, call: Call, value: int, error: int, flags: int) -> None:
        try:
            answer = _ANSWER.pack(call.id, value, error, flags)
            fcntl.ioctl(self.descriptor, k.SECCOMP_IOCTL_NOTIF_SEND, answer)
        except OSError:
            pass  # it was killed, or is answered

    def install(self, id_: int, descriptor: int, at: int | None, *, cloexec: bool) -> None:
        """See :meth:`Call.install`."""
        flags = k.SECCOMP_ADDFD_FLAG_SEND if at is None else k.SECCOMP_ADDFD_FLAG_SETFD
        there = os.O_CLOEXEC if cloexec else 0
        request = _DESCRIPTOR.pack(id_, flags, descriptor, at or 0, there)
        try:
            fcntl.ioctl(self.descriptor, k.SECCOMP_IOCTL_NOTIF_ADDFD, request)
        except OSError as error:
            if at is not None or error.errno in (9, 24):
                raise
            raise Vanished from None
