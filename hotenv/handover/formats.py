"""The variables as other programs read them. Pure.

Rules of the game:

1. Who reads a format gets back every value as it was, or the format refuses a variable by its name,
   and all the others with it. Only ``env`` is for people, and promises nothing.
2. The order is that of the names.
3. No message contains a value.
"""

from __future__ import annotations

import json
import re

from hotenv.errors import SystemFailureError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

_SHELL_NAME = re.compile("[A-Za-z_][A-Za-z0-9_]*")

_SHELLS_OWN = {
    # bash: an assignment fails, is forgotten or makes an array; HISTCMD, RANDOM and SRANDOM are
    # arithmetic to it, and a[$(command)] in arithmetic runs the command.
    *("BASHOPTS", "BASHPID", "BASH_ALIASES", "BASH_ARGC", "BASH_ARGV", "BASH_CMDS"),
    *("BASH_COMMAND", "BASH_LINENO", "BASH_MONOSECONDS", "BASH_SOURCE", "BASH_SUBSHELL"),
    *("BASH_VERSINFO", "DIRSTACK", "EPOCHREALTIME", "EPOCHSECONDS", "EUID", "FUNCNAME", "GROUPS"),
    *("HISTCMD", "LINENO", "PPID", "RANDOM", "SECONDS", "SHELLOPTS", "SRANDOM", "UID"),
    # zsh: it ends the eval, is cut, or changes the user; the small ones are its lists and tables.
    *("ARGC", "ARGV0", "EGID", "ERRNO", "GID", "HISTCHARS", "KEYBOARD_HACK", "TRY_BLOCK_ERROR"),
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
    *("SAVEHIST", "SHLVL", "TMOUT", "ZLE_RPROMPT_INDENT"),
}
"""Arithmetic to one shell or another, which is harmless with a plain number."""

_NUMBER = re.compile("0|[1-9][0-9]{0,8}")

_DOCKER_LINE = 64 * 1024
"""Bytes in a line with its newline: what the scanner of docker's parser takes."""


def _cannot_hold(form: str, name: str, reason: str) -> SystemFailureError:
    return SystemFailureError(f"the format {form} cannot hold {name}: {reason}")


def _env(name: str, value: str) -> str:
    """For people to look at."""
    return f"{name}={value}\n"


def _null(name: str, value: str) -> str:
    """As ``env -0`` prints and /proc/PID/environ holds it."""
    return f"{name}={value}\0"


def _dotenv(name: str, value: str) -> str:
    """What python-dotenv, which is what ``hotenv serve`` reads with, takes for this variable.

    It replaces ``${...}`` in any quotes and knows no escape for it. But a default may be ``$``, and
    no environment has a name that contains ``=``: ``${=:-$}`` is always ``$``.
    """
    text = value.replace("\\", "\\\\").replace("'", "\\'").replace("${", "${=:-$}{")
    return f"{_dotenv_name(name)}='{text}'\n"


def _dotenv_name(name: str) -> str:
    # The parser takes a byte order mark away where its text begins.
    if name[0] not in "'\ufeff" and not any(c == "#" or c.isspace() for c in name):
        return name
    if "'" in name:
        raise _cannot_hold("dotenv", name, "such a name needs quotes and has one in it")
    return f"'{name}'"


def _shell(name: str, value: str) -> str:
    """A command for sh, dash, bash and zsh alike."""
    if not _SHELL_NAME.fullmatch(name):
        raise _cannot_hold("shell", name, "no shell takes such a name")
    if name in _SHELLS_OWN:
        raise _cannot_hold("shell", name, "the name is a shell's own")
    if name in _SHELLS_NUMBERS and not _NUMBER.fullmatch(value):
        raise _cannot_hold("shell", name, "to a shell it is a number, and the value is not one")
    quoted = value.replace("'", "'\\''")
    return f"export {name}='{quoted}'\n"


def _docker(name: str, value: str) -> str:
    """A line as ``docker run --env-file`` reads it: nothing in it is quoted or escaped.

    Source: pkg/kvfile of docker's command line, and bufio.ScanLines of Go, which takes a carriage
    return for a part of the line's end.
    """
    if name[0] in "#\ufeff" or any(c.isspace() for c in name):
        raise _cannot_hold("docker", name, "a name has no white space and does not begin with '#'")
    if "\n" in value:
        raise _cannot_hold("docker", name, "its value has more than one line")
    if value.endswith("\r"):
        raise _cannot_hold("docker", name, "its value ends with a carriage return")
    line = f"{name}={value}\n"
    if len(line.encode()) > _DOCKER_LINE:
        raise _cannot_hold("docker", name, f"its line is over {_DOCKER_LINE - 1} bytes")
    return line


def _one_by_one(entry: Callable[[str, str], str]) -> Callable[[Mapping[str, str]], bytes]:
    """The format that is an ``entry(name, value)`` for each variable."""

    def encode(variables: Mapping[str, str]) -> bytes:
        return "".join(entry(name, value) for name, value in sorted(variables.items())).encode()

    return encode


def _json(variables: Mapping[str, str]) -> bytes:
    """One object, on one line."""
    return (json.dumps(dict(variables), ensure_ascii=False, sort_keys=True) + "\n").encode()


FORMATS: Mapping[str, Callable[[Mapping[str, str]], bytes]] = {
    "env": _one_by_one(_env),
    "dotenv": _one_by_one(_dotenv),
    "json": _json,
    "shell": _one_by_one(_shell),
    "docker": _one_by_one(_docker),
    "null": _one_by_one(_null),
}
"""From the variables of a session to the text of each format, in UTF-8.

Error handling: each raises SystemFailureError, which names the variable, for what it cannot hold.
"""
