"""Lines for a bash, here or on another machine. Pure: bytes in, bytes out.

The backslash keeps the first word of a line from being an alias.
"""

from __future__ import annotations

from hotenv.handover.launch import LONGEST_STRING
from hotenv.remote.destination import COOKIE

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

_OF_BASH = {
    *(b"BASHOPTS", b"BASHPID", b"BASH_ALIASES", b"BASH_ARGC", b"BASH_ARGV", b"BASH_CMDS"),
    *(b"BASH_COMMAND", b"BASH_LINENO", b"BASH_MONOSECONDS", b"BASH_SOURCE", b"BASH_SUBSHELL"),
    *(b"BASH_VERSINFO", b"DIRSTACK", b"EPOCHREALTIME", b"EPOCHSECONDS", b"EUID", b"FUNCNAME"),
    *(b"GROUPS", b"HISTCMD", b"LINENO", b"OPTIND", b"PIPESTATUS", b"PPID", b"RANDOM", b"SECONDS"),
    *(b"SHELLOPTS", b"SHLVL", b"SRANDOM", b"UID", b"_"),
}
"""Whatever these are set to, a command gets what bash makes of them."""

_TAKEN = {*_OF_BASH, COOKIE.encode()}


def quoted(text: bytes) -> bytes:
    """``text`` as one word."""
    return b"'" + text.replace(b"'", b"'\\''") + b"'"


def exports(variables: Mapping[bytes, bytes]) -> bytes:
    """A line for each of ``variables``, which sets it."""
    return b"".join(b"\\builtin export %b=%b\n" % (n, quoted(v)) for n, v in variables.items())


def at_once(lines: bytes) -> bytes:
    """A line, and ``lines`` that it runs: bash would read them byte by byte.

    They must not read standard input.
    """
    return b'\\builtin eval "$(head -c %d)"\n%b' % (len(lines), lines)


def unsuitable(variables: Mapping[bytes, bytes]) -> tuple[bytes, str] | None:
    """The first of ``variables`` that :func:`exports` cannot give to a command, and why, if any."""
    for name, value in variables.items():
        is_name = name.replace(b"_", b"a").isalnum() and not name[:1].isdigit()
        if name in _TAKEN or not is_name:
            return name, "cannot be set on another machine"
        if len(name) + len(value) + 2 > LONGEST_STRING:
            limit = f"limit {LONGEST_STRING - 1} bytes, including name and '='"
            return name, f"is too long for a program on another machine ({limit})"
    return None


def single_command(argv: Sequence[bytes], variables: Mapping[bytes, bytes]) -> bytes:
    """What a bash, whose ``$1`` is a directory, runs to remove that and to become ``argv``.

    A part of it is a syntax error: nothing is run if not all of it arrives. Bash must not complain
    of a locale that it does not have, which would show a value.
    """
    words = b" ".join(map(quoted, argv))
    return b'{\n{\nrm -rf "$1"\n%b} 2>/dev/null\n\\builtin exec -- %b\n}' % (
        exports(variables),
        words,
    )
