"""What to run: a program, or what is none but has the name of a Python module."""

from __future__ import annotations

import os
import sys

from hotenv.errors import SystemFailureError
from hotenv.guards.shebang import find_program
from hotenv.handover.launch import Launch

_PYTHON = b"python3"

_RUN = f"""
import os, sys
from importlib.util import find_spec
name = sys.argv.pop(1)
module, _, attribute = name.partition(":")
sys.argv[0] = name
if sys.path[0] == "":
    sys.path[0] = os.getcwd()
if find_spec(module.partition(".")[0]) is None:
    sys.stderr.write(
        "hotenv: cannot run '%s': no such command, or module of %s\\n" % (name, sys.executable)
    )
    sys.exit({SystemFailureError.exit_code})
if attribute:
    from importlib import import_module
    from operator import attrgetter
    run = attrgetter(attribute)(import_module(module))
    sys.exit(run())
from runpy import run_module
run_module(module, run_name="__main__", alter_sys=True)
"""
"""Nothing is imported of a module before this, which is under the guard already."""


def resolve_target(launch: Launch) -> Launch:
    """``launch`` as it can be executed.

    A name with a dot or a colon that is no program, ``package.module`` or
    ``package.module:callable``, is run by the first python3 on PATH, or else by hotenv's own.
    """
    name = launch.argv[0]
    if not _may_be_module(name) or find_program(os.fsencode(name), launch.env) is not None:
        return launch
    python = find_program(_PYTHON, launch.env)
    program = sys.executable if python is None else os.fsdecode(python)
    argv = [program, "-c", _RUN, *launch.argv]
    return Launch(argv, launch.env, files=launch.files, env_file=launch.env_file)


def _may_be_module(name: str) -> bool:
    module, colon, attribute = name.partition(":")
    parts = [*module.split("."), *(attribute.split(".") if colon else [])]
    return len(parts) > 1 and all(part.isidentifier() for part in parts)
