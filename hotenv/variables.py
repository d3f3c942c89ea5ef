"""What an environment can hold. Pure: the rule for input, protocol and API alike."""

from __future__ import annotations


def why_unfit(name: str, value: str) -> str | None:
    """Why no environment can hold ``name`` with ``value``; None if one can.

    The reason contains neither of them. Source: execve(2) takes ``NAME=value`` strings that end at
    the first NUL; hotenv's protocol carries UTF-8.
    """
    if not name:
        return "an empty name"
    if "=" in name:
        return "a name that contains '='"
    if "\0" in name or "\0" in value:
        return "a NUL character"
    try:
        name.encode()
        value.encode()
    except UnicodeEncodeError:
        return "text that is not UTF-8"
    return None
