"""Validity of environment variables: one rule for input, protocol and API. Pure."""

from __future__ import annotations


def invalid_reason(name: str, value: str) -> str | None:
    """Return why ``name`` and ``value`` are not a valid environment variable, or None if they are.

    The reason contains neither. Source: execve(2) takes ``NAME=value`` strings that end at the
    first NUL; hotenv's protocol carries UTF-8.
    """
    if not name:
        return "empty name"
    if "=" in name:
        return "name contains '='"
    if "\0" in name or "\0" in value:
        return "contains a NUL character"
    try:
        name.encode()
        value.encode()
    except UnicodeEncodeError:
        return "not valid UTF-8"
    return None
