"""The variables as other programs read them. Pure.

Rules of the game:

1. A format either preserves every value exactly, or raises an error that names the offending
   variable and writes nothing. Only ``env`` gives no such guarantee: it is meant for reading by
   people.
2. The order is that of the names.
3. No message contains a value.
"""

from __future__ import annotations

from hotenv.errors import SystemFailureError
from hotenv.lightweight import quote

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

_SHELLS_OWN = {
    # bash: an assignment fails, is forgotten or makes an array; HISTCMD, RANDOM and SRANDOM are
    # arithmetic to it, and a[$(command)] in arithmetic runs the command.
    *("BASHOPTS", "BASHPID", "BASH_ALIASES", "BASH_ARGC", "BASH_ARGV", "BASH_CMDS"),
    *("BASH_COMMAND", "BASH_LINENO", "BASH_MONOSECONDS", "BASH_SOURCE", "BASH_SUBSHELL"),
    *("BASH_VERSINFO", "DIRSTACK", "EPOCHREALTIME", "EPOCHSECONDS", "EUID", "FUNCNAME", "GROUPS"),
    *("HISTCMD", "LINENO", "PPID", "RANDOM", "SECONDS", "SHELLOPTS", "SRANDOM", "UID"),
    # zsh: it ends the eval, is cut, changes the user or counts; the small ones are its lists.
    *("SHLVL", "ARGC", "ARGV0", "EGID", "ERRNO", "GID", "HISTCHARS", "KEYBOARD_HACK"),
    "TRY_BLOCK_ERROR",
    *("TRY_BLOCK_INTERRUPT", "TTYIDLE", "USERNAME", "WATCH", "ZSH_EVAL_CONTEXT", "ZSH_SUBSHELL"),
    *("aliases", "argv", "builtins", "cdpath", "commands", "dirstack", "dis_aliases"),
    *("dis_builtins", "dis_functions", "dis_functions_source", "dis_galiases", "dis_patchars"),
    *("dis_reswords", "dis_saliases", "epochtime", "errnos", "fignore", "fpath", "funcfiletrace"),
    *("funcsourcetrace", "funcstack", "functions", "functions_source", "functrace", "galiases"),
    *("histchars", "history", "historywords", "jobdirs", "jobstates", "jobtexts", "keymaps"),
    *("langinfo", "mailpath", "manpath", "mapfile", "module_path", "modules", "nameddirs"),
    *("options", "parameters", "patchars", "path", "pipestatus", "psvar", "reswords", "saliases"),
    *("signals", "status", "sysparams", "termcap", "terminfo", "userdirs", "usergroups", "watch"),
    *("widgets", "zsh_eval_context", "zsh_scheduled_events"),
}
"""Names that sh, dash, bash or zsh does not set and export as it is told. (``_`` is harmless.)"""

_SHELLS_NUMBERS = {
    *("COLUMNS", "FUNCNEST", "HISTSIZE", "KEYTIMEOUT", "LINES", "LISTMAX", "MAILCHECK", "OPTIND"),
    *("SAVEHIST", "TMOUT", "ZLE_RPROMPT_INDENT"),
}
"""Arithmetic to one shell or another, which is harmless with a plain number."""

_LONGEST_NUMBER = 9  # digits

_FISHS_OWN = {
    *("FISH_VERSION", "PWD", "SHLVL", "_", "history", "hostname", "pipestatus", "status"),
    *("status_generation", "umask", "version"),
}
"""Names that fish does not set, beside its settings, which begin with ``fish_``."""

_DOCKER_LINE = 64 * 1024
"""Bytes in a line with its newline: what the scanner of docker's parser takes."""


def _cannot_hold(form: str, name: str, reason: str) -> SystemFailureError:
    return SystemFailureError(f"cannot write {name} in {form} format: {reason}")


def _env(name: str, value: str) -> str:
    """For people to look at."""
    return f"{name}={value}\n"


def _null(name: str, value: str) -> str:
    """As ``env -0`` prints and /proc/PID/environ holds it."""
    return f"{name}={value}\0"


