"""The texts that bash runs on the other side."""

from __future__ import annotations

from pathlib import Path
from shlex import quote

_HERE = Path(__file__).parent


def script(*names: str, **variables: str) -> bytes:
    """The files of these names after one another, with ``variables`` set before."""
    settings = "".join(f"{name}={quote(value)}\n" for name, value in variables.items())
    texts = [(_HERE / f"{name}.bash").read_bytes() for name in names]
    return b"".join([settings.encode(), *texts])
