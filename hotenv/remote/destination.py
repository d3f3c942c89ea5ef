"""Where commands run, as ssh takes it. Pure."""

from __future__ import annotations

from hotenv.errors import FieldError

ALIVE_EVERY = 5
"""Seconds after which ssh, and the other side, must have heard something."""

ALIVE_COUNT = 3
"""How often in a row that may fail, until the connection is lost."""

PATIENCE = 5.0
"""Seconds that the other machine gets to answer, beyond what it has to wait for."""

BASH = "bash --norc --noprofile -p"
"""What is run there, behind an ``exec`` that any login shell knows.

Privileged, it takes no function, option or BASH_ENV from the environment.
"""

COOKIE = "HOTENV_SHELL"
"""The variable by which processes are found there."""

GREETING_TIMEOUT = 60.0
"""Seconds that a login may take, but for a person who is asked something."""

FAILED = 255
"""Exit code of ssh if there is no connection, or no session over it."""

NOT_FOUND = 127
"""Exit code of the login shell if there is no such program, or no bash instead."""

NO_DESTINATION = "must be a destination of ssh, such as user@box"

_ALWAYS = {
    "ClearAllForwardings": "yes",
    "ControlPersist": "no",
    "EscapeChar": "none",
    "LogLevel": "ERROR",
    "PermitLocalCommand": "no",
    "RemoteCommand": "none",
    "ServerAliveCountMax": str(ALIVE_COUNT),
    "ServerAliveInterval": str(ALIVE_EVERY),
}


def check_host(host: str) -> None:
    """Raise FieldError unless ssh takes ``host`` for a destination."""
    if not host or host.startswith("-") or not host.isprintable() or " " in host:
        raise FieldError("host", NO_DESTINATION)


def master_words(host: str, control: str, *, batch: bool) -> list[str]:
    """The words of the ssh that makes the connection and is its first session.

    ``control``: the path of the socket that it makes for the others. ``batch``: it asks nothing.
    """
    own = {"BatchMode": "yes"} if batch else {}
    return ["ssh", "-T", "-M", "-S", control, *_options(own), host]


def session_words(host: str, control: str, *, terminal: bool = False) -> list[str]:
    """The words of an ssh for one more session, which never makes a connection itself.

    ``terminal``: whether it gets one.
    """
    own = {"BatchMode": "yes", "ControlMaster": "no", "ProxyCommand": "false"}
    return ["ssh", "-tt" if terminal else "-T", "-S", control, *_options(own), host]


def _options(own: dict[str, str]) -> list[str]:
    return [f"-o{name}={value}" for name, value in {**_ALWAYS, **own}.items()]