def _dotenv(name: str, value: str) -> str:
    """What python-dotenv, which is what ``hotenv serve`` reads with, takes for this variable.

    It replaces ``${...}`` in any quotes and knows no escape for it. But a default may be ``$``, and
    no environment has a name that contains ``=``: ``${=:-$}`` is always ``$``. The same hides a
    question mark at the beginning, which would make a question of the value. A carriage return has
    an escape only in double quotes, and would be lost before a newline without.
    """
    quote = '"' if "\r" in value else "'"
    text = value.replace("\\", "\\\\").replace(quote, f"\\{quote}").replace("${", "${=:-$}{")
    if text.startswith("?"):
        text = "${=:-?}" + text[1:]
    text = text.replace("\r", "\\r")
    return f"{_dotenv_name(name)}={quote}{text}{quote}\n"


def _dotenv_name(name: str) -> str:
    # The parser takes a byte order mark away where its text begins.
    if name[0] not in "'\ufeff" and not any(c == "#" or c.isspace() for c in name):
        return name
    if "'" in name:
        raise _cannot_hold("dotenv", name, "the name must be quoted but contains a single quote")
    return f"'{name}'"


def _shell(name: str, value: str) -> str:
    """A command for sh, dash, bash and zsh alike."""
    _check_identifier("shell", name)
    if name in _SHELLS_OWN:
        raise _cannot_hold("shell", name, "the name is reserved by a shell")
    if name in _SHELLS_NUMBERS and not _is_plain_number(value):
        raise _cannot_hold(
            "shell", name, ("the value must be a plain number, because a shell evaluates it")
        )
    quoted = value.replace("'", "'\\''")
    return f"export {name}='{quoted}'\n"


def _fish(name: str, value: str) -> str:
    """A command for fish."""
    _check_identifier("fish", name)
    if name in _FISHS_OWN or name.startswith("fish_"):
        raise _cannot_hold("fish", name, "the name is reserved by the shell")
    quoted = value.replace("\\", "\\\\").replace("'", "\\'")
    return f"set -gx {name} '{quoted}'\n"


def _check_identifier(form: str, name: str) -> None:
    if not (name.isascii() and name.isidentifier()):
        raise _cannot_hold(form, name, "not a valid shell variable name")


def _is_plain_number(value: str) -> bool:
    digits = value.isascii() and value.isdigit() and len(value) <= _LONGEST_NUMBER
    return digits and value == str(int(value))


def _docker(name: str, value: str) -> str:
    """A line as ``docker run --env-file`` reads it: nothing in it is quoted or escaped.

    Source: pkg/kvfile of docker's command line, and bufio.ScanLines of Go, which takes a carriage
    return for a part of the line's end.
    """
    if name[0] in "#\ufeff" or any(c.isspace() for c in name):
        raise _cannot_hold(
            "docker", name, ("the name must not contain whitespace or begin with '#'")
        )
    if "\n" in value:
        raise _cannot_hold("docker", name, "the value contains a newline")
    if value.endswith("\r"):
        raise _cannot_hold("docker", name, "the value ends with a carriage return")
    line = f"{name}={value}\n"
    if len(line.encode()) > _DOCKER_LINE:
        raise _cannot_hold("docker", name, f"the line is longer than {_DOCKER_LINE - 1} bytes")
    return line


def _one_by_one(entry: Callable[[str, str], str]) -> Callable[[Mapping[str, str]], bytes]:
    """The format that is an ``entry(name, value)`` for each variable."""

    def encode(variables: Mapping[str, str]) -> bytes:
        return "".join(entry(name, value) for name, value in sorted(variables.items())).encode()

    return encode


def _json(variables: Mapping[str, str]) -> bytes:
    """One object, on one line."""
    members = [f"{quote(name)}: {quote(value)}" for name, value in sorted(variables.items())]
    return f"{{{', '.join(members)}}}\n".encode()


FORMATS: Mapping[str, Callable[[Mapping[str, str]], bytes]] = {
    "env": _one_by_one(_env),
    "dotenv": _one_by_one(_dotenv),
    "json": _json,
    "shell": _one_by_one(_shell),
    "fish": _one_by_one(_fish),
    "docker": _one_by_one(_docker),
    "null": _one_by_one(_null),
}
"""From the variables of a session to the text of each format, in UTF-8.

Error handling: each raises SystemFailureError, which names the variable, for what it cannot hold.
"""
