"""Which values are hidden: not those that are everywhere anyway. Pure."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

SHORTEST = 6
"""Bytes of the values that are hidden unasked: without shorter ones, text cannot be read."""

SHORTEST_KEPT = 4
"""Bytes of the values that are hidden in reports and logs, which are kept: common ones, too."""

_SHORTEST_LINE = 8  # bytes of a line that is hidden by itself
_DIGITS = 6  # of a number that could be anything
_ARMOUR = ("-----BEGIN ", "-----END ")  # RFC 7468: of what kind a key is, is no secret

_EVERYWHERE = {
    *("127.0.0.1", "0.0.0.0", "localhost", "example", "example.com"),  # noqa: S104 - not bound to
    *("default", "defaults", "disable", "disabled", "enable", "enabled", "optional", "required"),
    *("develop", "development", "staging", "testing", "production", "preview", "release"),
    *("username", "password", "secret", "changeme", "public", "private", "master"),
    *("warning", "verbose", "critical", "notice", "standard"),
    *("postgres", "postgresql", "mysqld", "sqlite3", "mariadb", "mongodb", "rabbitmq"),
    *("docker", "github", "gitlab", "google", "python", "python3", "nodejs"),
    *("us-east-1", "us-east-2", "us-west-1", "us-west-2", "eu-west-1", "eu-central-1"),
    *("en_us.utf-8", "c.utf-8", "xterm-256color", "/bin/sh", "/bin/bash", "/usr/bin"),
    *("/usr/local/bin", "application/json", "text/plain"),
}


def hidden_and_shown(
    variables: Mapping[str, str], *, short: bool
) -> tuple[dict[str, str], list[str]]:
    """The values to hide, each with its name, and the names of variables whose values are not.

    ``short``: hide even those that are too short or too common. Of two names for one value, the
    first by name counts. There is nothing to hide in an empty value.
    """
    hidden: dict[str, str] = {}
    shown = []
    for name, value in sorted(variables.items()):
        if value and not short and is_everywhere(value):
            shown.append(name)
        elif value:
            hidden.setdefault(value, name)
    return hidden, shown


def is_everywhere(value: str) -> bool:
    """Whether text is full of ``value``: a short one, a well-known word, a number below 10^6."""
    return (
        len(value.encode()) < SHORTEST
        or value.casefold() in _EVERYWHERE
        or (value.isascii() and value.isdigit() and len(value.lstrip("0")) <= _DIGITS)
        or not value.strip()
    )


def telling_lines(value: str) -> Iterator[str]:
    """The lines of a ``value`` with several that are hidden one by one, as those of a key."""
    lines = [line.strip() for line in value.splitlines()]
    for line in lines if len(lines) > 1 else ():
        long = len(line.encode()) >= _SHORTEST_LINE
        if long and not line.startswith(_ARMOUR) and not is_everywhere(line):
            yield line
