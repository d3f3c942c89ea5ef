"""Hosts of the internet that a guard excepts. Pure."""

from __future__ import annotations

from hotenv.errors import FieldError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from ipaddress import IPv4Address, IPv6Address

HIGHEST_PORT = 65535
_LONGEST_HOST, _LONGEST_LABEL = 253, 63


class Domain:
    """``host``, in lower case and without a final dot, at ``port`` or at any if that is 0.

    With a dot in front it is a host and all that are below it.
    """

    __slots__ = ("host", "port")

    def __init__(self, text: str) -> None:
        """``text``: ``[.]HOST`` or ``[.]HOST:PORT``; an address of IPv6 with a port is in brackets.

        Error handling: raises FieldError for what is none.
        """
        host, port = _split(text)
        self.host: str = _canonical(host, text)
        self.port: int = int(port or 0)

    def __str__(self) -> str:
        host = f"[{self.host}]" if ":" in self.host and self.port else self.host
        return f"{host}:{self.port}" if self.port else host

    def has(self, host: str) -> bool:
        """Whether ``host``, or the hosts that it stands for, are part of it."""
        below = self.host.startswith(".") and f".{host.removeprefix('.')}".endswith(self.host)
        return host == self.host or below

    def covers(self, other: Domain) -> bool:
        """Whether all of ``other`` is part of it."""
        return self.has(other.host) and self.port in (0, other.port)

    def common(self, other: Domain) -> Domain | None:
        """What is part of both; None if nothing is."""
        for wide, narrow in ((self, other), (other, self)):
            if wide.has(narrow.host) and (
                wide.port == narrow.port or 0 in (wide.port, narrow.port)
            ):
                return Domain(f"[{narrow.host}]:{wide.port or narrow.port}")
        return None


def common(one: Iterable[str], other: Iterable[str]) -> list[str]:
    """What is in both."""
    theirs = [*map(Domain, other)]
    pairs = [mine.common(each) for mine in map(Domain, one) for each in theirs]
    both = [*map(Domain, dict.fromkeys(str(each) for each in pairs if each is not None))]
    parts = [each for each in both if any(o is not each and o.covers(each) for o in both)]
    return [str(each) for each in both if each not in parts]


def _split(text: str) -> tuple[str, str]:
    host, bracket, port = text.removeprefix("[").partition("]")
    if text.startswith("["):
        if not bracket or (port and not port.startswith(":")):
            raise _wrong(text)
        port = port.removeprefix(":") if port else "0"
    elif text.count(":") == 1:
        host, _, port = text.partition(":")
    else:
        return text, ""
    if not (port.isascii() and port.isdigit() and int(port) <= HIGHEST_PORT):
        raise _wrong(text)
    return host, port


def _canonical(host: str, text: str) -> str:
    if address := address_of(host):
        return str(address)
    dot = "." if host.startswith(".") else ""
    host = host.removeprefix(".")
    if not host.isascii():
        import idna

        try:
            host = idna.encode(host, uts46=True).decode()
        except idna.IDNAError:
            raise _wrong(text) from None
    host = host.lower().removesuffix(".")
    labels = host.split(".")
    if len(host) > _LONGEST_HOST or not all(map(_is_label, labels)) or (dot and address_of(host)):
        raise _wrong(text)
    return dot + host


def _is_label(label: str) -> bool:
    return 0 < len(label) <= _LONGEST_LABEL and label.replace("-", "").replace("_", "").isalnum()


def _wrong(text: str) -> FieldError:
    return FieldError(
        "allow_domain",
        f"must be HOST or HOST:PORT (up to {HIGHEST_PORT}), without '*' or 'https://': use .HOST "
        "for HOST and all hosts below it",
        text,
    )


def address_of(host: str) -> IPv4Address | IPv6Address | None:
    """The address that ``host`` is, without IPv6 around IPv4; None if it is a name."""
    if not looks_like_address(host):
        return None  # without loading what reads them
    import ipaddress

    try:
        address = ipaddress.ip_address(host)
    except ValueError:
        return None
    return getattr(address, "ipv4_mapped", None) or address


def looks_like_address(host: str) -> bool:
    """Whether ``host`` may be an address; else it is a name."""
    return ":" in host or host.replace(".", "").isdigit()


def remedy_for_name(host: str) -> str:
    """The option that allows the host ``host``; empty if that is not a host name."""
    try:
        return f"--allow-domain {Domain(host)}"
    except FieldError:
        return ""
