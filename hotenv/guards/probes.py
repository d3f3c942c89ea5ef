"""What programs try without needing it: it is refused, and does not count. Pure.

The list is short on purpose. Each entry is one that a well-known program makes and does without.
"""

from __future__ import annotations

SOCKETS = (
    "/var/run/nscd/socket",  # getpwnam and getaddrinfo of the GNU C library
    "/run/nscd/socket",
    "/run/systemd/userdb/",  # nss-systemd: ls -l, id
    "/run/systemd/resolve/io.systemd.Resolve",  # nss-resolve
    "/var/lib/sss/pipes/",  # nss-sss
    "/run/dbus/system_bus_socket",  # nss-systemd of older systems
)
"""Unix sockets of name services; what ends in ``/`` is a directory."""

FILES = (
    (".git/index.lock", "git"),  # git status refreshes the index if it can
)
"""Ends of paths, and the program that does without the file."""

_BYTECODE = ("__pycache__",)


def is_name_service(path: str) -> bool:
    """Whether ``path`` is the socket of a name service."""
    return any(path == each or (each[-1] == "/" and path.startswith(each)) for each in SOCKETS)


def is_optional_file(path: str, program: str) -> bool:
    """Whether ``program`` does without changing the file at ``path``."""
    if any(path.endswith(f"/{end}") and program == name for end, name in FILES):
        return True
    directory, _, name = path.rpartition("/")
    return name in _BYTECODE or directory.rpartition("/")[2] in _BYTECODE
