"""Standard input -> the snapshot to be served. Nothing of Trio is loaded for a refusal or error."""

from __future__ import annotations

import os
import sys

from hotenv.envtext import parse_dotenv
from hotenv.protocol import RESPONSE_LIMIT
from hotenv.snapshot import Snapshot
from hotenv.stdio import read_input, say


def read_snapshot(*, interpolate: bool) -> Snapshot:
    """Read dotenv text from standard input until its end; say what its author may not have meant.

    ``${NAME}`` is looked up in this process's environment, unless ``interpolate`` is false.

    Error handling: raises InputError for a bad line, SystemFailureError if reading fails.
    """
    if sys.stdin is not None and sys.stdin.isatty():
        say("paste NAME=value lines, end with Ctrl-D on a line of its own")
    data = read_input(RESPONSE_LIMIT)
    contents = parse_dotenv(data, os.environ, interpolate=interpolate)
    for warning in contents.warnings:
        say(f"warning: standard input: {warning}")
    return contents.snapshot
