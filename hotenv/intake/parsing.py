"""The texts of all sources -> the variables that they set together.

Pure: what it asks, it asks the function it is given.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from attrs import field, frozen

from hotenv.errors import InputError
from hotenv.intake.bindings import Binding, TextError
from hotenv.intake.contract import Contents, Text, questions, resolve
from hotenv.intake.formats import read_bindings
from hotenv.intake.rules import Rules

Ask = Callable[[Mapping[str, str]], Mapping[str, str]]
"""Names and questions -> names and answers."""


@frozen
class Input:
    """What a source gave: ``data`` in the format ``form``. ``title`` is what messages call it."""

    title: str
    form: str
    data: bytes = field(repr=False)


def parse(inputs: Sequence[Input], environ: Mapping[str, str], rules: Rules, ask: Ask) -> Contents:
    """Parse ``inputs``, with the answers of ``ask`` to their questions, if they have any.

    It prompts only for what will be accepted.

    Error handling: raises InputError, with the numbers of all bad lines, if one of them cannot be
    read in its format, or sets what no environment can hold; whatever ``ask`` raises.
    """
    texts = _read(inputs)
    asked = questions(texts, rules)
    contents = resolve(texts, environ, dict.fromkeys(asked, ""), rules)
    contents.refuse_errors()
    if asked:
        contents = resolve(texts, environ, ask(asked), rules)
    return contents


def survey(inputs: Sequence[Input], environ: Mapping[str, str], rules: Rules) -> Contents:
    """What ``inputs`` set if each answer is empty: for its origins and problems.

    Error handling: raises InputError if one of them cannot be read in its format at all.
    """
    texts = _read(inputs)
    return resolve(texts, environ, dict.fromkeys(questions(texts, rules), ""), rules)


def _read(inputs: Sequence[Input]) -> list[Text]:
    return [Text(each.title, _bindings(each)) for each in inputs]


def _bindings(each: Input) -> Sequence[Binding]:
    try:
        return read_bindings(each.data, each.form)
    except TextError as error:
        raise InputError(f"{each.title}: {error}") from None
