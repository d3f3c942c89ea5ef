"""Scripts: which programs it takes to execute a command."""

from __future__ import annotations

import os

from hotenv.handover.launch import Launch, candidates

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

_LONGEST_FIRST_LINE = 256
_DEEPEST = 4
"""Scripts whose interpreter is a script: Linux gives up there."""


def find_program(name: bytes, env: Mapping[bytes, bytes]) -> bytes | None:
    """The path of the program that is executed as ``name``."""
    for path in candidates(name, env):
        if os.path.isfile(path) and os.access(path, os.X_OK):
            return path
    return None


def interpreter(path: bytes) -> list[bytes]:
    """The words behind ``#!`` of the script at ``path``, as Linux splits them: one or two."""
    try:
        with open(path, "rb") as file:
            line = file.read(_LONGEST_FIRST_LINE).partition(b"\n")[0]
    except OSError:
        return []
    return line[2:].strip().split(None, 1) if line.startswith(b"#!") else []


def resolve_env(launch: Launch) -> Launch:
    """``launch`` without env(1) between a script and its interpreter: one execution is enough."""
    argv = list(launch.argv)
    for _ in range(_DEEPEST):
        path = find_program(os.fsencode(argv[0]), launch.env)
        words = [] if path is None else interpreter(path)
        if path is None or len(words) < 2 or os.path.basename(words[0]) != b"env":
            break
        its_words = words[1].split()
        if its_words[0] == b"-S":
            its_words = its_words[1:]
        if not its_words or its_words[0].startswith(b"-") or b"=" in its_words[0]:
            break
        argv = [*map(os.fsdecode, its_words), os.fsdecode(path), *argv[1:]]
    return Launch(argv, launch.env, files=launch.files, env_file=launch.env_file)


def programs_of(launch: Launch) -> list[str]:
    """The paths of the programs that are executed for ``launch``."""
    found: list[str] = []
    name = os.fsencode(launch.argv[0])
    for _ in range(_DEEPEST):
        path = find_program(name, launch.env)
        if path is None:
            break
        found.append(os.fsdecode(os.path.abspath(path)))
        words = interpreter(path)
        if not words:
            break
        found.append(os.fsdecode(words[0]))
        is_env = os.path.basename(words[0]) == b"env" and len(words) > 1
        name = words[1].removeprefix(b"-S").split()[0] if is_env else words[0]
    return found
