"""What is forbidden to a command, and what is excepted. Pure.

A plain class: the command line needs it before it can start the command, and loading attrs would
take longer than everything else that it does.
"""

from __future__ import annotations

from hotenv.errors import FieldError
from hotenv.guards.fields import (
    STRICTNESS,
    absolute,
    common_domains,
    common_parts,
    domains,
    flag,
    is_denied,
    is_part,
    is_within,
    modules,
    strictness,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from os import PathLike

_FLAGS = ("no_network", "no_subprocess", "fs_readonly", "private_tmp", "no_terminals")
_OPENED = ("allow_localhost", "allow_udp")
_PATHS = ("allow_write", "allow_read", "allow_unix")


class Guard:
    """What is forbidden to a command, whatever program it is. ``a & b`` allows what both allow.

    ``no_network``: nothing leaves through a socket. ``no_subprocess``: no other process, and no
    other program in its place. ``fs_readonly``: nothing in the file system is changed.
    ``private_tmp``: TMPDIR is a new directory, which may be changed.

    ``allow_localhost``: TCP to this machine, and listening there, at 127.0.0.0/8 and ::1. It is an
    exception from ``no_network``, and implies that.

    ``allow_domain``: TCP to hosts, each ``HOST`` or ``HOST:PORT``, with a dot in front for a host
    and all that are below it; likewise. ``allow_udp``: UDP, too, to what these two allow.

    ``no_localhost``: no connection to this machine, by none of its addresses; the rest of the
    internet stays open. With ``allow_domain``, hosts that are this machine stay closed, too.

    ``no_terminals``: no terminal is opened but the command's own, and no new one.

    ``deny_read``: what is neither read nor changed, each a file or a directory with all that is in
    it. What of ``allow_write`` and ``allow_read`` lies deeper in it is excepted.

    ``strict_imports``: Python programs import no native extension module but those of the standard
    library, and of these neither if it is ``"all"``. The kernel cannot see that: it is a guard
    against accidents. ``allow_import``: modules that are excepted, with what is below them.

    ``allow_write``, ``allow_read``, ``allow_unix``: what is excepted, each a file or a directory
    with all that is in it. What belongs to the system and what is in ``allow_write`` can always be
    read, and everything if ``allow_read`` is None. ``allow_unix`` are sockets.

    Error handling: raises UsageError, which names the field, if a path is relative, a flag is
    neither True nor False, an exception has no guard to be excepted from, or ``no_localhost`` is
    combined with ``allow_localhost``, or with ``no_network`` without any host.
    """

    __slots__ = (
        *(*_FLAGS, "no_localhost", "deny_read", "strict_imports"),
        *(*_OPENED, "allow_domain", "allow_import", *_PATHS),
    )

    no_network: bool
    no_subprocess: bool
    fs_readonly: bool
    private_tmp: bool
    no_terminals: bool
    no_localhost: bool
    deny_read: tuple[str, ...]
    strict_imports: bool | str
    allow_localhost: bool
    allow_udp: bool
    allow_domain: tuple[str, ...]
    allow_import: tuple[str, ...]
    allow_write: tuple[str, ...]
    allow_read: tuple[str, ...] | None
    allow_unix: tuple[str, ...]

    def __init__(
        self,
        *,
        no_network: bool = False,
        no_subprocess: bool = False,
        fs_readonly: bool = False,
        private_tmp: bool = False,
        no_terminals: bool = False,
        no_localhost: bool = False,
        deny_read: Iterable[str | PathLike[str]] = (),
        strict_imports: bool | str = False,
        allow_localhost: bool = False,
        allow_udp: bool = False,
        allow_domain: Iterable[str] = (),
        allow_import: Iterable[str] = (),
        allow_write: Iterable[str | PathLike[str]] = (),
        allow_read: Iterable[str | PathLike[str]] | None = None,
        allow_unix: Iterable[str | PathLike[str]] = (),
    ) -> None:
        keep = super().__setattr__
        keep("allow_localhost", flag("allow_localhost", allow_localhost))
        keep("allow_domain", domains(allow_domain))
        implied = self.allow_localhost or bool(self.allow_domain)
        keep("allow_udp", flag("allow_udp", allow_udp))
        keep("no_network", flag("no_network", no_network) or implied)
        keep("no_subprocess", flag("no_subprocess", no_subprocess))
        keep("fs_readonly", flag("fs_readonly", fs_readonly))
        keep("private_tmp", flag("private_tmp", private_tmp))
        keep("no_terminals", flag("no_terminals", no_terminals))
        keep("no_localhost", flag("no_localhost", no_localhost))
        keep("deny_read", absolute("deny_read", deny_read))
        keep("strict_imports", strictness(strict_imports))
        keep("allow_import", modules(allow_import))
        keep("allow_write", absolute("allow_write", allow_write))
        keep("allow_read", None if allow_read is None else absolute("allow_read", allow_read))
        keep("allow_unix", absolute("allow_unix", allow_unix))
        if allow_udp and not implied:
            raise FieldError("allow_udp", "has no effect without an exception from --no-network")
        if self.allow_import and not strict_imports:
            raise FieldError("allow_import", "has no effect without --strict-imports")
        if no_localhost and allow_localhost:
            raise FieldError("no_localhost", "cannot be combined with --allow-localhost")
        if no_localhost and self.no_network and not self.allow_domain:
            raise FieldError("no_localhost", "has no effect with --no-network, which forbids more")
        if self.allow_write and not self.closes_files:
            raise FieldError("allow_write", "has no effect without --fs-readonly or --deny-read")
        if self.allow_read is not None and not fs_readonly:
            raise FieldError("allow_read", "has no effect without --fs-readonly=ROOT")

    def __setattr__(self, name: str, _value: object) -> None:
        raise AttributeError(f"cannot set {name}: a Guard is immutable")

    def __and__(self, other: Guard) -> Guard:
        """Forbid what either of the two forbids."""
        if not isinstance(other, Guard):
            return NotImplemented
        both = (self, other)
        flags = {name: any(getattr(each, name) for each in both) for name in _FLAGS}
        offline = [each for each in both if each.no_network]
        closed = any(each.no_localhost for each in both)
        opened = {
            name: bool(offline) and all(getattr(x, name) for x in offline) for name in _OPENED
        }
        opened["allow_localhost"] = opened["allow_localhost"] and not closed
        hosts = common_domains(*(each.allow_domain for each in offline))
        opened["allow_udp"] = opened["allow_udp"] and (opened["allow_localhost"] or bool(hosts))
        imported = (each.allow_import if each.strict_imports else None for each in both)
        writable = dict.fromkeys(
            path
            for path in (*self.allow_write, *other.allow_write)
            if all(each._may_write(path) for each in both)
        )
        readable = common_parts(*(each._readable for each in both))
        if readable is not None:  # what may be changed can be read anyway
            readable = tuple(path for path in readable if not is_within(path, writable))
            readable = tuple(path for path in readable if not any(x._denies(path) for x in both))
        return Guard(
            **flags,
            **opened,
            no_localhost=closed and (not offline or bool(hosts)),
            deny_read=(*self.deny_read, *other.deny_read),
            strict_imports=max((each.strict_imports for each in both), key=STRICTNESS.index),
            allow_import=common_parts(*imported, is_part=is_part) or (),
            allow_domain=hosts,
            allow_write=writable,
            allow_read=readable,
            allow_unix=common_parts(self.allow_unix, other.allow_unix) or (),
        )

    @property
    def closes_files(self) -> bool:
        """Whether there are files that are not changed."""
        return self.fs_readonly or bool(self.deny_read)

    def _denies(self, path: str) -> bool:
        excepted = (*self.allow_write, *(self.allow_read or ()))
        return is_denied(path, self.deny_read, excepted)

    def _may_write(self, path: str) -> bool:
        closed = self.fs_readonly and not is_within(path, self.allow_write)
        return not closed and not self._denies(path)

    @property
    def _readable(self) -> tuple[str, ...] | None:
        return None if self.allow_read is None else (*self.allow_read, *self.allow_write)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Guard) and self._fields() == other._fields()

    def __hash__(self) -> int:
        return hash(self._fields())

    def __repr__(self) -> str:
        fields = zip(self.__slots__, self._fields(), strict=True)
        return f"Guard({', '.join(f'{name}={value!r}' for name, value in fields if value)})"

    def _fields(self) -> tuple[object, ...]:
        return tuple(getattr(self, name) for name in self.__slots__)
