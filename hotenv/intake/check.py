"""``serve --check``: the result of the input, without serving, prompting, or showing a value."""

from __future__ import annotations

from hotenv.errors import InputError
from hotenv.intake.listing import HEADER
from hotenv.intake.reader import Reader, receive
from hotenv.intake.rules import Rules
from hotenv.intake.sources import Source
from hotenv.stdio import say, write_output, write_table

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence


def check(sources: Sequence[Source], rules: Rules, *, as_json: bool) -> None:
    """Print where the value of each variable of ``sources`` would come from.

    Error handling: raises InputError if it could not be served, SystemFailureError if reading or
    printing fails.
    """
    reader = Reader(sources, rules)
    with reader.attended():
        delivery = receive(reader.pipe)
    report = delivery.report()
    if as_json:
        write_output(report["json"].encode())
    else:
        write_table(report["rows"], HEADER)
    for warning in report["warnings"]:
        say(f"warning: {warning}")
    if report["refusal"]:
        raise InputError(report["refusal"])
