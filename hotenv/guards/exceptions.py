"""Exceptions from ``--no-network``: what decides about them. Loaded for a guard that has any."""

from __future__ import annotations

from hotenv.guards.datagrams import Datagrams
from hotenv.guards.hosts import NameFiles
from hotenv.guards.internet import Internet
from hotenv.guards.later import Later
from hotenv.guards.names import Names
from hotenv.guards.resolver import Resolver
from hotenv.guards.sockets import Sockets

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from hotenv.guards.listener import Call
    from hotenv.guards.policy import Guard
    from hotenv.guards.verdict import Blocked


def excepting(
    guard: Guard, tell: Callable[[Call, Blocked], None]
) -> tuple[Sockets, NameFiles | None]:
    """What decides about sockets, and about the files by which names are looked up, if it has to.

    ``tell``: gets what is refused beside the calls; called in any thread.
    """
    later = Later()
    names = Names(guard.allow_domain) if guard.allow_domain else None
    resolver = None if names is None else Resolver(names, tell)
    internet = Internet(guard, names, resolver, later)
    datagrams = Datagrams(internet, later) if guard.allow_udp else None
    files = None if names is None else NameFiles(names, later)
    return Sockets(guard, internet, datagrams), files
