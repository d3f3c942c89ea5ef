"""The network: hosts that a program connects to, or whose names it looks up."""

import os

from hotenv_words import refuse

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

_GUARD, _CLOSED = "no-network", "no-localhost"
_DNS = 53  # a resolver on this machine may be excepted
_INTERNET, _STREAM = (2, 10), 1  # AF_INET and AF_INET6, SOCK_STREAM of Linux


def actions(words: "dict[str, list[str]]") -> "dict[str, Callable[..., None]]":
    """What is done about events, if hotenv says ``words``."""
    if _GUARD not in words:
        return {"socket.connect": _connect_elsewhere}
    domains, is_local = words.get("allow-domain", []), "allow-localhost" in words

    def connect(sock: "Any", address: "Any") -> None:  # noqa: ANN401 - whatever the program has
        if not domains and sock.family in _INTERNET and sock.type == _STREAM:
            _connect(sock, address, is_local=is_local)  # else the kernel knows more

    def look_up(name: "Any", *_: object) -> None:  # noqa: ANN401 - whatever the program has
        host = name.decode("ascii", "replace") if isinstance(name, bytes) else name
        if host and not _is_known(host.lower().rstrip("."), domains):
            refuse(_GUARD, "look up", f"--allow-domain {host}", host=host)

    return {
        "socket.connect": connect,
        "socket.getaddrinfo": look_up,
        "socket.gethostbyname": look_up,
    }


def _connect_elsewhere(sock: "Any", address: "Any") -> None:  # noqa: ANN401 - likewise
    if sock.family in _INTERNET and sock.type == _STREAM and address[1] != _DNS:
        host = _host(sock, address)
        if host and _is_inside(host):  # of other addresses, the kernel knows more
            refuse(_CLOSED, "connect", "", host=host, port=str(address[1]))


def _host(sock: "Any", address: "Any") -> str:  # noqa: ANN401 - likewise
    """The address, if it is one, and not a name or what the kernel may read in another way."""
    import _socket

    try:
        return _socket.inet_ntop(sock.family, _socket.inet_pton(sock.family, address[0]))
    except OSError:
        return ""


def _is_inside(host: str) -> bool:
    return host == "::1" or host.startswith(("127.", "::ffff:127."))


def _connect(sock: "Any", address: "Any", *, is_local: bool) -> None:  # noqa: ANN401 - likewise
    host, port = _host(sock, address), str(address[1])
    if not host:
        return
    inside = _is_inside(host)
    if not (inside and is_local):
        option = "--allow-localhost" if inside else f"--allow-domain {host}"
        refuse(_GUARD, "connect", option, host=host, port=port)


def _is_known(name: str, domains: "list[str]") -> bool:
    """Whether no network is needed for it: /etc/hosts has all names that are allowed, too.

    But those below a domain: hotenv answers for them.
    """
    if _is_address(name) or name.endswith("localhost") or name == os.uname().nodename.lower():
        return True
    if any(name.endswith(domain) for domain in domains if domain.startswith(".")):
        return True
    try:
        with open("/etc/hosts", encoding="utf-8", errors="replace") as file:
            return any(name in line.partition("#")[0].lower().split()[1:] for line in file)
    except OSError:
        return True  # the kernel knows more


def _is_address(host: str) -> bool:
    return ":" in host or host.replace(".", "").isdigit()
