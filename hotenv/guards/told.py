"""What Python programs under a guard tell about what they have refused themselves."""

from __future__ import annotations

import os

from hotenv.guards.addresses import is_loopback, remedy_for
from hotenv.guards.domains import looks_like_address, remedy_for_name
from hotenv.guards.verdict import (
    NO_LOCALHOST,
    NO_NETWORK,
    NO_SUBPROCESS,
    STRICT_IMPORTS,
    Blocked,
)

_GUARDS = (NO_NETWORK, NO_LOCALHOST, NO_SUBPROCESS, STRICT_IMPORTS)
_NAMES = ("host", "port", "path", "module", "at")
_MARK = b"\0hotenv\0"


def told(address: bytes) -> Blocked | None:
    """What a program tells by connecting to ``address``; None if that is none of its words.

    It may tell what it wants: it can only accuse itself.
    """
    if not address[2:].startswith(_MARK):
        return None
    guard, _, rest = os.fsdecode(address[2 + len(_MARK) :]).partition("\0")
    what, *fields = rest.split("\0")
    if guard not in _GUARDS:
        return None
    pairs = (field.partition("=") for field in fields)
    target = {name: value for name, _, value in pairs if value and name in _NAMES}
    if guard == NO_LOCALHOST:
        remedy = ""
    elif guard == STRICT_IMPORTS:
        remedy = _remedy_for_module(target.get("module", ""))
    else:
        remedy = _remedy_for_host(target.get("host", ""), target.get("port", ""))
    return Blocked(guard, what, counts=True, remedy=remedy, **target)


def _remedy_for_module(name: str) -> str:
    """The option that allows the package of a module."""
    package = name.partition(".")[0]
    return f"--allow-import {package}" if package.isidentifier() else ""


def _remedy_for_host(host: str, port: str) -> str:
    """The option that allows a host, which may be anything that a program has made up."""
    if host == "localhost" or is_loopback(host):
        return "--allow-localhost"
    if port.isdecimal():
        return remedy_for(host, int(port))
    # What reads addresses, and names in other scripts, is not loaded for what a program says.
    is_name = host.isascii() and not looks_like_address(host)
    return remedy_for_name(host) if is_name else ""
