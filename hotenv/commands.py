"""What the commands do, without a word about how they were typed. Each loads only what it needs."""

from __future__ import annotations

import os

from hotenv.errors import attempt
from hotenv.marker import find_marker, read_marker
from hotenv.protocol import Request

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any

    from hotenv.rules import Rules


def run(words: Sequence[str]) -> None:
    """Become the command ``words``, with the session's variables. Does not return."""
    from hotenv import childenv, launch

    variables = _ask(Request("run", words))
    launch.become(words, childenv.overlay(launch.inherited_environment(), variables.items()))


def run_composed(words: Sequence[str], options: Mapping[str, Any], *, explain: bool) -> None:
    """Become ``words`` in an environment that is composed as ``options`` say; does not return then.

    ``options`` are the fields of a Composition. With ``explain``, print how it is composed instead:
    the session is asked as ``dump`` does, for no command gets its variables.
    """
    from hotenv import launch
    from hotenv.composition import Composition, compose
    from hotenv.memfile import memory_file
    from hotenv.placeholder import fill_placeholder, find_placeholder

    composition = Composition(**options)
    if composition.env_file is not None:
        find_placeholder(words)
    variables = _ask(Request("dump") if explain else Request("run", words))
    child = compose(composition, launch.inherited_environment(), variables)
    if explain:
        from hotenv.stdio import write_output

        write_output(child.explanation().encode())
    else:
        environment = dict(child.variables)
        for name, content in child.files.items():
            environment[name] = memory_file(content).encode()
        if child.env_file is not None:
            words = fill_placeholder(words, memory_file(child.env_file))
        launch.become(words, environment)


def dump(form: str, *, only: Sequence[str] = (), excluded: Sequence[str] = ()) -> None:
    """Print the session's variables, or those that the patterns select; ``form``: see FORMATS."""
    from hotenv.formats import FORMATS
    from hotenv.stdio import write_output

    variables = _ask(Request("dump"))
    if only or excluded:
        from hotenv.selection import select

        variables = select(variables, only, excluded)
    write_output(FORMATS[form](variables))


def _ask(request: Request) -> dict[str, str]:
    """The variables of the session here, or above."""
    marker = read_marker(find_marker())
    from hotenv import express

    variables = express.exchange(marker, request)
    if variables is None:
        from hotenv.client import exchange_sync

        variables = exchange_sync(marker, request)
    return variables


def serve(
    *,
    timeout: float,
    max_age: float,
    force: bool,
    quiet: bool,
    verbose: bool,
    rules: Rules,
    require_locked_memory: bool,
) -> None:
    """Serve standard input in the current folder. ``timeout`` and ``max_age`` are in seconds."""
    from hotenv.hardening import harden
    from hotenv.intake import take_in
    from hotenv.marker import refuse_existing

    with attempt("tell the current folder"):
        folder = os.getcwd()
    if not force:
        refuse_existing(folder)  # before anybody types secrets for nothing
    harden()
    intake = take_in(rules, require_locked_memory=require_locked_memory)
    from hotenv.process import serve_in_foreground

    serve_in_foreground(
        intake,
        os.curdir,  # and not its name: that could be another folder's by now
        timeout=timeout,
        max_age=max_age,
        force=force,
        quiet=quiet,
        verbose=verbose,
    )


def check(rules: Rules, *, json: bool) -> None:
    """Print what would be served of standard input, without any value."""
    from hotenv import dryrun
    from hotenv.hardening import harden

    harden()
    dryrun.check(rules, json=json)


def completion(shell: str) -> None:
    """Print the completion script for ``shell``, one of SHELLS, that was made with the package."""
    from hotenv.stdio import write_output

    path = os.path.join(os.path.dirname(__file__), "completions", f"hotenv.{shell}")
    hint = "it is made when hotenv is installed, as by 'pip install .'"
    with attempt(f"read {path}", hint), open(path, "rb") as file:
        script = file.read()
    write_output(script)
