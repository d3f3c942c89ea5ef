"""The lines that a shell is given. Pure: bytes in, bytes out.

The backslash keeps the first word of a line from being an alias.
"""

from __future__ import annotations

from attrs import field, frozen

from hotenv.remote.lines import quoted

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

BASH_ENV = b"BASH_ENV"
"""What bash would read a file for, in whatever mode it starts."""

_FUNCTION = b"BASH_FUNC_"


@frozen
class State:
    """What a new shell takes over from one that has ended.

    ``dump``: commands that declare the exported variables and the functions, which may be secret.
    ``cwd``: the working directory. ``pid``: the process ID of the one that has ended.
    """

    dump: bytes = field(repr=False)
    cwd: bytes
    pid: int


def introduction(place: bytes) -> bytes:
    """Lines that report the process ID and the major version of a new shell, as ``ID.VERSION``."""
    path = quoted(place)
    return b'\\builtin exec 2>/dev/null\n>%b/"$$.$BASH_VERSINFO"\n>%b/done\n\n' % (path, path)


def restoration(state: State, started_with: Iterable[bytes], pid: int) -> bytes:
    """Lines for a shell that was ``started_with`` variables of these names, to be as ``state``.

    ``pid``: its process ID. It has in-memory files of its own, which have the same descriptors.
    """
    names = set(started_with)
    variables = sorted(name for name in names if name.replace(b"_", b"a").isalnum())
    functions = sorted(
        name.removeprefix(_FUNCTION).removesuffix(b"%%")
        for name in names
        if name.startswith(_FUNCTION)
    )
    forget = b"\\builtin unset -v %b\n" % b" ".join(variables) if variables else b""
    forget += b"".join(b"\\builtin unset -f %b\n" % quoted(name) for name in functions)
    return b"%b\\builtin cd -- %b\n\\builtin eval %b\n" % (
        forget,
        quoted(state.cwd),
        quoted(state.dump.replace(b"/proc/%d/fd/" % state.pid, b"/proc/%d/fd/" % pid)),
    )


def command_lines(
    command: bytes, place: bytes, dump: bytes, *, stdin: bool, status: int = 0
) -> bytes:
    """Lines that run ``command``, which has no NUL, and report on it.

    ``place``: the path of its directory, and ``dump`` of the FIFO for the state. ``stdin``: whether
    it is given anything. ``status``: what it finds in ``$?``.

    A shell that could not run another command cannot report the end either. The last line is empty:
    the shell takes it when it has done everything before.
    """
    end = b">" + quoted(place) + b"/done"
    dump = quoted(dump)
    return b"".join(
        [
            _run(command, quoted(place), stdin=stdin, status=status),
            b"\\builtin declare -px >%b\n" % dump,
            b"\\builtin declare -f >%b\n" % dump,
            _last(end),
        ]
    )


def remote_command_lines(command: bytes, place: bytes, *, stdin: bool, status: int = 0) -> bytes:
    """The same where the state, in a FIFO in ``place``, is the end: it is opened once.

    The beginning is reported, too: by the name of a file.
    """
    place = quoted(place)
    begin = b">%b/begun\n" % place
    end = b"{ \\builtin declare -px; \\builtin declare -f; } >%b/dump" % place
    return begin + _run(command, place, stdin=stdin, status=status) + _last(end)


def _run(command: bytes, place: bytes, *, stdin: bool, status: int) -> bytes:
    given = place + b"/in" if stdin else b"/dev/null"
    return b"".join(
        [
            b"(\\exit %d) && :\n" % status if status else b"",
            b"\\builtin eval %b <%b >%b/out 2>%b/err\n" % (quoted(command), given, place, place),
            b'>%b/"$?"\n' % place,
        ]
    )


def _last(command: bytes) -> bytes:
    return b"\\builtin eval %b ''\n\n" % quoted(command)  # its last word is what comes into $_
