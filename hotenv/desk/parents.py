"""Finds the desk of the agent that has started this program.

Clients of the Model Context Protocol start servers with few variables of their own environment.
"""

from __future__ import annotations

import os

from hotenv.desk.client import VARIABLE
from hotenv.handover.childenv import parse_environ_block

_PARENT = 1  # in /proc/PID/stat, behind the name


def desk_of_parents() -> str | None:
    """The socket that VARIABLE names here, or in the nearest parent that has it and can be read."""
    if path := os.environ.get(VARIABLE):
        return path
    process = os.getppid()
    try:
        while process > 0:
            with open(f"/proc/{process}/environ", "rb") as file:
                environment = parse_environ_block(file.read())
            if path := os.fsdecode(environment.get(os.fsencode(VARIABLE), b"")):
                return path
            with open(f"/proc/{process}/stat", "rb") as file:
                process = int(file.read().rpartition(b") ")[2].split()[_PARENT])
    except OSError:  # another user's, or it is outside of the guard
        pass
    return None
