"""Names for a command that may reach some hosts: hotenv looks them up, and the command reads them.

What the command opens as /etc/hosts, which every resolver reads first, is a file in memory that is
made at that moment. It has the names of this machine and those of hosts that are allowed; those
below a domain it has to ask for (see ``resolver``). Only what was found for a name can be connected
to.
"""

from __future__ import annotations

import _thread
import socket
import time
from contextlib import suppress

from hotenv.guards.addresses import is_suspect
from hotenv.guards.domains import Domain, address_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

HOSTS = b"/etc/hosts"
"""As the command names it."""

LASTS = 30.0
"""Seconds for which an answer is used again."""

_MOST = 1000  # answers: below a domain are names without end


def look_up(host: str) -> list[str]:
    """The addresses of ``host`` as the system knows them; none if it does not."""
    try:
        found = socket.getaddrinfo(host.encode(), None, type=socket.SOCK_STREAM)
    except OSError:
        return []
    return list(dict.fromkeys(str(where[0]) for *_, where in found))


class Names:
    """The hosts that ``domains`` allow, and the addresses that they have had."""

    def __init__(
        self,
        domains: Iterable[str],
        *,
        find: Callable[[str], list[str]] = look_up,
        now: Callable[[], float] = time.monotonic,
    ) -> None:
        self._domains = [*map(Domain, domains)]
        self._find, self._now = find, now
        self._fresh: dict[str, tuple[float, list[str]]] = {}
        self._lock = _thread.allocate_lock()
        self._ports: dict[str, frozenset[int]] = {}
        for domain in self._domains:
            if address_of(domain.host) is not None:  # it is named, so nothing is suspect
                self._allow(domain.host, domain.port)

    def _allow(self, address: str, port: int) -> None:
        with self._lock:
            self._ports[address] = self._ports.get(address, frozenset()) | {port}

    def is_allowed(self, host: str, port: int) -> bool:
        """Whether the address ``host`` was found for a name that is allowed at ``port``."""
        address = address_of(host)
        ports = self._ports.get(str(address), frozenset())
        return not ports.isdisjoint({0, port})

    def is_known(self, host: str) -> bool:
        """Whether the address ``host`` was found for a name that is allowed at some port."""
        return str(address_of(host)) in self._ports

    def hosts(self) -> str:
        """What the command finds in /etc/hosts. Waits for resolvers."""
        lines = _local_lines()
        for host in dict.fromkeys(domain.host.removeprefix(".") for domain in self._domains):
            lines += [f"{address} {host} {host}." for address in self.find(host) or ()]
        return "".join(f"{line}\n" for line in lines)

    def find(self, host: str) -> list[str] | None:
        """The addresses of ``host``; None if it is not allowed. Waits for resolvers."""
        ports = {domain.port for domain in self._domains if domain.has(host)}
        if not ports or address_of(host) is not None:
            return None
        end, addresses = self._fresh.get(host, (0.0, []))
        if not addresses or self._now() > end:
            addresses = [each for each in self._find(host) if _is_decent(each)]
            self._keep(host, addresses)
            for address in addresses:
                for port in ports:
                    self._allow(str(address_of(address)), port)
        return addresses

    def _keep(self, host: str, addresses: list[str]) -> None:
        with self._lock:
            if len(self._fresh) >= _MOST:
                self._fresh.clear()
            self._fresh[host] = (self._now() + LASTS, addresses)


def _is_decent(text: str) -> bool:
    address = address_of(text)
    return address is not None and "%" not in text and not is_suspect(str(address))


def _local_lines() -> list[str]:
    """Those of the real file that name this machine."""
    lines = []
    with suppress(OSError), open(HOSTS, encoding="utf-8", errors="replace") as file:
        for line in file:
            address, *names = line.partition("#")[0].split() or [""]
            found = address_of(address)
            if names and found is not None and found.is_loopback:
                lines.append(f"{address} {' '.join(names)}")
    return lines
