"""``serve --check``: what would be served, without serving, asking, or showing a value."""

from __future__ import annotations

import os

from hotenv.intake.envtext import survey
from hotenv.intake.reader import invite, read_input
from hotenv.intake.rules import Rules
from hotenv.intake.surveyreport import HEADER, as_json, as_rows
from hotenv.stdio import say, write_output, write_table


def check(rules: Rules, *, json: bool) -> None:
    """Print where the value of each variable on standard input would come from.

    Error handling: raises InputError if it could not be served, SystemFailureError if reading or
    printing fails.
    """
    invite()
    contents = survey(read_input(), os.environ, rules)
    if json:
        write_output(as_json(contents).encode())
    else:
        write_table(as_rows(contents), HEADER)
    for warning in contents.warnings:
        say(f"warning: standard input: {warning}")
    contents.refuse_errors()
