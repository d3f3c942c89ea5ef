"""Words for people: Python programs under a guard are told what to say."""

from __future__ import annotations

import os

from hotenv.handover.launch import Launch

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from hotenv.guards.policy import Guard

FOLDER = os.path.join(os.path.dirname(__file__), "python")
"""Where Python finds the module that it loads first."""

_PATH, _GUARDS = b"PYTHONPATH", b"HOTENV_WORDS"
_SAID = ("no_network", "no_localhost", "no_subprocess", "fs_readonly", "strict_imports")
_EXCEPTED = ("allow_localhost", "allow_domain", "allow_import", "allow_write")


def with_words(launch: Launch, guard: Guard, *, files: bool) -> Launch:
    """``launch``, whose Python programs say in words what ``guard`` forbids.

    ``files``: whether the kernel keeps it from changing files.
    """
    said = [name for name in _SAID if getattr(guard, name) and (files or name != "fs_readonly")]
    if not said:
        return launch
    path = os.fsencode(FOLDER)
    if launch.env.get(_PATH):
        path += b":" + launch.env[_PATH]
    words = os.fsencode("\n".join(_words(guard, (*said, *_EXCEPTED))))
    env = {**launch.env, _PATH: path, _GUARDS: words}
    return Launch(launch.argv, env, files=launch.files, env_file=launch.env_file)


def _words(guard: Guard, names: Iterable[str]) -> Iterator[str]:
    """Those parts of ``guard`` as the command line has them: ``NAME`` or ``NAME=VALUE``."""
    for name in names:
        option, value = name.replace("_", "-"), getattr(guard, name)
        if isinstance(value, tuple):
            yield from (f"{option}={each}" for each in value if "\n" not in each)
        elif value:
            yield option if value is True else f"{option}={value}"
