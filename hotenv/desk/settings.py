"""What a desk is told at its start, and holds. Pure."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from attrs import asdict, field, frozen


@frozen
class Settings:
    """``place``: the directory of its sockets. ``directory``: that of the project.

    ``session``: that of the session, and no other; empty if it is what is nearest to the project.

    ``file``: the name of the project's file there. ``agent``: the table of that name in it, and
    ``composition``: what ``run`` does in the project. ``writable``: what the agent can write, and
    ``confined``: whether it can write nothing else. ``audit``: the path of the log. ``can_ask``:
    whether there is a terminal. ``environment``: what the desk was started with, with a character
    for each byte.
    """

    place: str
    directory: str
    session: str
    writable: list[str]
    audit: str
    file: str
    agent: Mapping[str, Any]
    confined: bool
    can_ask: bool = False
    composition: Mapping[str, Any] = field(factory=dict)
    environment: Mapping[str, str] = field(factory=dict, repr=False)

    def encode(self) -> bytes:
        """For :func:`decode`."""
        return json.dumps(asdict(self)).encode()

    @property
    def inherited(self) -> dict[bytes, bytes]:
        """The environment."""
        return {n.encode("latin-1"): v.encode("latin-1") for n, v in self.environment.items()}


def decode(text: bytes) -> Settings:
    """The settings that were encoded."""
    return Settings(**json.loads(text))
