"""Programs that run the command in their arguments, and which that is. Pure."""

from __future__ import annotations

import posixpath

from attrs import field, frozen

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    Words = tuple[str | None, ...]


class Unclear(Exception):  # noqa: N818 - it is an answer
    """What a program would run cannot be told."""


@frozen
class Inner:
    """What a program runs: a command of ``words``, or the ``text`` of a script."""

    words: Words = field(repr=False, default=())
    text: str | None = field(repr=False, default=None)
    assigned: tuple[str, ...] = ()


@frozen
class _Options:
    """The options of a program: letters without and with a value, and long ones likewise.

    ``positionals``: arguments before the command. ``assignments``: whether NAME=VALUE may be there.
    """

    flags: str = ""
    values: str = ""
    long_flags: frozenset[str] = frozenset()
    long_values: frozenset[str] = frozenset()
    positionals: int = 0
    assignments: bool = False


def _set(text: str) -> frozenset[str]:
    return frozenset(f"--{word}" for word in text.split())


_WRAPPERS = {
    "env": _Options(
        "i0v",
        "uC",
        _set("ignore-environment null debug default-signal ignore-signal block-signal"),
        _set("unset chdir"),
        assignments=True,
    ),
    "sudo": _Options(
        "AbBEHkKnNPSv",
        "CDghprRtTUu",
        _set("askpass background bell preserve-env set-home non-interactive stdin reset-timestamp"),
        _set("user group host prompt close-from chdir chroot role type command-timeout other-user"),
        assignments=True,
    ),
    "nice": _Options("0123456789", "n", long_values=_set("adjustment")),
    "timeout": _Options(
        "v",
        "ks",
        _set("foreground preserve-status verbose"),
        _set("kill-after signal"),
        positionals=1,
    ),
    "nohup": _Options(),
    "time": _Options(
        "apvqV", "fo", _set("append portability verbose quiet"), _set("format output")
    ),
    "xargs": _Options(
        "0oprtx",
        "aEILnPsd",
        _set("null open-tty interactive no-run-if-empty verbose exit show-limits"),
        _set("arg-file delimiter eof replace max-lines max-args max-procs max-chars"),
    ),
    "command": _Options("p"),
    "builtin": _Options(),
    "exec": _Options("cl", "a"),
}
"""Those that run what follows their options."""

_SHELLS = {"sh", "bash", "dash", "ash", "ksh", "mksh", "zsh"}
_SHELL_VALUES = {"-o", "+o", "-O", "+O", "--rcfile", "--init-file"}
_FIND = {"-exec", "-execdir", "-ok", "-okdir"}


def is_wrapper(words: Words) -> bool:
    """Whether the command only runs another one, so that nothing else has to be said of it."""
    name = name_of(words[0])
    if name == "command" and any(word and word[:2] in ("-v", "-V") for word in words[1:2]):
        return False
    return name in _WRAPPERS or (name in _SHELLS and _script_at(words) is not None)


def name_of(word: str | None) -> str:
    """The name of the program behind a path; empty if the word is not plain."""
    return posixpath.basename(word or "")


def inner_commands(words: Words) -> Iterator[Inner]:
    """What the command ``words`` runs, as far as it is known to run others. Raises Unclear."""
    name = name_of(words[0])
    if name in _WRAPPERS and is_wrapper(words):
        yield from _behind_options(words, _WRAPPERS[name])
    elif name == "find":
        yield from _found(words)
    elif name in _SHELLS and (at := _script_at(words)) is not None:
        yield Inner(text=_plain(words, at))
    elif name == "eval":
        yield Inner(text=" ".join(_plain(words, at) for at in range(1, len(words))))
    elif name == "trap" and len(words) > 2:
        yield Inner(text=_plain(words, 1))


def _plain(words: Words, at: int) -> str:
    word = words[at] if at < len(words) else None
    if word is None:
        raise Unclear
    return word


def _behind_options(words: Words, options: _Options) -> Iterator[Inner]:
    at, assigned = 1, list[str]()
    while at < len(words) and (word := _plain(words, at)).startswith("-") and word != "-":
        at += 1
        if word == "--":
            break
        at += _takes_next(word, options)
    while options.assignments and at < len(words) and "=" in _plain(words, at):
        assigned.append(_plain(words, at).partition("=")[0])
        at += 1
    at += options.positionals
    if at < len(words):
        _plain(words, at)
        yield Inner(words=words[at:], assigned=tuple(assigned))


def _takes_next(word: str, options: _Options) -> bool:
    """Whether the option ``word`` takes the next word too. Raises Unclear if it is unknown."""
    if word.startswith("--"):
        name, equals, _ = word.partition("=")
        if name in options.long_values:
            return not equals
        if name in options.long_flags:
            return False
        raise Unclear
    for at, letter in enumerate(word[1:], 2):
        if letter in options.values:
            return at == len(word)
        if letter not in options.flags:
            raise Unclear
    return False


def _script_at(words: Words) -> int | None:
    """Where the script of ``sh -c`` is; None without the option."""
    at = 1
    has_script = False
    while at < len(words) and (word := words[at]) and word[0] in "-+" and word not in ("-", "--"):
        has_script = has_script or (word[0] == "-" and word[1] != "-" and "c" in word)
        at += 2 if word in _SHELL_VALUES or word[-1:] in "oO" else 1
    if not has_script and at < len(words) and words[at] is None:
        return at  # it may be the option
    return at + (words[at : at + 1] == ("--",)) if has_script else None


def _found(words: Words) -> Iterator[Inner]:
    if None in words:
        raise Unclear
    starts = [at for at, word in enumerate(words) if word in _FIND]
    for start in starts:
        ends = [at for at in range(start + 1, len(words)) if words[at] in (";", "+")]
        if not ends or ends[0] == start + 1:
            raise Unclear
        yield Inner(words=words[start + 1 : ends[0]])
