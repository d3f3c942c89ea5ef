"""Dotenv text -> the variables it sets. Pure: what it asks, it asks the function it is given."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from hotenv.intake.bindings import read_bindings
from hotenv.intake.contract import Contents, questions, resolve
from hotenv.intake.rules import Rules

Ask = Callable[[Mapping[str, str]], Mapping[str, str]]
"""Names and questions -> names and answers."""


def parse_dotenv(data: bytes, environ: Mapping[str, str], rules: Rules, ask: Ask) -> Contents:
    """Parse ``data``, with the answers of ``ask`` to its questions, if it has any.

    Nobody is asked for the sake of a text that is then refused.

    Error handling: raises InputError, with the numbers of all bad lines, if ``data`` is not UTF-8
    or not dotenv text, or sets what no environment can hold; whatever ``ask`` raises.
    """
    bindings = read_bindings(data)
    asked = questions(bindings, rules)
    contents = resolve(bindings, environ, dict.fromkeys(asked, ""), rules)
    contents.refuse_errors()
    if asked:
        contents = resolve(bindings, environ, ask(asked), rules)
    return contents


def survey(data: bytes, environ: Mapping[str, str], rules: Rules) -> Contents:
    """What ``data`` sets if each answer is empty: for its origins and problems.

    Error handling: raises InputError if ``data`` is not UTF-8, and for nothing else.
    """
    bindings = read_bindings(data)
    return resolve(bindings, environ, dict.fromkeys(questions(bindings, rules), ""), rules)
