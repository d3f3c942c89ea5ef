"""What the commands do, without a word about how they were typed. Each loads only what it needs."""

from __future__ import annotations

import os

from hotenv.errors import attempt
from hotenv.marker import find_marker, read_marker
from hotenv.protocol import Request

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence


def run(words: Sequence[str]) -> None:
    """Become the command ``words``, with the session's variables. Does not return."""
    from hotenv import childenv, launch

    variables = _ask(Request("run", words))
    launch.become(words, childenv.overlay(launch.inherited_environment(), variables.items()))


def dump(form: str) -> None:
    """Print the session's variables; ``form`` is one of FORMATS."""
    from hotenv.formats import FORMATS
    from hotenv.stdio import write_output

    write_output(FORMATS[form](_ask(Request("dump"))))


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
    interpolate: bool,
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
    intake = take_in(interpolate=interpolate, require_locked_memory=require_locked_memory)
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
