"""What ``redact`` and ``run --redact`` have in common."""

from __future__ import annotations

from hotenv.errors import FieldError
from hotenv.stdio import say

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from hotenv.cli.parser import Parser
    from hotenv.redaction.redactor import Redactor


def add_short(parser: Parser) -> None:
    """Add ``--redact-short``."""
    parser.add_argument(
        "--redact-short",
        action="store_true",
        default=False,
        help="redact even values that are too short or too common, such as '1' or 'localhost'",
    )


def add_redaction(parser: Parser) -> None:
    """Add the options of a command whose output can be redacted."""
    from hotenv.cli.options import pattern

    parser.add_argument(
        "--redact",
        action="append",
        nargs="?",
        const="*",
        default=None,
        type=pattern,
        metavar="PATTERN",
        help="put [NAME] in place of the session's values in what COMMAND writes; with =PATTERN, "
        "only of the variables that match; may be repeated",
    )
    add_short(parser)


def make_redactor(
    variables: Mapping[str, str],
    field: str,
    only: Sequence[str],
    excluded: Sequence[str] = (),
    *,
    short: bool,
) -> Redactor:
    """The redactor of ``variables``. Says whose values it leaves alone.

    Error handling: raises FieldError, with ``field``, if one of ``only`` matches no name.
    """
    from hotenv.redaction.redactor import Redactor

    try:
        redactor = Redactor(variables, only, excluded, short=short)
    except FieldError as error:
        raise FieldError(field, error.reason, error.item) from None
    if redactor.unredacted:
        names = ", ".join(redactor.unredacted)
        say(
            f"warning: not redacted, as too short or too common: {names} (use --redact-short to "
            "redact them too)"
        )
    return redactor
